package facts

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// redirect opens what a statement's redirections name.
func (s *shell) redirect(st *syntax.Stmt) {
	call, simple := st.Cmd.(*syntax.CallExpr)
	s.x.Beside = s.x.Beside || st.Background || st.Coprocess || simple && len(st.Redirs) > 0 && len(call.Args) > 0 && call.Args[0].Lit() == "exec" ||
		slices.ContainsFunc(st.Redirs, func(r *syntax.Redirect) bool { return r.N != nil && !wordlist.Has("0 1 2", r.N.Value) })
	outs := s.opensFiles(st.Redirs)
	if n := len(st.Redirs); n > 0 && st.Redirs[n-1].Op == syntax.AppOut {
		text := s.output(&syntax.Stmt{Cmd: st.Cmd, Redirs: st.Redirs[:n-1]}).text
		s.puts(s.quietly().one(st.Redirs[n-1].Word, quoting{}), text)
	}
	for _, out := range outs {
		c := contentReport // messages
		if n := out.redirect.N; n == nil || n.Value == "1" {
			c = s.printed(st)
		}
		s.touch(out.file, s.replaces(out.file, c))
		s.poured(st, out)
	}
}

// A replacement is a redirection that replaces what a file holds.
type replacement struct {
	redirect *syntax.Redirect
	file     field
}

// opensFiles opens what redirections name, but for the files whose content they
// replace: those it returns.
func (s *shell) opensFiles(list []*syntax.Redirect) (replaced []replacement) {
	inputs := 0
	for _, r := range list {
		if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc || r.Op == syntax.RdrIn {
			if inputs++; inputs > 1 { // zsh reads all of them, the others the last
				defer func() { s.stdin = stream{kind: s.stdin.kind} }()
			}
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			body := s.one(r.Hdoc, quoting{heredoc: true, raw: quotedDelimiter(r.Word)})
			text := body.text
			if r.Op == syntax.DashHdoc {
				text = untab(text)
			}
			s.opens(body)
			s.stdin = stream{kind: "heredoc", text: text, known: body.known()}
			continue
		case syntax.WordHdoc:
			f := s.one(r.Word, quoting{})
			s.opens(f)
			s.stdin = stream{kind: "heredoc", text: f.text + "\n", known: f.known()}
			continue
		case syntax.DplIn, syntax.DplOut:
			if f := s.one(r.Word, quoting{}); r.Op == syntax.DplOut && !isDescriptor(f.text) {
				replaced = append(replaced, replacement{r, f})
			}
			continue
		}
		f := s.one(r.Word, quoting{})
		s.opens(f)
		if !f.known() && !s.here(f).known() && f.origin != originAtom && (r.Op != syntax.RdrIn || f.origin == originAny) {
			s.opened = slices.Concat(s.opened, f.dynamic)
		}
		switch r.Op {
		case syntax.RdrIn:
			s.touch(f, collect.AccessRead)
			s.stdin = stream{kind: "file", file: f.text, origin: s.processOrigin(r.Word)}
		case syntax.RdrInOut:
			s.touch(f, collect.AccessRead)
			s.touch(f, collect.AccessWrite)
		case syntax.AppOut, syntax.AppAll, syntax.AppClob, syntax.AppAllClob:
			s.touch(f, collect.AccessWrite)
		default:
			replaced = append(replaced, replacement{r, f})
		}
	}
	return replaced
}

// opens notes what a redirection's word may run besides.
func (s *shell) opens(f field) {
	if f.runs {
		s.opened = slices.Concat(s.opened, f.dynamic)
	}
}

func untab(s string) string {
	var sb strings.Builder
	for line := range strings.Lines(s) {
		sb.WriteString(strings.TrimLeft(line, "\t"))
	}
	return sb.String()
}

func isDescriptor(s string) bool {
	return s == "-" || strings.Trim(s, "0123456789-") == ""
}

// quotedDelimiter reports whether a here-document's delimiter is quoted, so
// that its body is taken as it stands.
func quotedDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); !ok || strings.Contains(l.Value, `\`) {
			return true
		}
	}
	return false
}
