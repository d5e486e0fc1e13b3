package rego

import (
	"bytes"
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

// input builds input for the policy, and says what time it is in it. Arguments
// are parsed only where the policy can see them.
func (p *policy) input(in Input, f facts.Facts) (ast.Value, time.Time, error) {
	c := in.Call
	now := c.Time
	if now.IsZero() {
		now = time.Now()
	}
	o := object{
		"kind":    string(c.Kind),
		"agent":   agentObject(c.Agent),
		"session": sessionObject(in),
		"door":    c.Door,
		"time":    now.UTC().Format(time.RFC3339Nano),
		"facts":   factsObject(f, p.classes),
	}
	if c.Tool != nil {
		tool, err := p.toolObject(c.Tool, f.Category)
		if err != nil {
			return nil, now, err
		}
		o["tool"] = tool
	}
	if c.Model != nil {
		o["model"] = modelObject(c.Model)
	}
	if c.MCP != nil {
		mcp, err := p.mcpObject(c.MCP)
		if err != nil {
			return nil, now, err
		}
		o["mcp"] = mcp
	}
	if h := c.HTTP; h != nil {
		o["http"] = object{"method": h.Method, "scheme": h.Scheme, "host": h.Host, "path": h.Path, "query": h.Query}
	}
	if in.Confidence != nil {
		o["confidence"] = object{"score": in.Confidence.Score, "source": in.Confidence.Source, "reasons": in.Confidence.Reasons}
	}
	if len(in.Answers) > 0 {
		o["answers"] = answersList(in.Answers)
	}
	if in.Edited {
		o["edited"] = true
	}
	return ast.LazyObject(o), now, nil
}

// extract works out what the call would do.
func extract(ctx context.Context, in Input) facts.Facts {
	return facts.Extract(ctx, in.Call, facts.Options{Dir: in.Dir, Home: in.Home})
}

func agentObject(a holdgate.Agent) object {
	o := object{"id": a.ID, "proven": a.Proven}
	putText(o, "confinement", a.Confinement)
	if len(a.Labels) > 0 {
		o["labels"] = a.Labels
	}
	return o
}

func sessionObject(in Input) object {
	o := object{"id": in.Call.Session.ID, "mode": in.Mode}
	if in.Mode == "" {
		o["mode"] = modeAuto
	}
	if in.Threshold > 0 {
		o["confidence_threshold"] = in.Threshold
	}
	putText(o, "cwd", in.Dir)
	return o
}

func (p *policy) toolObject(t *holdgate.Tool, category string) (object, error) {
	o := object{"name": t.Name, "category": category}
	putText(o, "server", t.Server)
	if t.Arguments == nil {
		o["arguments"], o["arguments_raw"] = nil, t.ArgumentsRaw
		return o, nil
	}
	if p.readsArguments {
		arguments, err := strictJSON(t.Arguments)
		if err != nil {
			return nil, fmt.Errorf("reading arguments of %s: %w", t.Name, err)
		}
		o["arguments"] = arguments
	}
	return o, nil
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
	return o, nil
}

func modelObject(m *holdgate.Model) object {
	o := object{"provider": m.Provider, "name": m.Name, "stream": m.Stream}
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
