package page_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

var update = flag.Bool("update", false, "rewrite the golden pages")

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// request is one whose times stand still.
func request(edit func(*sdk.Notice)) sdk.Notice {
	n := sdktest.Notice("r1")
	n.CreatedAt, n.ExpiresAt = now, now.Add(59*time.Minute)
	if edit != nil {
		edit(&n)
	}
	return n
}

func TestPagesAreGolden(t *testing.T) {
	for name, n := range map[string]sdk.Notice{
		"plain": request(nil),
		"grave": request(func(n *sdk.Notice) {
			n.Risk, n.Agent, n.OnTimeout = sdk.RiskCritical, sdk.Agent{ID: "claude", Confinement: "unconfined"}, sdk.Approve
			n.Whole, n.Hidden = false, 41210
			n.Counts = sdk.Counts{Redacted: 3, Cut: 41207, Commands: 3, Unresolved: 1, Unbound: 1}
			n.Closed, n.Warnings = "calls of critical risk are approved through no channel", []string{"nobody can approve this"}
			n.Quorum, n.Votes, n.Approved = 2, 1, []string{"ada"}
			n.People, n.Similar, n.Edited = []string{"for the role lead", "claimed by bob until 13:00:00"}, "3 approved, 1 denied", "by a person, in request r0"
			n.Sections = append(n.Sections,
				sdk.Section{Title: "change of /srv/app/a.go", Kind: "diff", Lines: []string{" one", "-two", "+2"}},
				sdk.Section{Title: "the agent says", Kind: sdk.KindSaid, Lines: []string{"description: a harmless tidy-up"}})
		}),
		"choice": request(func(n *sdk.Notice) {
			n.Kind, n.Message = "choice", "Where to?"
			n.Options = []sdk.Option{{ID: "a", Label: "To staging", Effect: "approve"}, {ID: "b", Label: "Nowhere", Effect: "deny"}}
		}),
		"gate": request(func(n *sdk.Notice) {
			n.Call, n.Message, n.Summary = sdk.Call{Kind: "gate"}, "Deploy this?", "At the gate deployment_approval"
			n.Details, n.Sections = nil, []sdk.Section{
				{Title: "the agent asks", Kind: sdk.KindSaid, Lines: []string{"I have finished. Shall I deploy?"}},
				{Title: "diff", Kind: sdk.KindSaid, Lines: []string{"-a", "+b"}},
				{Title: "tests", Kind: sdk.KindSaid, Lines: []string{"41 passed"}},
			}
		}),
	} {
		for _, width := range []int{40, 80, 200} {
			t.Run(fmt.Sprintf("%s at %d", name, width), func(t *testing.T) {
				golden(t, fmt.Sprintf("%s.%d", name, width), page.Text(page.Of(n, now), width, false))
			})
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestColourIsOnlyOnTop(t *testing.T) {
	lines := page.Of(request(func(n *sdk.Notice) { n.Risk = sdk.RiskHigh }), now)
	coloured := page.Text(lines, 80, true)
	for _, code := range []string{"\x1b[1;31m", "\x1b[1m", "\x1b[2m", "\x1b[0m"} {
		if !strings.Contains(coloured, code) {
			t.Errorf("no %q", code)
		}
		coloured = strings.ReplaceAll(coloured, code, "")
	}
	if diff := cmp.Diff(page.Text(lines, 80, false), coloured); diff != "" {
		t.Errorf("colour changes the text:\n%s", diff)
	}
}

func TestWhatMustHaveBeenSeen(t *testing.T) {
	said := sdk.Section{Title: "the agent says", Kind: sdk.KindSaid, Lines: []string{"description: a harmless tidy-up"}}
	before := sdk.Section{Title: "before it, in this session", Kind: "before", Lines: []string{"allowed: Bash: ls"}}
	for _, c := range []struct {
		name, last string // the last line that is needed
		n          sdk.Notice
	}{
		{"of a call, why it is asked", "shell.destructive: It deletes files.", request(func(n *sdk.Notice) { n.Sections = append(n.Sections, before) })},
		{"what is missing", "3 values hidden by policy", request(func(n *sdk.Notice) { n.Sections, n.Counts.Redacted = append(n.Sections, before), 3 })},
		{"what of the call is the agent's words", "-- end of what the agent says --", request(func(n *sdk.Notice) { n.Sections = append(n.Sections, before, said) })},
		{"of a gate, the agent's words", "-- end of what the agent says --", request(func(n *sdk.Notice) {
			n.Call.Kind, n.Sections = "gate", []sdk.Section{said}
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := page.Wrap(page.Of(c.n, now), 30)
			got := ""
			for _, l := range lines[:page.Needed(lines)] {
				got += l.Text
			}
			if !strings.HasSuffix(got, c.last) {
				t.Errorf("what is needed ends in %q, want %q", got[max(len(got)-80, 0):], c.last)
			}
		})
	}
}

// What was called before is read in passing: it is broken between words. A call that is
// decided is shown as it is written, up to the edge.
func TestOnlyTheCallItselfIsBrokenInsideWords(t *testing.T) {
	lines := []page.Line{
		{Label: "  | ", Text: "allowed: Bash: grep what I would look for"},
		{Label: "  | ", Text: "allowed: Bash: grep what I would look for", More: true},
	}
	const want = "" +
		"  | allowed: Bash: grep what I would l\n" +
		"  | ook for\n" +
		"  | allowed: Bash: grep what I would \n" +
		"  | look for\n"
	if diff := cmp.Diff(want, page.Text(lines, 38, false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatMustBeTyped(t *testing.T) {
	for _, c := range []struct {
		name string
		n    sdk.Notice
		want string
	}{
		{"a letter will do", request(nil), ""},
		{"not for a high risk", request(func(n *sdk.Notice) { n.Risk = sdk.RiskHigh }), "approve"},
		{"nor for an unknown one", request(func(n *sdk.Notice) { n.Risk = "" }), "approve"},
		{"nor where something is hidden", request(func(n *sdk.Notice) { n.Hidden = 1 }), "approve"},
		{"nor where not all is shown", request(func(n *sdk.Notice) { n.Whole = false }), "approve"},
		{"a critical one names what it is about, never the tool", request(func(n *sdk.Notice) { n.Risk, n.Subject, n.Call.Target = sdk.RiskCritical, "./build", "Bash" }), "approve ./build"},
		{"or its gate", request(func(n *sdk.Notice) { n.Risk, n.Subject, n.Gate = sdk.RiskCritical, "", "deploy" }), "approve deploy"},
		{"or itself", request(func(n *sdk.Notice) { n.Risk, n.Subject, n.Gate = sdk.RiskCritical, "", "" }), "approve r1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := page.Word(c.n); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// ours are the beginnings of lines that no text of a call can have.
var ours = regexp.MustCompile(`^(risk       medium|agent      claude|door       anthropic|tool       Bash|time left  |digest     0123456789ab|request    r1|status     pending|session    s1|gate       shell|what       |what$|why        |why$|asked      |-- |  |$)`)

// FuzzPage puts one text into every place that an agent's words can reach.
func FuzzPage(f *testing.F) {
	for _, s := range []string{"rm -rf x", "a\x1b[2J\nrisk       low", strings.Repeat(" ", 90) + "risk       low", "\u202e\u200b\r", "漢字漢字", "\xff"} {
		f.Add(s, 40)
		f.Add(s, 200)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 40 + max(width, 0)%161
		n := request(func(n *sdk.Notice) {
			n.Summary, n.Message, n.Why = s, s, []string{s}
			n.Agent.ID, n.Call.Target = "claude", "Bash"
			n.Sections = []sdk.Section{{Title: s, Kind: "command", Lines: []string{s}}, {Kind: sdk.KindSaid, Lines: []string{s}}}
		})
		lines := page.Of(n, now)
		text := page.Text(lines, width, false)
		if strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), unicode.IsControl) {
			t.Errorf("a control character: %q", text)
		}
		var whole, wrapped strings.Builder
		for _, l := range lines {
			whole.WriteString(l.Text)
		}
		for _, l := range page.Wrap(lines, width) {
			wrapped.WriteString(l.Text)
		}
		if whole.String() != wrapped.String() {
			t.Error("wrapping loses text")
		}
		for l := range strings.Lines(text) {
			if !ours.MatchString(strings.TrimSuffix(l, "\n")) {
				t.Errorf("a line that is not the page's own begins at the edge: %q", l)
			}
		}
	})
}

func TestSQLHasColour(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"DELETE FROM a", "\x1b[1;31mDELETE\x1b[0m \x1b[1;36mFROM\x1b[0m a"},
		{"update a set b = 'drop it'", "\x1b[1;31mupdate\x1b[0m a \x1b[1;36mset\x1b[0m b = \x1b[32m'drop it'\x1b[0m"},
		{"x.selected, 'é", "x.selected, \x1b[32m'é\x1b[0m"},
		{"'", "\x1b[32m'\x1b[0m"},
	} {
		l := page.Line{Label: "  | ", Text: c.line, SQL: true}
		if got := l.String(true); got != "  | "+c.want {
			t.Errorf("%q is %q, want %q", c.line, got, c.want)
		}
		if got := l.String(false); got != "  | "+c.line {
			t.Errorf("%q without colour is %q", c.line, got)
		}
	}
	n := request(func(n *sdk.Notice) {
		n.Sections = []sdk.Section{{Title: "statements", Kind: "sql", Lines: []string{"DROP TABLE a"}}}
	})
	if got := page.Text(page.Of(n, now), 80, true); !strings.Contains(got, "\x1b[1;31mDROP\x1b[0m") {
		t.Errorf("a statement has no colour:\n%s", got)
	}
}

// What policy says of a request is shown once: by the reasons, or beside them.
func TestPolicysMessageIsShownOnce(t *testing.T) {
	t.Parallel()
	const reason = "It deploys."
	command := []sdk.Section{{Title: "command", Kind: "command", Lines: []string{"kubectl apply", "  -f x.yaml"}}}
	for message, c := range map[string]struct {
		reason string
		why    []string
		want   string // beside the reasons; empty: nothing
	}{
		reason:                        {reason, []string{"r: It deploys."}, ""},
		reason + " Ask Bob.":          {reason, []string{"r: It deploys. Ask Bob."}, ""},
		reason + " Ask Carol.":        {reason, []string{"r: It deploys."}, "Ask Carol."},
		reason + " Ask Dora, she … x": {reason, []string{"r: It deploys. Ask … x"}, "Ask Dora, she … x"},
		"Ask Eve.":                    {"", []string{"r: other"}, "Ask Eve."},
		"Ask Fay.\nSoon.":             {"", nil, "Ask Fay."},
		reason + " It would touch: kubectl apply -f x.yaml":        {reason, []string{"r: It deploys."}, ""},
		reason + " It would touch: kubectl apply -f x.yaml; prod":  {reason, []string{"r: It deploys."}, "It would touch: kubectl"},
		reason + " Now. It would touch: kubectl apply -f x.yaml":   {reason, []string{"r: It deploys."}, "Now. It would touch"},
		reason + " It would touch: kubectl apply -f x.yaml; /prod": {reason, []string{"r: It deploys.", "writes /prod: outside"}, ""},
	} {
		n := sdk.Notice{ID: "r1", Status: "pending", Rule: "r", Reason: c.reason, Message: message, Why: c.why, Sections: command}
		text := page.Text(page.Of(n, time.Time{}), 200, false)
		_, asked, shown := strings.Cut(text, "asked ")
		if shown != (c.want != "") || !strings.HasPrefix(strings.TrimSpace(asked), c.want) {
			t.Errorf("%q: want %q\n%s", message, c.want, text)
		}
	}
}
