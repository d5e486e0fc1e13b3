package collect

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// How a path is touched.
const (
	AccessRead   = "read"
	AccessWrite  = "write"
	AccessDelete = "delete"
)

// maxPaths bounds how many paths one call lists.
const maxPaths = 1000

// A Ref is a path as it was found, and where it starts from.
type Ref struct {
	Text    string
	Written string // as it stands in the line, where that differs
	Access  string
	Dirs    []string // folders that it may be relative to, as in shell; empty where not known
	Dynamic bool     // part of it is known at run time only
	Fresh   bool     // the call itself has made it, for temporary use
	Made    bool     // the call itself has put there all that it holds, unless a command failed
	Remote  bool     // on another machine, or in a container
	Reach   Reach
}

// Reach is how far a path that is touched stands for others.
type Reach uint8

const (
	ReachOne     Reach = iota // for itself
	ReachBeneath              // for all that lies beneath it
	ReachOrigin               // for where packages come from
	ReachHunt                 // for the credentials that are looked for in it
	ReachName                 // for its name, size and times, and not for what it holds
	ReachListed               // for files of the project that a listing names, and that are edited
)

// drive begins a path of Windows, which lies in no folder of another system.
var drive = lazyregexp.New(`^([A-Za-z]:[\\/]|\\\\)`)

// DirsOf is a folder as the one that paths are seen from; none where it is not known.
func DirsOf(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{dir}
}

// Path adds a path. One that may start from several folders is listed from
// the likeliest, and again from each that leads outside.
func (x *Findings) Path(r Ref) {
	if r.Text == "" || HarmlessDevice(r.Text) {
		return
	}
	if u, ok := netDevice(r.Text); ok {
		x.Facts.Category = "network"
		x.addURL(u)
		return
	}
	text := strings.TrimPrefix(r.Text, "file://")
	text, known := x.ExpandTilde(text, r.Remote)
	switch {
	case r.Dynamic || !known, drive.MatchString(text) && !drive.MatchString(x.Opts.Dir):
		x.addPath(r, text, false)
	case path.IsAbs(text):
		clean := path.Clean(text)
		x.addPath(r, clean, !r.Remote && x.Inside(clean))
	case len(r.Dirs) == 0:
		x.addPath(r, path.Clean(text), false)
	default:
		for i, d := range r.Dirs {
			clean := JoinDir(d, text)
			if inside := x.Inside(clean); i == 0 || !inside {
				x.addPath(r, clean, inside && !r.Remote)
			}
		}
	}
}

func (x *Findings) addPath(r Ref, clean string, inside bool) {
	if r.Access != AccessRead && !x.Modes {
		x.Writes[FileKey(clean)]++
		if key := FileKey(clean); isPattern(key) && r.Reach != ReachListed {
			x.patterns = append(x.patterns, key)
		}
	}
	if r.Access == AccessWrite && !r.Dynamic && readAsMore.MatchString(clean) {
		x.Fail("a file is named like an option, or like several words: %s", clean)
	}
	if r.Access == AccessWrite && !x.Modes && PidFile.MatchString(clean) {
		x.Numbers[FileKey(clean)]++
	}
	if r.Access == AccessDelete {
		x.Deletions++
		if x.Removes {
			x.removals[FileKey(clean)]++
		}
	}
	if r.Access == AccessWrite && !x.Fixed {
		x.written = append(x.written, clean)
		if isPattern(clean) && r.Reach != ReachListed {
			x.rewritten = append(x.rewritten, clean)
		}
	}
	class := Classify(clean, r.Access)
	if r.Reach == ReachName && class == ClassSecret {
		class = ""
	}
	if x.above(clean, r, inside) {
		class = map[bool]string{true: ClassSecret, false: ClassPersistence}[r.Access == AccessRead]
	}
	if class == "" && r.Access == AccessWrite && r.Reach != ReachName && x.reachesInstructions(clean, inside) {
		class = ClassPersistence
	}
	if class == "" && Classify(lookalike(clean), r.Access) != "" {
		x.suspiciousKind("mixed_script")
	}
	perhaps := r.Access == AccessDelete && len(r.Dirs) > 1 && (!path.IsAbs(r.Text) || strings.ContainsAny(r.Written, "$`"))
	p := holdgate.Path{Path: cmp.Or(r.Written, r.Text), Clean: clean, Access: r.Access, Class: class, Inside: inside, Self: x.ownPath(clean, r.Access), Fresh: r.Fresh, Made: r.Made, Perhaps: perhaps, Leaves: x.Renames && r.Access == AccessWrite}
	if x.Once("path", p.Path, p.Clean, p.Access, p.Class, strconv.FormatBool(p.Fresh), strconv.FormatBool(p.Made), strconv.FormatBool(p.Perhaps)) {
		if len(x.Facts.Paths) >= maxPaths {
			x.GiveUp("too many paths")
		}
		x.Facts.Paths = append(x.Facts.Paths, p)
		x.Joined(r.Text)
	} else if p.Access == AccessWrite && !p.Leaves {
		for i := range x.Facts.Paths {
			x.Facts.Paths[i].Leaves = x.Facts.Paths[i].Leaves && x.Facts.Paths[i].Clean != clean
		}
	}
}

