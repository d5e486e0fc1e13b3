package rego

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
)

// patience bounds how long a test waits for files to be noticed.
const patience = 3 * time.Minute

// told is what OnLoad was told.
type told struct {
	loaded Loaded
	err    error
}

// run opens an engine on path and runs it until the test ends. The channel
// tells of loads after the first.
func run(t *testing.T, path string) (*Engine, <-chan told) {
	t.Helper()
	loads := make(chan told, 100)
	e := open(t, Options{Path: path, OnLoad: func(l Load) { loads <- told{l.Loaded, l.Err} }})
	if first := <-loads; first.err != nil || first.loaded != e.Loaded() {
		t.Fatalf("the first load: got %+v", first)
	}
	start(t, e)
	return e, loads
}

// start runs the engine until the test ends.
func start(t *testing.T, e *Engine) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := e.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func next(t *testing.T, loads <-chan told) told {
	t.Helper()
	select {
	case l := <-loads:
		return l
	case <-time.After(patience):
		t.Fatal("no load was told")
	}
	return told{}
}

func rule(t *testing.T, e *Engine) string {
	t.Helper()
	return e.Decide(t.Context(), Input{Call: bashCall("ls")}).Rule
}

// named is a policy whose one rule has the name.
func named(name string) string {
	return whole(fmt.Sprintf("decision := {\"action\": \"allow\", \"rule\": %q}", name))
}

func TestReloadTakesUpWhatChanges(t *testing.T) {
	dir := write(t, map[string]string{"p.rego": named("one")})
	file := filepath.Join(dir, "p.rego")
	e, loads := run(t, dir)

	for _, tt := range []struct {
		name, rule string
		change     func() error
	}{
		{"a file is written anew", "two", func() error { return os.WriteFile(file, []byte(named("two")), 0o600) }},
		{"an editor renames another over it", "three", func() error {
			other := filepath.Join(dir, ".p.rego.swp")
			if err := os.WriteFile(other, []byte(named("three")), 0o600); err != nil {
				return err
			}
			return os.Rename(other, file)
		}},
		{"it moves into a new folder", "four", func() error {
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, "sub", "q.rego"), []byte(named("four")), 0o600); err != nil {
				return err
			}
			return os.Remove(file)
		}},
		{"a file in the new folder changes", "five", func() error {
			return os.WriteFile(filepath.Join(dir, "sub", "q.rego"), []byte(named("five")), 0o600)
		}},
	} {
		if err := tt.change(); err != nil {
			t.Fatal(err)
		}
		l := next(t, loads)
		if l.err != nil || l.loaded != e.Loaded() {
			t.Fatalf("%s: got %+v, want the policy in force", tt.name, l)
		}
		if got := rule(t, e); got != tt.rule {
			t.Fatalf("%s: got rule %s, want %s", tt.name, got, tt.rule)
		}
	}
}

func TestBrokenEditKeepsTheLastGoodPolicy(t *testing.T) {
	dir := write(t, map[string]string{"p.rego": named("good")})
	file := filepath.Join(dir, "p.rego")
	e, loads := run(t, dir)
	good := e.Loaded()

	put(t, file, "package holdgate\n\ndecision := allow allow\n")
	l := next(t, loads)
	if l.err == nil || !strings.Contains(l.err.Error(), "p.rego:3") || l.loaded != good {
		t.Fatalf("a syntax error: got %v and %v, want an error that names the line, and the earlier policy", l.err, l.loaded)
	}
	if got := rule(t, e); got != "good" {
		t.Fatalf("after a broken edit: got rule %s, want good", got)
	}

	put(t, file, whole("decision := {\"action\": \"block\"}"))
	if l = next(t, loads); l.err == nil || !strings.Contains(l.err.Error(), `p.rego:3: decision.action cannot be "block": did you mean "deny"?`) || l.loaded != good {
		t.Fatalf("a word that is not known: got %+v, want an error that names it, and the earlier policy", l)
	}
	if got := rule(t, e); got != "good" {
		t.Fatalf("after a slip: got rule %s, want good", got)
	}

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if l = next(t, loads); l.err == nil || l.loaded != good {
		t.Fatalf("an empty folder: got %+v, want an error", l)
	}
	if got := rule(t, e); got != "good" {
		t.Fatalf("after all was deleted: got rule %s, want good", got)
	}

	put(t, file, named("better"))
	if l = next(t, loads); l.err != nil {
		t.Fatalf("a good edit: got %v", l.err)
	}
	if got := rule(t, e); got != "better" {
		t.Errorf("after a good edit: got rule %s, want better", got)
	}
}

