package shell

import (
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/grammar"
)

// RunningNames are the words of a command of the shell's own that name
// variables, or are evaluated as arithmetic, and may run a command by it. What is read into an
// integer is arithmetic too.
func (s *Shell) RunningNames(in Invocation) []string {
	name, words := in.Name(), in.Words[1:]
	var names []argv.Field
	switch name {
	case "read":
		o := argv.ParseOptions(words, "adinNptu", "")
		names = append(o.Operands, o.Values("a", "")...)
		return running(names, func(f argv.Field) bool {
			if s.Vars[f.Text].integer && s.Stdin.Origin == argv.OriginText {
				s.Found.Facts.Evaluates = true
			}
			return s.nameRuns(f) || s.Vars[f.Text].integer && s.Stdin.Origin < argv.OriginAtom && s.Stdin.Origin != argv.OriginText
		})
	case "mapfile", "readarray":
		names = argv.ParseOptions(words, "dnOsuCc", "").Operands
	case "getopts":
		if o := argv.ParseOptions(words, "", ""); len(o.Operands) > 1 {
			names = o.Operands[1:2]
		}
	case "printf":
		names = argv.ParseOptions(words, "v", "").Values("v", "")
	case "wait":
		names = argv.ParseOptions(words, "p", "").Values("p", "")
	case "unset":
		names = argv.ParseOptions(words, "", "").Operands
	case "declare", "typeset", "local", "export", "readonly":
		return s.runningDeclarations(words)
	case "let":
		return running(words, s.arithmeticRuns)
	case "test", "[":
		return s.runningTests(words)
	}
	return running(names, s.nameRuns)
}

func running(words []argv.Field, runs func(argv.Field) bool) []string {
	var out []string
	for _, w := range words {
		if runs(w) {
			out = append(out, w.Text)
		}
	}
	return out
}

// runningDeclarations are such words of declare and its like. With -i the
// value is arithmetic too, with -n it is a name, and one in quotes and
// parentheses is read as an array's.
func (s *Shell) runningDeclarations(words []argv.Field) []string {
	flags := ""
	return running(words, func(w argv.Field) bool {
		if strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+") {
			flags += w.Text
			return false
		}
		name, value, has := strings.Cut(w.Text, "=")
		v := argv.Field{Text: value, Dynamic: w.Dynamic, Origin: w.Origin}
		integer := strings.Contains(flags, "i") || s.Vars[name].integer
		switch {
		case s.nameRuns(argv.Field{Text: name}):
			return true
		case !has || w.Array:
			return false
		case integer && s.arithmeticRuns(v), strings.Contains(flags, "n") && (!v.Known() || !grammar.IsVariable(value)):
			return true
		}
		return strings.HasPrefix(value, "(") && strings.ContainsAny(value, "$`")
	})
}

// runningTests are the words that test takes for names, and those that hold a
// command in a subscript: some shells evaluate what test compares.
func (s *Shell) runningTests(words []argv.Field) []string {
	var out []string
	for i, w := range words {
		after := i > 0 && (words[i-1].Text == "-v" || words[i-1].Text == "-R")
		open := i > 0 && !words[i-1].Known()
		if after && s.nameRuns(w) || open && w.Known() && s.nameRuns(w) || w.Known() && holdsSubscript(w.Text) {
			out = append(out, w.Text)
		}
	}
	return out
}

func holdsSubscript(text string) bool {
	_, after, ok := strings.Cut(text, "[")
	return ok && (strings.Contains(after, "$(") || strings.Contains(after, "`"))
}