// readAsMore is in names that are more than one word to what takes files out of a
// listing: an option or a path stands behind a blank, or Perl takes it for a command.
var readAsMore = lazyregexp.New(`[\n\t]|\s-\S|\s[/~]|[|<>]$|(^|/)[|<>]|(^|/)-[A-Za-z-][^/]*$`)

// PidFile is a file that holds the number of a process, by its name. A command that ends
// the process takes the number for one that the agent has started, so what else is put
// there is asked about.
var PidFile = lazyregexp.New(`(?i)[^/]\.pid$`)

// CleanDir is a folder that an argument names, absolute where it can be; ""
// where it is not known.
func (x *Findings) CleanDir(dir string) string {
	dir, known := x.ExpandTilde(dir, false)
	switch {
	case !known:
		return ""
	case path.IsAbs(dir):
		return path.Clean(dir)
	}
	return path.Join(x.Start(), dir)
}

// Start is the folder that a call starts in: the session's, where no other is known, or
// "." where that is not known either.
func (x *Findings) Start() string {
	if dir := cmp.Or(x.Opts.From, x.Opts.Dir); dir != "" {
		return path.Clean(dir)
	}
	return "."
}

// JoinDir is a path seen from a folder. A folder below a home that is not
// known begins with "~", and what climbs out of it stays as written.
func JoinDir(dir, p string) string {
	if dir != "~" && !strings.HasPrefix(dir, "~/") {
		return path.Join(dir, p)
	}
	return "~/" + path.Join(".", strings.TrimLeft(dir[1:], "/"), strings.TrimLeft(p, "/"))
}

// ExpandTilde replaces a leading ~. It reports false where that names a
// folder which is not known.
func (x *Findings) ExpandTilde(s string, remote bool) (string, bool) {
	if !strings.HasPrefix(s, "~") {
		return s, true
	}
	if (s == "~" || strings.HasPrefix(s, "~/")) && x.Opts.Home != "" && !remote {
		return x.Opts.Home + s[1:], true
	}
	return s, false
}

// Inside reports whether a cleaned path lies in the session's folder. One
// that is relative starts in that folder, wherever it is.
func (x *Findings) Inside(p string) bool {
	if x.Opts.From != "" {
		return false
	}
	if dir := x.Start(); dir != "." {
		return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
	}
	first, _, _ := strings.Cut(p, "/")
	return !path.IsAbs(p) && first != ".." && first != "~"
}

// HarmlessDevice reports whether the path is a device that holds nothing.
func HarmlessDevice(p string) bool {
	switch p {
	case "-", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/random", "/dev/urandom":
		return true
	}
	return strings.HasPrefix(p, "/dev/fd/") && !strings.Contains(p, "..")
}

// netDevice reads bash's /dev/tcp/HOST/PORT and /dev/udp/HOST/PORT.
func netDevice(p string) (holdgate.URL, bool) {
	for _, scheme := range []string{"tcp", "udp"} {
		rest, ok := strings.CutPrefix(p, "/dev/"+scheme+"/")
		if host, port, whole := strings.Cut(rest, "/"); ok && whole {
			host = strings.ToLower(host)
			return holdgate.URL{URL: scheme + "://" + host + ":" + port, Scheme: scheme, Host: host}, true
		}
	}
	return holdgate.URL{}, false
}
