package grants

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/approvals/redact"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
)

// Similarity compares the call with others by the decision's facts. It is nil
// where there are none, and of what a call has brought: no two results are alike.
func (k *Keeper) Similarity(c holdgate.Call, d holdgate.Decision) *record.Similarity {
	if d.Facts == nil || c.Result != nil {
		return nil
	}
	s := holdgate.ShapeOf(c, *d.Facts)
	l := &record.Similarity{Like: k.like(s), Dir: d.Facts.Dir, Acts: s.Acts(), Unclear: s.Unclear, Whole: s}
	if shell := d.Facts.Shell; shell != "" {
		l.Dir += "\n" + shell // no folder has this name
	}
	if c.Tool != nil && c.Tool.Learned != nil && c.Tool.Learned.Changed {
		l.Unclear = append(slices.Clip(l.Unclear), "its server says something else of the tool than before")
	}
	if same, ok := k.same(c, s); ok {
		l.Same, l.Prose = same, prose(c.Tool, s)
	}
	if c.Access != nil {
		l.Subject = k.b.Digester.Fields("grant.subject", string(c.Access.Subject))
	}
	l.Pinned = k.pinned(c, d, s)
	l.Provided, l.Endpoint = k.provided(c.Model), k.endpoint(c.HTTP)
	if _, hidden := redact.Call(c, d.Redact); hidden == 0 {
		l.Line = s.String()
		l.Shape = &s
	}
	return l
}

// like names a shape.
func (k *Keeper) like(s holdgate.Shape) holdgate.Digest {
	return k.b.Digester.Fields("grant.like", s.Key())
}

// same names everything in a call that policy sees and that acts. There is no
// such name for a call of which policy sees a part only.
func (k *Keeper) same(c holdgate.Call, s holdgate.Shape) (holdgate.Digest, bool) {
	d := k.b.Digester
	switch {
	case c.Tool != nil:
		args, ok := topLevel(c.Tool.Arguments)
		if !ok {
			return "", false
		}
		fields := []string{c.Tool.Server, c.Tool.Name}
		for _, k := range slices.Sorted(maps.Keys(args)) {
			if !slices.Contains(s.Keys, k) {
				continue
			}
			v, err := holdgate.Canonical(args[k])
			if err != nil {
				return "", false
			}
			fields = append(fields, k, string(v))
		}
		return d.Fields("grant.tool", fields...), true
	case c.Model != nil:
		fields := append([]string{c.Model.Provider, c.Model.Name, c.Model.Host, "tools"}, c.Model.Tools...)
		for _, t := range c.Model.ServerTools {
			fields = append(fields, "server tool", t.Type, t.Name, t.URL)
		}
		return d.Fields("grant.model", fields...), true
	case c.MCP != nil:
		params := []byte("null")
		if c.MCP.Params != nil {
			var err error
			if params, err = strictCanonical(jsontext.Value(c.MCP.Params)); err != nil {
				return "", false
			}
		}
		return d.Fields("grant.mcp", append([]string{c.MCP.Server, c.MCP.Method, c.MCP.Name, string(params)}, WayOf(c.MCP)...)...), true
	}
	return "", false
}

// prose names the arguments that do not act.
func prose(t *holdgate.Tool, s holdgate.Shape) (list []string) {
	if t == nil {
		return nil
	}
	args, _ := topLevel(t.Arguments)
	for _, k := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(s.Keys, k) {
			list = append(list, k)
		}
	}
	return list
}

// provided names the host that a request goes to and the set of tools that it lets the
// model's provider run there; "" where there is neither.
func (k *Keeper) provided(m *holdgate.Model) holdgate.Digest {
	if m == nil || len(m.ServerTools) == 0 && (m.Host == "" || m.HostKnown) {
		return ""
	}
	tools := slices.Clone(m.ServerTools)
	slices.SortFunc(tools, func(a, b holdgate.ServerTool) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name), cmp.Compare(a.URL, b.URL))
	})
	fields := []string{m.Provider, m.Host}
	for _, t := range slices.Compact(tools) {
		fields = append(fields, t.Type, t.Name, t.URL)
	}
	return k.b.Digester.Fields("grant.provided", fields...)
}

// endpoint names where an HTTP request goes, and how; "" where two servers could take
// that for something else, or where nobody sees what goes there afterwards.
func (k *Keeper) endpoint(h *holdgate.HTTP) holdgate.Digest {
	if h == nil || h.MethodOverride != "" || len(h.Unresolved) > 0 || h.Upgrade != "" || h.LooksLike != "" {
		return ""
	}
	return k.b.Digester.Fields("grant.endpoint", h.Method, h.Scheme, h.Host, h.Path, h.Action, h.Operation)
}

// topLevel reads the members of a strict JSON object.
func topLevel(raw []byte) (map[string]jsontext.Value, bool) {
	var args map[string]jsontext.Value
	if raw == nil || jsonv2.Unmarshal(raw, &args) != nil {
		return nil, false
	}
	return args, true
}

// strictCanonical is the canonical form of one strict JSON value.
func strictCanonical(v jsontext.Value) ([]byte, error) {
	var strict jsontext.Value
	if err := jsonv2.Unmarshal(v, &strict); err != nil {
		return nil, err
	}
	return holdgate.Canonical(strict)
}

// fixed names the value at a pointer into arguments.
func (k *Keeper) fixed(pointer string, v jsontext.Value) (holdgate.Digest, bool) {
	canon, err := strictCanonical(v)
	if err != nil {
		return "", false
	}
	return k.b.Digester.Fields("grant.fixed", pointer, string(canon)), true
}

// Argument finds the value that a JSON pointer (RFC 6901) names in a call's
// arguments, as it was written.
func Argument(arguments []byte, pointer string) (jsontext.Value, bool) {
	if !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	v := jsontext.Value(arguments)
	for token := range jsontext.Pointer(pointer).Tokens() {
		switch v.Kind() {
		case '{':
			m, ok := topLevel(v)
			if !ok {
				return nil, false
			}
			if v, ok = m[token]; !ok {
				return nil, false
			}
		case '[':
			var list []jsontext.Value
			if jsonv2.Unmarshal(v, &list) != nil {
				return nil, false
			}
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(list) || strconv.Itoa(i) != token {
				return nil, false
			}
			v = list[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// WayOf tells apart what differs in nothing but the way it goes.
func WayOf(m *holdgate.MCP) []string {
	switch {
	case m.FromServer:
		return []string{"from the server"}
	case m.Answer:
		return []string{"answer"}
	}
	return nil
}
