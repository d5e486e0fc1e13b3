package rego

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
)

const custom = `package holdgate.custom.team

decisions contains {"action": "deny", "rule": "team.no_make", "reason": "Not make."} if {
	some c in input.facts.commands
	c.program == "make"
}
`

func TestOwnRulesLieOverThePack(t *testing.T) {
	for _, tt := range []struct {
		name    string
		files   map[string]string
		command string
		want    holdgate.Action
		rule    string
	}{
		{"the strictest wins", map[string]string{"a.rego": custom}, "make && rm x", holdgate.Deny, "team.no_make"},
		{"the pack goes on", map[string]string{"a.rego": custom}, "rm x", holdgate.Hold, "files.delete"},
		{"an allow loosens nothing", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": \"allow\", \"rule\": \"all\"}\n"}, "rm x", holdgate.Hold, "files.delete"},
		{"one decision counts as well", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": \"deny\", \"rule\": \"none\"}\n"}, "ls", holdgate.Deny, "none"},
		{"a package without a name counts", map[string]string{"a.rego": "package holdgate.custom\n\ndecisions contains {\"action\": \"deny\", \"rule\": \"none\"}\n"}, "ls", holdgate.Deny, "none"},
		{"two packages count", map[string]string{
			"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": \"hold\", \"rule\": \"a\"}\n",
			"b.rego": "package holdgate.custom.b\n\ndecision := {\"action\": \"deny\", \"rule\": \"b\"}\n",
		}, "ls", holdgate.Deny, "b"},
		{"a rule that observes does not hide one that holds", map[string]string{
			"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": \"deny\", \"rule\": \"a\", \"observe\": true}\n",
		}, "rm x", holdgate.Hold, "files.delete"},
		{"a slip in a decision is refused", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": \"dney\", \"rule\": \"a\"}\n"}, "ls", holdgate.Deny, holdgate.RulePolicyError},
		{"a decision that is no object is refused", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := \"deny\"\n"}, "ls", holdgate.Deny, holdgate.RulePolicyError},
		{"a decision without an action is refused", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecisions contains {\"rule\": \"a\"}\n"}, "ls", holdgate.Deny, holdgate.RulePolicyError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := open(t, Options{Path: write(t, tt.files)})
			if e.Loaded().Whole {
				t.Error("the policy is said to replace the pack")
			}
			d := e.Decide(t.Context(), Input{Call: bashCall(tt.command)})
			if d.Action != tt.want || d.Rule != tt.rule {
				t.Errorf("got %v by %s (%s), want %v by %s", d.Action, d.Rule, d.Reason, tt.want, tt.rule)
			}
		})
	}
}

func TestAnswersSatisfyOwnRules(t *testing.T) {
	e := open(t, Options{Path: write(t, map[string]string{
		"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": \"hold\", \"rule\": \"a\"}\n",
	})})
	in := Input{Call: bashCall("rm x"), Answers: []Answer{{Rule: "a", Decision: holdgate.AnswerApprove}}}
	if d := e.Decide(t.Context(), in); d.Rule != "files.delete" {
		t.Errorf("after one answer: got %v by %s, want the next question", d.Action, d.Rule)
	}
	in.Answers = append(in.Answers, Answer{Rule: "files.delete", Decision: holdgate.AnswerApprove})
	if d := e.Decide(t.Context(), in); d.Action != holdgate.Allow {
		t.Errorf("after both answers: got %v by %s, want allow", d.Action, d.Rule)
	}
}

