// Package redact takes out of a call, and out of what it has brought, what people, the
// log or the agent may not see.
package redact

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/secrets"
)

// Hidden stands where policy hides a value.
const Hidden = "[redacted]"

// Arguments returns the arguments of a tool call without the values that the
// JSON pointers (RFC 6901, into the policy's input) name: each is replaced by
// the string "[redacted]", everything else keeps its bytes. For
// [holdgate.RedactCredentials] each credential is replaced in the text that it is in. It
// is nil where there are no arguments. A pointer that cannot be read hides everything.
func Arguments(c holdgate.Call, pointers []string) json.RawMessage {
	shown, _ := Call(c, pointers)
	if shown.Tool == nil {
		return nil
	}
	return shown.Tool.Arguments
}

// Call returns the call as people and the log may see it, and how many
// values are hidden in it.
func Call(c holdgate.Call, pointers []string) (holdgate.Call, int) {
	if len(pointers) == 0 && c.Result == nil {
		return c, 0
	}
	m := newMask(pointers)
	if c.Tool != nil {
		t := *c.Tool
		m.text(&t.Name, "tool", "name")
		m.text(&t.Server, "tool", "server")
		t.Arguments = m.arguments(t.Arguments)
		if t.ArgumentsRaw != "" && (m.credentials || m.covers("tool", "arguments_raw") || m.reaches("tool", "arguments")) {
			t.ArgumentsRaw = Hidden
			m.hidden++
		}
		c.Tool = &t
	}
	if c.Model != nil {
		o := *c.Model
		m.text(&o.Name, "model", "name")
		m.text(&o.Provider, "model", "provider")
		m.text(&o.Host, "model", "host")
		if len(o.Tools) > 0 && m.reaches("model", "tools") {
			o.Tools = []string{Hidden}
			m.hidden++
		}
		if len(o.ServerTools) > 0 && m.reaches("model", "server_tools") {
			o.ServerTools = []holdgate.ServerTool{{Type: Hidden}}
			m.hidden++
		}
		c.Model = &o
	}
	if c.MCP != nil {
		o := *c.MCP
		m.text(&o.Server, "mcp", "server")
		m.text(&o.Method, "mcp", "method")
		m.text(&o.Name, "mcp", "name")
		c.MCP = &o
	}
	if c.HTTP != nil {
		h := *c.HTTP
		m.text(&h.Host, "http", "host")
		m.text(&h.Path, "http", "path")
		m.text(&h.Query, "http", "query")
		if h.Body != nil && m.reaches("http", "body") {
			h.Body = &holdgate.HTTPBody{Type: h.Body.Type, Size: h.Body.Size, Text: Hidden, Rest: h.Body.Size}
			m.hidden++
		}
		c.HTTP = &h
	}
	if c.Gate != nil {
		g := *c.Gate
		m.text(&g.Message, "gate", "message")
		if len(g.Context) > 0 && m.reaches("gate", "context") {
			g.Context = nil
			m.hidden++
		}
		if len(g.Artifacts) > 0 && m.reaches("gate", "artifacts") {
			g.Artifacts = []string{Hidden}
			m.hidden++
		}
		c.Gate = &g
	}
	if c.Result != nil {
		c.Result = m.shownResult(c.Result)
	}
	return c, m.hidden
}

// A mask hides what pointers name.
type mask struct {
	paths       [][]string
	credentials bool // those in arguments of tools
	hidden      int
}

func newMask(pointers []string) *mask {
	m := &mask{}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, p := range pointers {
		if p == holdgate.RedactCredentials {
			m.credentials = true
			continue
		}
		if !strings.HasPrefix(p, "/") {
			m.paths = append(m.paths, nil) // the whole document, or no pointer at all
			continue
		}
		parts := strings.Split(p[1:], "/")
		for i := range parts {
			parts[i] = unescape.Replace(parts[i])
		}
		m.paths = append(m.paths, parts)
	}
	return m
}

// covers reports whether the value at path is hidden, by itself or in what it
// is part of.
func (m *mask) covers(path ...string) bool {
	return slices.ContainsFunc(m.paths, func(p []string) bool {
		return len(p) <= len(path) && slices.Equal(p, path[:len(p)])
	})
}

// reaches reports whether the value at path is hidden or has hidden parts.
func (m *mask) reaches(path ...string) bool {
	return slices.ContainsFunc(m.paths, func(p []string) bool {
		n := min(len(p), len(path))
		return slices.Equal(p[:n], path[:n])
	})
}

func (m *mask) text(s *string, path ...string) {
	if *s != "" && m.covers(path...) {
		*s = Hidden
		m.hidden++
	}
}

// arguments hides parts of a JSON document, all of it where it cannot be read.
func (m *mask) arguments(raw json.RawMessage) json.RawMessage {
	path := []string{"tool", "arguments"}
	if raw == nil || !m.credentials && !m.reaches(path...) {
		return raw
	}
	w := maskWalk{mask: m, raw: raw, dec: jsontext.NewDecoder(bytes.NewReader(raw)), before: m.hidden}
	if m.credentials {
		found, ok := secrets.InArguments(context.Background(), raw)
		if !ok {
			m.hidden++
			return json.RawMessage(strconv.Quote(Hidden))
		}
		w.conceal(found)
	}
	if err := w.value(path); err != nil {
		m.hidden = w.before + 1
		return json.RawMessage(strconv.Quote(Hidden))
	}
	return append(w.out, raw[w.copied:]...)
}

// A maskWalk copies a document, but for what is hidden.
type maskWalk struct {
	mask   *mask
	raw    []byte
	dec    *jsontext.Decoder
	out    []byte
	copied int // how much of raw is in out, or hidden
	before int
	// secrets are hidden in the texts that they are in.
	secrets map[secretPlace][]holdgate.FoundSecret
}

func (w *maskWalk) value(path []string) error {
	if w.mask.covers(path...) {
		v, err := w.dec.ReadValue()
		if err != nil {
			return err
		}
		end := int(w.dec.InputOffset())
		w.out = append(w.out, w.raw[w.copied:end-len(v)]...)
		w.out = strconv.AppendQuote(w.out, Hidden)
		w.copied = end
		w.mask.hidden++
		return nil
	}
	kind := w.dec.PeekKind()
	if kind == '"' && w.secrets != nil {
		_, err := w.text(path, false)
		return err
	}
	if kind != '{' && kind != '[' {
		return w.dec.SkipValue()
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	path = slices.Clip(path)
	for n := 0; ; n++ {
		switch next := w.dec.PeekKind(); next {
		case '}', ']':
			_, err := w.dec.ReadToken()
			return err
		case 0:
			_, err := w.dec.ReadToken()
			return err
		}
		part := strconv.Itoa(n)
		if kind == '{' {
			name, err := w.name(path)
			if err != nil {
				return err
			}
			part = name
		}
		if err := w.value(append(path, part)); err != nil {
			return err
		}
	}
}
