package argv

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

var (
	// oneField is a program of awk that prints one word of some lines, and nothing else.
	oneField = lazyregexp.New(`^\s*(NR\s*[=<>!]=?\s*\d+\s*|!?/[\w .,:^|-]+/\s*|\$\d+\s*[=!]=\s*"[\w.:-]*"\s*)?\{\s*print\s+\$([1-9]\d*|NF)\s*(;\s*exit)?\s*;?\s*\}\s*$`)
	// oneNumber is the number of a field.
	oneNumber = lazyregexp.New(`^[0-9]+$`)
	// noSlash are characters as tr and brackets have them, of which none is a slash.
	noSlash = lazyregexp.New(`^(a-z|A-Z|0-9|a-f|\[:(alnum|alpha|digit|lower|upper|xdigit):\]|\\n|[\w. ])*-?$`)
	// baseFormat is a format of find that prints the names of files without their folders.
	baseFormat = lazyregexp.New(`^(%[fsyTtkm]@?|[\w :,-]|\\[nt0])*$`)
	// wordClass is a part of a pattern that meets no slash.
	wordClass = lazyregexp.New(`\[(?:[A-Za-z0-9]-[A-Za-z0-9]|[\w.:@=])+-?\]|\\[wdbB.]`)
	// patternLetters is what may stand in a pattern besides.
	patternLetters = lazyregexp.New(`^[\w ()|^$+*?{},:=<>"'@#%&;!~-]*$`)
)

// PrintsParts reports whether no slash stands in what a command prints. It says so too of
// what it reads, or else by its words it takes out what stands between slashes.
func PrintsParts(words []Field, in bool) bool {
	name, args := words[0].Text, words[1:]
	for name == "xargs" && len(args) > 1 && args[0].Known() && (xargsPlain.MatchString(args[0].Text) || args[0].Text == "-I{}") {
		args = args[1:]
	}
	switch {
	case name == "xargs":
		return len(args) > 0 && args[0].Text == "basename"
	case name == "basename":
		return len(args) > 0
	}
	if name == "echo" || name == "printf" {
		switch {
		case name == "printf" && len(args) > 1 && args[0].Known() && wordlist.Has(`%s %s\n`, args[0].Text):
			args = args[1:]
		case name == "printf" && len(args) > 0 && !args[0].Known(): // a format, with escapes
			return false
		}
		escapes := name == "echo" // shells may read an escape in a value
		return len(args) > 0 && !slices.ContainsFunc(args, func(f Field) bool {
			return f.Stdin || f.Glob || strings.ContainsAny(f.Literal(), `/\%~`) || !f.Known() && (!f.Part || escapes && f.Origin < OriginLabel)
		})
	}
	if !AllKnown(words) || slices.ContainsFunc(args, func(f Field) bool { return f.Glob }) {
		return false
	}
	switch name {
	case "cut":
		o := ParseOptions(args, "dfcb", "delimiter fields characters bytes output-delimiter")
		if d, f := o.Values("d", "delimiter"), o.Values("f", "fields"); len(d) == 1 && d[0].Text == "/" && len(f) == 1 && oneNumber.MatchString(f[0].Text) && o.Only("dfs", "delimiter fields") {
			return true
		}
		return in && len(o.Operands) == 0 && o.Only("dfcbs", "delimiter fields characters bytes")
	case "awk":
		program := 1
		if len(args) > 2 && args[0].Text == "-F" && args[1].Text == "/" {
			program = 2
		}
		if program == 2 || len(args) > 1 && args[0].Text == "-F/" {
			return oneField.MatchString(args[program].Text) && !slices.ContainsFunc(args[program+1:], IsAssignment)
		}
		return in && len(args) == 1 && oneField.MatchString(args[0].Text)
	case "sed":
		script := args
		for len(script) > 1 && wordlist.Has("-E -r -e", script[0].Text) {
			script = script[1:]
		}
		return len(script) == 1 && (takesFolders[script[0].Text] || in && picks(script[0].Text) && !strings.HasPrefix(script[0].Text, "-"))
	case "tr":
		return trParts(args, in)
	case "grep", "egrep", "rg":
		return grepParts(name, args, in)
	case "ls":
		o := ParseOptions(args, "", "")
		return o.Only("1trSaAX", "") && (len(o.Operands) == 0 || len(o.Operands) == 1 && (strings.HasSuffix(o.Operands[0].Text, "/") || !strings.Contains(o.Operands[0].Text, "/")))
	case "find":
		i := slices.IndexFunc(args, func(f Field) bool { return f.Text == "-printf" })
		return i > 0 && i+2 == len(args) && baseFormat.MatchString(args[i+1].Text) && !slices.ContainsFunc(args[:i], func(f Field) bool {
			return wordlist.Has("-printf -print -print0 -ls -exec -execdir -ok -okdir -fprint -fprintf -fls -o -or ,", f.Text)
		})
	case "head", "tail", "sort", "uniq", "tac", "shuf":
		o := ParseOptions(args, "nck", "lines bytes key")
		return in && len(o.Operands) == 0 && o.Only("ncrukfdiVhk0123456789", "lines bytes unique reverse")
	case "cat":
		return in && len(args) == 0
	}
	return false
}

