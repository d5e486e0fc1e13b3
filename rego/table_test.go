package rego

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
)

var update = flag.Bool("update", false, "rewrite the decisions in facts/testdata/*.txt")

// decided begins the line of a case that says what the pack decides.
const decided = "=> "

// A shellCase is a shell text of rego/facts/testdata with the decision that is
// wanted: "allow", or an action and its rule.
type shellCase struct{ text, want string }

// shellFile reads a table of shell texts: "$ " begins one, "> " (or ">" alone, for
// an empty line) goes on with it, and decided begins the decision. Other lines are
// facts, such as ">(): rm a" of what a process substitution runs.
func shellFile(t *testing.T, body string) []shellCase {
	t.Helper()
	var cases []shellCase
	for l := range strings.Lines(body) {
		l = strings.TrimSuffix(l, "\n")
		last := len(cases) - 1
		if text, ok := strings.CutPrefix(l, "$ "); ok {
			cases = append(cases, shellCase{text: text})
		} else if text, ok := strings.CutPrefix(l, decided); ok {
			cases[last].want = text
		} else if text, ok := strings.CutPrefix(l, "> "); (ok || l == ">") && last >= 0 {
			cases[last].text += "\n" + text
		}
	}
	return cases
}

// TestPackOnEveryShellText holds the pack to the decision that stands beside
// each text of the tables of package facts, and to what must be true of all:
// what deletes, or depends on what nobody knows, is not let through; and the
// strict profile lets nothing through.
func TestPackOnEveryShellText(t *testing.T) {
	balanced := loaded(t, "")
	strict := loaded(t, write(t, map[string]string{"settings.yaml": "settings: {profile: strict}\n", "a.rego": custom}))
	files, err := filepath.Glob("facts/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	var all, held, denied int
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			body = withDecisions(t, balanced, string(body))
			if err := os.WriteFile(file, body, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range shellFile(t, string(body)) {
			d := decideAt(t, balanced, tabled, c.text)
			all++
			switch d.Action {
			case holdgate.Hold:
				held++
			case holdgate.Deny:
				denied++
			}
			if got := decisionLine(d); got != c.want {
				t.Errorf("%s: %s\n got %s (%s)\nwant %s", filepath.Base(file), c.text, got, d.Reason, c.want)
			}
			if d.Action == holdgate.Allow && destroys(t, c.text) {
				t.Errorf("%s: it is let through, and deletes: %s", filepath.Base(file), c.text)
			}
			s := decideAt(t, strict, tabled, c.text)
			if s.Action == holdgate.Allow || d.Action == holdgate.Deny && s.Action != holdgate.Deny {
				t.Errorf("%s: the strict profile says %s: %s", filepath.Base(file), decisionLine(s), c.text)
			}
		}
	}
	if all < 1000 {
		t.Errorf("%d texts were read, want some 1,200", all)
	}
	t.Logf("balanced: of %d texts %d are allowed, %d held, %d denied; strict: none is allowed", all, all-held-denied, held, denied)
}

func loaded(t *testing.T, path string) *policy {
	t.Helper()
	p, err := load(t.Context(), spec{path: path})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tabled is where the tables take a text to run.
var tabled = Input{Dir: "/w", Home: "/home/u"}

// decideAt decides on a text, however long that takes on a busy machine.
func decideAt(t *testing.T, p *policy, at Input, text string) holdgate.Decision {
	t.Helper()
	at.Call = bashCall(text)
	v, c, err := p.input(at, patientFacts(t, at))
	if err != nil {
		t.Fatal(err)
	}
	return evaluated(t, p, v, c.now)
}

func patientFacts(t *testing.T, in Input) facts.Facts {
	t.Helper()
	return facts.Extract(t.Context(), in.Call, facts.Options{Dir: in.Dir, Home: in.Home, Deadline: time.Minute})
}

func decisionLine(d holdgate.Decision) string {
	if d.Action == holdgate.Allow {
		return "allow"
	}
	return fmt.Sprintf("%v %s", d.Action, d.Rule)
}

// destroys reports whether the facts show a deletion, or could not be worked
// out.
func destroys(t *testing.T, text string) bool {
	t.Helper()
	in := tabled
	in.Call = bashCall(text)
	f := patientFacts(t, in)
	for _, p := range f.Paths {
		if p.Access == "delete" && !p.Fresh {
			return true
		}
	}
	for _, s := range f.SQL {
		if s.Scratch {
			continue
		}
		if s.Verb == "drop" || s.Verb == "truncate" || s.Verb == "delete" && !s.Where {
			return true
		}
	}
	return len(f.ParseErrors) > 0
}

// withDecisions writes the decisions as they are beside the texts, for a
// reader of the difference to judge.
func withDecisions(t *testing.T, p *policy, body string) []byte {
	t.Helper()
	var out []string
	for block := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		if cases := shellFile(t, block); len(cases) == 1 {
			block, _, _ = strings.Cut(block, "\n"+decided)
			block += "\n" + decided + decisionLine(decideAt(t, p, tabled, cases[0].text))
		}
		out = append(out, block)
	}
	return []byte(strings.Join(out, "\n\n") + "\n")
}