func TestSettingsAreLaidOverThePack(t *testing.T) {
	for _, tt := range []struct {
		name     string
		settings string
		call     holdgate.Call
		want     holdgate.Action
		rule     string
	}{
		{"a tool is refused", `tools: {Bash: deny}`, bashCall("ls"), holdgate.Deny, "tools.setting"},
		{"a tool is asked about", `tools: {Bash: ask}`, bashCall("ls"), holdgate.Hold, "tools.setting"},
		{"a tool of a server passes", `tools: {gadgets/frob: auto}`, serverTool("gadgets", "frob"), holdgate.Allow, "default"},
		{"all tools of a server pass", `tools: {"gadgets/*": auto}`, serverTool("gadgets", "frob"), holdgate.Allow, "default"},
		{"the name counts more than the star", `tools: {"gadgets/*": auto, gadgets/frob: deny}`, serverTool("gadgets", "frob"), holdgate.Deny, "tools.setting"},
		{"a name of the model's side is the same tool", `tools: {gadgets/frob: deny}`, serverTool("", "mcp__gadgets__frob"), holdgate.Deny, "tools.setting"},
		{"all other tools are refused", `tools: {"*": deny}`, serverTool("gadgets", "frob"), holdgate.Deny, "tools.setting"},
		{"auto loosens nothing else", `tools: {Bash: auto}`, bashCall("rm x"), holdgate.Hold, "files.delete"},
		{"what a tool does is told", `tool_categories: {gadgets/frob: read}`, serverTool("gadgets", "frob"), holdgate.Allow, "default"},
		{"by its name on the model's side too", `tool_categories: {gadgets/frob: read}`, serverTool("", "mcp__gadgets__frob"), holdgate.Allow, "default"},
		{"and for that server alone", `tool_categories: {gadgets/frob: read}`, serverTool("widgets", "frob"), holdgate.Hold, "tools.unknown"},
		{"a category of one's own makes stricter too", `tool_categories: {gadgets/list_all: message}`, serverTool("gadgets", "list_all"), holdgate.Hold, "tools.message"},
		{"a command becomes harmless", `commands: {frobnicate: pass}`, bashCall("frobnicate -a"), holdgate.Allow, "default"},
		{"one subcommand changes, others stay", `commands: {git: {push: pass}}`, bashCall("git push && git reset --hard"), holdgate.Hold, "git.discard"},
		{"a model is not on the list", `model: {allow: [openai/*]}`, modelCall(), holdgate.Deny, "model.not_allowed"},
		{"a model is on the list", `model: {allow: [anthropic/*]}`, modelCall(), holdgate.Allow, "default"},
		{"an exception lifts a rule", `exceptions: [{rule: files.delete, reason: fine, match: {about: [x]}}]`, bashCall("rm x"), holdgate.Allow, "default"},
		{"an exception lifts no more than it says", `exceptions: [{rule: files.delete, reason: fine, match: {about: [x]}}]`, bashCall("rm x y"), holdgate.Hold, "files.delete"},
		{"an exception ends", `exceptions: [{rule: files.delete, reason: fine, until: "2020-01-01T00:00:00Z"}]`, bashCall("rm x"), holdgate.Hold, "files.delete"},
		{"an exception for another agent is none", `exceptions: [{rule: files.delete, reason: fine, match: {agent: bob}}]`, bashCall("rm x"), holdgate.Hold, "files.delete"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := open(t, Options{Path: write(t, map[string]string{"settings.yaml": "settings:\n  " + tt.settings + "\n"})})
			d := e.Decide(t.Context(), Input{Call: tt.call})
			if d.Action != tt.want || d.Rule != tt.rule {
				t.Errorf("got %v by %s (%s), want %v by %s", d.Action, d.Rule, d.Reason, tt.want, tt.rule)
			}
		})
	}
}

func serverTool(server, name string) holdgate.Call {
	c := bashCall("")
	c.Tool = &holdgate.Tool{Server: server, Name: name, Arguments: []byte(`{"level":3}`)}
	return c
}

