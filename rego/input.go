package rego

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
)

// modeAuto is the mode of a session that has been given none.
const modeAuto = "auto"

// object is a part of input. OPA converts of it only what a policy reads.
type object = map[string]any

// input builds input for the policy, and its clock. Arguments are parsed only
// where the policy can see them.
func (p *policy) input(in Input, f facts.Facts) (ast.Value, clock, error) {
	c := in.Call
	at := clock{now: c.Time, read: new(bool)}
	if at.now.IsZero() {
		at.now = time.Now()
	}
	if p.readsEffects {
		f.Effects = p.effects(c, f)
	}
	o := object{
		"kind":        string(c.Kind),
		"agent":       agentObject(c.Agent),
		"confinement": confinementObject(c.Agent),
		"session":     sessionObject(in),
		"door":        c.Door,
		"time":        at,
		"facts":       factsObject(f, p.tables),
	}
	putText(o, "credential", c.Credential)
	putText(o, "account", c.Account)
	if c.Access != nil {
		access, err := accessObject(c.Access)
		if err != nil {
			return nil, at, err
		}
		o["access"] = access
	}
	if c.Tool != nil {
		tool, err := p.toolObject(c.Agent, c.Tool, f.Category)
		if err != nil {
			return nil, at, err
		}
		o["tool"] = tool
	}
	if c.Model != nil {
		o["model"] = modelObject(c.Model)
	}
	if c.MCP != nil {
		mcp, err := p.mcpObject(c.MCP)
		if err != nil {
			return nil, at, err
		}
		o["mcp"] = mcp
	}
	if c.HTTP != nil {
		o["http"] = p.httpObject(c.HTTP)
	}
	if c.Gate != nil {
		gate, err := gateObject(c.Gate, in.Gate)
		if err != nil {
			return nil, at, err
		}
		o["gate"] = gate
	}
	if c.Result != nil {
		result, err := p.resultObject(c.Result)
		if err != nil {
			return nil, at, err
		}
		o["result"] = result
	}
	if in.Confidence != nil {
		o["confidence"] = confidenceObject(in.Confidence)
	}
	if in.Usage != nil {
		o["usage"] = usageObject(in.Usage)
	}
	if h := in.History; h != nil {
		o["history"] = object{"allowed": h.Allowed, "refused": h.Refused, "asked": h.Asked, "approved": h.Approved, "denied": h.Denied, "steered": h.Steered, "expired": h.Expired, "succeeded": h.Succeeded, "failed": h.Failed}
	}
	if len(in.Answers) > 0 {
		o["answers"] = answersList(in.Answers)
	}
	if in.Edited {
		o["edited"] = true
	}
	return ast.LazyObject(o), at, nil
}

func (p *policy) httpObject(h *holdgate.HTTP) object {
	o := object{"method": h.Method, "scheme": h.Scheme, "host": h.Host, "path": h.Path, "query": h.Query}
	putText(o, "looks_like", h.LooksLike)
	putText(o, "upgrade", h.Upgrade)
	putText(o, "action", h.Action)
	putText(o, "operation", cmp.Or(h.Operation, p.operation(h)))
	putText(o, "method_override", h.MethodOverride)
	if len(h.Unresolved) > 0 {
		o["unresolved"] = h.Unresolved
	}
	return o
}

// extract works out what the call would do.
func (p *policy) extract(ctx context.Context, in Input) facts.Facts {
	return facts.Extract(ctx, in.Call, p.place(in))
}

// place is what is known of where the call runs.
func (p *policy) place(in Input) facts.Options {
	return facts.Options{Categories: p.toolCategories(), Dir: in.Dir, From: in.From, Shell: in.Shell, Home: in.Home, Own: in.Own}
}

func agentObject(a holdgate.Agent) object {
	o := object{"id": a.ID, "proven": a.Proven}
	putText(o, "confinement", a.Confinement)
	if len(a.Labels) > 0 {
		o["labels"] = a.Labels
	}
	return o
}

// accessObject is for whom a policy enforcement point asks.
func accessObject(a *holdgate.Access) (object, error) {
	subject, err := strictJSON(a.Subject)
	if err != nil {
		return nil, fmt.Errorf("reading the subject: %w", err)
	}
	o := object{"subject": subject, "proven": a.Proven}
	if a.Context != nil {
		if o["context"], err = strictJSON(a.Context); err != nil {
			return nil, fmt.Errorf("reading the context: %w", err)
		}
	}
	return o, nil
}

// confinementObject is what `holdgate run` has proven of the agent.
func confinementObject(a holdgate.Agent) object {
	return object{
		"level": confinementLevel(a.Confinement), "undo": a.Undo, "private": a.Private, "hidden": a.Hidden, "network": a.Network, "keys": a.Keys,
	}
}

// confinementLevel is none where nothing confines the agent.
func confinementLevel(confinement string) string {
	if confinement == "strong" || confinement == "weak" {
		return confinement
	}
	return "none"
}

