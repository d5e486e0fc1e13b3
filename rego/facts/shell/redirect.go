package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/grammar"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// redirect opens what a statement's redirections name.
func (s *Shell) redirect(st *syntax.Stmt) {
	call, simple := st.Cmd.(*syntax.CallExpr)
	s.Found.Beside = s.Found.Beside || st.Background || st.Coprocess || simple && len(st.Redirs) > 0 && len(call.Args) > 0 && call.Args[0].Lit() == "exec" ||
		slices.ContainsFunc(st.Redirs, func(r *syntax.Redirect) bool { return r.N != nil && !wordlist.Has("0 1 2", r.N.Value) })
	outs := s.opensFiles(st.Redirs)
	if n := len(st.Redirs); n > 0 && st.Redirs[n-1].Op == syntax.AppOut {
		text := s.output(&syntax.Stmt{Cmd: st.Cmd, Redirs: st.Redirs[:n-1]}).Text
		s.Puts(s.quietly().one(st.Redirs[n-1].Word, quoting{}), text)
	}
	for _, out := range outs {
		c := ContentReport // messages
		if n := out.redirect.N; n == nil || n.Value == "1" {
			c = s.printed(st)
		}
		s.Touch(out.file, s.Replaces(out.file, c))
		s.poured(st, out)
	}
}

// A replacement is a redirection that replaces what a file holds.
type replacement struct {
	redirect *syntax.Redirect
	file     argv.Field
}

// opensFiles opens what redirections name, but for the files whose content they
// replace: those it returns.
func (s *Shell) opensFiles(list []*syntax.Redirect) (replaced []replacement) {
	inputs := 0
	for _, r := range list {
		if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc || r.Op == syntax.RdrIn {
			if inputs++; inputs > 1 { // zsh reads all of them, the others the last
				defer func() { s.Stdin = Stream{Kind: s.Stdin.Kind} }()
			}
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			body := s.one(r.Hdoc, quoting{heredoc: true, raw: grammar.QuotedDelimiter(r.Word)})
			text := body.Text
			if r.Op == syntax.DashHdoc {
				text = untab(text)
			}
			s.opens(body)
			s.Stdin = Stream{Kind: "heredoc", Text: text, Known: body.Sure()}
			continue
		case syntax.WordHdoc:
			f := s.one(r.Word, quoting{})
			s.opens(f)
			s.Stdin = Stream{Kind: "heredoc", Text: f.Text + "\n", Known: f.Sure(), Within: f.Within, part: assignsPart(f), folder: f.Folder}
			continue
		case syntax.DplIn, syntax.DplOut:
			if f := s.one(r.Word, quoting{}); r.Op == syntax.DplOut && !isDescriptor(f.Text) {
				if s.leavesWhere(f) {
					s.Opened = append(slices.Clip(s.Opened), f.Text)
				}
				replaced = append(replaced, replacement{r, f})
			}
			continue
		}
		f := s.one(r.Word, quoting{})
		s.opens(f)
		access := collect.AccessWrite
		if r.Op == syntax.RdrIn {
			access = collect.AccessRead
		}
		if access == collect.AccessWrite && s.leavesWhere(f) {
			s.Opened = append(slices.Clip(s.Opened), f.Text)
		}
		if _, part := s.pattern(f, access); !part && !f.Known() && !s.Here(f).Known() && f.Origin != argv.OriginAtom && (r.Op != syntax.RdrIn || f.Origin < argv.OriginNames) {
			s.Opened = slices.Concat(s.Opened, f.Dynamic)
		}
		switch r.Op {
		case syntax.RdrIn:
			s.Touch(f, collect.AccessRead)
			s.Stdin = Stream{Kind: "file", File: f.Text, Origin: max(s.processOrigin(r.Word), s.fileOrigin(f)), Within: s.processWithin(r.Word), part: s.processPart(r.Word), folder: s.processFolders(r.Word), first: s.processFirst(r.Word)}
		case syntax.RdrInOut:
			s.Touch(f, collect.AccessRead)
			s.Touch(f, collect.AccessWrite)
		case syntax.AppOut, syntax.AppAll, syntax.AppClob, syntax.AppAllClob:
			s.Pours(f, func() { s.Touch(f, collect.AccessWrite) })
		default:
			replaced = append(replaced, replacement{r, f})
		}
	}
	return replaced
}

// opens notes what a redirection's word may run besides.
func (s *Shell) opens(f argv.Field) {
	if f.Runs {
		s.Opened = slices.Concat(s.Opened, f.Dynamic)
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
