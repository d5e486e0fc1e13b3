package facts

import "strings"

// runningNames are the words of a command of the shell's own that name
// variables, or are evaluated as arithmetic, and may run a command by it. What is read into an
// integer is arithmetic too.
func (s *shell) runningNames(in invocation) []string {
	name, words := in.name(), in.words[1:]
	var names []field
	switch name {
	case "read":
		o := parseOptions(words, "adinNptu", "")
		names = append(o.operands, o.values("a", "")...)
		return running(names, func(f field) bool {
			return s.nameRuns(f) || s.vars[f.text].integer && s.stdin.origin < originAtom
		})
	case "mapfile", "readarray":
		names = parseOptions(words, "dnOsuCc", "").operands
	case "getopts":
		if o := parseOptions(words, "", ""); len(o.operands) > 1 {
			names = o.operands[1:2]
		}
	case "printf":
		names = parseOptions(words, "v", "").values("v", "")
	case "wait":
		names = parseOptions(words, "p", "").values("p", "")
	case "unset":
		names = parseOptions(words, "", "").operands
	case "declare", "typeset", "local", "export", "readonly":
		return s.runningDeclarations(words)
	case "let":
		return running(words, s.arithmeticRuns)
	case "test", "[":
		return s.runningTests(words)
	}
	return running(names, s.nameRuns)
}

func running(words []field, runs func(field) bool) []string {
	var out []string
	for _, w := range words {
		if runs(w) {
			out = append(out, w.text)
		}
	}
	return out
}

// runningDeclarations are such words of declare and its like. With -i the
// value is arithmetic too, with -n it is a name, and one in quotes and
// parentheses is read as an array's.
func (s *shell) runningDeclarations(words []field) []string {
	flags := ""
	return running(words, func(w field) bool {
		if strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+") {
			flags += w.text
			return false
		}
		name, value, has := strings.Cut(w.text, "=")
		v := field{text: value, dynamic: w.dynamic, origin: w.origin}
		integer := strings.Contains(flags, "i") || s.vars[name].integer
		switch {
		case s.nameRuns(field{text: name}):
			return true
		case !has || w.array:
			return false
		case integer && s.arithmeticRuns(v), strings.Contains(flags, "n") && (!v.known() || !isVariable(value)):
			return true
		}
		return strings.HasPrefix(value, "(") && strings.ContainsAny(value, "$`")
	})
}

// runningTests are the words that test takes for names, and those that hold a
// command in a subscript: some shells evaluate what test compares.
func (s *shell) runningTests(words []field) []string {
	var out []string
	for i, w := range words {
		after := i > 0 && (words[i-1].text == "-v" || words[i-1].text == "-R")
		open := i > 0 && !words[i-1].known()
		if after && s.nameRuns(w) || open && w.known() && s.nameRuns(w) || w.known() && holdsSubscript(w.text) {
			out = append(out, w.text)
		}
	}
	return out
}

func holdsSubscript(text string) bool {
	_, after, ok := strings.Cut(text, "[")
	return ok && (strings.Contains(after, "$(") || strings.Contains(after, "`"))
}