func TestReloadFollowsKubernetes(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "..1", "p.rego"), named("one"))
	put(t, filepath.Join(dir, "..2", "p.rego"), named("two"))
	for link, target := range map[string]string{"..data": "..1", "p.rego": filepath.Join("..data", "p.rego")} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	e, loads := run(t, dir)
	if err := os.Symlink("..2", filepath.Join(dir, "..data_tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if l := next(t, loads); l.err != nil {
		t.Fatal(l.err)
	}
	if got := rule(t, e); got != "two" {
		t.Errorf("got rule %s, want two", got)
	}
}

func TestDecideWhilePolicyChanges(t *testing.T) {
	dir := write(t, map[string]string{"p.rego": whole(`decision := {"action": "deny", "rule": "0"}`)})
	file := filepath.Join(dir, "p.rego")
	e, loads := run(t, dir)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				d := e.Decide(t.Context(), Input{Call: bashCall("ls")})
				if d.Action != holdgate.Deny || d.Rule == holdgate.RulePolicyError || d.Revision == "" {
					t.Errorf("got %v by %s: %s", d.Action, d.Rule, d.Reason)
					return
				}
			}
		})
	}
	for i := 1; i <= 4; i++ {
		body := whole(fmt.Sprintf(`decision := {"action": "deny", "rule": "%d"}`, i))
		if i%2 == 0 {
			body = "package holdgate\n\nbroken"
		}
		put(t, file, body)
		if l := next(t, loads); (l.err != nil) != (i%2 == 0) {
			t.Errorf("load %d: %v", i, l.err)
		}
	}
	close(done)
	wg.Wait()
}

// An edit every 10 ms, many of them half written: every call is decided, each
// by a policy that was complete, and the revision that it names says which.
func TestNoCallIsLostInAStormOfEdits(t *testing.T) {
	dir := write(t, map[string]string{"a.rego": pair("0"), "b.rego": other("0")})
	e, loads := run(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			name := fmt.Sprint(n)
			put(t, filepath.Join(dir, "a.rego"), pair(name))
			if n%3 == 0 {
				put(t, filepath.Join(dir, "b.rego"), "package holdgate\n\nhalf")
				continue
			}
			put(t, filepath.Join(dir, "b.rego"), other(name))
		}
	})
	var mu sync.Mutex
	decided := map[string]map[string]bool{} // the rules by revision
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				d := e.Decide(t.Context(), Input{Call: bashCall("ls")})
				if d.Action != holdgate.Deny || d.Rule == holdgate.RulePolicyError {
					t.Errorf("got %v by %s: %s", d.Action, d.Rule, d.Reason)
					return
				}
				mu.Lock()
				if decided[d.Revision] == nil {
					decided[d.Revision] = map[string]bool{}
				}
				decided[d.Revision][d.Rule+" "+d.Reason] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	put(t, filepath.Join(dir, "a.rego"), pair("last"))
	put(t, filepath.Join(dir, "b.rego"), other("last"))
	for rule(t, e) != "last" {
		next(t, loads)
	}
	for revision, rules := range decided {
		if len(rules) != 1 {
			t.Errorf("revision %s decided by %v: want one rule for each revision", revision, rules)
		}
	}
}

// pair is one half of a policy, whose name it shares with the other.
func pair(name string) string {
	return whole(fmt.Sprintf("decision := {\"action\": \"deny\", \"rule\": %q, \"reason\": other}", name))
}

func other(name string) string { return whole(fmt.Sprintf("other := %q", name)) }
