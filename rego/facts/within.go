package facts

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// listsWithin reports whether all that a statement lists are files inside of
// the session's folder, of no class of their own: editing them is an edit like
// another. The shell is a quiet one.
func (s *shell) listsWithin(st *syntax.Stmt) bool {
	s.x.Tick()
	if st.Background || st.Negated || !silences(st.Redirs) || s.remote {
		return false
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		words := s.fields(c.Args)
		return len(words) > 0 && len(c.Assigns) == 0 && words[0].known() && !s.overridden(words[0].text) && s.namesWithin(words)
	case *syntax.BinaryCmd: // a listing through a filter
		if c.Op != syntax.Pipe || !s.listsWithin(c.X) {
			return false
		}
		call, ok := c.Y.Cmd.(*syntax.CallExpr)
		if !ok || !silences(c.Y.Redirs) {
			return false
		}
		words := s.fields(call.Args)
		return len(words) > 0 && wordlist.Has("sort uniq head tail grep", words[0].text) && !s.overridden(words[0].text)
	}
	return false
}

// namesWithin is listsWithin for one command.
func (s *shell) namesWithin(words []field) bool {
	name, args := words[0].text, words[1:]
	switch name {
	case "find":
		i := slices.IndexFunc(args, func(f field) bool { return strings.HasPrefix(f.text, "-") })
		return i > 0 && s.findsWithin(args[:i], args)
	case "git":
		if len(args) == 0 || !wordlist.Has("ls-files grep", args[0].text) {
			return false
		}
		o := parseOptions(args[1:], "efABCmO", "")
		files := o.operands
		if args[0].text == "grep" && !o.has("e", "") && len(files) > 0 {
			files = files[1:]
		}
		lists := args[0].text == "ls-files" || o.has("l", "files-with-matches") || o.has("", "name-only")
		return lists && !o.has("O", "") && s.plainRoots(files, true)
	}
	p, ok := programs()[name]
	if !ok || !wordlist.Has("grep egrep fgrep rg ag", name) {
		return false
	}
	o := parseOptions(args, p.valued, p.long)
	files := o.operands
	if !o.has("ef", "regexp") && len(files) > 0 {
		files = files[1:]
	}
	if !o.has("l", "files-with-matches") || o.has("uo", "hidden") || o.has(".", "no-ignore") || o.has("", "pre") {
		return false
	}
	narrowed := o.values(p.globs, "include")
	skipsHidden := wordlist.Has("rg ag", name)
	if len(files) == 0 && (skipsHidden || len(narrowed) > 0) {
		files = []field{{text: "."}}
	}
	return s.plainRoots(files, skipsHidden || s.plainRoots(narrowed, true))
}

// findsWithin reports whether all that find meets are such files: below the
// roots, by a name that the words demand.
func (s *shell) findsWithin(roots, words []field) bool {
	named := false
	for i, w := range words {
		switch {
		case wordlist.Has("-o -or , -L -follow -exec -execdir -ok -okdir -delete", w.text):
			return false
		case wordlist.Has("-name -iname", w.text) && i+1 < len(words) && (i == 0 || words[i-1].text != "!" && words[i-1].text != "-not"):
			pattern := words[i+1]
			if !pattern.known() || collect.Classify(pattern.text, collect.AccessWrite) != "" || strings.Trim(pattern.text, "*?.") == "" {
				return false
			}
			named = true
		}
	}
	return named && s.plainRoots(roots, true)
}

// plainRoots reports whether words name files or folders inside of the
// session's folder, above nothing that has a class. The folder itself is one
// only where hidden files are left out.
func (s *shell) plainRoots(roots []field, whole bool) bool {
	for _, r := range roots {
		text := strings.TrimSuffix(r.text, "/")
		if !s.stays(r) || strings.HasPrefix(text, "-") || collect.Classify(text, collect.AccessWrite) != "" || collect.AbovePersistence(text) ||
			!whole && wordlist.Has(". ./ *", text) {
			return false
		}
	}
	return len(roots) > 0
}
