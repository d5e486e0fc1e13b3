package rego

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/verdict"
)

// whole is a policy that replaces the pack, with the given rules.
func whole(rules string) string { return "package holdgate\n\n" + rules + "\n" }

// write puts files into a new folder and returns it.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range files {
		put(t, filepath.Join(dir, name), body)
	}
	return dir
}

func put(t testing.TB, name, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDecisionIsReadAsItIsWritten(t *testing.T) {
	path := write(t, map[string]string{"p.rego": whole(`decision := {
	"action": "hold", "rule": "r", "reason": "because", "risk": "high",
	"hold": {
		"gate": "before_commit", "kind": "choice", "message": "which?",
		"options": [{"id": "a", "label": "A", "effect": "approve"}, {"id": "b", "effect": "deny"}, {"id": "c", "other": true}],
		"timeout": "90s", "on_timeout": "deny", "required": true,
		"approvers": {"roles": ["ops"], "users": ["ada"], "quorum": 2, "assurance": "interactive", "four_eyes": true,
			"escalate": {{"after": "30m", "users": ["eve"]}, {"after": 600, "roles": ["leads"]}}},
		"allow": ["steer"], "show": ["diff"],
	},
	"redact": ["/tool/arguments/token"],
}`)})
	e := open(t, Options{Path: path})
	got := e.Decide(t.Context(), Input{Call: bashCall("ls")})
	want := holdgate.Decision{
		Action: holdgate.Hold, Rule: "r", Reason: "because", Risk: holdgate.RiskHigh,
		Hold: holdgate.HoldSpec{
			Gate: "before_commit", Kind: holdgate.RequestChoice, Message: "which?",
			Options: []holdgate.Option{{ID: "a", Label: "A", Effect: "approve"}, {ID: "b", Label: "b", Effect: "deny"}, {ID: "c", Label: "c", Effect: "steer", Other: true}},
			Timeout: 90 * time.Second, Required: true,
			Approvers: holdgate.Approvers{Roles: []string{"ops"}, Users: []string{"ada"}, Quorum: 2, Assurance: "interactive", FourEyes: true,
				Escalate: []holdgate.Escalation{{After: 10 * time.Minute, Roles: []string{"leads"}}, {After: 30 * time.Minute, Users: []string{"eve"}}}},
			Allow: []string{"steer"}, Show: []string{"diff"},
		},
		Redact:   []string{"/tool/arguments/token"},
		Revision: e.Loaded().Revision,
		Facts:    &holdgate.Facts{Category: "exec", Commands: []holdgate.Command{{Program: "ls", Argv: []string{"ls"}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}

func TestHoldWithoutDetailHasDefaults(t *testing.T) {
	e := open(t, Options{Path: write(t, map[string]string{"p.rego": whole(`decision := {"action": "hold"}`)})})
	got := e.Decide(t.Context(), Input{Call: bashCall("ls")})
	if diff := cmp.Diff(verdict.DefaultHold(), got.Hold); diff != "" {
		t.Errorf("hold (-want +got):\n%s", diff)
	}
	if got.Rule == "" || got.Reason == "" {
		t.Errorf("got rule %q, reason %q, want both", got.Rule, got.Reason)
	}
}

func TestWhatPolicyCannotMeanIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name, rules, reason string
	}{
		{"undefined", `decision := {"action": "allow"} if input.kind == "nothing"`, "undefined"},
		{"an error while evaluating", `decision := {"action": a} if a := ["allow", "hold"][_]`, "p.rego:3"},
		{"an error in a built-in", `decision := {"action": "allow"} if not to_number(input.tool.name)`, "to_number"},
		{"a string", `decision := "allow"`, "want an object"},
		{"a boolean", `decision := true`, "want an object"},
		{"a set of decisions", `decision contains {"action": "allow"}`, "want an object"},
		{"no action", `decision := {"rule": "r"}`, "has no action"},
		{"an unknown action", `decision := {"action": "permit"}`, `did you mean "allow"?`},
		{"an action in capitals", `decision := {"action": "Allow"}`, "Allow"},
		{"an action that is no string", `decision := {"action": 1}`, "want a string"},
		{"an unknown field", `decision := {"action": "allow", "allowed": true}`, `decision has no field "allowed"`},
		{"an unknown field of hold", `decision := {"action": "hold", "hold": {"time_out": "1h"}}`, `decision.hold has no field "time_out": did you mean "timeout"?`},
		{"an unknown risk", `decision := {"action": "hold", "risk": "huge"}`, "huge"},
		{"a rule in Holdgate's name", `decision := {"action": "allow", "rule": "holdgate.fine"}`, "holdgate."},
		{"a timeout that is none", `decision := {"action": "hold", "hold": {"timeout": "soon"}}`, "soon"},
		{"no time at all", `decision := {"action": "hold", "hold": {"timeout": 0}}`, "out of range"},
		{"a timeout beyond numbers", `decision := {"action": "hold", "hold": {"timeout": 1e300}}`, "timeout"},
		{"an unknown on_timeout", `decision := {"action": "hold", "hold": {"on_timeout": "allow"}}`, "on_timeout"},
		{"required, yet approved by silence", `decision := {"action": "hold", "hold": {"required": true, "on_timeout": "approve"}}`, "silence"},
		{"a choice without options", `decision := {"action": "hold", "hold": {"kind": "choice"}}`, "options"},
		{"options with one id", `decision := {"action": "hold", "hold": {"kind": "choice", "options": [{"id": "a"}, {"id": "a", "label": "b"}]}}`, "two options"},
		{"half a quorum", `decision := {"action": "hold", "hold": {"approvers": {"quorum": 1.5}}}`, "quorum"},
		{"an unknown assurance", `decision := {"action": "hold", "hold": {"approvers": {"assurance": "blood"}}}`, "blood"},
		{"an escalation at no time", `decision := {"action": "hold", "hold": {"approvers": {"escalate": [{"roles": ["a"]}]}}}`, "after"},
		{"an escalation to nobody", `decision := {"action": "hold", "hold": {"approvers": {"escalate": [{"after": "5m"}]}}}`, "neither roles nor users"},
		{"an unknown field of an escalation", `decision := {"action": "hold", "hold": {"approvers": {"escalate": [{"after": "5m", "role": "a"}]}}}`, `escalate has no field "role": did you mean "roles"?`},
		{"four eyes that are no boolean", `decision := {"action": "hold", "hold": {"approvers": {"four_eyes": 4}}}`, "four_eyes"},
		{"an unknown way to answer", `decision := {"action": "hold", "hold": {"allow": ["approve"]}}`, "allow"},
		{"a redaction that is no pointer", `decision := {"action": "allow", "redact": ["tool.arguments"]}`, "JSON pointer"},
		{"an observe that is no boolean", `decision := {"action": "deny", "observe": "yes"}`, "observe"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, map[string]string{"p.rego": whole(tt.rules)})
			if written, ok := strings.CutPrefix(tt.rules, "decision := "); ok && !strings.Contains(written, " if ") {
				if _, err := Open(t.Context(), Options{Path: path}); err == nil || !strings.Contains(err.Error(), "p.rego:3: ") || !strings.Contains(err.Error(), tt.reason) {
					t.Errorf("written out: %v, want an error that names p.rego:3 and %q", err, tt.reason)
				}
				path = write(t, map[string]string{"p.rego": whole("decision := data.given"), "p.json": `{"given": ` + written + "}"})
			}
			d := open(t, Options{Path: path}).Decide(t.Context(), Input{Call: bashCall("ls")})
			if d.Action != holdgate.Deny || d.Rule != holdgate.RulePolicyError || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("got %v by %s: %s\nwant deny by %s, naming %q", d.Action, d.Rule, d.Reason, holdgate.RulePolicyError, tt.reason)
			}
			d = open(t, Options{Path: path, Observe: true}).Decide(t.Context(), Input{Call: bashCall("ls")})
			if d.Action != holdgate.Deny {
				t.Errorf("observing: got %v, want deny: a policy that fails is no policy to observe", d.Action)
			}
			d = open(t, Options{Path: path, OnError: holdgate.Hold}).Decide(t.Context(), Input{Call: bashCall("ls")})
			if d.Action != holdgate.Hold || d.Hold.Timeout != time.Hour {
				t.Errorf("with on_error: hold: got %v for %v, want hold for 1h", d.Action, d.Hold.Timeout)
			}
		})
	}
}

