package facts

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
)

// reaching does something with paths that stand for others.
func (s *shell) reaching(to collect.Reach, f func()) {
	defer func(r collect.Reach) { s.reach = r }(s.reach)
	s.reach = to
	f()
}

// into touches the folder that files are put into, as far as what is put there
// steers what runs later: by its own name, or by those of the files.
func (s *shell) into(in invocation, dir field, files []field) {
	if collect.Classify(dir.text, collect.AccessWrite) == collect.ClassPersistence {
		return // by its own name
	}
	s.reaching(collect.ReachBeneath, func() {
		if len(files) == 0 || path.Base(dir.text) == ".git" {
			s.use(in, dir, collect.AccessWrite)
			return
		}
		for _, f := range files {
			base := path.Base(f.text)
			if !f.known() || f.glob || strings.HasSuffix(f.text, "/.") || base == "." || base == ".." {
				s.use(in, dir, collect.AccessWrite)
				return
			}
			if name := path.Join(dir.text, base); collect.Classify(name, collect.AccessWrite) == collect.ClassPersistence {
				s.use(in, field{text: name, dynamic: dir.dynamic}, collect.AccessWrite)
			}
		}
	})
}

// huntedText begins credentials, or is what people look for who look for them.
var huntedText = regexp.MustCompile(`(?i)AKIA|ASIA\[|sk[_-](live|test|ant|proj)|gh[pousr]_|github_pat|glpat-|xox[a-z\[]|PRIVATE.?KEY|BEGIN .*KEY|aws_secret|secret_access_key|eyJhbGci`)

// huntedWord is what stands beside credentials: to look for it in many files outside of
// the project is to look for them.
var huntedWord = regexp.MustCompile(`(?i)passw|secret|api.?key|credential`)

// readReach is how far a program reads that searches or packs folders.
func readReach(p program, o options, patterns []field) collect.Reach {
	narrowed := slices.ContainsFunc(slices.Concat(o.values(p.globs, "include"), o.values("", "glob"), o.values("", "type"), o.values(p.types, "")), func(f field) bool {
		return collect.Classify(f.text, collect.AccessRead) != collect.ClassSecret && !strings.HasPrefix(f.text, "!")
	})
	deep := p.always || o.has(p.recursive, "") || p.recursive != "" && (o.has("", "recursive") || o.has("", "dereference-recursive") || o.has("", "archive") || o.has("", "hidden"))
	switch {
	case slices.ContainsFunc(patterns, func(f field) bool { return huntedText.MatchString(f.text) }):
		return collect.ReachHunt
	case deep && slices.ContainsFunc(patterns, func(f field) bool { return huntedWord.MatchString(f.text) }):
		return collect.ReachHunt
	case deep && !narrowed:
		return collect.ReachBeneath
	}
	return collect.ReachOne
}

// shows reports whether a command prints no more of a file than its name, size and
// times, to nobody but the agent: a name that another command reads may be opened.
func (s *shell) shows(name string) bool {
	switch name {
	case "test", "[":
		return true
	case "ls", "stat":
		return !s.consumed && !strings.Contains(s.src, "exec")
	}
	return false
}
