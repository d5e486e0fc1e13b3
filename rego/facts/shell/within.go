package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/operands"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// listsWithin reports whether all that a statement lists are files inside of
// the session's folder, of no class of their own: editing them is an edit like
// another. The shell is a quiet one.
func (s *Shell) listsWithin(st *syntax.Stmt) bool {
	s.Found.Tick()
	if st.Background || st.Negated || !silences(st.Redirs) || s.Remote {
		return false
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		words := s.fields(c.Args)
		return len(words) > 0 && len(c.Assigns) == 0 && words[0].Known() && !s.overridden(words[0].Text) && s.namesWithin(words)
	case *syntax.BinaryCmd: // a listing through a filter
		if c.Op != syntax.Pipe || !s.listsWithin(c.X) {
			return false
		}
		call, ok := c.Y.Cmd.(*syntax.CallExpr)
		if !ok || !silences(c.Y.Redirs) {
			return false
		}
		words := s.fields(call.Args)
		return len(words) > 0 && !s.overridden(words[0].Text) && picksLines(words)
	}
	return false
}

// picksLines reports whether a filter prints whole lines of what it reads on standard
// input, and nothing else.
func picksLines(words []argv.Field) bool {
	options, ok := picking[words[0].Text]
	if !ok || !argv.AllKnown(words) {
		return false
	}
	patterns := 0
	for i, w := range words[1:] {
		switch {
		case options.MatchString(w.Text):
		case wordlist.Has("head tail", words[0].Text):
			if words[i].Text != "-n" || strings.Trim(w.Text, "+-0123456789") != "" {
				return false
			}
		case strings.HasSuffix(words[0].Text, "grep") && !strings.HasPrefix(w.Text, "-"):
			patterns++
		default:
			return false
		}
	}
	return patterns <= 1
}

// picking are filters that pick lines, with their options that change no line.
var picking = map[string]*lazyregexp.Regexp{
	"sort": lazyregexp.New(`^-[urnVf]+$`), "uniq": lazyregexp.New(`^-[udi]+$`),
	"head": lazyregexp.New(`^-(n?[0-9]+|n)$`), "tail": lazyregexp.New(`^-(n?[0-9]+|n)$`),
	"grep": lazyregexp.New(`^-[viEFPwx]+$`), "egrep": lazyregexp.New(`^-[viwx]+$`), "fgrep": lazyregexp.New(`^-[viwx]+$`),
}

