package shell

import (
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// PrintedBy is what a command prints that reads the given text.
func (s *Shell) PrintedBy(words []Field, in origin) origin {
	name, args := words[0].Text, words[1:]
	if !words[0].Known() || s.overridden(name) {
		return OriginAny
	}
	for i, w := range args {
		if !w.Known() && w.Origin < OriginNames && !(w.Origin == OriginText && wordlist.Has("echo printf", name)) {
			return OriginAny
		}
		if !excluded(name, args, i) && (collect.Classify(w.Text, collect.AccessRead) == collect.ClassSecret || aimsAtSecrets(w.Text)) {
			return OriginAny
		}
	}
	for name == "xargs" && len(args) > 1 && args[0].Known() && xargsPlain.MatchString(args[0].Text) {
		args = args[1:]
	}
	if name == "command" || name == "xargs" {
		if len(args) == 0 && name == "xargs" {
			return min(in, OriginText) // it prints what it reads
		}
		if len(args) == 0 || strings.HasPrefix(args[0].Text, "-") && args[0].Text != "-v" {
			return OriginAny
		}
		if args[0].Text == "-v" {
			return OriginValue
		}
		return s.PrintedBy(args, in)
	}
	return s.programOrigin(name, args, in)
}

// echoed is what echo and printf print.
func echoed(name string, args []Field) origin {
	if len(args) == 1 && args[0].Origin == OriginOwn && len(args[0].Dynamic) == 1 && args[0].Text == args[0].Dynamic[0] {
		return OriginOwn
	}
	o := OriginNames
	for i, w := range args {
		if name == "printf" && i == 0 && wordlist.Has(`%s %s\n`, w.Text) {
			continue
		}
		if w.Known() || strings.Trim(w.Text, "${}") != strings.Trim(w.Dynamic[0], "${}") {
			return OriginAny
		}
		o = min(o, w.Origin)
	}
	return o
}

// programOrigin is where comes from what a program prints that runs nothing else.
func (s *Shell) programOrigin(name string, args []Field, in origin) origin {
	switch {
	case name == "printf" && len(args) == 2 && numberFormat.MatchString(args[0].Text):
		return OriginAtom
	case wordlist.Has("echo printf", name) && len(args) > 0 && !strings.HasPrefix(args[0].Text, "-"):
		return echoed(name, args)
	case printsNumbers(name, args):
		return OriginAtom
	case name == "cat" && len(args) == 1:
		return max(s.contentOrigin(args[0]), s.fileOrigin(args[0]))
	case wordlist.Has("sed jq yq node python python3 sqlite3 curl", name):
		return s.pickedOrigin(name, args, in)
	case name == "jobs" && len(args) == 1 && wordlist.Has("-p -pr -rp", args[0].Text):
		return OriginOwn
	case wordlist.Has("nproc whoami id uname arch seq", name):
		return OriginAtom
	case wordlist.Has("pwd which mktemp", name):
		return OriginValue
	case wordlist.Has("ls basename dirname readlink realpath", name):
		return OriginNames
	}
	o := ParseOptions(args, "", "")
	switch name {
	case "head", "tail", "sort", "uniq", "cut", "tr", "wc", "grep", "egrep", "rg", "awk":
		return s.filterOrigin(name, args, o, in)
	case "date":
		return dateOrigin(args)
	case "git":
		return gitOrigin(args)
	case "go":
		if len(args) > 0 && args[0].Text == "list" && !o.Has("fm", "f") && !o.Has("", "json") {
			return OriginValue
		}
	case "find", "fd":
		if findsFiles(args) || !slices.ContainsFunc(args, func(w Field) bool {
			return wordlist.Has("-printf -exec -execdir -ok -okdir -delete -x -X --exec --exec-batch", w.Text)
		}) {
			return OriginNames
		}
	case "pgrep", "lsof", "docker":
		if name == "pgrep" || o.Has("q", "quiet") && name == "docker" || o.Has("t", "") && name == "lsof" {
			return OriginAtom
		}
	}
	return OriginAny
}

// findsFiles reports whether all that a find prints are names of files that a grep has
// picked out: find src -exec grep -l x {} +
func findsFiles(args []Field) bool {
	i := slices.IndexFunc(args, func(w Field) bool { return w.Text == "-exec" })
	if i < 0 || i+2 >= len(args) || !wordlist.Has("grep egrep fgrep", args[i+1].Text) {
		return false
	}
	o := ParseOptions(args[i+2:], "efABCm", "regexp file")
	return o.Has("lL", "files-with-matches") && !slices.ContainsFunc(slices.Concat(args[:i], args[i+2:]), func(w Field) bool {
		return wordlist.Has("-printf -fprintf -fprint -fls -exec -execdir -ok -okdir -delete -ls", w.Text)
	})
}

// aimsAtSecrets reports whether a word picks the names of secrets out of a
// listing.
func aimsAtSecrets(word string) bool {
	word = strings.ReplaceAll(strings.ToLower(word), "venv", "")
	return slices.ContainsFunc(strings.Fields(`\.e env pem key cred secret id_ ssh token passw netrc kube gnupg .aws history`), func(part string) bool {
		return strings.Contains(word, part)
	})
}

// excluded reports whether the word at i is a pattern of what is left out of a
// listing.
func excluded(name string, args []Field, i int) bool {
	switch name {
	case "find":
		return i > 1 && wordlist.Has("-path -name -ipath -iname", args[i-1].Text) && wordlist.Has("-not !", args[i-2].Text)
	case "grep", "egrep", "rg":
		return ParseOptions(args, "e", "").Has("v", "invert-match")
	}
	return false
}

// leadingHash is a format of git whose lines begin with a hash or a time.
var leadingHash = regexp.MustCompile(`^(format:|tformat:)?%(H|h|ct|at|cs|as)[ \t,|:]`)

// overridden reports whether the line itself has given the name another
// meaning.
func (s *Shell) overridden(name string) bool {
	_, function := s.funcs[name]
	_, alias := s.aliases[name]
	return function || alias
}

// filterOrigin is what is left of what a filter reads.
func (s *Shell) filterOrigin(name string, args []Field, o Options, in origin) origin {
	switch name {
	case "wc":
		if len(o.Operands) == 0 {
			return OriginAtom
		}
		return OriginNames
	case "grep", "egrep", "rg":
		if o.Has("c", "count") && (len(o.Operands) < 2 || len(o.Operands) == 2 && name != "rg" && !o.Has("rRHef", "recursive") && !o.Has("", "with-filename") && !o.Operands[1].Glob) {
			return OriginAtom
		}
		if o.Has("lL", "files-with-matches") || name == "rg" && o.Has("", "files") {
			return OriginNames
		}
		files := o.Operands
		if !o.Has("ef", "regexp") && len(files) > 0 {
			files = files[1:]
		}
		if o.Has("or", "only-matching") || len(files) > 0 {
			return min(s.filesOrigin(files, in), OriginText)
		}
		return in
	case "tr":
		for _, w := range o.Operands {
			if strings.Trim(w.Text, "\\nrt ,\"'") != "" {
				return min(in, OriginText)
			}
		}
		if in >= OriginAtom && len(o.Operands) == 1 && o.Has("d", "delete") {
			return in
		}
		return min(in, OriginNames)
	case "awk":
		if len(args) == 1 && strings.HasPrefix(strings.ReplaceAll(args[0].Text, " ", ""), "{print$") && strings.Trim(args[0].Text, "{}print$0123456789NF ") == "" {
			return min(in, OriginNames)
		}
		words := ParseOptions(args, "F", "").Operands
		if len(words) == 0 || !words[0].Known() || !printsFields.MatchString(words[0].Text) || slices.ContainsFunc(args, func(w Field) bool { return wordlist.Has("-v -f -e -i", w.Text) }) {
			return OriginAny
		}
		return min(s.filesOrigin(words[1:], in), OriginText)
	}
	files := slices.DeleteFunc(slices.Clone(o.Operands), func(w Field) bool {
		return w.Known() && (strings.Trim(w.Text, "0123456789+") == "" || name == "cut" && w.Text == ",")
	})
	if name == "cut" {
		files = ParseOptions(args, "dfcb", "delimiter fields characters bytes output-delimiter").Operands
		if len(files) == 0 {
			return min(in, OriginNames)
		}
	}
	if len(files) > 0 {
		return min(s.filesOrigin(files, in), OriginText)
	}
	return in
}

// dateOrigin is what date prints, by its format.
func dateOrigin(args []Field) origin {
	o := OriginAtom
	for _, w := range args {
		switch {
		case !w.Known() || w.Text == "-s" || strings.HasPrefix(w.Text, "--set"):
			return OriginAny
		case strings.HasPrefix(w.Text, "+-"):
			return OriginAny
		case strings.HasPrefix(w.Text, "+") && strings.ContainsAny(w.Text, "/Dx"):
			o = OriginNames
		}
	}
	return o
}

// gitOrigin is what git prints that reads its repository.
func gitOrigin(args []Field) origin {
	if len(args) > 2 && args[0].Text == "-C" {
		args = args[2:]
	}
	if len(args) == 0 {
		return OriginAny
	}
	o := ParseOptions(args[1:], "", "")
	format := ""
	for _, long := range []string{"format", "pretty"} {
		for _, f := range o.Values("", long) {
			format = f.Text
		}
	}
	switch args[0].Text {
	case "rev-parse":
		if o.Has("", "show-prefix") || o.Has("", "show-cdup") || o.Has("", "sq-quote") || o.Has("", "parseopt") {
			return OriginNames
		}
		if o.Has("", "show-toplevel") || o.Has("", "git-dir") || o.Has("", "abbrev-ref") || o.Has("", "symbolic-full-name") {
			return OriginValue
		}
		return OriginAtom
	case "merge-base", "rev-list", "hash-object":
		return OriginAtom
	case "branch":
		if o.Has("", "show-current") {
			return OriginValue
		}
	case "describe", "symbolic-ref", "tag":
		if format != "" && args[0].Text == "tag" {
			return OriginAny
		}
		return OriginValue
	case "log", "show":
		if wordlist.Has("%H %h %T %ct %at %cs", format) {
			return OriginAtom
		}
	case "for-each-ref":
		if wordlist.Has("%(refname:short) %(refname) %(objectname) %(objectname:short)", format) {
			return OriginValue
		}
	case "ls-files", "ls-tree":
		return OriginNames
	case "diff":
		if o.Has("", "name-only") {
			return OriginNames
		}
	}
	if wordlist.Has("status show diff log blame shortlog config remote", args[0].Text) && plainFormat.MatchString(format) {
		return OriginText
	}
	return OriginAny
}