func TestWhereNoPolicyAnswersSecretsAreRedacted(t *testing.T) {
	const key = "AKIAZQ3DRSTUVWXYZ2345"
	for _, tt := range []struct {
		name, rules, command string
		want                 []string
	}{
		{"an undefined decision", `decision := {"action": "allow"} if input.kind == "nothing"`, "AWS_ACCESS_KEY_ID=" + key[:20] + " aws s3 ls", []string{holdgate.RedactCredentials}},
		{"an error that could quote it", `decision := {"action": "allow"} if not to_number(input.tool.arguments.command)`, "AWS_ACCESS_KEY_ID=" + key[:20] + " aws s3 ls", []string{holdgate.RedactCredentials}},
		{"no secret", `decision := {"action": "allow"} if input.kind == "nothing"`, "ls", nil},
		{"what could not be read", `decision := {"action": "allow"} if input.kind == "nothing"`, "ls '", []string{"/tool/arguments", "/tool/arguments_raw"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t, Options{Path: write(t, map[string]string{"p.rego": whole(tt.rules)})}).Decide(t.Context(), Input{Call: bashCall(tt.command)})
			if d.Rule != holdgate.RulePolicyError {
				t.Fatalf("decided by %s: %s", d.Rule, d.Reason)
			}
			if diff := cmp.Diff(tt.want, d.Redact); diff != "" {
				t.Errorf("redacted (-want +got):\n%s", diff)
			}
			if strings.Contains(d.Reason, key[:20]) {
				t.Errorf("the reason quotes the secret: %s", d.Reason)
			}
		})
	}
}

