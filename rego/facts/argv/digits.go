package argv

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// What arithmetic may be told are numbers. Awk computes them of whatever it reads, and
// patterns of digits leave nothing else of it.

const (
	// awkTerm is a number to whoever computes with it.
	awkTerm = `\(?\s*(?:\$[0-9]+|\$NF|[a-z]\w*|[0-9]+(?:\.[0-9]+)?)\s*\)?`
	// awkSum is what awk computes: at least one operator between terms, of which each is one
	// word.
	awkSum = awkTerm + `(?:\s*[-+*/%]\s*` + awkTerm + `)+`
	// awkWhen picks lines, and runs nothing.
	awkWhen = `(?:NR\s*[=<>!]=?\s*[0-9]+|!?/[^/{}]*/|\$[0-9]+\s*[=!]=\s*"[^"{}]*"|\$[0-9]+\s*!?~\s*/[^/{}]*/)?`
	// awkCounts adds up.
	awkCounts = `\w+\s*(?:\+\+|\+=\s*(?:` + awkSum + `|` + awkTerm + `))`
	// awkShows prints a number.
	awkShows = `(?:print\s*(?:\s|\()\s*(?:int\()?` + awkSum + `\)*|printf\s*\(?\s*"%0?[0-9]*(?:\.[0-9]+)?[dif](?:\\n)?"\s*,\s*(?:int\()?(?:` + awkSum + `|` + awkTerm + `)\)*)`
)

var (
	// computesEach and computesAll are programs of awk that print numbers alone: of each line
	// that they pick, or at the end.
	computesEach = lazyregexp.New(`^\s*` + awkWhen + `\s*\{\s*(?:` + awkShows + `|print\s+(?:NF|NR|length(?:\(\$[0-9]+\))?))\s*(?:;\s*exit\s*)?;?\s*\}\s*$`)
	computesAll  = lazyregexp.New(`^\s*(?:` + awkWhen + `\s*\{\s*` + awkCounts + `(?:\s*;\s*` + awkCounts + `)*\s*;?\s*\}\s*)+END\s*\{\s*` + awkShows + `\s*;?\s*\}\s*$`)
	// reservedNames are words of awk that are no variables of a program.
	reservedNames = lazyregexp.New(`\b(system|getline|print|printf|close|sprintf|sub|gsub|getenv|srand|substr|tolower|toupper|index|match|split)\b`)
	// digitPattern meets digits alone.
	digitPattern = lazyregexp.New(`^(\^|\\b)?(\[0-9\]|\\d|\[\[:digit:\]\])(\+|\\\+|\{[0-9]+(,[0-9]*)?\}|(\[0-9\])*\*)?(\\\.(\[0-9\]|\\d)\+)?(\$|\\b)?$`)
	// digitGroup is a substitution of sed that leaves of a whole line the digits that a group
	// holds, and prints that.
	digitGroup = lazyregexp.New(`^s([/|#,])\^?\.\*[^\\()*+?.\[\]|]?[^\\()*|]*\\?\((\[0-9\]\[0-9\]\*|\[0-9\]\+|\[0-9\]\\\+|\[0-9\]\*|\[\[:digit:\]\]\+)\\?\)[^\\()|]*\.\*\$?[/|#,]\\1[/|#,]p$`)
	// numericColumn is a column of ps that holds numbers.
	numericColumn = lazyregexp.New(`^(rss|vsz|pid|ppid|pgid|sid|etimes|nlwp|pcpu|%cpu|pmem|%mem|ni|uid|sz)=$`)
)

// printsDigits reports whether a command prints numbers alone, of whatever it reads. All its
// words are known.
func printsDigits(name string, args []Field) bool {
	switch name {
	case "grep", "egrep":
		o := ParseOptions(args, "efABCm", "regexp file max-count")
		patterns, files := o.Values("e", ""), o.Operands
		if len(patterns) == 0 && len(files) > 0 {
			patterns, files = files[:1], files[1:]
		}
		single := len(files) == 0 || len(files) == 1 && !files[0].Glob || o.Has("h", "")
		return len(patterns) == 1 && o.Has("o", "") && o.Only("oEPhm", "max-count") && single && digitPattern.MatchString(patterns[0].Text)
	case "tr":
		o := ParseOptions(args, "", "")
		return o.Has("d", "") && o.Has("cC", "") && o.Only("cCd", "") && len(o.Operands) == 1 && wordlist.Has(`0-9 [:digit:] 0-9\n [:digit:]\n`, o.Operands[0].Text)
	case "sed":
		return len(args) >= 2 && wordlist.Has("-n -nE -nr -En", args[0].Text) && digitGroup.MatchString(args[1].Text) && !slices.ContainsFunc(args[2:], func(f Field) bool { return strings.HasPrefix(f.Text, "-") })
	case "ps":
		o := ParseOptions(args, "opCuU", "")
		columns := o.Values("o", "")
		return len(columns) == 1 && numericColumn.MatchString(columns[0].Text) && o.Only("opCe", "")
	}
	return false
}