func TestWhatDoesNotLoad(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"a syntax error", map[string]string{"a.rego": "package holdgate\n\ndecision := {"}, []string{"a.rego:3"}},
		{"an unknown function", map[string]string{"a.rego": whole("decision := {\"action\": frob(1)}")}, []string{"a.rego:3", "frob"}},
		{"http.send", map[string]string{"a.rego": whole("decision := {\"action\": http.send({\"url\": \"http://localhost\", \"method\": \"get\"}).body}")}, []string{"a.rego:3", "http.send", "cannot use"}},
		{"opa.runtime", map[string]string{"a.rego": whole("decision := {\"action\": opa.runtime().env.X}")}, []string{"a.rego:3", "opa.runtime"}},
		{"net.lookup_ip_addr", map[string]string{"a.rego": whole("decision := {\"action\": net.lookup_ip_addr(\"localhost\")}")}, []string{"a.rego:3", "net.lookup_ip_addr"}},
		{"rand.intn", map[string]string{"a.rego": whole("decision := {\"action\": rand.intn(\"a\", 2)}")}, []string{"a.rego:3", "rand.intn"}},
		{"a mistyped field of input", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": \"deny\"} if input.tol.name == \"x\"\n"}, []string{"a.rego:3", "input.tol"}},
		{"a mistyped fact", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": \"deny\"} if input.facts.comands\n"}, []string{"a.rego:3", "comands"}},
		{"rules in the pack's package", map[string]string{"a.rego": "package holdgate\n\ndecisions contains {\"action\": \"deny\"}\n"}, []string{"a.rego", "holdgate.custom.NAME"}},
		{"rules in another package of the pack", map[string]string{"a.rego": "package holdgate.rules\n\ndecision := 1\n"}, []string{"a.rego", "holdgate.custom.NAME"}},
		{"rules that nobody asks", map[string]string{"a.rego": "package mine\n\ndecision := {\"action\": \"deny\"}\n"}, []string{"ever asked"}},
		{"a shipped rule's id", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecisions contains {\"action\": \"hold\", \"rule\": \"files.delete\"}\n"}, []string{"a.rego:3", `"files.delete"`, `"own.files.delete"`}},
		{"rules too deep to be asked", map[string]string{"a.rego": "package holdgate.custom.a.b\n\ndecision := {\"action\": \"deny\"}\n"}, []string{"a.rego:3", "too deep"}},
		{"decisions that are no set", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecisions := [{\"action\": \"deny\"}]\n"}, []string{"a.rego:3", "contains"}},
		{"a decision that is a set", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision contains {\"action\": \"deny\"}\n"}, []string{"a.rego:3", "one object"}},
		{"data in the place of rules", map[string]string{"d.json": `{"holdgate": {"decision": {"action": "allow"}}}`}, []string{"d.json", "holdgate", "settings"}},
		{"data in a folder in the place of rules", map[string]string{"holdgate/data.json": `{"decision": {"action": "allow"}}`}, []string{"data.json", "settings"}},
		{"data that is given twice", map[string]string{"a.json": `{"mine": {"a": 1}}`, "b.json": `{"mine": {"a": 2}}`}, []string{"b.json", "mine.a"}},
		{"an unknown setting", map[string]string{"s.yaml": "settings: {exeptions: []}"}, []string{"exeptions"}},
		{"an unknown word in a setting", map[string]string{"s.yaml": "settings: {tools: {Bash: always}}"}, []string{"tools.Bash"}},
		{"an exception without a reason", map[string]string{"s.yaml": "settings: {exceptions: [{rule: secrets}]}"}, []string{"reason"}},
		{"an exception whose end cannot be read", map[string]string{"s.yaml": "settings: {exceptions: [{rule: secrets, reason: fine, until: tomorrow}]}"}, []string{"until"}},
		{"an unknown class of a command", map[string]string{"s.yaml": "settings: {commands: {make: fine}}"}, []string{"commands"}},
		{"broken YAML", map[string]string{"s.yaml": "settings: {a: ["}, []string{"s.yaml"}},
		{"an empty folder", map[string]string{"README.md": "nothing"}, []string{"there is no"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.files)
			_, err := Check(t.Context(), Options{Path: path})
			if err == nil {
				t.Fatal("it loads")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %v\nwant it to name %q", err, part)
				}
			}
		})
	}
}

func TestPathIsMissing(t *testing.T) {
	if _, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "nothing")}); err == nil {
		t.Error("Open took a path that is not there")
	}
}

func TestOneFileIsAPolicy(t *testing.T) {
	path := filepath.Join(write(t, map[string]string{"p.rego": whole(`decision := {"action": "allow"}`)}), "p.rego")
	l, err := Check(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if !l.Whole || l.Modules != 1 || l.Path != path || l.Revision == "" {
		t.Errorf("got %+v", l)
	}
}

func TestLinksAreFollowedOrRefused(t *testing.T) {
	files := write(t, map[string]string{"v1/p.rego": custom})
	dir := t.TempDir()
	// As Kubernetes lays out a ConfigMap.
	if err := os.Symlink(filepath.Join(files, "v1"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..data", "p.rego"), filepath.Join(dir, "p.rego")); err != nil {
		t.Fatal(err)
	}
	d := open(t, Options{Path: dir}).Decide(t.Context(), Input{Call: bashCall("make")})
	if d.Rule != "team.no_make" {
		t.Errorf("through a link: got %v by %s", d.Action, d.Rule)
	}
	if err := os.Symlink(files, filepath.Join(dir, "more")); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(t.Context(), Options{Path: dir}); err == nil || !strings.Contains(err.Error(), "link to a folder") {
		t.Errorf("a link to a folder: got %v", err)
	}
}

func TestRevisionChangesWithModulesAndData(t *testing.T) {
	revision := func(files map[string]string) string {
		l, err := Check(t.Context(), Options{Path: write(t, files)})
		if err != nil {
			t.Fatal(err)
		}
		return l.Revision
	}
	base := revision(map[string]string{"a.rego": custom})
	if again := revision(map[string]string{"a.rego": custom}); again != base {
		t.Errorf("the same files: got %s and %s", base, again)
	}
	if other := revision(map[string]string{"a.rego": custom + "\n# more\n"}); other == base {
		t.Error("another module, the same revision")
	}
	if other := revision(map[string]string{"a.rego": custom, "d.json": `{"mine": 1}`}); other == base {
		t.Error("more data, the same revision")
	}
}