// TestWhateverPolicySaysCredentialsAreRedacted holds that the pointers and texts
// of a decision hide credentials although the policy does nothing about them.
func TestWhateverPolicySaysCredentialsAreRedacted(t *testing.T) {
	const key = "AKIA" + "IOSFODNN7EXAMPLE"
	token := "q7Zr2Kx9Wm4T" + "n8Vb3Lp6Hs1D"
	gate := &holdgate.Gate{Type: "plan", Kind: holdgate.RequestApproval, Message: "with " + key}
	for _, tt := range []struct {
		name   string
		rules  string
		call   holdgate.Call
		want   []string
		secret string
	}{
		{"a policy that quotes arguments", `decision := {"action": "hold", "reason": input.tool.arguments.command, "hold": {"message": input.tool.arguments.command}}`,
			bashCall("echo " + key), []string{holdgate.RedactCredentials}, key},
		{"one that quotes what facts joined", `decision := {"action": "deny", "reason": concat(" ", input.facts.commands[0].argv)}`,
			bashCall(`curl -H "Authorization: Bear"'er ` + token[:9] + `''` + token[9:] + `' https://example.com/`), []string{"/tool/arguments/command"}, token},
		{"one that quotes it in parts", `decision := {"action": "deny", "reason": input.tool.arguments.command}`,
			bashCall(`A=AKIA; curl -u "${A}` + key[4:] + `" https://example.com/`), []string{"/tool/arguments/command"}, key[4:]},
		{"an allow", `decision := {"action": "allow", "reason": input.tool.arguments.command}`,
			bashCall("echo " + key), []string{holdgate.RedactCredentials}, key},
		{"an unknown word", `decision := {"action": input.tool.arguments.command}`,
			bashCall("echo " + key), []string{holdgate.RedactCredentials}, key},
		{"a gate, undefined", `decision := {"action": "allow"} if input.kind == "nothing"`,
			holdgate.Call{Kind: holdgate.KindGate, Gate: gate}, []string{"/gate/message"}, key},
		{"an HTTP request, undefined", `decision := {"action": "allow"} if input.kind == "nothing"`,
			holdgate.Call{Kind: holdgate.KindHTTPRequest, HTTP: &holdgate.HTTP{Method: "GET", Host: "example.com", Path: "/a", Query: "k=%41KIA" + key[4:]}}, []string{"/http/query"}, key},
		{"an MCP request, undefined", `decision := {"action": "allow"} if input.kind == "nothing"`,
			holdgate.Call{Kind: holdgate.KindMCPRequest, MCP: &holdgate.MCP{Server: "s", Method: "resources/read", Name: "db://u:" + token + "@h/"}}, []string{"/mcp/name"}, token},
		{"more than facts read", `decision := {"action": "allow"}`,
			bashCall(strings.Repeat("# nothing here\n", 30_000) + "echo " + key), []string{"/tool/arguments/command"}, key},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t, Options{Path: write(t, map[string]string{"p.rego": whole(tt.rules)}), KeepSeen: true}).Decide(t.Context(), Input{Call: tt.call})
			if diff := cmp.Diff(tt.want, d.Redact); diff != "" {
				t.Errorf("redacted by a decision of %s (-want +got):\n%s", d.Rule, diff)
			}
			if d.Hides() {
				d.Facts = nil // they are shown to nobody where a part is hidden as a whole
			}
			if said := fmt.Sprintf("%+v %s", d, d.Seen); strings.Contains(said, tt.secret) {
				t.Errorf("the decision quotes the secret: %s", said)
			}
		})
	}
}

