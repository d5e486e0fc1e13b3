package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/environ"
)

// Steers reports whether an assignment can change what programs run.
func (f Field) Steers() bool {
	name, _, _ := strings.Cut(f.Text, "=")
	return environ.Steers(name)
}

// Here turns a word that begins with the folder at hand, as the shell would
// print it, into one that is relative to it.
func (s *Shell) Here(f Field) Field {
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
	return Field{Text: "." + rest, Glob: f.Glob}
}

// atoms writes the parts of a path that are numbers and the like as "*", so
// that what surrounds them tells where it lies. It reports false where other
// parts depend on run time too.
func atoms(f Field) (string, bool) {
	if f.Known() || f.Origin < OriginAtom || f.Stdin {
		return f.Text, f.Known()
	}
	text := f.Text
	for _, d := range f.Dynamic {
		text = strings.Replace(text, d, "*", 1)
	}
	return text, true
}

// Texts are the texts of words.
func Texts(fs []Field) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Text)
	}
	return out
}

// BlankFields are the words of a text between blanks, tabs and ends of lines: no
// other space ends one.
func BlankFields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
}

// Stays reports whether a word names a path inside of the session's folder,
// whichever folder the shell is in.
func (s *Shell) Stays(f Field) bool {
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
