package rego

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/policies"
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
		{"a slip in a decision is refused", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": lower(\"DNEY\"), \"rule\": \"a\"}\n"}, "ls", holdgate.Deny, holdgate.RulePolicyError},
		{"a decision that is no object is refused", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := lower(\"deny\")\n"}, "ls", holdgate.Deny, holdgate.RulePolicyError},
		{"a decision without an action is refused", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecisions contains object.remove({\"action\": \"deny\", \"rule\": \"a\"}, [\"action\"])\n"}, "ls", holdgate.Deny, holdgate.RulePolicyError},
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

// TestAComputedIDOfAShippedRuleIsRefused holds that no rule of the user's is answered
// by what people said to a rule of the pack.
func TestAComputedIDOfAShippedRuleIsRefused(t *testing.T) {
	e := open(t, Options{Path: write(t, own(`decisions contains {"action": "hold", "rule": concat(".", ["files", "delete"]), "reason": "mine"} if input.tool`))})
	in := Input{Call: bashCall("ls"), Answers: []Answer{{Rule: "files.delete", Decision: holdgate.AnswerApprove}}}
	if d := e.Decide(t.Context(), in); d.Action != holdgate.Deny || d.Rule != "custom.id_taken" || !strings.Contains(d.Reason, `"files.delete"`) {
		t.Errorf("got %v by %s: %s", d.Action, d.Rule, d.Reason)
	}
}

// TestAComputedSlipIsNamed holds that a decision which cannot be read names its rule
// and the field.
func TestAComputedSlipIsNamed(t *testing.T) {
	e := open(t, Options{Path: write(t, own(`decisions contains {"action": "hold", "rule": "team.two", "hold": {"approvers": {word: 2}}} if {
	input.tool
	word := lower("QUOROM")
}`))})
	d := e.Decide(t.Context(), Input{Call: bashCall("ls")})
	for _, part := range []string{`the rule "team.two"`, "a.rego:3", `decision.hold.approvers has no field "quorom": did you mean "quorum"?`} {
		if d.Rule != holdgate.RulePolicyError || !strings.Contains(d.Reason, part) {
			t.Errorf("got %v by %s: %s\nwant it to say %s", d.Action, d.Rule, d.Reason, part)
		}
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
		{"so is one in an agent's wrapper", `tools: {gadgets/frob: deny}`, wrappedTool("gadgets", "frob"), holdgate.Deny, "tools.setting"},
		{"or all of its server", `tools: {"gadgets/*": deny, use_mcp_tool: auto}`, wrappedTool("gadgets", "frob"), holdgate.Deny, "tools.setting"},
		{"the wrapper's own line counts where the tool has none", `tools: {use_mcp_tool: deny}`, wrappedTool("gadgets", "frob"), holdgate.Deny, "tools.setting"},
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

// own is a package over the pack.
func own(rules string) map[string]string {
	return map[string]string{"a.rego": "package holdgate.custom.a\n\n" + rules + "\n"}
}

// wrappedTool is serverTool as agents send it that have one tool for all servers.
func wrappedTool(server, name string) holdgate.Call {
	c := serverTool("", "use_mcp_tool")
	c.Tool.Arguments = fmt.Appendf(nil, `{"server_name":%q,"tool_name":%q,"arguments":"{\"level\":3}"}`, server, name)
	return c
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
		{"an unknown action", own(`decision := {"action": "block", "rule": "a"}`), []string{`a.rego:3`, `"block"`, `did you mean "deny"?`}},
		{"an unknown field deep in a decision", own(`decisions contains {
	"action": "hold", "rule": "a",
	"hold": {"approvers": {
		"quorom": 2,
	}},
} if input.tool`), []string{`a.rego:6`, `decision.hold.approvers has no field "quorom"`, `did you mean "quorum"?`}},
		{"all slips at once", own(`decisions contains {"action": "hold", "risk": "sever", "reasons": "x"}

decisions contains {"rule": "b"}`), []string{`a.rego:3: decision.risk`, `a.rego:3: decision has no field "reasons": did you mean "reason"?`, `a.rego:5: decision has no action`}},
		{"a slip beside what is computed", own(`decisions contains {"action": "hold", "rule": input.tool.name, "hold": {"timeout": "ten minutes", "message": lower("X")}}`), []string{`a.rego:3`, `decision.hold.timeout`}},
		{"a slip in a variable", own(`decisions contains d if {
	input.tool
	d := {"acton": "hold"}
}`), []string{`a.rego:5`, `"acton"`}},
		{"a slip in an else", own(`decision := {"action": "hold"} if input.tool

else := {"action": "hodl"}`), []string{`a.rego:5`, `did you mean "hold"?`}},
		{"a slip in what is joined to a decision", own(`decisions contains object.union(data.holdgate.ask("a", "high", "x", []), {"hold": {"on_timout": "deny"}})`), []string{`a.rego:3`, `"on_timeout"`}},
		{"a slip in a risk", own(`decisions contains data.holdgate.ask("a", "hihg", "x", [])`), []string{`a.rego:3`, `did you mean "high"?`}},
		{"a slip in a rule of one's own", own(`decisions contains {"action": "hold", "hold": leads}

leads := {"approvers": {"rols": ["leads"]}}`), []string{`a.rego:5`, `"roles"`}},
		{"a slip in a function", own(`decisions contains asks("x") if input.tool

asks(why) := {"action": "hold", "resaon": why}`), []string{`a.rego:5`, `"reason"`}},
		{"a slip in a set that is gone through", own(`decisions contains d if some d in all

all contains {"action": "holdd"} if input.tool`), []string{`a.rego:5`, `"hold"`}},
		{"a list that is none", own(`decisions contains {"action": "hold", "hold": {"approvers": {"roles": "leads"}}}`), []string{`a.rego:3`, `decision.hold.approvers.roles is of type string: want a list`}},
		{"what silence cannot approve", own(`decisions contains {"action": "hold", "hold": {"required": true, "on_timeout": "approve"}}`), []string{`a.rego:3`, `silence cannot approve`}},
		{"a slip in another file of one's own", map[string]string{"a.rego": "package holdgate.custom.a\n\nimport data.lib\n\ndecisions contains lib.asks\n", "lib.rego": "package lib\n\nasks := {\"action\": \"bock\"}\n"}, []string{"lib.rego:3", "bock"}},
		{"a slip in a part of a decision", map[string]string{"a.rego": whole("decision.action := \"hold\"\n\ndecision.hold.aprovers.quorum := 2")}, []string{"a.rego:5", `"approvers"`}},
		{"a slip among names that go round", own("decisions contains d if {\n\tinput.tool\n\te = {\"action\": \"hlod\"}\n\td = object.union(e, e)\n\te = d\n}"), []string{"a.rego:5", `"hold"`}},
		{"a shipped rule's id in a helper", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecisions contains data.lib.asks\n", "lib.rego": "package lib\n\nasks := {\"action\": \"hold\", \"rule\": \"files.delete\"}\n"}, []string{"lib.rego:3", `"own.files.delete"`}},
		{"one id in two packages", map[string]string{"a.rego": "package holdgate.custom.a\n\ndecision := {\"action\": \"hold\", \"rule\": \"ask\"}\n", "b.rego": "package holdgate.custom.b\n\ndecision := {\"action\": \"hold\", \"rule\": \"ask\"}\n"}, []string{"b.rego:3", `"ask"`, "holdgate.custom.a", "a.rego:3"}},
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

// Who changes more than settings can, begins with a copy of the pack.
func TestACopyOfThePackIsAWholePolicy(t *testing.T) {
	path := t.TempDir()
	if err := os.CopyFS(path, policies.FS); err != nil {
		t.Fatal(err)
	}
	if l, err := Check(t.Context(), Options{Path: path}); err != nil || !l.Whole {
		t.Fatalf("got %+v, %v", l, err)
	}
	for command, want := range map[string]string{"rm -rf ../x": "files.delete", "ls": "default"} {
		d := open(t, Options{Path: path}).Decide(t.Context(), Input{Call: bashCall(command)})
		if shipped := open(t, Options{}).Decide(t.Context(), Input{Call: bashCall(command)}); d.Rule != want || shipped.Rule != want || d.Reason != shipped.Reason {
			t.Errorf("%s: got %s (%s), and of the shipped one %s (%s)", command, d.Rule, d.Reason, shipped.Rule, shipped.Reason)
		}
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