func TestOpenRefusesToAllowOnError(t *testing.T) {
	if _, err := Open(t.Context(), Options{OnError: holdgate.Allow}); err == nil {
		t.Error("Open took OnError: allow")
	}
}

func TestLatePolicyIsRefused(t *testing.T) {
	path := write(t, map[string]string{"p.rego": whole(`decision := {"action": "allow"} if {
	some i in numbers.range(1, 100000)
	some j in numbers.range(1, 100000)
	i * j < 0
}`)})
	e := open(t, Options{Path: path, Timeout: 20 * time.Millisecond})
	start := time.Now()
	d := e.Decide(t.Context(), Input{Call: bashCall("ls")})
	if d.Action != holdgate.Deny || d.Rule != holdgate.RulePolicyError || !strings.Contains(d.Reason, "longer than 20ms") {
		t.Errorf("got %v by %s: %s", d.Action, d.Rule, d.Reason)
	}
	if !strings.Contains(d.Reason, "the same call again") {
		t.Errorf("the reason does not say what to do: %s", d.Reason)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("the evaluation ended after %v", took)
	}
}

func TestGivenUpCallIsRefused(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := open(t, Options{}).Decide(ctx, Input{Call: bashCall("ls")})
	if d.Action != holdgate.Deny {
		t.Errorf("got %v, want deny", d.Action)
	}
}

func TestObserve(t *testing.T) {
	hold := whole(`decision := {"action": "hold", "rule": "r"}`)
	observed := whole(`decision := {"action": "deny", "rule": "r", "observe": true}`)
	for _, tt := range []struct {
		name   string
		policy string
		all    bool
		action holdgate.Action
		would  string
	}{
		{"a hold is a hold", hold, false, holdgate.Hold, ""},
		{"all rules only observe", hold, true, holdgate.Allow, "hold"},
		{"one rule only observes", observed, false, holdgate.Allow, "deny"},
		{"an allow would be nothing else", whole(`decision := {"action": "allow"}`), true, holdgate.Allow, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := open(t, Options{Path: write(t, map[string]string{"p.rego": tt.policy}), Observe: tt.all})
			d := e.Decide(t.Context(), Input{Call: bashCall("ls")})
			would := ""
			if d.Would != nil {
				would = d.Would.String()
			}
			if d.Action != tt.action || would != tt.would {
				t.Errorf("got %v, would %q; want %v, would %q", d.Action, would, tt.action, tt.would)
			}
		})
	}
}

func TestAnswersSatisfyAWholePolicy(t *testing.T) {
	ask := whole(`decision := {"action": "hold", "rule": "r", "hold": {"gate": "g", "kind": "choice", "on_timeout": "approve",
	"options": [{"id": "go", "label": "Go"}, {"id": "no", "label": "No", "effect": "deny"}]}}`)
	e := open(t, Options{Path: write(t, map[string]string{"p.rego": ask})})
	strict := open(t, Options{Path: write(t, map[string]string{"p.rego": whole(`decision := {"action": "hold", "rule": "r", "hold": {"gate": "g"}}`)})})
	for _, tt := range []struct {
		name   string
		engine *Engine
		answer Answer
		want   holdgate.Action
	}{
		{"an approval", e, Answer{Rule: "r", Gate: "g", Decision: holdgate.AnswerApprove}, holdgate.Allow},
		{"an edit", e, Answer{Rule: "r", Gate: "g", Decision: holdgate.AnswerEdit}, holdgate.Allow},
		{"an option that approves", e, Answer{Rule: "r", Gate: "g", Decision: holdgate.AnswerChoose, Choice: "go"}, holdgate.Allow},
		{"an option that denies", e, Answer{Rule: "r", Gate: "g", Decision: holdgate.AnswerChoose, Choice: "no"}, holdgate.Hold},
		{"an option that is not there", e, Answer{Rule: "r", Gate: "g", Decision: holdgate.AnswerChoose, Choice: "x"}, holdgate.Hold},
		{"silence that approves", e, Answer{Rule: "r", Gate: "g", Decision: holdgate.AnswerTimeout}, holdgate.Allow},
		{"silence that does not", strict, Answer{Rule: "r", Gate: "g", Decision: holdgate.AnswerTimeout}, holdgate.Hold},
		{"a denial", e, Answer{Rule: "r", Gate: "g", Decision: holdgate.AnswerDeny}, holdgate.Hold},
		{"another rule's answer", e, Answer{Rule: "q", Gate: "g", Decision: holdgate.AnswerApprove}, holdgate.Hold},
		{"another gate's answer", e, Answer{Rule: "r", Decision: holdgate.AnswerApprove}, holdgate.Hold},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.engine.Decide(t.Context(), Input{Call: bashCall("ls"), Answers: []Answer{tt.answer}})
			if d.Action != tt.want {
				t.Errorf("got %v, want %v", d.Action, tt.want)
			}
		})
	}
}

