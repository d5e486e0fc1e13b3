package facts

import (
	"path"
	"regexp"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
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

// changesProvenance reports whether text that is put into a file changes where
// packages come from, or what runs when they come.
func changesProvenance(file, text string) bool {
	base := strings.ToLower(path.Base(file))
	for _, p := range provenance {
		if p.file.MatchString(base) && p.text.MatchString(text) {
			return true
		}
	}
	return false
}

// puts touches a file for the text that is put into it.
func (s *shell) puts(f field, text string) {
	if changesProvenance(f.text, text) {
		s.reaching(collect.ReachOrigin, func() { s.touch(f, collect.AccessWrite) })
	}
}

var (
	// runsAlone is a script of package.json that runs when packages are installed.
	runsAlone = regexp.MustCompile(`"(pre|post)install"\s*:`)
	// wholeProvenance are files of which nothing else is expected that says where packages come from.
	wholeProvenance = regexp.MustCompile(`(?i)requirements.*\.(txt|in)$|^constraints\.txt$|^(gradle|maven)-wrapper\.properties$`)
)

// edited notes the file whose text an editing tool replaces.
func edited(x *collect.Findings, kind toolKind, args map[string]any, dir string) {
	var file, before, after, whole string
	for k, v := range args {
		text, _ := v.(string)
		switch n := normal(k); {
		case n == "oldstring" || n == "oldstr" || n == "oldtext":
			before = text
		case n == "newstring" || n == "newstr" || n == "newtext":
			after = text
		case wordlist.Has("content contents filetext filecontent newcontent codeedit", n):
			whole = text
		case kind.role(k) == rolePath:
			file = text
		}
	}
	steers := after != before && changesProvenance(file, after) || strings.ToLower(path.Base(file)) != "package.json" && changesProvenance(file, whole) && wholeProvenance.MatchString(path.Base(file)) ||
		strings.ToLower(path.Base(file)) == "package.json" && runsAlone.MatchString(whole)
	if file != "" && steers {
		x.Path(collect.Ref{Text: file, Access: collect.AccessWrite, Dirs: collect.DirsOf(dir), Reach: collect.ReachOrigin})
	}
}
