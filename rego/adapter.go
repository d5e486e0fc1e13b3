package rego

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate/rego/ruleset"
)

// Adapter names a shape in which policies for other programs say what they
// decide. An adapted policy is added to the shipped pack, as own rules are: what it
// denies is denied and what it wants approved is held; what it allows, or has
// no opinion on, is for the pack to say.
type Adapter string

// The adapters.
const (
	// AdapterNone is for policies that are written for Holdgate.
	AdapterNone Adapter = ""
	// AdapterAISDK is the shape of @ai-sdk/policy-opa: of input {tool: {name},
	// args, messages, runtimeContext}, a decision {decision, reason} of allow,
	// deny, requires-approval or not-applicable, or {allow: true or false}.
	// Unlike there, a value of another shape does not let the call through.
	AdapterAISDK Adapter = "ai-sdk"
	// AdapterOPATools is the shape of OPA's guide "Agent Tool Calling": of input
	// {tool_calls: [{tool, params}]}, a set of reasons to deny; for policies that
	// judge one call by itself tool and params stand beside tool_calls.
	AdapterOPATools Adapter = "opa-tools"
)

// adapterPackage is where what an adapted policy says joins the pack.
const adapterPackage = "holdgate.custom.adapted"

// adapterName stands for the file of the adapter in errors.
const adapterName = "(adapter)/adapted.rego"

// An adapter is how to ask a policy that was written for another program.
type adapter struct {
	kind  Adapter
	query string // the rule to ask, such as data.agent.call.decision
}

// The decisions that the pack takes up. An answer of an unknown shape becomes
// an action that nobody knows, which is refused as a policy error.
const adaptAISDK = `
answer := value if {
	value := data.%s with input as {
		"tool": {"name": input.tool.name},
		"args": input.tool.arguments,
		"messages": [],
		"runtimeContext": {"agent": input.agent, "session": input.session, "door": input.door},
	}
	value != null
}

said := answer.decision if {
	is_string(answer.decision)
} else := "allow" if {
	answer.allow == true
} else := "deny" if {
	answer.allow == false
} else := "an answer of unknown shape" if {
	answer != null
}

decisions contains {
	"action": object.get({"requires-approval": "hold"}, said, said),
	"rule": "adapted.ai_sdk",
	"risk": "medium",
	"reason": reason,
} if {
	input.kind == "tool_call"
	said
	not said in {"allow", "not-applicable"}
}

default reason := "The policy gives no reason."

reason := answer.reason if is_string(answer.reason)
`

const adaptOPATools = `
answer := value if {
	call := {"tool": input.tool.name, "params": input.tool.arguments}
	value := data.%s with input as object.union(call, {"tool_calls": [call]})
	value != null
}

decisions contains {
	"action": "deny",
	"rule": "adapted.opa_tools",
	"risk": "medium",
	"reason": concat(" ", sort(answer)),
} if {
	input.kind == "tool_call"
	texts
	count(answer) > 0
}

decisions contains {"action": "an answer of unknown shape", "rule": "adapted.opa_tools"} if {
	input.kind == "tool_call"
	answer != null
	not texts
}

texts if {
	type_name(answer) in {"array", "set"}
	every text in answer {
		is_string(text)
	}
}
`

// queryForm is what a query may name: packages and a rule, with dots.
var queryForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$`)

// module is the source that asks the adapted policy; false where there is
// none to ask.
func (a adapter) module() (source, bool, error) {
	var body string
	switch a.kind {
	case AdapterNone:
		if a.query != "" {
			return source{}, false, errors.New("a query is only for policies with an adapter")
		}
		return source{}, false, nil
	case AdapterAISDK:
		body = adaptAISDK
	case AdapterOPATools:
		body = adaptOPATools
	default:
		return source{}, false, fmt.Errorf("the adapter %q is not known: want %s or %s", a.kind, AdapterAISDK, AdapterOPATools)
	}
	query := strings.TrimPrefix(a.query, "data.")
	switch {
	case !queryForm.MatchString(query):
		return source{}, false, fmt.Errorf("the adapter %s needs the rule to ask as a query, such as data.agent.call.decision, and %q is none", a.kind, a.query)
	case strings.HasPrefix(query, ruleset.Root+"."):
		return source{}, false, fmt.Errorf("the query %q asks Holdgate's own rules: it must name those of the adapted policy", a.query)
	}
	return source{name: adapterName, dir: []string{ruleset.Root, ruleset.RootCustom, "adapted"}, body: []byte("package " + adapterPackage + "\n" + fmt.Sprintf(body, query))}, true, nil
}

// over returns the sources with what asks them.
func (a adapter) over(own *sources) (*sources, error) {
	m, some, err := a.module()
	if err != nil {
		return nil, fmt.Errorf("adapting policy: %w", err)
	}
	if !some {
		return own, nil
	}
	with := *own
	with.modules = append(slices.Clone(own.modules), m)
	return &with, nil
}

// asked reports whether any module has the rule that the query names: one that
// is not there would never say anything.
func (a adapter) asked(modules map[string]*ast.Module) bool {
	want := ast.MustParseRef("data." + strings.TrimPrefix(a.query, "data."))
	for _, m := range modules {
		for _, r := range m.Rules {
			if path := m.Package.Path.Extend(r.Head.Ref().GroundPrefix()); want.Equal(path) {
				return true
			}
		}
	}
	return false
}
