package approvals_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

var written = call("write_file", args{"path": "src/a.go", "content": "one"})

func TestAGrantExpires(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		m    approvals.Remember
		want time.Duration
	}{
		{"after eight hours where nobody says", exactly(), 8 * time.Hour},
		{"after the time that was asked for", approvals.Remember{For: 10 * time.Minute}, 10 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				d := seen(written, dir)
				g := b.granted(written, d, tt.m)
				if got := g.ExpiresAt.Sub(g.CreatedAt); got != tt.want {
					t.Errorf("it lasts %s, want %s", got, tt.want)
				}
				time.Sleep(tt.want - time.Second)
				if !b.released(written, d) {
					t.Error("it has ended too soon")
				}
				time.Sleep(time.Second)
				if b.released(written, d) {
					t.Error("it was used after its time")
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if left := b.keys("grant"); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
				notes := b.notes(g.ID)
				if want := "expired; uses: 1"; notes[len(notes)-1] != want {
					t.Errorf("audit: %q, want %q last", notes, want)
				}
				b.close()
			})
		})
	}
}

// keys are the store's keys that begin with a prefix.
func (b *bench) keys(prefix string) []string {
	b.t.Helper()
	var keys []string
	b.eachValue(func(key string, _ []byte) {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	})
	return keys
}

// notes are those of the audit entries about a grant.
func (b *bench) notes(grant string) []string {
	b.t.Helper()
	entries, err := b.log.Query(b.t.Context(), audit.Query{})
	if err != nil {
		b.t.Fatal(err)
	}
	var notes []string
	for _, e := range entries {
		if e.Grant == grant {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

func TestEachUseOfAGrantIsCountedAndLogged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := seen(written, dir)
	g := b.granted(written, d, exactly())
	for range 3 {
		if !b.released(written, d) {
			t.Fatal("not released")
		}
	}
	if got := b.grant(g.ID); got.Uses != 3 || got.LastUsed.IsZero() {
		t.Errorf("%d uses, the last at %s; want 3", got.Uses, got.LastUsed)
	}
	entries, err := b.log.Query(t.Context(), audit.Query{Type: audit.TypeGranted})
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d uses are logged: %v", len(entries), err)
	}
	e := entries[0]
	if e.Grant != g.ID || e.Outcome.Grant != g.ID || e.Outcome.By != "ana" || e.Decision.Rule != d.Rule || e.Call.Tool.Name != "write_file" || !strings.Contains(string(e.Input), "src/a.go") {
		t.Errorf("logged: %+v", e)
	}
	made, err := b.log.Query(t.Context(), audit.Query{Type: audit.TypeGrant})
	if err != nil || len(made) != 1 || made[0].Note != "made by ana: "+g.Covers {
		t.Errorf("logged: %+v, %v", made, err)
	}
}

func TestARevokedGrantIsUsedNoMore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := seen(written, dir)
	g := b.granted(written, d, exactly())
	got, err := b.queue.Grants.Revoke(t.Context(), g.ID, "eve")
	if err != nil || got.RevokedBy != "eve" {
		t.Fatalf("revoking: %+v, %v", got, err)
	}
	if b.released(written, d) {
		t.Error("it was used after it was revoked")
	}
	if list, err := b.queue.Grants.List(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("it is still listed: %+v, %v", list, err)
	}
	for _, id := range []string{g.ID, "none"} {
		if _, err := b.queue.Grants.Revoke(t.Context(), id, "eve"); !errors.Is(err, grants.ErrNoGrant) {
			t.Errorf("revoking %s: %v", id, err)
		}
	}
	b.reopen()
	if b.released(written, d) {
		t.Error("a restart has brought it back")
	}
}

// A use either counts before the revocation or does not happen: once Revoke
// has returned, no use begins or ends well.
func TestRevokingRacesWithUsing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := seen(written, dir)
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		g := b.granted(written, d, exactly())
		var wg sync.WaitGroup
		start := make(chan struct{})
		revoked := make(chan int, 1)
		used := make(chan bool, 16)
		for range cap(used) {
			wg.Go(func() {
				<-start
				_, ok, err := b.queue.Grants.Granted(t.Context(), written, d, "digest", nil)
				if err != nil {
					t.Error(err)
				}
				used <- ok
			})
		}
		wg.Go(func() {
			<-start
			got, err := b.queue.Grants.Revoke(t.Context(), g.ID, "ana")
			if err != nil {
				t.Error(err)
			}
			revoked <- got.Uses
			if _, ok, err := b.queue.Grants.Granted(t.Context(), written, d, "digest", nil); ok || err != nil {
				t.Errorf("used after Revoke returned: %v, %v", ok, err)
			}
		})
		close(start)
		wg.Wait()
		close(used)
		uses := 0
		for ok := range used {
			if ok {
				uses++
			}
		}
		if n := <-revoked; n != uses {
			t.Fatalf("%d uses had come before it was revoked, and %d calls were released", n, uses)
		}
	}
}

