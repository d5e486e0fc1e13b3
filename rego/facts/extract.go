package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/budget"
	"github.com/holdgate/holdgate/rego/facts/secrets"
)

// Limits that hold where [Options] name none.
const (
	DefaultDeadline = 2 * time.Second
	DefaultMaxBytes = 256 << 10

	// maxOpenings bounds how many substitutions, subshells and subscripts one
	// shell text opens, closed or not: each may nest in the one before, and the
	// parser's time grows faster than its depth.
	maxOpenings   = 4096
	maxCommands   = 500 // simple commands in one call
	maxDepth      = 64  // nesting of commands, functions and wrappers
	maxErrorBytes = 200 // of one parse error
)

// Options say what is known about the place that a call runs in, and how much
// work it may cost.
type Options struct {
	// Dir is the session's folder, absolute; empty where not known. Then the
	// call starts in it all the same: what is relative lies inside, unless it
	// climbs out of where it starts, and what is absolute does not.
	Dir string
	// Shell is where earlier calls may have left a shell that lives on, as
	// [Facts].Leaves said it; empty where it stands in Dir.
	Shell string
	Home  string // the agent's home folder, absolute; empty where not known
	Own   Own    // what is Holdgate's own on this host
	// Categories say what tools do, as [Facts].Category has it, by "server/tool"
	// or "tool". They win over what the name says.
	Categories map[string]string

	Deadline time.Duration // for the whole call; DefaultDeadline where zero
	MaxBytes int           // of arguments; DefaultMaxBytes where zero
}

// Extract works out what the call would do. It does no I/O and never fails:
// what could not be read, or not in time, is in ParseErrors, and whatever was
// found until then stands. It ends soon after the deadline or ctx, whichever
// comes first, and is safe for concurrent use.
func Extract(ctx context.Context, c holdgate.Call, o Options) Facts {
	x := newExtraction(ctx, o)
	x.call(c)
	return x.finish()
}

func (x *extraction) call(c holdgate.Call) {
	x.facts.Category = "unknown"
	switch {
	case c.Tool != nil:
		x.guard(func() { x.tool(c.Tool) })
	case c.HTTP != nil:
		x.facts.Category = "network"
		x.guard(func() { x.httpCall(c.HTTP) })
	case c.MCP != nil:
		x.guard(func() {
			x.spelled(&place{key: "name"}, c.MCP.Name) // a resource's address
			x.secrets(&place{key: "params"}, string(c.MCP.Params))
		})
	case c.Gate != nil:
		x.guard(func() { x.gate(c.Gate) })
	}
}

// gate looks for credentials in what an agent shows at a gate.
func (x *extraction) gate(g *holdgate.Gate) {
	x.secrets(&place{key: "message"}, g.Message)
	x.secrets(&place{key: "context"}, string(g.Context))
	for _, a := range g.Artifacts {
		x.secrets(&place{key: "artifacts"}, a)
	}
}

// extraction is the work on one call.
type extraction struct {
	*budget.Budget
	opts      Options
	facts     Facts
	writes    map[string]int  // how often each path is written or deleted, so far
	copies    map[string]bool // copies that the line puts beside files, by where they lie
	temporary map[string]bool // files for temporary use that the line has written
	modes     bool            // the command at hand changes no content: it makes folders and rights
	single    bool            // the command at hand deletes single files
	linked    bool            // the call makes a second name of a file, or writes to files by a pattern
	beside    bool            // something runs beside the line, or holds a file open
	relied    map[string]int  // files that were read as scripts, as often as they had been written
	shown     map[string]int  // sources that were read when they were compiled, likewise
	unread    map[string]bool // what was compiled of files that the line has written and nobody has read
	written   []string        // cleaned paths whose content the call decides
	runs      [][]run         // by command, the files of the project that it runs
	made      []string        // paths that the call makes out of the project alone
	fixed     bool            // the command at hand decides on no content: it makes folders, or formats
	left      bool            // the call was in a folder outside of the session's
	scatters  bool            // the call writes files that it does not name
	fetches   fetch           // what code the call brings from elsewhere
	places    bool            // the call puts what was fetched, or another branch, into the project's files
	changed   []string        // parts of paths, known at run time only, that the command at hand writes or deletes
	seen      map[string]bool // keys of the facts that were added, so that each is said once
	at        *place          // of the argument that is being read
	held      []string        // texts that secrets were found in
	fresh     bool            // each call of the tool has a shell of its own
	gone      bool            // a command has gone from wherever the shell stood to a folder that it names whole

	// unlikeDash says that a text assigns what dash would not.
	unlikeDash bool
}