// namesWithin is listsWithin for one command.
func (s *Shell) namesWithin(words []argv.Field) bool {
	name, args := words[0].Text, words[1:]
	switch name {
	case "echo", "printf": // of what another has listed
		if name == "printf" {
			if len(args) == 0 || !wordlist.Has(`%s %s\n`, args[0].Text) {
				return false
			}
			args = args[1:]
		}
		return len(args) > 0 && !slices.ContainsFunc(args, func(f argv.Field) bool { return !f.Within })
	case "find":
		i := slices.IndexFunc(args, func(f argv.Field) bool { return strings.HasPrefix(f.Text, "-") })
		return i > 0 && s.FindsWithin(args[:i], args)
	case "git":
		if len(args) == 0 || !wordlist.Has("ls-files grep diff", args[0].Text) {
			return false
		}
		if args[0].Text == "diff" {
			return s.changedWithin(args[1:])
		}
		valued, flags := "", "cdmoz"
		if args[0].Text == "grep" {
			valued, flags = "efABCm", "lwiFEGPIvz"
		}
		o := argv.ParseOptions(args[1:], valued, "")
		files := o.Operands
		if args[0].Text == "grep" && !o.Has("e", "") && len(files) > 0 {
			files = files[1:]
		}
		if o.Has("o", "others") && !o.Has("", "exclude-standard") { // what git ignores too
			return false
		}
		lists := args[0].Text == "ls-files" || o.Has("l", "files-with-matches") || o.Has("", "name-only")
		files = slices.DeleteFunc(slices.Clone(files), func(f argv.Field) bool { return f.Known() && leavesOut.MatchString(f.Text) })
		if slices.ContainsFunc(files, func(f argv.Field) bool { return strings.ContainsAny(f.Text, `:\`) || !s.below(f) && !plainEnd(f) }) {
			return false
		}
		return lists && flagsOnly(args[1:], flags, valued, "") && !o.Has("", "format") && s.plainRoots(files, true)
	}
	p, ok := operands.Table()[name]
	if !ok || !wordlist.Has("grep egrep fgrep rg ag", name) {
		return false
	}
	o := argv.ParseOptions(args, p.Valued, p.Long)
	files := o.Operands
	if !o.Has("ef", "regexp") && len(files) > 0 {
		files = files[1:]
	}
	if !flagsOnly(args, "lwirRFEGPSsvxnHIzha", p.Valued, p.Long) || o.Has("", "label") || !o.Has("l", "files-with-matches") || o.Has("uo", "hidden") || o.Has(".", "no-ignore") || o.Has("", "pre") {
		return false
	}
	narrowed := o.Values(p.Globs, "include")
	skipsHidden := wordlist.Has("rg ag", name)
	if len(files) == 0 && (skipsHidden || len(narrowed) > 0) {
		files = []argv.Field{{Text: "."}}
	}
	ends := slices.DeleteFunc(slices.Clone(narrowed), func(f argv.Field) bool { return strings.HasPrefix(f.Text, "!") })
	ended := name != "ag" && len(ends) > 0 && !slices.ContainsFunc(ends, func(f argv.Field) bool { return !plainEnd(f) })
	if !ended && slices.ContainsFunc(files, func(f argv.Field) bool { return !s.below(f) && !plainEnd(f) }) {
		return false
	}
	return s.plainRoots(files, skipsHidden || s.plainRoots(narrowed, true))
}

// changedWithin reports whether git diff, of these words, names such files alone: those that
// the patterns behind -- demand. Its names are seen from the root of the repository, and climb
// out of nothing.
func (s *Shell) changedWithin(words []argv.Field) bool {
	i := slices.IndexFunc(words, func(f argv.Field) bool { return f.Text == "--" })
	if i < 0 || !slices.ContainsFunc(words[:i], func(f argv.Field) bool { return f.Text == "--name-only" }) {
		return false
	}
	for _, w := range words[:i] {
		if !w.Known() || strings.HasPrefix(w.Text, "-") && !wordlist.Has("--name-only --cached --staged", w.Text) && !strings.HasPrefix(w.Text, "--diff-filter=") || strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, ".") || strings.HasPrefix(w.Text, "~") {
			return false
		}
	}
	files := words[i+1:]
	return len(files) > 0 && !slices.ContainsFunc(files, func(f argv.Field) bool { return strings.ContainsAny(f.Text, `:\`) || !plainEnd(f) }) && s.plainRoots(files, true)
}

// FindsWithin reports whether all that find meets are such files: below the
// roots, by a name that the words demand.
func (s *Shell) FindsWithin(roots, words []argv.Field) bool {
	named, ended := false, false
	for i, w := range words {
		switch {
		case wordlist.Has("-o -or , ( ) -L -follow -exec -execdir -ok -okdir -delete -printf -fprintf", w.Text):
			return false
		case wordlist.Has("-name -iname", w.Text) && i+1 < len(words) && (i == 0 || words[i-1].Text != "!" && words[i-1].Text != "-not"):
			pattern := words[i+1]
			if !pattern.Known() || collect.Classify(pattern.Text, collect.AccessWrite) != "" || strings.Trim(pattern.Text, "*?.") == "" {
				return false
			}
			named, ended = true, ended || plainEnd(pattern)
		}
	}
	return named && s.plainRoots(roots, true) && (ended || !slices.ContainsFunc(roots, func(f argv.Field) bool { return !s.below(f) }))
}

// ends are those of names that files have which run by themselves, or tell an agent what
// to do, wherever a project keeps them: .github/workflows/ci.yml, CLAUDE.md.
const ends = "yml yaml json jsonc json5 toml sh bash zsh fish ksh md mdc cfg conf ini rc pth xml plist service local envrc bashrc bash_profile zshrc profile npmrc yarnrc pypirc netrc husky github gitmodules gitattributes editorconfig"

var lastEnd = lazyregexp.New(`[^/]\.([A-Za-z0-9_]+)$`)

// plainEnd reports whether a pattern of names demands an end that none of them has.
func plainEnd(f argv.Field) bool {
	m := lastEnd.FindStringSubmatch(f.Text)
	return m != nil && f.Known() && !wordlist.Has(ends, strings.ToLower(m[1]))
}

// leavesOut is a pattern of git that names files which are not listed.
var leavesOut = lazyregexp.New(`^:[!^][^:(]+$`)

// flagsOnly reports whether options are flags of these letters, or such as take a value
// and are known to: the value of another would be taken for a file.
func flagsOnly(words []argv.Field, flags, valued, long string) bool {
	for _, w := range words {
		switch t := w.Text; {
		case t == "--":
			return true
		case len(t) < 2 || t[0] != '-':
		case strings.HasPrefix(t, "--"):
			if name, _, has := strings.Cut(t[2:], "="); !has && !wordlist.Has(long, name) && !wordlist.Has(longFlags, name) {
				return false
			}
		default:
			if i := strings.IndexAny(t, valued); i > 0 {
				t = t[:i]
			}
			if strings.Trim(t[1:], flags) != "" {
				return false
			}
		}
	}
	return true
}

// longFlags are options of searches and listings that take no value.
const longFlags = "recursive files-with-matches name-only ignore-case word-regexp fixed-strings extended-regexp perl-regexp line-regexp smart-case multiline no-messages no-heading null cached others modified deleted exclude-standard untracked"

// below reports whether a word names files below a folder of the session's folder, and
// not all that lies in it.
func (s *Shell) below(f argv.Field) bool {
	f = s.Here(f)
	text, known := s.Found.ExpandTilde(f.Text, s.Remote)
	if i := strings.IndexAny(text, "*?[{"); i >= 0 {
		text = text[:strings.LastIndexByte(text[:i], '/')+1]
	}
	start := s.Found.Start()
	if path.IsAbs(text) {
		return known && path.Clean(text) != start
	}
	return known && len(s.Dirs) > 0 && !slices.ContainsFunc(s.Dirs, func(dir string) bool { return collect.JoinDir(dir, text) == start })
}

// plainRoots reports whether words name files or folders inside of the
// session's folder, above nothing that has a class. The folder itself is one
// only where hidden files are left out.
func (s *Shell) plainRoots(roots []argv.Field, whole bool) bool {
	for _, r := range roots {
		text := strings.TrimSuffix(r.Text, "/")
		if !s.Stays(r) || strings.HasPrefix(text, "-") || collect.Classify(text, collect.AccessWrite) != "" || collect.AbovePersistence(text) ||
			!whole && wordlist.Has(". ./ *", text) {
			return false
		}
	}
	return len(roots) > 0
}