// takesFolders are scripts of sed that leave no slash in a line.
var takesFolders = func() map[string]bool {
	m := map[string]bool{`s/.*\///`: true, `s/^.*\///`: true, `s/\/.*//`: true, `s/\/.*$//`: true}
	for _, d := range []string{"#", "|", ",", "@", "!", ":"} {
		for _, taken := range []string{".*/", "^.*/", "/.*", "/.*$"} {
			m["s"+d+taken+d+d] = true
		}
		for _, put := range []string{"", "-", "_", ".", "+", "=", " "} {
			m["s"+d+"/"+d+put+d+"g"], m[`s/\//`+put+"/g"] = true, true
		}
	}
	return m
}()

// trParts is PrintsParts for tr.
func trParts(args []Field, in bool) bool {
	o := ParseOptions(args, "", "")
	if !o.Only("cCds", "") || len(o.Operands) == 0 {
		return false
	}
	sets := Texts(o.Operands)
	complement := o.Has("cC", "")
	switch {
	case complement && noSlash.MatchString(sets[0]) && (o.Has("d", "") || len(sets) == 2 && len(sets[1]) == 1 && sets[1] != "/"):
		return true
	case !complement && o.Has("d", "") && len(sets) == 1:
		return in || strings.HasPrefix(sets[0], "/")
	case !complement && len(sets) == 2 && noSlash.MatchString(sets[1]):
		return in || sets[0] == "/" && len(sets[1]) == 1
	}
	return in && len(sets) == 1 && o.Has("s", "")
}

// grepParts is PrintsParts for grep, which prints the names of files too where there are
// several.
func grepParts(name string, args []Field, in bool) bool {
	o := ParseOptions(args, "efABCm", "regexp file max-count")
	patterns, files := o.Values("e", ""), o.Operands
	if len(patterns) == 0 && len(files) > 0 {
		patterns, files = files[:1], files[1:]
	}
	if len(patterns) != 1 || !o.Only("oEPiwxevhIFm", "") || name == "rg" && o.Has("h", "") || name != "rg" && o.Has("I", "") && !o.Has("h", "") && len(files) > 1 {
		return false
	}
	if !o.Has("o", "") {
		return in && len(files) == 0
	}
	named := len(files) > 1 && !o.Has("h", "")
	if name == "rg" { // it searches the folder where it is given none
		named = !o.Has("I", "") && !(in && len(files) == 0)
	}
	return !named && (in && len(files) == 0 || patternLetters.MatchString(wordClass.ReplaceAllString(patterns[0].Text, "")))
}