// computes reports whether a program of awk prints numbers alone.
func computes(program string) bool {
	return (computesEach.MatchString(program) || computesAll.MatchString(program)) && !reservedNames.MatchString(shows.ReplaceAllString(program, ""))
}

// shows begins the one statement of such a program that prints.
var shows = lazyregexp.New(`\bprintf?\b`)

// FirstNumbers says where the first word comes from of each line that a command prints, where
// that is a number. Names of files may break lines: then it is text of the project, where all
// of them lie inside of the session's folder.
func FirstNumbers(words []Field, inside func(Field) bool) Origin {
	name, args := words[0].Text, words[1:]
	if !AllKnown(words) {
		return OriginAny
	}
	switch name {
	case "uniq":
		if o := ParseOptions(args, "", ""); len(o.Operands) == 0 && o.Has("c", "count") && o.Only("cdui", "count repeated unique ignore-case") {
			return OriginAtom
		}
	case "ps":
		o := ParseOptions(args, "opCuU", "")
		if columns := o.Values("o", ""); len(columns) > 0 && o.Only("opCeA", "no-headers sort") {
			if first, _, _ := strings.Cut(columns[0].Text, ","); numericColumn.MatchString(strings.TrimSuffix(first, "=") + "=") {
				return OriginText
			}
		}
	case "git":
		if len(args) > 1 && args[0].Text == "shortlog" && !slices.ContainsFunc(args[1:], func(f Field) bool { return strings.HasPrefix(f.Text, "--f") || strings.HasPrefix(f.Text, "-w") }) && slices.ContainsFunc(args[1:], func(f Field) bool { return wordlist.Has("-sn -ns -sne -s", f.Text) }) {
			return OriginAtom
		}
		if len(args) > 1 && args[0].Text == "diff" && slices.ContainsFunc(args, func(f Field) bool { return f.Text == "--numstat" }) && !slices.ContainsFunc(args, func(f Field) bool {
			return strings.HasPrefix(f.Text, "-") && !wordlist.Has("--numstat --cached --staged --", f.Text)
		}) {
			return OriginText
		}
	case "find":
		i := slices.IndexFunc(args, func(f Field) bool { return f.Text == "-printf" })
		roots := slices.IndexFunc(args, func(f Field) bool { return strings.HasPrefix(f.Text, "-") })
		if i > 0 && roots > 0 && i+2 == len(args) && leadingNumber.MatchString(args[i+1].Text) && !slices.ContainsFunc(args[:roots], func(f Field) bool { return !inside(f) }) &&
			!slices.ContainsFunc(args[:i], func(f Field) bool {
				return wordlist.Has("-printf -print -print0 -ls -exec -execdir -ok -okdir -fprint -fprintf -fls -o -or ,", f.Text)
			}) {
			return OriginText
		}
	case "wc", "du":
		o := ParseOptions(args, "dt", "max-depth threshold")
		if o.Only("lcwmskbadxS", "max-depth bytes apparent-size summarize") && len(o.Operands) > 0 && !slices.ContainsFunc(o.Operands, func(f Field) bool { return !inside(f) }) {
			return OriginText
		}
	case "stat":
		o := ParseOptions(args, "c", "format")
		if f := append(o.Values("c", ""), o.Values("", "format")...); len(f) == 1 && leadingNumber.MatchString(f[0].Text) && !slices.ContainsFunc(o.Operands, func(f Field) bool { return !inside(f) }) {
			return OriginText
		}
	}
	return OriginAny
}

// leadingNumber is a format of find or stat whose lines begin with a number.
var leadingNumber = lazyregexp.New(`^%(s|Y|Z|X|m|k|b|i|d|n|G|U|h|a|W|T@|A@|C@)([ \t,]|\\t)`)
