package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// Here turns a word that begins with the folder at hand, as the shell would
// print it, into one that is relative to it.
func (s *Shell) Here(f argv.Field) argv.Field {
	if len(f.Dynamic) != 1 || f.Stdin || s.Remote {
		return f
	}
	rest, ok := strings.CutPrefix(f.Text, f.Dynamic[0])
	if !ok || rest != "" && rest[0] != '/' {
		return f
	}
	switch f.Dynamic[0] {
	case "$PWD", "${PWD}":
		if _, assigned := s.Vars["PWD"]; assigned || s.Wild {
			return f
		}
	case "$(pwd)", "$(pwd -P)", "$(pwd -L)", "`pwd`":
		if s.overridden("pwd") {
			return f
		}
	default:
		return f
	}
	return argv.Field{Text: "." + rest, Glob: f.Glob}
}

// Stays reports whether a word names a path inside of the session's folder,
// whichever folder the shell is in.
func (s *Shell) Stays(f argv.Field) bool {
	f = s.Here(f)
	text, known := s.Found.ExpandTilde(f.Text, s.Remote)
	if !f.Known() || !known || s.Remote || len(s.Taint) > 0 || collect.HarmlessDevice(text) {
		return false
	}
	if path.IsAbs(text) {
		return s.Found.Inside(path.Clean(text))
	}
	outside := func(dir string) bool { return !s.Found.Inside(collect.JoinDir(dir, text)) }
	return len(s.Dirs) > 0 && !slices.ContainsFunc(s.Dirs, outside)
}