func sessionObject(in Input) ast.Object {
	o := newFields(10)
	o.text("id", in.Call.Session.ID)
	o.text("mode", cmp.Or(in.Mode, modeAuto))
	if in.Threshold > 0 {
		o.put("confidence_threshold", ast.FloatNumberTerm(in.Threshold))
	}
	o.optional("cwd", in.Dir)
	o.optionalList("gates_on", in.Gates.On)
	o.optionalList("gates_told", in.Gates.Told)
	o.optionalList("gates_needed", in.Gates.Needed)
	o.optionalList("gates_passed", in.Gates.Passed)
	if len(in.Gates.When) > 0 {
		o.put("gates_when", whenTerm(in.Gates.When))
	}
	if len(in.Gates.How) > 0 {
		o.put("gates_settings", ast.NewTerm(howValue(in.Gates.How)))
	}
	o.optionalList("taint", in.Taint)
	if in.Repeats > 1 {
		o.put("repeats", ast.InternedTerm(in.Repeats))
	}
	return ast.NewObject(o...)
}

// toolObject is OPA's own object, which costs least, or one of Go's maps where
// a policy may read arguments: they are large, and seldom read in full.
func (p *policy) toolObject(a holdgate.Agent, t *holdgate.Tool, category string) (any, error) {
	o := newFields(6)
	o.text("name", t.Name)
	o.text("category", category)
	o.optional("server", t.Server)
	if p.settings != nil {
		o.text("setting", p.settings.Of(a, t, category))
	}
	if t.Learned != nil {
		learnedFields(&o, t.Learned)
	}
	if t.Arguments == nil {
		o.put("arguments", ast.NullTerm())
		o.text("arguments_raw", t.ArgumentsRaw)
	}
	if t.Arguments == nil || !p.readsArguments {
		return ast.NewObject(o...), nil
	}
	arguments, err := strictJSON(t.Arguments)
	if err != nil {
		return nil, fmt.Errorf("reading arguments of %s: %w", t.Name, err)
	}
	lazy := object{"arguments": arguments}
	for _, f := range o {
		lazy[string(f[0].Value.(ast.String))] = f[1].Value
	}
	return lazy, nil
}

// learnedFields adds what the tool's server says of it.
func learnedFields(o *fields, l *holdgate.Learned) {
	o.flag("definition_changed", l.Changed)
	o.optionalFlag("configured", l.Configured)
	o.optionalFlag("remote", l.Remote)
	o.optionalFlag("reads", l.Reads)
	if len(l.Hints) > 0 {
		hints := newFields(len(l.Hints))
		for name, says := range l.Hints {
			hints.flag(name, says)
		}
		o.put("annotations", ast.ObjectTerm(hints...))
	}
	o.text("stands_for", l.Server+"/"+l.Tool)
	o.optionalList("shadows", l.Shadows)
	o.optional("schema", string(l.Schema))
	o.optionalList("misfits", l.Misfits)
}

func (p *policy) mcpObject(m *holdgate.MCP) (object, error) {
	o := object{"server": m.Server, "method": m.Method}
	putText(o, "name", m.Name)
	if p.readsParams && m.Params != nil {
		params, err := strictJSON(m.Params)
		if err != nil {
			return nil, fmt.Errorf("reading params of %s: %w", m.Method, err)
		}
		o["params"] = params
	}
	if m.FromServer {
		o["from_server"] = true
	}
	if m.Answer {
		o["answer"] = true
	}
	return o, nil
}

func modelObject(m *holdgate.Model) object {
	o := object{"provider": m.Provider, "name": m.Name, "stream": m.Stream}
	putText(o, "host", m.Host)
	if m.HostKnown {
		o["host_known"] = true
	}
	if len(m.Tools) > 0 {
		o["tools"] = m.Tools
	}
	if len(m.ServerTools) > 0 {
		tools := make([]any, len(m.ServerTools))
		for i, t := range m.ServerTools {
			tool := object{"type": t.Type, "name": t.Name}
			putText(tool, "url", t.URL)
			tools[i] = tool
		}
		o["server_tools"] = tools
	}
	if len(m.Unapproved) > 0 {
		results := make([]any, len(m.Unapproved))
		for i, u := range m.Unapproved {
			result := object{"why": u.Why}
			putText(result, "id", u.ID)
			putText(result, "tool", u.Tool)
			results[i] = result
		}
		o["unapproved"] = results
	}
	return o
}

func answersList(answers []Answer) []any {
	list := make([]any, len(answers))
	for i, a := range answers {
		o := object{"gate": a.Gate, "rule": a.Rule, "decision": string(a.Decision), "by": a.By}
		putText(o, "choice", a.Choice)
		if len(a.Also) > 0 {
			o["also"] = a.Also
		}
		list[i] = o
	}
	return list
}

// putText leaves out what is empty.
func putText(o object, name, s string) {
	if s != "" {
		o[name] = s
	}
}

// strictJSON reads one JSON value. Duplicate keys and broken UTF-8 are errors,
// and numbers stay as they were written.
func strictJSON(raw []byte) (any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	v, err := readValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

func readValue(d *jsontext.Decoder) (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '{':
		o := object{}
		for d.PeekKind() != '}' {
			key, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			name := key.String()
			if o[name], err = readValue(d); err != nil {
				return nil, err
			}
		}
		_, err := d.ReadToken()
		return o, err
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			v, err := readValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.ReadToken()
		return list, err
	case '"':
		return t.String(), nil
	case '0':
		return json.Number(t.String()), nil
	case 't', 'f':
		return t.Bool(), nil
	}
	return nil, nil
}
