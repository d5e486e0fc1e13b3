// Package argv is the words of a command as a shell has expanded them: what each holds,
// where that comes from which is known at run time only, the options among them, and
// what a command prints by its words.
package argv

import (
	"strings"

	"github.com/holdgate/holdgate/rego/facts/environ"
)

// A Field is one word of a command, after expansion and quote removal.
type Field struct {
	Text    string
	Dynamic []string // its parts that are known at run time only, as written
	Assumed []string // its parts that the environment may change: defaults, as in ${PORT:-8080}
	Origin  Origin   // where these come from: the weakest
	Bare    bool     // one of them stands unquoted, so that the shell splits it
	Runs    bool     // the shell may run commands that stand in a value of one of them
	Array   bool     // an assignment of several values, as written
	Glob    bool     // an unquoted *, ? or [ stands in it
	Stdin   bool     // stands for words that come from standard input, of the origin
	Process bool     // it is the number that a file holds of a process which the agent has started
	Part    bool     // no slash stands in what these hold
	Folder  bool     // it names a file or folder inside of the session's folder that git lists
	Within  bool     // it stands for files inside of the session's folder that are neither secret nor run later
}

// An origin says what is known of text that a line makes at run time: by the
// command that prints it, or by the variable that holds it. The weakest comes
// first.
type Origin uint8

const (
	OriginAny   Origin = iota // nothing is known
	OriginText                // text that a file of the project holds: code that reads it is as safe as the project's own
	OriginNames               // names of files, as a listing prints them, or parts of them
	OriginLabel               // names of things that a cluster or a container engine has: none of its words begins with a dash
	OriginValue               // one path, ref or import path: it begins with no dash
	OriginAtom                // a number, a hash, a date: no slash stands in it either
	OriginOwn                 // the number of a process that the line itself has started
)

// Known reports whether the text is all that the word holds.
func (f Field) Known() bool { return len(f.Dynamic) == 0 && !f.Stdin }

// Sure reports whether it is that in every environment.
func (f Field) Sure() bool { return f.Known() && len(f.Assumed) == 0 }

// EndsName reports whether a word that begins with the name of a file is that name,
// or the name with another end.
func (f Field) EndsName() bool {
	if len(f.Dynamic) != 1 {
		return false
	}
	end := strings.TrimPrefix(f.Text, f.Dynamic[0])
	return end == "" || end[0] == '.' && strings.Trim(strings.ToLower(end), ".abcdefghijklmnopqrstuvwxyz0123456789") == "" && !strings.Contains(end, "..")
}

// Assigned is where the value of a variable comes from that is assigned a word.
// The number of a process is one only by itself.
func (f Field) Assigned() Origin {
	rest := f.Text
	for _, d := range f.Dynamic {
		rest = strings.Replace(rest, d, "", 1)
	}
	if f.Origin == OriginOwn && strings.TrimSpace(rest) != "" {
		return OriginAny
	}
	return f.Origin
}

// Literal is what is known of a word.
func (f Field) Literal() string {
	text := f.Text
	for _, d := range f.Dynamic {
		text = strings.Replace(text, d, "", 1)
	}
	return text
}

const (
	maxShapeParts = 3
	maxShapeBytes = 256
)

// Shape is a word as a variable keeps it; the zero value where it says no more than
// that the value is not known.
func (f Field) Shape() Field {
	alone := len(f.Dynamic) == 1 && f.Text == f.Dynamic[0]
	if f.Known() || alone || f.Stdin || f.Array || f.Runs || f.Bare || f.Origin == OriginOwn || len(f.Dynamic) > maxShapeParts || len(f.Text) > maxShapeBytes {
		return Field{}
	}
	for _, d := range f.Dynamic {
		if strings.Contains(strings.ToLower(d), "pwd") { // it may mean another folder by then
			return Field{}
		}
	}
	return Field{Text: f.Text, Dynamic: f.Dynamic, Origin: f.Origin, Part: f.Part, Assumed: f.Assumed}
}

// OwnNumber reports whether a word is the number of a process that the line itself has
// started, and nothing else.
func (f Field) OwnNumber() bool {
	return f.Origin == OriginOwn && len(f.Dynamic) == 1 && f.Text == f.Dynamic[0] && !f.Runs && !f.Stdin
}

// Atoms writes the parts of a path that are numbers and the like as "*", so
// that what surrounds them tells where it lies. It reports false where other
// parts depend on run time too.
func Atoms(f Field) (string, bool) {
	if f.Known() || f.Origin < OriginAtom || f.Stdin {
		return f.Text, f.Known()
	}
	text := f.Text
	for _, d := range f.Dynamic {
		text = strings.Replace(text, d, "*", 1)
	}
	return text, true
}

// Pattern writes the parts of a path that are no more than parts of names as "*". It reports
// false where the path may lie in another folder by one of them: each stands beside text
// that is known, and begins no hidden name.
func Pattern(f Field) (string, bool) {
	if f.Known() || !f.Part || f.Stdin || strings.Contains(f.Text, "\x00") {
		return f.Text, f.Known()
	}
	text := f.Text
	for _, d := range f.Dynamic {
		text = strings.Replace(text, d, "\x00", 1)
	}
	for name := range strings.SplitSeq(text, "/") {
		known := strings.ReplaceAll(name, "\x00", "")
		if known != name && (strings.Trim(known, ".") == "" || name[0] == '.') || known == ".." {
			return f.Text, false
		}
	}
	return strings.ReplaceAll(text, "\x00", "*"), true
}

// Steers reports whether an assignment can change what programs run.
func (f Field) Steers() bool {
	name, _, _ := strings.Cut(f.Text, "=")
	return environ.Steers(name)
}

// Substitutes reports whether a word is a substitution of sed in which all that is known
// at run time only stands behind the first delimiter.
func (f Field) Substitutes() bool {
	if len(f.Dynamic) == 0 {
		return false
	}
	before, _, ok := strings.Cut(f.Text, f.Dynamic[0])
	return ok && sedTakes.MatchString(before)
}
