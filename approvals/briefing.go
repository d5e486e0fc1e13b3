package approvals

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
)

// How much a briefing shows, in lines and in characters.
const (
	maxSummary = 200 // characters of the summary
	headLines  = 120 // of a long text
	tailLines  = 40
	maxLine    = 500 // characters of a line shown whole
	headLine   = 360 // of a longer one
	tailLine   = 100
)

// Brief says what a call would do, from the call itself. Values that the
// decision redacts are replaced and counted, and so is what is cut.
func Brief(c holdgate.Call, d holdgate.Decision) Briefing {
	shown, hidden := redact(c, d.Redact)
	w := &briefer{b: Briefing{Hidden: hidden}}
	w.also(d)
	switch {
	case shown.Tool != nil:
		w.tool(shown.Tool)
	case shown.Model != nil:
		w.model(shown.Model)
	case shown.MCP != nil:
		w.mcp(shown.MCP)
	case shown.HTTP != nil:
		w.http(shown.HTTP)
	default:
		w.summary(string(c.Kind))
	}
	return w.finish()
}

// also names the other rules that the answer is for.
func (w *briefer) also(d holdgate.Decision) {
	for _, f := range d.Also {
		w.line("also asked by " + f.Rule + ": " + strings.Join(strings.Fields(f.Reason), " "))
	}
}

// A briefer gathers a briefing.
type briefer struct {
	b     Briefing
	lines []string // not yet cut or made visible
}

// Arguments that say by themselves what a tool will do, most telling first.
var (
	commandKeys = []string{"command", "cmd", "script", "code"}
	targetKeys  = []string{"file_path", "path", "filename", "notebook_path", "uri", "url", "query", "sql"}
)

func (w *briefer) tool(t *holdgate.Tool) {
	if t.Arguments == nil {
		w.summary(t.Name + ": the arguments are no JSON object")
		w.text(t.ArgumentsRaw)
		return
	}
	args, ok := members(t.Arguments)
	if !ok {
		w.summary(t.Name)
		w.text(string(t.Arguments))
		return
	}
	w.summary(summarise(t.Name, args))
	for _, a := range args {
		w.argument(a)
	}
}

func summarise(tool string, args []member) string {
	for _, k := range commandKeys {
		if s, ok := find(args, k); ok {
			return tool + ": " + s
		}
	}
	for _, k := range targetKeys {
		if s, ok := find(args, k); ok {
			return tool + " " + s
		}
	}
	names := make([]string, len(args))
	for i, a := range args {
		names[i] = a.name
	}
	if len(names) == 0 {
		return tool
	}
	return tool + " (" + strings.Join(names, ", ") + ")"
}

func (w *briefer) model(m *holdgate.Model) {
	w.summary(fmt.Sprintf("model request to %s at %s", m.Name, m.Provider))
	if len(m.Tools) > 0 {
		w.line("tools offered: " + strings.Join(m.Tools, ", "))
	}
	for _, s := range m.ServerTools {
		w.line(strings.TrimRight(fmt.Sprintf("runs at the provider: %s %s %s", s.Type, s.Name, s.URL), " "))
	}
}

func (w *briefer) mcp(m *holdgate.MCP) {
	w.summary(strings.TrimRight(fmt.Sprintf("%s %s %s", m.Server, m.Method, m.Name), " "))
}

func (w *briefer) http(h *holdgate.HTTP) {
	w.summary(h.Method + " " + h.Host + h.Path)
	if h.Query != "" {
		w.line("query: " + h.Query)
	}
}

func (w *briefer) summary(s string) {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ⏎ ")
	if head, _ := cut(s, maxSummary, maxSummary-1, 0); head != s {
		s = head + "…"
	}
	w.b.Summary = holdgate.Visible(s)
}

func (w *briefer) line(s string) { w.lines = append(w.lines, s) }

func (w *briefer) text(s string) {
	w.lines = append(w.lines, strings.Split(s, "\n")...)
}

// argument shows one argument: text as it reads, anything else as JSON.
func (w *briefer) argument(m member) {
	text := m.text
	if !m.isText {
		text = m.json()
	}
	if !strings.Contains(text, "\n") {
		w.line(m.name + ": " + text)
		return
	}
	w.line(m.name + ":")
	for line := range strings.SplitSeq(text, "\n") {
		w.line("  " + line)
	}
}

// finish cuts what is too long, counting it, and makes the rest visible.
func (w *briefer) finish() Briefing {
	skipped, from, to := 0, len(w.lines), len(w.lines)
	if len(w.lines) > headLines+tailLines {
		from, to = headLines, len(w.lines)-tailLines
		for _, l := range w.lines[from:to] {
			skipped += utf8.RuneCountInString(l) + 1
		}
	}
	for i, l := range w.lines {
		if i == from {
			w.b.Details = append(w.b.Details, fmt.Sprintf("⟨%d lines with %d characters not shown⟩", to-from, skipped))
			w.b.Hidden += skipped
		}
		if i >= from && i < to {
			continue
		}
		w.detail(l)
	}
	return w.b
}

func (w *briefer) detail(l string) {
	head, tail := cut(l, maxLine, headLine, tailLine)
	if len(head)+len(tail) == len(l) {
		w.b.Details = append(w.b.Details, holdgate.Visible(l))
		return
	}
	n := utf8.RuneCountInString(l[len(head) : len(l)-len(tail)])
	w.b.Hidden += n
	w.b.Details = append(w.b.Details, fmt.Sprintf("%s ⟨%d characters not shown⟩ %s", holdgate.Visible(head), n, holdgate.Visible(tail)))
}

// cut returns the first and the last characters of a text that has more than
// limit of them, else the text.
func cut(s string, limit, first, last int) (head, tail string) {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s, ""
	}
	h := 0
	for range first {
		_, n := utf8.DecodeRuneInString(s[h:])
		h += n
	}
	t := len(s)
	for range last {
		_, n := utf8.DecodeLastRuneInString(s[h:t])
		t -= n
	}
	return s[:h], s[t:]
}

// A member is one of the arguments.
type member struct {
	name   string
	text   string // where it is a string
	isText bool
	raw    jsontext.Value
}

// members reads the arguments in their order.
func members(raw []byte) ([]member, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	var ms []member
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		m := member{name: name.String()}
		v, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		m.raw = v.Clone()
		if v.Kind() == '"' {
			text, err := jsontext.AppendUnquote(nil, v)
			if err != nil {
				return nil, false
			}
			m.text, m.isText = string(text), true
		}
		ms = append(ms, m)
	}
	_, err := dec.ReadToken()
	return ms, err == nil
}

// json is the member's value over several lines, numbers as they were written.
func (m member) json() string {
	v := m.raw.Clone()
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(m.raw)
	}
	return string(v)
}

// find returns the argument of that name as text; a list of texts counts, as
// words of a command do.
func find(ms []member, name string) (string, bool) {
	for _, m := range ms {
		if m.name != name {
			continue
		}
		if m.isText {
			return m.text, m.text != ""
		}
		words, ok := texts(m.raw)
		return strings.Join(words, " "), ok
	}
	return "", false
}

func texts(raw jsontext.Value) ([]string, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '[' {
		return nil, false
	}
	var words []string
	for dec.PeekKind() == '"' {
		t, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		word := t.String()
		if word == "" || strings.ContainsAny(word, " \t\n\"'") {
			word = strconv.Quote(word)
		}
		words = append(words, word)
	}
	return words, dec.PeekKind() == ']' && len(words) > 0
}
