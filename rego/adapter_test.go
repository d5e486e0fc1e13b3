package rego

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
)

// aiSDK is a policy as one would write it for @ai-sdk/policy-opa.
const aiSDK = `package agent.call

decision := {"decision": "deny", "reason": "No shell."} if {
	input.tool.name == "shell"
} else := {"decision": "requires-approval", "reason": "Payments need a person."} if {
	input.tool.name == "pay"
	input.args.amount > 100
} else := {"allow": false} if {
	input.tool.name == "old_no"
} else := {"allow": true} if {
	input.tool.name == "old_yes"
} else := {"decision": "not-applicable"} if {
	input.tool.name == "no_opinion"
} else := {"decision": "maybe"} if {
	input.tool.name == "unknown_word"
} else := "allow" if {
	input.tool.name == "a_string"
} else := {"allow": "yes"} if {
	input.tool.name == "no_boolean"
} else := null if {
	input.tool.name == "null"
} else := {"decision": "allow"} if {
	input.tool.name == "Read"
	count(input.messages) == 0
	input.runtimeContext.agent.id == "default"
}
`

// opaTools is a policy after OPA's guide to agent tool calling.
const opaTools = `package coding.tools

deny contains sprintf("Tool %s is not allowed.", [call.tool]) if {
	some call in input.tool_calls
	call.tool in {"Bash", "Write"}
}

deny contains "Only HTTPS." if {
	input.tool == "WebFetch"
	not startswith(input.params.url, "https://")
}

deny contains 7 if input.tool == "seven"
`

func toolCall(t *testing.T, name string, arguments any) holdgate.Call {
	t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	c := bashCall("")
	c.Tool = &holdgate.Tool{Name: name, Arguments: raw}
	return c
}

func TestPoliciesOfOtherProgramsAreAdapted(t *testing.T) {
	sdk := Options{Path: write(t, map[string]string{"p.rego": aiSDK}), Adapter: AdapterAISDK, Query: "data.agent.call.decision"}
	tools := Options{Path: write(t, map[string]string{"p.rego": opaTools}), Adapter: AdapterOPATools, Query: "coding.tools.deny"}
	for _, tt := range []struct {
		name      string
		o         Options
		tool      string
		arguments any
		want      holdgate.Action
		rule      string
		reason    string
	}{
		{"what it denies is denied, with its reason", sdk, "shell", nil, holdgate.Deny, "adapted.ai_sdk", "No shell."},
		{"what needs approval is held, with its reason", sdk, "pay", map[string]any{"amount": 500}, holdgate.Hold, "adapted.ai_sdk", "Payments need a person."},
		{"the older shape denies", sdk, "old_no", nil, holdgate.Deny, "adapted.ai_sdk", "no reason"},
		{"what the older shape allows is for the pack to say", sdk, "old_yes", nil, holdgate.Hold, "tools.unknown", ""},
		{"no opinion is for the pack to say", sdk, "no_opinion", nil, holdgate.Hold, "tools.unknown", ""},
		{"undefined is no opinion", sdk, "something", nil, holdgate.Hold, "tools.unknown", ""},
		{"null is no opinion", sdk, "null", nil, holdgate.Hold, "tools.unknown", ""},
		{"what both allow passes", sdk, "Read", map[string]any{"file_path": "main.go"}, holdgate.Allow, "default", ""},
		{"an unknown word is a policy error", sdk, "unknown_word", nil, holdgate.Deny, holdgate.RulePolicyError, "maybe"},
		{"a string is a policy error", sdk, "a_string", nil, holdgate.Deny, holdgate.RulePolicyError, "unknown shape"},
		{"an allow that is no boolean is a policy error", sdk, "no_boolean", nil, holdgate.Deny, holdgate.RulePolicyError, "unknown shape"},

		{"a message denies", tools, "Write", map[string]any{"file_path": "a"}, holdgate.Deny, "adapted.opa_tools", "Tool Write is not allowed."},
		{"one call is judged by itself too", tools, "WebFetch", map[string]any{"url": "http://a.example"}, holdgate.Deny, "adapted.opa_tools", "Only HTTPS."},
		{"no message is for the pack to say", tools, "Read", map[string]any{"file_path": "main.go"}, holdgate.Allow, "default", ""},
		{"a message that is no text is a policy error", tools, "seven", nil, holdgate.Deny, holdgate.RulePolicyError, "unknown shape"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := open(t, tt.o).Decide(t.Context(), Input{Call: toolCall(t, tt.tool, tt.arguments)})
			if d.Action != tt.want || d.Rule != tt.rule || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("got %v by %s: %s\nwant %v by %s: ...%s...", d.Action, d.Rule, d.Reason, tt.want, tt.rule, tt.reason)
			}
		})
	}
	t.Run("other kinds of call are not its business", func(t *testing.T) {
		if d := open(t, sdk).Decide(t.Context(), Input{Call: modelCall()}); d.Action != holdgate.Allow {
			t.Errorf("got %v by %s", d.Action, d.Rule)
		}
	})
}

func TestAdapterThatCannotAskDoesNotLoad(t *testing.T) {
	path := write(t, map[string]string{"p.rego": aiSDK})
	for _, tt := range []struct {
		name, want string
		o          Options
	}{
		{"an unknown adapter", "not known", Options{Path: path, Adapter: "cedar", Query: "data.a"}},
		{"no query", "needs the rule to ask", Options{Path: path, Adapter: AdapterAISDK}},
		{"a query that is none", "needs the rule to ask", Options{Path: path, Adapter: AdapterAISDK, Query: "data.a[_]"}},
		{"a query with more in it", "needs the rule to ask", Options{Path: path, Adapter: AdapterAISDK, Query: "data.a with input as {}"}},
		{"a query for a rule that is not there", "no rule", Options{Path: path, Adapter: AdapterAISDK, Query: "data.agent.call.decide"}},
		{"a query for Holdgate's own rules", "Holdgate's own", Options{Path: path, Adapter: AdapterAISDK, Query: "data.holdgate.decision"}},
		{"a query without an adapter", "only for policies with an adapter", Options{Path: path, Query: "data.agent.call.decision"}},
		{"no policy", "none for the adapter", Options{Adapter: AdapterAISDK, Query: "data.agent.call.decision"}},
		{"a policy for Holdgate itself", "defines data.holdgate.decision", Options{Path: write(t, map[string]string{
			"p.rego": whole(`decision := {"action": "allow"}`)}), Adapter: AdapterAISDK, Query: "data.agent.call.decision"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Check(t.Context(), tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error that says %q", err, tt.want)
			}
		})
	}
}
