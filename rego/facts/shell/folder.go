package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// changeDir moves the shell. Where cd fails, it stays where it was.
func changeDir(s *Shell, in Invocation) bool {
	s.Emit(in)
	s.failed = append(s.failed, s.state())
	o := argv.ParseOptions(in.Words[1:], "", "")
	switch {
	case len(o.Operands) > 0:
		s.MoveTo(o.Operands[0])
	default:
		s.MoveTo(argv.Field{Text: "~"})
	}
	return true
}

func loseDir(s *Shell, in Invocation) bool {
	s.Emit(in)
	s.Lose()
	return true
}

// Lose makes the folder unknown.
func (s *Shell) Lose() { s.Dirs, s.Lost = nil, true }

// MoveTo sets the folder.
func (s *Shell) MoveTo(f argv.Field) {
	defer func() {
		s.Found.Left = s.Found.Left || slices.ContainsFunc(s.Dirs, func(d string) bool { return !s.Found.Project(path.Join(d, "x"), true) })
	}()
	f = s.Here(f)
	if s.BesideScript(f) {
		s.besideScript(s.place(f.Text))
		return
	}
	if s.GoesWithin(f) {
		s.Dirs = []string{s.Dirs[0] + anyFolder}
		return
	}
	dir, known := s.Found.ExpandTilde(f.Text, s.Remote)
	home := dir == "~" || strings.HasPrefix(dir, "~/")
	if !f.Known() || f.Glob || !known && (!home || s.Remote) || dir == "-" || dir == "" {
		s.Lose()
		return
	}
	switch {
	case !known:
		s.Dirs, s.Lost = []string{collect.JoinDir("~", strings.TrimPrefix(dir, "~"))}, false
		return
	case path.IsAbs(dir):
		s.Dirs, s.Lost = []string{path.Clean(dir)}, false
		return
	case !strings.HasPrefix(dir, "./") && !strings.HasPrefix(dir, "..") && s.sets("CDPATH"):
		s.Lose()
		return
	}
	var to []string
	for _, d := range s.Dirs {
		to = append(to, collect.JoinDir(d, dir))
	}
	s.Dirs = to
}

// sets reports whether the text gives a variable a value.
func (s *Shell) sets(name string) bool {
	_, ok := s.Vars[name]
	return ok
}

// BesideScript reports whether a word names the folder that a script lies in, or one that
// is seen from there, in a text that may be meant for a script.
func (s *Shell) BesideScript(f argv.Field) bool {
	return !f.Known() && !f.Bare && s.script == "" && len(s.calling) == 0 && !s.Remote && len(s.Dirs) > 0 && s.place(f.Text) != ""
}

// besideScript moves the shell to where a script would lie, for a text that is none: a
// line. The likeliest is that it was meant for a file of the project; in truth the shell
// goes from where it is, or from where the shell's own program lies.
func (s *Shell) besideScript(at string) {
	start, inside := s.Dirs[0], path.Clean(at)
	for strings.HasPrefix(inside, "../") {
		inside = inside[len("../"):]
	}
	if inside == ".." {
		inside = "."
	}
	s.Dirs = wordlist.Unique([]string{collect.JoinDir(start, inside), collect.JoinDir(start, at), path.Join("/bin", at)})
}