func newExtraction(ctx context.Context, o Options) *extraction {
	if o.Deadline <= 0 {
		o.Deadline = DefaultDeadline
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	secrets.Prepare() // what is made once is nobody's time
	return &extraction{Budget: budget.New(ctx, o.Deadline), opts: o, facts: Facts{Dir: o.Dir}, writes: make(map[string]int), relied: make(map[string]int), shown: make(map[string]int), unread: make(map[string]bool), temporary: make(map[string]bool)}
}

// internalError begins the parse error that stands for a fault in here.
const internalError = "internal error"

// spent begins the parse error that stands for work that was given up.
const spent = "over budget"

// CutShort reports whether facts end before all of the call was read: then
// credentials may be in it that they do not name.
func CutShort(f Facts) bool {
	return slices.ContainsFunc(f.ParseErrors, func(e string) bool { return strings.HasPrefix(e, spent) || strings.HasPrefix(e, internalError) })
}

// guard runs f and turns a panic into a parse error: a fault in here must
// never end the sidecar, and never look like a call without facts.
func (x *extraction) guard(f func()) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case budget.Spent:
			x.fail(spent+": %s", r.What)
		default:
			x.fail(internalError+": %v", r)
		}
	}()
	f()
}

// fail adds a parse error.
func (x *extraction) fail(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if len(msg) > maxErrorBytes {
		msg = strings.ToValidUTF8(msg[:maxErrorBytes], "") + "..."
	}
	if !slices.Contains(x.facts.ParseErrors, msg) {
		x.facts.ParseErrors = append(x.facts.ParseErrors, msg)
	}
}

// once reports whether the key is new.
func (x *extraction) once(kind string, parts ...string) bool {
	key := kind + "\x00" + strings.Join(parts, "\x00")
	if x.seen[key] {
		return false
	}
	if x.seen == nil {
		x.seen = make(map[string]bool)
	}
	x.seen[key] = true
	return true
}

func (x *extraction) finish() Facts {
	x.touched()
	x.keptWord()
	x.ownRuns()
	slices.Sort(x.facts.SuspiciousText)
	return x.facts
}

// tool reads a tool call: its arguments once for the text in them, and then
// by what the tool is known to do with each.
func (x *extraction) tool(t *holdgate.Tool) {
	if inner, ok := x.unwrap(t); ok {
		defer func(at *place) { x.at = at }(x.at)
		x.at = &place{in: x.at, key: "arguments", text: true}
		t = inner
	}
	kind, known := lookup(t)
	x.fresh = startsAnew(t.Name)
	if said, ok := x.said(t); ok {
		kind.category, known = said, true
		if said == accessRead || said == accessDelete {
			kind.access = said
		}
	}
	if known {
		x.facts.Category = kind.category
	}
	if len(t.Arguments)+len(t.ArgumentsRaw) > x.opts.MaxBytes {
		x.GiveUp(fmt.Sprintf("arguments of %d bytes", len(t.Arguments)+len(t.ArgumentsRaw)))
	}
	if t.Arguments == nil {
		x.fail("arguments are no JSON object")
		x.text(nil, t.ArgumentsRaw)
		return
	}
	if len(t.Arguments) <= len("{}") {
		return
	}
	args, ok := decodeObject(t.Arguments)
	if !ok {
		// The library words its errors differently from run to run.
		x.fail("arguments are not one strict JSON object")
		x.text(nil, string(t.Arguments))
		return
	}
	x.scan(x.at, args)
	x.money(args)
	x.arguments(kind, args)
}

// said is the category that somebody has given the tool. That of a tool on a
// server is for that server's alone; models know it as mcp__server__tool.
func (x *extraction) said(t *holdgate.Tool) (string, bool) {
	name := t.Name
	if t.Server != "" {
		name = t.Server + "/" + name
	} else if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		name = strings.Replace(rest, "__", "/", 1)
	}
	category, ok := x.opts.Categories[name]
	return category, ok
}

func (x *extraction) httpCall(h *holdgate.HTTP) {
	scheme := h.Scheme
	if scheme == "" {
		scheme = "https"
	}
	u := scheme + "://" + h.Host + h.Path
	if h.Query != "" {
		u += "?" + h.Query
	}
	x.suspicious(u)
	x.spelled(&place{key: "path"}, scheme+"://"+h.Host+h.Path)
	x.spelled(&place{key: "query"}, h.Query)
	x.at = &place{key: "query"}
	x.url(u)
}