func TestPolicySeesArguments(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
	}{
		{"by name", `input.tool.arguments.command == "ls"`},
		{"through tool", `x := input.tool; x.arguments.command == "ls"`},
		{"through input", `x := input; x.tool.arguments.command == "ls"`},
		{"by a built-in", `object.get(input, ["tool", "arguments", "command"], "") == "ls"`},
		{"by any name", `some part in ["tool"]; input[part].arguments.command == "ls"`},
		{"by walking", `walk(input, [["tool", "arguments", "command"], "ls"])`},
		{"in brackets", `input["tool"]["arguments"]["command"] == "ls"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, map[string]string{"p.rego": whole(`decision := {"action": "allow"} if { ` + tt.rule + ` }`)})
			if d := open(t, Options{Path: path}).Decide(t.Context(), Input{Call: bashCall("ls")}); d.Action != holdgate.Allow {
				t.Errorf("got %v: %s", d.Action, d.Reason)
			}
		})
	}
	p, err := load(t.Context(), spec{})
	if err != nil {
		t.Fatal(err)
	}
	if p.readsArguments || p.readsParams {
		t.Error("the shipped pack parses all arguments or params: it should read facts instead")
	}
}

func TestPolicySeesRequestsToMCPServers(t *testing.T) {
	path := write(t, map[string]string{"p.rego": whole(`decision := {"action": "allow"} if {
	input.mcp.server == "files"
	input.mcp.method == "resources/read"
	input.mcp.name == input.mcp.params.uri
}`)})
	e := open(t, Options{Path: path})
	c := holdgate.Call{Kind: holdgate.KindMCPRequest, MCP: &holdgate.MCP{
		Server: "files", Method: "resources/read", Name: "file:///x", Params: []byte(`{"uri":"file:///x"}`),
	}}
	if d := e.Decide(t.Context(), Input{Call: c}); d.Action != holdgate.Allow {
		t.Errorf("got %v: %s", d.Action, d.Reason)
	}
	c.MCP.Params = []byte(`{"uri":"file:///y","uri":"file:///x"}`)
	if d := e.Decide(t.Context(), Input{Call: c}); d.Rule != holdgate.RulePolicyError {
		t.Errorf("duplicate keys: got %v by %s, want deny by %s", d.Action, d.Rule, holdgate.RulePolicyError)
	}
}

func TestArgumentsWithDuplicateKeysAreRefused(t *testing.T) {
	path := write(t, map[string]string{"p.rego": whole(`decision := {"action": "allow"} if input.tool.arguments`)})
	c := bashCall("")
	c.Tool.Arguments = []byte(`{"command":"ls","command":"rm -rf /"}`)
	d := open(t, Options{Path: path}).Decide(t.Context(), Input{Call: c})
	if d.Action != holdgate.Deny || d.Rule != holdgate.RulePolicyError {
		t.Errorf("got %v by %s, want deny", d.Action, d.Rule)
	}
}

func TestEvalCompletesInput(t *testing.T) {
	e := open(t, Options{})
	d, err := e.Eval(t.Context(), []byte(`{"kind":"tool_call","tool":{"name":"Bash","arguments":{"command":"rm -rf build"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if d.Action != holdgate.Hold || d.Rule != "files.delete" {
		t.Errorf("got %v by %s: %s", d.Action, d.Rule, d.Reason)
	}
	for _, bad := range []string{`[]`, `{`, `{"kind":"a","kind":"b"}`, `{} {}`} {
		if _, err := e.Eval(t.Context(), []byte(bad)); err == nil {
			t.Errorf("Eval(%s) took it", bad)
		}
	}
}

func TestPanicWhileEvaluatingIsAnError(t *testing.T) {
	p := open(t, Options{}).current.Load()
	_, _, err := p.decide(t.Context(), DefaultTimeout, &p.query, func() (ast.Value, time.Time, error) { panic("boom") })
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v, want an error that names the panic", err)
	}
}
