package shell

import (
	"path"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// provenance says, by the name of a file, what text in it tells where packages
// come from, or names a script that runs by itself when they are installed.
var provenance = []struct{ file, text *lazyregexp.Regexp }{
	{lazyregexp.New(`^(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lock|poetry\.lock|uv\.lock|pipfile\.lock|cargo\.lock|gemfile\.lock|composer\.lock|go\.sum)$`), lazyregexp.New(`://|resolved|integrity|registry`)},
	{lazyregexp.New(`^(.*requirements.*\.(txt|in)|constraints\.txt|pipfile|pyproject\.toml)$`), lazyregexp.New(`index-url|--index|--find-links|--trusted-host|git\+|@ ?https?:|tool\.(poetry\.source|uv\.index)`)},
	{lazyregexp.New(`^(gradle|maven)-wrapper\.properties$`), lazyregexp.New(`(?i)url|services\.gradle|repo\.maven|://`)},
	{lazyregexp.New(`^(dockerfile.*|.*\.dockerfile|containerfile)$`), lazyregexp.New(`(?i)FROM\s+[\w.-]+(:\d{4,5})?/[\w.-]+`)},
	{lazyregexp.New(`^package\.json$`), lazyregexp.New(`\b(pre|post)?install\b\\?["']?\s*[:=]|scripts\.(pre|post)?(install|prepare|publish)|\b(pre|post)?prepare\\?["']\s*:|registry`)},
	{lazyregexp.New(`^go\.(mod|work)$`), lazyregexp.New(`replace\b|=>\s*[\w-]+\.[\w.-]+/`)},
	{lazyregexp.New(`^gemfile$`), lazyregexp.New(`source\s*\(?["']http`)},
}

// ChangesProvenance reports whether text that is put into a file changes where
// packages come from, or what runs when they come.
func ChangesProvenance(file, text string) bool {
	base := strings.ToLower(path.Base(file))
	for _, p := range provenance {
		if p.file.MatchString(base) && p.text.MatchString(text) {
			return true
		}
	}
	return false
}

// Puts touches a file for the text that is put into it.
func (s *Shell) Puts(f argv.Field, text string) {
	if ChangesProvenance(f.Text, text) {
		s.Reaching(collect.ReachOrigin, func() { s.Touch(f, collect.AccessWrite) })
	}
}

// Reaching does something with paths that stand for others.
func (s *Shell) Reaching(to collect.Reach, f func()) {
	defer func(r collect.Reach) { s.Reach = r }(s.Reach)
	s.Reach = to
	f()
}
