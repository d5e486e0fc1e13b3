package rego

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/secrets"
	"github.com/holdgate/holdgate/rego/ruleset"
)

// ruleDefault is the rule of a decision where the policy says nothing.
const ruleDefault = "default"

// readsResults reports whether a policy wants to see what calls of MCP servers
// bring: its rules say something of results, or the pack's settings do.
func readsResults(modules map[string]*ast.Module, l Loaded, data object) bool {
	for _, m := range modules {
		pkg := ruleset.PackageName(m)
		if !ruleset.IsCustom(pkg) && (!l.Whole || pkg != ruleset.Root) {
			continue
		}
		for _, r := range m.Rules {
			if name := ruleset.RuleName(r); name == ruleset.RuleResult || name == ruleset.RuleResults && !l.Whole {
				return true
			}
		}
	}
	settings, _ := data[rootSettings].(object)
	results, _ := settings["results"].(object)
	return !l.Whole && len(results) > 0
}

// JudgesResults reports whether the policy in force looks at results of MCP
// servers. Where it does not, they need not be read.
func (e *Engine) JudgesResults() bool { return e.current.Load().results != nil }

// ReadResult reads what an MCP server has answered, for [Input].Call: the body of
// a result, or of an error, which must be strict JSON.
func ReadResult(ctx context.Context, body []byte, isError bool) *holdgate.Result {
	return secrets.ReadResult(ctx, body, isError)
}

// asked is the query for a call.
func (p *policy) asked(c holdgate.Call) *oparego.PreparedEvalQuery {
	if c.Result != nil {
		return p.results
	}
	return &p.query
}

// entryOf names a query of the policy's.
func (p *policy) entryOf(query *oparego.PreparedEvalQuery) string {
	if query == p.results {
		return resultEntry
	}
	return entry
}

// resultObject is what a policy sees of a result. The whole of it is there for
// policies that read it.
func (p *policy) resultObject(r *holdgate.Result) (object, error) {
	o := object{"text": r.Text, "size": len(r.Body), "is_error": r.IsError}
	if r.Cut {
		o["cut"] = true
	}
	if r.Unread {
		o["unread"] = true
	}
	if len(r.Secrets) > 0 {
		secrets := make([]any, len(r.Secrets))
		for i, s := range r.Secrets {
			secrets[i] = object{"kind": s.Kind, "pointer": s.Pointer}
		}
		o["secrets"] = secrets
	}
	if p.readsBody {
		body, err := strictJSON(r.Body)
		if err != nil {
			return nil, fmt.Errorf("reading a result: %w", err)
		}
		o["body"] = body
	}
	return o, nil
}
