package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// numberedBy reports whether a command substitution prints what a file holds that is
// kept for the number of a process: $(cat /tmp/dev.pid), $(< dev.pid).
func (s *Shell) numberedBy(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 || s.Remote {
		return false
	}
	st := c.Stmts[0]
	if st.Background || st.Negated || !silences(st.Redirs) {
		return false
	}
	q := s.quietly()
	var files []argv.Field
	for _, r := range st.Redirs {
		if r.Op == syntax.RdrIn {
			files = append(files, q.one(r.Word, quoting{}))
		}
	}
	switch call := st.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		words := q.fields(call.Args)
		if len(call.Assigns) > 0 || len(words) == 0 || words[0].Text != "cat" || s.overridden("cat") {
			return false
		}
		files = append(files, words[1:]...)
	default:
		return false
	}
	return len(files) == 1 && s.KeepsNumber(files[0])
}

// KeepsNumber reports whether a file is one for temporary use, or of the session's
// folder, that is kept for the number of a process. Whatever the agent's calls put there
// is the number of what they have started: anything else is asked about where it is put.
func (s *Shell) KeepsNumber(f argv.Field) bool {
	at, ok := s.FileAt(f)
	if !ok || !f.Sure() || s.Wild || s.Found.Linked || s.Found.Scatters || strings.Contains(f.Text, "..") || !collect.PidFile.MatchString(at) || s.Found.Numbers[at] != 0 {
		return false
	}
	if s.Found.CopiesMore || !strings.HasPrefix(at, "/tmp/") && !s.Stays(f) {
		return false
	}
	s.Found.Numbered = at
	return true
}

// numbers notes that a file has been given the number of a process which the line has
// started, wherever it may lie.
func (s *Shell) numbers(f argv.Field) {
	text, known := s.Found.ExpandTilde(f.Text, false)
	if !f.Known() || !known || !collect.PidFile.MatchString(text) {
		return
	}
	if path.IsAbs(text) {
		s.Found.Numbers[collect.FileKey(path.Clean(text))]--
		return
	}
	for i, d := range s.Dirs {
		if clean := collect.JoinDir(d, text); i == 0 || !s.Found.Inside(clean) {
			s.Found.Numbers[collect.FileKey(clean)]--
		}
	}
	if len(s.Dirs) == 0 {
		s.Found.Numbers[collect.FileKey(path.Clean(text))]--
	}
}
