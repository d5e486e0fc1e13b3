package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// VERSION=$(jq -r .version package.json) is text that a file of the project holds
// (OriginText). What reads it as code, as sed does in "s/x/$VERSION/" and the shell in
// arithmetic, runs no more than a build of the project would. That is no longer so where
// the line has written the file, or where its own words decide what is printed.

// fileOrigin is where the content of a file comes from.
func (s *Shell) fileOrigin(f Field) origin {
	if !f.Sure() || f.Stdin || s.Remote || s.Wild || len(s.Dirs) != 1 || f.Text == "" || strings.HasPrefix(f.Text, "~") {
		return OriginAny
	}
	clean := collect.JoinAny(s.Dirs[0], f.Text)
	if f.Glob {
		clean = path.Dir(clean[:strings.IndexAny(clean+"*", "*?[{")] + "x")
	}
	x := s.Found
	if x.Beside || s.putsInto(f.Text) {
		return OriginAny
	}
	if !x.Project(clean, false) || collect.Classify(collect.JoinAny(s.Dirs[0], f.Text), collect.AccessRead) != "" || x.Overwrites(clean, true) ||
		x.Version(collect.FileKey(clean)) != 0 || x.Scatters || x.Linked || x.Fetches != collect.FetchNone && x.Places {
		return OriginAny
	}
	return OriginText
}

// putsInto reports whether the text at hand sends anything to a file, before or behind
// where it stands: parts of a pipe run beside each other.
func (s *Shell) putsInto(name string) bool {
	for rest := s.Src; ; {
		i := strings.IndexByte(rest, '>')
		if i < 0 {
			break
		}
		rest = rest[i+1:]
		if strings.HasPrefix(strings.TrimLeft(rest, ">|& \t\"'./"), strings.TrimLeft(name, "./")) {
			return true
		}
	}
	return false
}

// filesOrigin is the weakest of several files, or what is read where there are none.
func (s *Shell) filesOrigin(files []Field, in origin) origin {
	for i, f := range files {
		if o := s.fileOrigin(f); i == 0 || o < in {
			in = o
		}
	}
	return in
}

var (
	// printsFields is a program of awk that prints fields of some lines.
	printsFields = regexp.MustCompile(`^\s*(NR\s*[=<>!]=?\s*\d+\s*|!?/[^/]*/\s*|\$\d+\s*[=!]=\s*"[\w.:-]*"\s*)?\{\s*print\s+\$\w+(\s*,\s*\$\w+)*\s*(;\s*exit)?\s*;?\s*\}\s*$`)
	// plainFormat is a format of git that adds no text of its own.
	plainFormat = regexp.MustCompile(`^((format:|tformat:)?(%[a-zA-Z]{1,2}|[ ,|:\t-])*)?$`)
	// jqPath is a filter of jq that picks and adds nothing.
	jqPath = regexp.MustCompile(`^[\w\s.\[\]"?|,:-]*$`)
	// sedCuts is one command of sed that prints, leaves out, or quits.
	sedCuts = regexp.MustCompile(`^(\d+|\$|/[^/;]*/)?(,(\d+|\$|/[^/;]*/))?\s*!?[pdq]$`)
	// sedPuts is what a substitution may put in place of what it takes out.
	sedPuts = regexp.MustCompile(`^(\\[0-9]|&|[\w .-])*$`)
	// sedTakes begins a substitution, behind its address.
	sedTakes = regexp.MustCompile(`^(\d+|\$|/[^/;]*/)?s[/|#,@]`)
	// jsonOfNode and jsonOfPython are programs that print a value of a file of JSON.
	jsonOfNode   = regexp.MustCompile(`^(?:console\.log\()?require\(['"](\./[\w/.-]+\.json)['"]\)[\w.\[\]'"-]*\)?;?$`)
	jsonOfPython = regexp.MustCompile(`^import (?:json|tomllib|sys, ?json|json, ?sys); ?print\((?:json|tomllib)\.load\(open\(['"]([\w/.-]+)['"](?:, ?['"]rb?['"])?\)\)(?:\[['"]?[\w-]+['"]?\])*\)$`)
	loopback     = regexp.MustCompile(`^(https?://)?(localhost|127\.0\.0\.1)(:\d+)?(/|$)`)
)

// pickedOrigin is what programs print that pick something out of a file, where their
// words only pick.
func (s *Shell) pickedOrigin(name string, args []Field, in origin) origin {
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
		return min(s.filesOrigin(files, in), OriginText)
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
		return min(s.filesOrigin(words[1:], in), OriginText)
	case "node":
		if m := jsonOfNode.FindStringSubmatch(Join(args[min(1, len(args)):], " ")); m != nil && wordlist.Has("-p -e -pe", args[0].Text) {
			return s.fileOrigin(Field{Text: m[1]})
		}
	case "python", "python3":
		if m := jsonOfPython.FindStringSubmatch(Join(args[min(1, len(args)):], " ")); m != nil && args[0].Text == "-c" {
			return s.fileOrigin(Field{Text: m[1]})
		}
	case "sqlite3":
		if len(args) == 2 && args[1].Text == ".tables" {
			return s.fileOrigin(args[0])
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

// Substitutes reports whether a word is a substitution of sed in which all that is known
// at run time only stands behind the first delimiter.
func (f Field) Substitutes() bool {
	if len(f.Dynamic) == 0 {
		return false
	}
	before, _, ok := strings.Cut(f.Text, f.Dynamic[0])
	return ok && sedTakes.MatchString(before)
}
