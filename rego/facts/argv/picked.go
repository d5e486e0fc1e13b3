package argv

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

var (
	// printsFields is a program of awk that prints fields of some lines.
	printsFields = lazyregexp.New(`^\s*(NR\s*[=<>!]=?\s*\d+\s*|!?/[^/]*/\s*|\$\d+\s*[=!]=\s*"[\w.:-]*"\s*)?\{\s*print\s+\$\w+(\s*,\s*\$\w+)*\s*(;\s*exit)?\s*;?\s*\}\s*$`)
	// plainFormat is a format of git that adds no text of its own.
	plainFormat = lazyregexp.New(`^((format:|tformat:)?(%[a-zA-Z]{1,2}|[ ,|:\t-])*)?$`)
	// jqPath is a filter of jq that picks and adds nothing.
	jqPath = lazyregexp.New(`^[\w\s.\[\]"?|,:-]*$`)
	// sedCuts is one command of sed that prints, leaves out, or quits.
	sedCuts = lazyregexp.New(`^(\d+|\$|/[^/;]*/)?(,(\d+|\$|/[^/;]*/))?\s*!?[pdq]$`)
	// sedPuts is what a substitution may put in place of what it takes out.
	sedPuts = lazyregexp.New(`^(\\[0-9]|&|[\w .-])*$`)
	// sedTakes begins a substitution, behind its address.
	sedTakes = lazyregexp.New(`^(\d+|\$|/[^/;]*/)?s[/|#,@]`)
	// jsonOfNode and jsonOfPython are programs that print a value of a file of JSON.
	jsonOfNode   = lazyregexp.New(`^(?:console\.log\()?require\(['"](\./[\w/.-]+\.json)['"]\)[\w.\[\]'"-]*\)?;?$`)
	jsonOfPython = lazyregexp.New(`^import (?:json|tomllib|sys, ?json|json, ?sys); ?print\((?:json|tomllib)\.load\(open\(['"]([\w/.-]+)['"](?:, ?['"]rb?['"])?\)\)(?:\[['"]?[\w-]+['"]?\])*\)$`)
	loopback     = lazyregexp.New(`^(https?://)?(localhost|127\.0\.0\.1)(:\d+)?(/|$)`)
)

// pickedOrigin is what programs print that pick something out of a file, where their
// words only pick.
func (p Printing) pickedOrigin(name string, args []Field, in Origin) Origin {
	if slices.ContainsFunc(args, func(w Field) bool { return !w.Sure() }) {
		return OriginAny
	}
	switch name {
	case "sed":
		o := ParseOptions(args, "ef", "expression file")
		scripts, files := o.Values("e", "expression"), o.Operands
		if len(scripts) == 0 && len(files) > 0 {
			scripts, files = files[:1], files[1:]
		}
		if o.Has("if", "in-place") || o.Has("", "file") || !picks(Join(scripts, ";")) {
			return OriginAny
		}
		return min(p.filesOrigin(files, in), OriginText)
	case "jq", "yq":
		if slices.ContainsFunc(args, func(w Field) bool {
			return strings.HasPrefix(w.Text, "-") && !wordlist.Has("-r -c -e -s -j -M -rc -er -re -sr -rs --raw-output --compact-output --exit-status --slurp", w.Text)
		}) {
			return OriginAny
		}
		words := ParseOptions(args, "", "").Operands
		if len(words) == 0 || !jqPath.MatchString(strings.NewReplacer("// empty", "", `// ""`, "").Replace(words[0].Text)) {
			return OriginAny
		}
		return min(p.filesOrigin(words[1:], in), OriginText)
	case "node":
		if m := jsonOfNode.FindStringSubmatch(Join(args[min(1, len(args)):], " ")); m != nil && wordlist.Has("-p -e -pe", args[0].Text) {
			return p.File(Field{Text: m[1]})
		}
	case "python", "python3":
		if m := jsonOfPython.FindStringSubmatch(Join(args[min(1, len(args)):], " ")); m != nil && args[0].Text == "-c" {
			return p.File(Field{Text: m[1]})
		}
	case "sqlite3":
		if len(args) == 2 && args[1].Text == ".tables" {
			return p.File(args[0])
		}
	case "curl":
		o := ParseOptions(args, "owmHXdbcuT", "output write-out max-time connect-timeout header request data retry retry-delay user-agent")
		if len(o.Operands) > 0 && !o.Has("wxKL", "write-out") && !slices.ContainsFunc(o.Operands, func(w Field) bool { return !loopback.MatchString(w.Text) }) {
			return OriginText // what a server of the project says
		}
	}
	return OriginAny
}

// picks reports whether a script of sed only takes out of lines, or leaves lines out.
func picks(script string) bool {
	for part := range strings.FieldsFuncSeq(script, func(r rune) bool { return r == ';' || r == '\n' }) {
		part = strings.TrimSpace(part)
		m := sedTakes.FindString(part)
		if m == "" {
			if !sedCuts.MatchString(part) {
				return false
			}
			continue
		}
		fields := strings.Split(part[len(m):], m[len(m)-1:])
		if len(fields) != 3 || !sedPuts.MatchString(fields[1]) || strings.Trim(fields[2], "gpiI0123456789") != "" {
			return false
		}
	}
	return script != ""
}

// filesOrigin is the weakest of several files, or what is read where there are none.
func (p Printing) filesOrigin(files []Field, in Origin) Origin {
	for i, f := range files {
		if o := p.File(f); i == 0 || o < in {
			in = o
		}
	}
	return in
}
