package collect

import (
	"slices"
	"strings"
	"sync"
)

// notByItself are rules of persistenceRules for what somebody has to run, or that does
// nothing without another file of the class. Packages' installers write them all the time.
const notByItself = `node_modules/.bin/ .venv/bin/ venv/bin/ vendor/bin/ *.pth skill.md .gitmodules .gitattributes .git/`

// dependencies are folders whose content is installed: no editor opens them and no CI
// reads them.
const dependencies = ` node_modules bower_components site-packages vendor .venv venv .tox .yarn .pnpm-store `

var laterRules = sync.OnceValue(func() ruleSet {
	not := strings.Fields(notByItself)
	var list []string
	for rule := range strings.FieldsSeq(persistenceRules) {
		if !strings.HasPrefix(rule, "/") && !strings.HasPrefix(rule, ".git/") && !slices.Contains(not, rule) {
			list = append(list, rule)
		}
	}
	return parseRules(strings.Join(list, " "))
})

// RunsByItself reports whether a file of a working folder runs later by itself outside of
// a confinement, or tells agents what to do: git hooks and what decides which there are,
// settings of editors, .envrc, CI files, instructions. It is narrower than
// [ClassPersistence], which is for people who are asked: code that nobody read must not
// write these at all. rel is the path in the folder.
func RunsByItself(rel string) bool {
	segments := strings.Split(strings.ToLower(rel), "/")
	if at := slices.Index(segments, ".git"); at >= 0 {
		return inRepository(segments[at+1:])
	}
	for _, s := range segments[:len(segments)-1] {
		if strings.Contains(dependencies, " "+s+" ") {
			return false
		}
	}
	return laterRules().match(segments, false, ruleSegment.covers)
}

// inRepository is [RunsByItself] for a path in .git. A .git that is a file, or a commondir,
// leads git to a configuration elsewhere.
func inRepository(path []string) bool {
	if len(path) == 0 {
		return true
	}
	last := path[len(path)-1]
	for _, s := range path[:len(path)-1] {
		switch s {
		case "refs", "logs", "objects":
			return false
		case "hooks":
			return !strings.HasSuffix(last, ".sample")
		}
	}
	return slices.Contains([]string{"config", "config.worktree", "commondir", "hooks"}, last) || last == "attributes" && slices.Contains(path, "info")
}
