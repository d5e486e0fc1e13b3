package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Extract works out what the call would do. It does no I/O and never fails:
// what could not be read, or not in time, is in ParseErrors, and whatever was
// found until then stands. It ends soon after the deadline or ctx, whichever
// comes first, and is safe for concurrent use.
func Extract(ctx context.Context, c holdgate.Call, o Options) Facts {
	x := collect.New(ctx, o)
	call(x, c)
	return x.Finish()
}

func call(x *collect.Findings, c holdgate.Call) {
	x.Facts.Category = "unknown"
	switch {
	case c.Tool != nil:
		x.Guard(func() { readTool(x, c.Tool) })
	case c.HTTP != nil:
		x.Facts.Category = "network"
		x.Guard(func() { httpCall(x, c.HTTP) })
	case c.MCP != nil:
		x.Guard(func() {
			x.Spelled(&collect.Place{Key: "name"}, c.MCP.Name) // a resource's address
			x.Secrets(&collect.Place{Key: "params"}, string(c.MCP.Params))
		})
	case c.Gate != nil:
		x.Guard(func() { gate(x, c.Gate) })
	}
}

// gate looks for credentials in what an agent shows at a gate.
func gate(x *collect.Findings, g *holdgate.Gate) {
	x.Secrets(&collect.Place{Key: "message"}, g.Message)
	x.Secrets(&collect.Place{Key: "context"}, string(g.Context))
	for _, a := range g.Artifacts {
		x.Secrets(&collect.Place{Key: "artifacts"}, a)
	}
}

// readTool reads a tool call: its arguments once for the text in them, and then
// by what the tool is known to do with each.
func readTool(x *collect.Findings, t *holdgate.Tool) {
	if inner, ok := unwrap(x, t); ok {
		defer func(at *collect.Place) { x.At = at }(x.At)
		x.At = &collect.Place{In: x.At, Key: "arguments", Text: true}
		t = inner
	}
	kind, known := lookup(t)
	x.Fresh = startsAnew(t.Name)
	if said, ok := said(x, t); ok {
		kind.category, known = said, true
		if said == collect.AccessRead || said == collect.AccessDelete {
			kind.access = said
		}
	}
	if known {
		x.Facts.Category = kind.category
	}
	if len(t.Arguments)+len(t.ArgumentsRaw) > x.Opts.MaxBytes {
		x.GiveUp(fmt.Sprintf("arguments of %d bytes", len(t.Arguments)+len(t.ArgumentsRaw)))
	}
	if t.Arguments == nil {
		x.Fail("arguments are no JSON object")
		x.Text(nil, t.ArgumentsRaw)
		return
	}
	if len(t.Arguments) <= len("{}") {
		return
	}
	args, ok := decodeObject(t.Arguments)
	if !ok {
		// The library words its errors differently from run to run.
		x.Fail("arguments are not one strict JSON object")
		x.Text(nil, string(t.Arguments))
		return
	}
	scan(x, x.At, args)
	money(x, args)
	kind.away = machineOf(t, args)
	arguments(x, kind, args)
}

// machineOf is the machine that a tool's commands run on, where its server says that it
// is another: one for SSH.
func machineOf(t *holdgate.Tool, args map[string]any) string {
	server := t.Server
	if rest, ok := strings.CutPrefix(t.Name, "mcp__"); ok && server == "" {
		server, _, _ = strings.Cut(rest, "__")
	}
	remote := slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(server), func(r rune) bool { return r == '-' || r == '_' || r == '.' }), func(word string) bool {
		return wordlist.Has("ssh sshd remote", word)
	})
	if server != "" && !remote {
		return ""
	}
	for _, k := range sortedKeys(args) {
		if !remote && !wordlist.Has("host hostname machine", normal(k)) {
			continue
		}
		if host, ok := args[k].(string); ok && host != "" && wordlist.Has("host hostname server machine connection target alias", normal(k)) {
			return host
		}
	}
	return server
}

// said is the category that somebody has given the tool. That of a tool on a
// server is for that server's alone; models know it as mcp__server__tool.
func said(x *collect.Findings, t *holdgate.Tool) (string, bool) {
	name := t.Name
	if t.Server != "" {
		name = t.Server + "/" + name
	} else if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		name = strings.Replace(rest, "__", "/", 1)
	}
	category, ok := x.Opts.Categories[name]
	return category, ok
}

func httpCall(x *collect.Findings, h *holdgate.HTTP) {
	scheme := h.Scheme
	if scheme == "" {
		scheme = "https"
	}
	u := scheme + "://" + h.Host + h.Path
	if h.Query != "" {
		u += "?" + h.Query
	}
	x.Suspicious(u)
	x.Spelled(&collect.Place{Key: "path"}, scheme+"://"+h.Host+h.Path)
	x.Spelled(&collect.Place{Key: "query"}, h.Query)
	x.At = &collect.Place{Key: "query"}
	x.URL(u)
}
