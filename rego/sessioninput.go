package rego

import (
	"fmt"
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate"
)

// gateObject is a gate as policy sees it: what the agent says, and how it is
// asked about.
func gateObject(g *holdgate.Gate, how *Gate) (object, error) {
	o := object{"type": g.Type}
	putText(o, "kind", string(g.Kind))
	putText(o, "message", g.Message)
	if len(g.Artifacts) > 0 {
		o["artifacts"] = g.Artifacts
	}
	if g.Timeout > 0 {
		o["timeout"] = g.Timeout.Seconds()
	}
	if len(g.Options) > 0 {
		o["options"] = optionsList(g.Options)
	}
	if g.Context != nil {
		context, err := strictJSON(g.Context)
		if err != nil {
			return nil, fmt.Errorf("reading the context of gate %s: %w", g.Type, err)
		}
		o["context"] = context
	}
	if how != nil {
		o["settings"] = gateSettings(how)
	}
	return o, nil
}

func gateSettings(g *Gate) object {
	o := object{"level": g.Level, "required": g.Required, "edits": g.Edits, "on_timeout": g.OnTimeout.String()}
	putText(o, "message", g.Message)
	if g.Enabled != nil {
		o["enabled"] = *g.Enabled
	}
	if g.Timeout > 0 {
		o["timeout"] = g.Timeout.Seconds()
	}
	if len(g.Show) > 0 {
		o["show"] = g.Show
	}
	if len(g.Options) > 0 {
		o["options"] = optionsList(g.Options)
	}
	if g.Threshold > 0 {
		o["threshold"] = g.Threshold
	}
	return o
}

// howValue is how gates are asked about, as policy sees it.
func howValue(gates map[string]*Gate) ast.Value {
	all := make(map[string]any, len(gates))
	for name, g := range gates {
		all[name] = map[string]any(gateSettings(g))
	}
	return ast.MustInterfaceToValue(all)
}

func optionsList(options []holdgate.Option) []any {
	list := make([]any, len(options))
	for i, opt := range options {
		o := object{"id": opt.ID, "label": opt.Label}
		putText(o, "effect", opt.Effect)
		if opt.Other {
			o["other"] = true
		}
		list[i] = o
	}
	return list
}

func confidenceObject(c *Confidence) object {
	o := object{"score": c.Score, "source": c.Source, "reasons": c.Reasons}
	if len(c.Work) > 0 {
		o["work"] = maps.Clone(c.Work)
	}
	if t := c.Tools; t != nil {
		o["tools"] = object{"succeeded": t.Succeeded, "failed": t.Failed}
	}
	return o
}

// usageObject leaves out what is not known: a rule must not take it for 0.
func usageObject(u *Usage) object {
	o := object{}
	if u.CallsPerMinute > 0 {
		o["calls_per_minute"] = u.CallsPerMinute
	}
	if u.Metered > 0 || u.Tokens() > 0 {
		o["tokens"], o["input_tokens"], o["output_tokens"] = u.Tokens(), u.Input, u.Output
	}
	if u.Priced > 0 || u.Cost > 0 {
		o["cost"] = u.Cost
	}
	if n := u.Answers - u.Metered; n > 0 {
		o["unmetered"] = n
	}
	if n := u.Answers - u.Priced; n > 0 {
		o["unpriced"] = n
	}
	return o
}

// whenTerm is the conditions of gates as policy sees them.
func whenTerm(gates map[string]When) *ast.Term {
	o := newFields(len(gates))
	for name, w := range gates {
		f := newFields(6)
		f.optionalList("paths", w.Paths)
		f.optionalList("tools", w.Tools)
		f.optionalList("categories", w.Categories)
		f.optionalList("taint", w.Taint)
		f.optional("risk", w.Risk)
		if w.ConfidenceBelow > 0 {
			f.put("confidence_below", ast.FloatNumberTerm(w.ConfidenceBelow))
		}
		o.put(name, ast.ObjectTerm(f...))
	}
	return ast.ObjectTerm(o...)
}
