package shell

import (
	"path"
	"regexp"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// provenance says, by the name of a file, what text in it tells where packages
// come from, or names a script that runs by itself when they are installed.
var provenance = []struct{ file, text *regexp.Regexp }{
	{regexp.MustCompile(`^(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lock|poetry\.lock|uv\.lock|pipfile\.lock|cargo\.lock|gemfile\.lock|composer\.lock|go\.sum)$`), regexp.MustCompile(`://|resolved|integrity|registry`)},
	{regexp.MustCompile(`^(.*requirements.*\.(txt|in)|constraints\.txt|pipfile|pyproject\.toml)$`), regexp.MustCompile(`index-url|--index|--find-links|--trusted-host|git\+|@ ?https?:|tool\.(poetry\.source|uv\.index)`)},
	{regexp.MustCompile(`^(gradle|maven)-wrapper\.properties$`), regexp.MustCompile(`(?i)url|services\.gradle|repo\.maven|://`)},
	{regexp.MustCompile(`^(dockerfile.*|.*\.dockerfile|containerfile)$`), regexp.MustCompile(`(?i)FROM\s+[\w.-]+(:\d{4,5})?/[\w.-]+`)},
	{regexp.MustCompile(`^package\.json$`), regexp.MustCompile(`\b(pre|post)?install\b\\?["']?\s*[:=]|scripts\.(pre|post)?(install|prepare|publish)|\b(pre|post)?prepare\\?["']\s*:|registry`)},
	{regexp.MustCompile(`^go\.(mod|work)$`), regexp.MustCompile(`replace\b|=>\s*[\w-]+\.[\w.-]+/`)},
	{regexp.MustCompile(`^gemfile$`), regexp.MustCompile(`source\s*\(?["']http`)},
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