func TestAGrantOutlivesARestart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := seen(written, dir)
	g := b.granted(written, d, ofTool())
	b.released(written, d)
	b.reopen()
	if !b.released(written, d) {
		t.Error("it is gone")
	}
	if got := b.grant(g.ID); got.Uses != 2 || got.Covers != g.Covers {
		t.Errorf("got %+v, want the same with 2 uses", got)
	}
}

func TestAGrantOfSeveralPeople(t *testing.T) {
	t.Parallel()
	two := func(d *holdgate.Decision) { d.Hold.Approvers.Quorum = 2 }
	tests := []struct {
		name    string
		votes   []*approvals.Remember
		granted bool
		note    string
	}{
		{"all of them asked for it", []*approvals.Remember{new(approvals.Remember), new(approvals.Remember)}, true, ""},
		{"the shorter time counts", []*approvals.Remember{{For: time.Hour}, {For: time.Minute}}, true, ""},
		{"one of them did not", []*approvals.Remember{new(approvals.Remember), nil}, false, "not all who approved"},
		{"only the last did", []*approvals.Remember{nil, new(approvals.Remember)}, false, "not all who approved"},
		{"they asked for different things", []*approvals.Remember{new(approvals.Remember), ptr(ofTool())}, false, "different things"},
		{"nobody did", []*approvals.Remember{nil, nil}, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			if err := b.queue.SetPeople(t.Context(), team(t)); err != nil {
				t.Fatal(err)
			}
			d := seen(written, dir, two)
			r := b.asks(written, d)
			for i, by := range []string{"ana", "ben"} {
				v := approve(r, by)
				v.Remember = tt.votes[i]
				r = b.decide(r, v)
			}
			if granted := r.Outcome.Grant != ""; granted != tt.granted {
				t.Fatalf("granted: %v", granted)
			}
			if audited := b.audited(r.ID); tt.note != "" && !strings.Contains(audited[len(audited)-1], tt.note) {
				t.Errorf("audit: %q, want %q", audited, tt.note)
			}
			if released := b.released(written, d); released != tt.granted {
				t.Errorf("released: %v", released)
			}
			if tt.name == "the shorter time counts" {
				if g := b.grant(r.Outcome.Grant); g.ExpiresAt.Sub(g.CreatedAt) != time.Minute || !slices.Equal(g.By, []string{"ana", "ben"}) {
					t.Errorf("made: %+v", g)
				}
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestAGrantStandsAsLongAsItsMakersMayApprove(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := b.queue.SetPeople(t.Context(), team(t)); err != nil {
		t.Fatal(err)
	}
	d := seen(written, dir)
	g := b.granted(written, d, exactly())
	if !b.released(written, d) {
		t.Fatal("not released")
	}
	for name, roles := range map[string][]string{"is gone": nil, "may only say no": {people.RoleOperate}} {
		persons := []people.Person{{Name: "ben", Roles: []string{people.RoleApprove}}}
		if roles != nil {
			persons = append(persons, people.Person{Name: "ana", Roles: roles})
		}
		p, err := people.New("root", persons)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.queue.SetPeople(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if b.released(written, d) {
			t.Errorf("it was used though who made it %s", name)
		}
	}
	if _, err := b.queue.Grants.Revoke(t.Context(), g.ID, "nobody"); !errors.Is(err, people.ErrNotEntitled) {
		t.Errorf("a stranger revoked it: %v", err)
	}
	if _, err := b.queue.Grants.Revoke(t.Context(), g.ID, "ben"); err != nil {
		t.Errorf("revoking: %v", err)
	}
}

func TestWhatIsHiddenIsInNoGrant(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := call("login", args{"user": "u", "path": "/home/ann/secret-hunter2/x", "host": "https://hunter2.example"})
	hide := func(d *holdgate.Decision) { d.Redact = []string{"/tool/arguments/path", "/tool/arguments/host"} }
	d := seen(c, dir, hide)
	b.granted(c, d, exactly())
	if !b.released(c, d) {
		t.Error("not released")
	}
	r := b.asks(c, d)
	if r.Shape != "" {
		t.Errorf("the shape is shown: %q", r.Shape)
	}
	b.eachValue(func(key string, value []byte) {
		if strings.Contains(string(value), "hunter2") || strings.Contains(key, "hunter2") {
			t.Errorf("%s tells what is hidden: %s", key, value)
		}
	})
}

func TestWordsSayWhatIsCovered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.asks(written, seen(written, dir))
	for _, tt := range []struct {
		m    approvals.Remember
		want string
	}{
		{exactly(), `always allow: write_file with exactly content = "one" and path = "src/a.go", in /w, by claude in session s1, for 8h and any number of calls, where the rule shell.destructive asks at medium risk at most`},
		{approvals.Remember{Scope: record.ScopeAgent, Match: ofTool().Match, For: 90 * time.Minute}, "always allow: every call of write_file that does nothing but what this one does, anywhere in the folder and outside of it only where this one does, whatever content and path say, in /w, by claude in any session, for 1h30m and any number of calls, where the rule shell.destructive asks at medium risk at most"},
		{fixing("/path", `"src/a.go"`), `always allow: every call of the shape write_file (content, path), in ./src, with path = "src/a.go", in /w, by claude in session s1, for 8h and any number of calls, where the rule shell.destructive asks at medium risk at most`},
	} {
		if got := tt.m.Words(r); got != tt.want {
			t.Errorf("got\n%s\nwant\n%s", got, tt.want)
		}
	}
}

// The names of arguments are the agent's words, and so is how many there are.
func TestWordsOfArgumentsAreWhatIsCompared(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	many := args{}
	for i := range 12 {
		many[fmt.Sprintf("a%02d", i)] = i
	}
	for _, tt := range []struct {
		name, want string
		call       holdgate.Call
		same       holdgate.Call // that is covered too
	}{
		{"what only describes a command", `Bash with exactly command = "rm src/a.go", whatever description says, in /w`,
			call("Bash", args{"command": "rm src/a.go", "description": "Tidy up"}), call("Bash", args{"command": "rm src/a.go", "description": "Tidy up again"})},
		{"which other tools act on", `write_file with exactly content = "one", description = "x" and path = "src/a.go", in /w`,
			call("write_file", args{"path": "src/a.go", "content": "one", "description": "x"}), holdgate.Call{}},
		{"a name that is a sentence", `write_file with exactly content = "one", path = "src/a.go" and "path = \"b\", in /tmp" = 1, in /w`,
			call("write_file", args{"path": "src/a.go", "content": "one", `path = "b", in /tmp`: 1}), holdgate.Call{}},
		{"a name without any letters", `write_file with exactly "" = 1, content = "one" and path = "src/a.go", in /w`,
			call("write_file", args{"path": "src/a.go", "content": "one", "": 1}), holdgate.Call{}},
		{"many", `frob with exactly a00 = 0, a01 = 1, a02 = 2, a03 = 3, a04 = 4, a05 = 5, a06 = 6, a07 = 7 and 4 more, in /w`, call("frob", many), holdgate.Call{}},
	} {
		r := b.asks(tt.call, seen(tt.call, dir))
		if got, want := exactly().Words(r), "always allow: "+tt.want; !strings.HasPrefix(got, want+",") {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, want)
		}
		if tt.same.Tool == nil {
			continue
		}
		d := seen(tt.same, dir)
		b.granted(tt.call, seen(tt.call, dir), exactly())
		if !b.released(tt.same, d) {
			t.Errorf("%s: the other is asked about", tt.name)
		}
	}
}

func TestAGrantSettlesWhatWasAnsweredWithIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	beside := func(rules ...string) func(*holdgate.Decision) {
		return func(d *holdgate.Decision) {
			for _, r := range rules {
				d.Also = append(d.Also, holdgate.Finding{Rule: r, Reason: "too", Risk: holdgate.RiskLow})
			}
		}
	}
	b.granted(written, seen(written, dir, beside("a", "b")), exactly())
	for _, tt := range []struct {
		name string
		now  []string
		want []string
	}{
		{"the same rules", []string{"a", "b"}, []string{"a", "b"}},
		{"a rule that nobody was shown", []string{"b", "c"}, []string{"b"}},
		{"a rule that wants an answer of its own now", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := seen(written, dir, beside(tt.now...))
			g, ok, err := b.queue.Grants.Granted(t.Context(), written, d, "digest", nil)
			if err != nil || !ok {
				t.Fatalf("released: %v, %v", ok, err)
			}
			if got := g.Settles(d); !slices.Equal(got, tt.want) {
				t.Errorf("it settles %q, want %q", got, tt.want)
			}
		})
	}
}
