package argv

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// Printing is what surrounds a command of which it matters what it prints.
type Printing struct {
	Overridden func(name string) bool  // the line itself has given the name another meaning
	File       func(file Field) Origin // where the content of a file comes from
	Written    func(file Field) Origin // where the content comes from that the line has put into a file
}

// By is where the text comes from that a command prints which reads text of origin in.
func (p Printing) By(words []Field, in Origin) Origin {
	name, args := words[0].Text, words[1:]
	if !words[0].Known() || p.Overridden(name) {
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
		return p.By(args, in)
	}
	return p.programOrigin(name, args, in)
}

// echoed is what echo and printf print.
func echoed(name string, args []Field) Origin {
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
func (p Printing) programOrigin(name string, args []Field, in Origin) Origin {
	switch {
	case name == "printf" && len(args) == 2 && numberFormat.MatchString(args[0].Text):
		return OriginAtom
	case wordlist.Has("echo printf", name) && len(args) > 0 && !strings.HasPrefix(args[0].Text, "-"):
		return echoed(name, args)
	case printsNumbers(name, args):
		return OriginAtom
	case name == "cat" && len(args) == 1:
		return max(p.Written(args[0]), p.File(args[0]))
	case wordlist.Has("sed jq yq node python python3 sqlite3 curl", name):
		return p.pickedOrigin(name, args, in)
	case (name == "size" || strings.HasSuffix(name, "-size") && !strings.Contains(name, "/")) && !slices.ContainsFunc(args, func(w Field) bool { return !w.Known() || !plainName.MatchString(w.Text) }):
		return OriginText // numbers, and the names that it was given
	case name == "jobs" && len(args) == 1 && wordlist.Has("-p -pr -rp", args[0].Text):
		return OriginOwn
	case name == "seq":
		if slices.ContainsFunc(args, func(w Field) bool { return w.Known() && strings.Trim(w.Text, "0123456789.-w") != "" }) {
			return OriginAny // a format, or what stands between the numbers
		}
		return OriginAtom
	case wordlist.Has("nproc whoami arch hostname", name) && len(args) == 0, name == "nproc" && len(args) == 1 && args[0].Text == "--all",
		name == "id" && len(args) == 1 && wordlist.Has("-u -g -un -gn", args[0].Text), name == "uname" && len(args) == 1 && wordlist.Has("-s -m -r -n", args[0].Text):
		return OriginAtom
	case wordlist.Has("whoami id uname", name):
		return OriginNames
	case wordlist.Has("pwd which mktemp", name):
		return OriginValue
	case wordlist.Has("basename dirname", name) && len(args) > 0 && !slices.ContainsFunc(args, func(w Field) bool { return !w.Known() || w.Glob }):
		return OriginAny // it is text of the line, which a filter may make another of
	case wordlist.Has("ls basename dirname readlink realpath", name):
		return OriginNames
	}
	o := ParseOptions(args, "", "")
	switch name {
	case "shuf", "tac":
		if len(o.Operands) == 0 && (len(args) == 0 || name == "shuf" && len(args) < 3 && picksOne.MatchString(Join(args, " "))) {
			return in
		}
	case "head", "tail", "sort", "uniq", "cut", "tr", "wc", "grep", "egrep", "rg", "awk":
		return p.filterOrigin(name, args, o, in)
	case "date":
		return dateOrigin(args)
	case "git":
		return gitOrigin(args)
	case "find", "fd":
		if findsFiles(args) || !slices.ContainsFunc(args, func(w Field) bool {
			return wordlist.Has("-printf -exec -execdir -ok -okdir -delete -x -X --exec --exec-batch", w.Text)
		}) {
			return OriginNames
		}
	case "pgrep":
		if !o.Has("adlw", "delimiter") && !o.Has("", "list-name") && !o.Has("", "list-full") {
			return OriginAtom
		}
	case "lsof":
		if o.Has("t", "") && !o.Has("F", "") {
			return OriginAtom
		}
	case "kubectl", "oc", "podman", "argocd":
		return labelOrigin(name, args)
	case "docker":
		if o := labelOrigin(name, args); o != OriginAny {
			return o
		}
		if o.Has("q", "quiet") && !o.Has("", "format") && listsIDs.MatchString(Join(args, " ")+" ") {
			return OriginAtom
		}
	case "go":
		if len(args) > 0 && args[0].Text == "list" && !o.Has("fm", "f") && !o.Has("", "json") {
			return OriginValue
		}
	}
	return OriginAny
}

// plainName is an option, or a name, that means nothing to arithmetic but a variable.
var plainName = lazyregexp.New(`^[\w./=-]+$`)

// listsIDs begins a command of docker that lists, of which -q leaves the numbers.
var listsIDs = lazyregexp.New(`^(ps|images|(container|image|volume|network) ls|compose ps) `)

// picksOne are options of shuf with which it prints some of the lines that it reads.
var picksOne = lazyregexp.New(`^-n ?[0-9]+$`)

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

// filterOrigin is what is left of what a filter reads.
func (p Printing) filterOrigin(name string, args []Field, o Options, in Origin) Origin {
	switch name {
	case "wc":
		if o.Has("", "files0-from") {
			return OriginAny // it prints the names that it is given
		}
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
			return min(p.filesOrigin(files, in), OriginText)
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
		if in == OriginLabel && takesWords(args) {
			return in
		}
		if len(args) == 1 && strings.HasPrefix(strings.ReplaceAll(args[0].Text, " ", ""), "{print$") && strings.Trim(args[0].Text, "{}print$0123456789NF ") == "" {
			return min(in, OriginNames)
		}
		words := ParseOptions(args, "F", "").Operands
		if len(words) == 0 || !words[0].Known() || !printsFields.MatchString(words[0].Text) || slices.ContainsFunc(args, func(w Field) bool { return wordlist.Has("-v -f -e -i", w.Text) }) {
			return OriginAny
		}
		return min(p.filesOrigin(words[1:], in), OriginText)
	}
	if wordlist.Has("head tail", name) && in < OriginAtom && ParseOptions(args, "nc", "bytes lines").Has("c", "bytes") {
		return OriginAny // it cuts a word, whose rest may be an option
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
		return min(p.filesOrigin(files, in), OriginText)
	}
	return in
}

// plainDate is a format of date that adds to numbers and names of days nothing that leads
// elsewhere in a path, or away from a host.
var plainDate = lazyregexp.New(`^\+(%[-_0^#]?[0-9]?:?[a-zA-Z%]|[A-Za-z0-9_:,/ +]|[.-][A-Za-z0-9_:,/ +%-])+$`)

// dateOrigin is what date prints, by its format.
func dateOrigin(args []Field) Origin {
	o := OriginAtom
	for _, w := range args {
		switch {
		case !w.Known() || w.Text == "-s" || strings.HasPrefix(w.Text, "--set"):
			return OriginAny
		case strings.HasPrefix(w.Text, "+-"), strings.HasPrefix(w.Text, "+") && !plainDate.MatchString(w.Text):
			return OriginAny
		case strings.HasPrefix(w.Text, "-f"), strings.HasPrefix(w.Text, "--f"):
			return OriginAny // it prints the dates that a file holds, and complaints of the rest
		case strings.HasPrefix(w.Text, "+") && strings.ContainsAny(w.Text, "/Dx"):
			o = OriginNames
		}
	}
	return o
}

// xargsPlain are options of xargs that say how many words each command gets.
var xargsPlain = lazyregexp.New(`^(-r|-0|-r0|-0r|-n[0-9]+|-L[0-9]+|-rn[0-9]+|--no-run-if-empty|--null)$`)
