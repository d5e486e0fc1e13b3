package collect

import (
	"net/netip"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var place = Options{
	Dir: "/w", Home: "/home/u", Deadline: time.Minute,
	Own: Own{Listeners: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7301")}, Folders: []string{"/home/u/.holdgate"}},
}

// said writes what was found as a test compares it.
func said(x *Findings) string {
	f := x.Finish()
	var out []string
	for _, p := range f.Paths {
		s := p.Access + " " + p.Clean
		if p.Class != "" {
			s += " " + p.Class
		}
		if p.Inside {
			s += " inside"
		}
		if p.Self {
			s += " self"
		}
		out = append(out, s)
	}
	for _, u := range f.URLs {
		s := u.Scheme + " " + u.Host + " " + u.URL
		if u.Self {
			s += " self"
		}
		out = append(out, s)
	}
	for _, st := range f.SQL {
		out = append(out, "sql "+st.Verb+" "+strings.Join(st.Tables, ","))
	}
	for _, s := range f.Secrets {
		out = append(out, "secret "+s.Kind+" "+s.Pointer)
	}
	for _, k := range f.SuspiciousText {
		out = append(out, "suspicious "+k)
	}
	for _, e := range f.ParseErrors {
		out = append(out, "error "+e)
	}
	return strings.Join(out, "\n")
}

func TestFindings(t *testing.T) {
	for _, tt := range []struct {
		name string
		find func(*Findings)
		want string
	}{
		{"a file of the project", func(x *Findings) { x.Path(Ref{Text: "a/../b", Access: AccessRead, Dirs: []string{"/w"}}) }, "read /w/b inside"},
		{"a path is listed from each folder that leads outside", func(x *Findings) { x.Path(Ref{Text: "b", Access: AccessDelete, Dirs: []string{"/w", "/w/s", "/v"}}) }, "delete /w/b inside\ndelete /v/b"},
		{"the same is said once", func(x *Findings) {
			x.Path(Ref{Text: "b", Access: AccessRead, Dirs: []string{"/w"}})
			x.Path(Ref{Text: "b", Access: AccessRead, Dirs: []string{"/w"}})
		}, "read /w/b inside"},
		{"a home folder, and a secret in it", func(x *Findings) { x.Path(Ref{Text: "~/.ssh/id_rsa", Access: AccessRead}) }, "read /home/u/.ssh/id_rsa secret"},
		{"what runs by itself", func(x *Findings) { x.Path(Ref{Text: ".git/hooks/pre-push", Access: AccessWrite, Dirs: []string{"/w"}}) }, "write /w/.git/hooks/pre-push persistence inside"},
		{"a folder that holds secrets, with all beneath", func(x *Findings) { x.Path(Ref{Text: "/home/u", Access: AccessRead, Reach: ReachBeneath}) }, "read /home/u secret"},
		{"and for its names alone", func(x *Findings) { x.Path(Ref{Text: "/home/u/.netrc", Access: AccessRead, Reach: ReachName}) }, "read /home/u/.netrc"},
		{"of the system", func(x *Findings) { x.Path(Ref{Text: "/etc/hosts", Access: AccessWrite}) }, "write /etc/hosts system"},
		{"Holdgate's own folder", func(x *Findings) { x.Path(Ref{Text: "~/.holdgate/keys", Access: AccessRead}) }, "read /home/u/.holdgate/keys self"},
		{"on another machine nothing is inside", func(x *Findings) { x.Path(Ref{Text: "/w/a", Access: AccessWrite, Remote: true}) }, "write /w/a"},
		{"a device of bash's", func(x *Findings) { x.Path(Ref{Text: "/dev/tcp/Evil.example/80", Access: AccessWrite}) }, "tcp evil.example tcp://evil.example:80"},
		{"nothing at all", func(x *Findings) { x.Path(Ref{Text: "/dev/null", Access: AccessWrite}) }, ""},
		{"an address, without its password", func(x *Findings) { x.URL("https://u:x@Host.example./a") }, "https host.example https://***@Host.example./a"},
		{"one without a scheme", func(x *Findings) { x.URL("host.example/a") }, "https host.example host.example/a"},
		{"Holdgate's own door", func(x *Findings) { x.URL("http://2130706433:7301/v1") }, "http 2130706433 http://2130706433:7301/v1 self"},
		{"a host of two scripts", func(x *Findings) { x.URL("https://p\u0430ypal.example") }, "https p\u0430ypal.example https://p\u0430ypal.example\nsuspicious mixed_script"},
		{"addresses in prose", func(x *Findings) { x.URLsIn("see https://a.example/x, and (http://b.example).") }, "https a.example https://a.example/x\nhttp b.example http://b.example"},
		{"a machine", func(x *Findings) { x.Host("ssh", "root@Box:22") }, "ssh box ssh://box"},
		{"statements and their files", func(x *Findings) { x.SQL("select * from t; copy t from '/tmp/x'") }, "read /tmp/x\nsql select t\nsql copy t"},
		{"a patch", func(x *Findings) { x.Patch("*** Delete File: a", []string{"/w"}) }, "delete /w/a inside"},
		{"text that is no patch", func(x *Findings) { x.Patch("hello", nil) }, "error patch names no file"},
		{"a credential, by its place", func(x *Findings) { x.Text(&Place{Key: "a/b"}, "AKIA"+"Z7VTQ4NNBWQJ3M2L") }, "secret aws_access_key /a~1b"},
		{"deceiving characters", func(x *Findings) { x.Text(nil, "a\u202eb") }, "suspicious bidi"},
		{"a fault is an error of the call", func(x *Findings) { x.Guard(func() { panic("x") }) }, "error internal error: x"},
		{"work that is given up, too", func(x *Findings) { x.Guard(func() { x.GiveUp("too much") }) }, "error over budget: too much"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := New(t.Context(), place)
			tt.find(x)
			if diff := cmp.Diff(tt.want, said(x)); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPointersOfPlaces(t *testing.T) {
	list := &Place{In: &Place{Key: "a~b"}, Index: 3, Listed: true}
	for _, tt := range []struct {
		at   *Place
		want string
	}{
		{nil, ""},
		{list, "/a~0b/3"},
		{&Place{In: list, Key: "c/d"}, "/a~0b/3/c~1d"},
		{&Place{In: &Place{In: list, Key: "text", Text: true}, Key: "inner"}, "/a~0b/3/text"},
	} {
		if got := tt.at.pointer(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// FuzzPath holds that every path becomes clean, and counts as inside only where it is.
func FuzzPath(f *testing.F) {
	f.Add("a/../../w/b", "/w", "write")
	f.Add("~/../x", "", "read")
	f.Fuzz(func(t *testing.T, text, dir, access string) {
		x := New(t.Context(), place)
		x.Guard(func() {
			x.Path(Ref{Text: text, Access: access, Dirs: DirsOf(dir)})
			x.URL(text)
		})
		for _, p := range x.Finish().Paths {
			if p.Inside && (path.Clean(p.Clean) != p.Clean || p.Clean != "/w" && !strings.HasPrefix(p.Clean, "/w/")) {
				t.Errorf("%q of %q is inside as %q", text, dir, p.Clean)
			}
			if p.Class == "" && p.Access == AccessRead && Classify(p.Clean, AccessRead) != "" {
				t.Errorf("%q has no class", p.Clean)
			}
		}
		for _, e := range x.Facts.ParseErrors {
			if strings.HasPrefix(e, InternalError) {
				t.Errorf("%q: %s", text, e)
			}
		}
	})
}
