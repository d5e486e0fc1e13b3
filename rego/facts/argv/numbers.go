package argv

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

var (
	// numberFormat is a format of printf that prints one number, whatever it is given.
	numberFormat = lazyregexp.New(`^%0?[0-9]{0,2}[di](\\n)?$`)
	// numericFormat is a format of stat that prints numbers alone.
	numericFormat = lazyregexp.New(`^(%[sYXZWiahbBugd]\s?)+$`)
	// numericReport is what curl prints behind a body that is thrown away.
	numericReport = lazyregexp.New(`^(%\{(http_code|response_code|size_download|size_upload|time_total|num_redirects|time_connect|time_starttransfer|http_connect|exitcode)\}(\\n)?)$`)
	// countingProgram is a program of awk that prints how many lines there are.
	countingProgram = lazyregexp.New(`^\s*END\s*\{\s*print\s+NR\s*;?\s*\}\s*$`)
	// numbering is a program of awk that prints the numbers of some lines.
	numbering = lazyregexp.New(`^[^{}"|;\n]*\{\s*print\s+F?NR\s*([+-]\s*[0-9]+)?\s*;?\s*(exit\s*;?)?\s*\}\s*$`)
	// ownSetting sets a variable of awk that means nothing to awk itself.
	ownSetting = lazyregexp.New(`^[a-z]\w*=`)
	// countingFilter is a filter of jq that ends in a count.
	countingFilter = lazyregexp.New(`^([^,"]*\|)?\s*length\s*$`)
	// summingProgram is a program of awk that prints a sum or a count.
	summingProgram = lazyregexp.New(`^\s*((NR\s*>\s*1|/[\w .,:|-]+/)\s*)?\{\s*(\w+)\s*(\+=\s*\$[0-9]+|\+\+)\s*;?\s*\}\s*END\s*\{\s*print(\s+|\()(\w+)(\s*[+]\s*0)?(\s*/\s*(NR|[0-9]+))?\)?\s*;?\s*\}\s*$`)
)

// printsNumbers reports whether a command prints numbers alone, whatever it reads.
func printsNumbers(name string, args []Field) bool {
	for _, w := range args {
		if !w.Known() && name != "stat" && !(name == "ps" && w.Origin >= OriginAtom) && !(name == "awk" && w.Origin >= OriginAtom && ownSetting.MatchString(w.Text)) {
			return false
		}
	}
	switch name {
	case "stat":
		o := ParseOptions(args, "cf", "format printf")
		formats := append(o.Values("c", "format"), o.Values("f", "")...)
		return len(formats) == 1 && formats[0].Known() && numericFormat.MatchString(formats[0].Text)
	case "curl":
		o := ParseOptions(args, "owmHXdbcuT", "output write-out max-time connect-timeout header request data retry retry-delay user-agent")
		out, report := append(o.Values("o", "output"), o.Values("", "")...), o.Values("w", "write-out")
		return len(out) == 1 && out[0].Text == "/dev/null" && len(report) == 1 && numericReport.MatchString(report[0].Text) && !o.Has("vi", "include") && !o.Has("I", "head")
	case "awk":
		if len(args) == 0 {
			return false
		}
		program := args[0]
		for i, w := range args {
			if strings.HasPrefix(w.Text, "-F") {
				if w.Text == "-F" && i+2 < len(args) {
					program = args[i+2]
				} else if len(args) > i+1 {
					program = args[i+1]
				}
				break
			}
		}
		for i, w := range args {
			switch {
			case w.Text == "-v" && i+1 < len(args) && ownSetting.MatchString(args[i+1].Text):
				if i+2 < len(args) {
					program = args[i+2]
				}
			case strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "-F"), IsAssignment(w) && !ownSetting.MatchString(w.Text) && !strings.ContainsAny(w.Text, "{}"):
				return false // a separator of its own, or a program that lies elsewhere
			}
		}
		if countingProgram.MatchString(program.Text) || numbering.MatchString(program.Text) && !strings.Contains(program.Text, "system") && !strings.Contains(program.Text, "getline") {
			return true
		}
		if computes(program.Text) {
			return true
		}
		m := summingProgram.FindStringSubmatch(program.Text)
		return m != nil && m[3] == m[6]
	case "jq", "gojq":
		return slices.ContainsFunc(args, func(f Field) bool { return countingFilter.MatchString(f.Text) }) && !slices.ContainsFunc(args, func(f Field) bool {
			return wordlist.Has("-n --null-input -f --from-file --arg --args --jsonargs", f.Text)
		})
	case "grep", "egrep", "tr", "sed", "ps":
		return printsDigits(name, args)
	case "shuf":
		return len(args) > 1 && args[0].Text == "-i" && !slices.ContainsFunc(args, func(f Field) bool { return f.Text == "-e" })
	}
	return false
}
