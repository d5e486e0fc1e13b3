package collect

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// above reports whether a path that stands for what lies beneath it holds what
// has a class of its own: secrets, where it is read outside of the session's
// folder, or what runs later, where folders are written into.
func (x *Findings) above(clean string, r Ref, inside bool) bool {
	if clean = strings.TrimSuffix(clean, "/."); len(clean) > 1 {
		clean = strings.TrimSuffix(clean, "/")
	}
	switch {
	case r.Reach == ReachOne || r.Reach == ReachName || r.Reach == ReachListed || r.Remote || r.Dynamic:
		return false
	case r.Reach == ReachOrigin:
		return true
	case r.Access != AccessRead:
		return ancestors().persistence.covers(clean, inside)
	case inside:
		return false
	}
	home := path.Clean(x.Opts.Home)
	return r.Reach == ReachHunt || clean == "/" || clean == "~" || clean == ".." && x.Opts.Dir == "" ||
		x.Opts.Home != "" && (clean == home || strings.HasPrefix(home, clean+"/")) ||
		homeFolder.MatchString(clean) || ancestors().secret.covers(clean, false)
}

// homeFolder is what holds somebody's files, or several people's.
var homeFolder = lazyregexp.New(`^/(home|Users)(/[^/]+)?$|^/root$|^~[^/]*$|^/proc$`)

// A folderSet holds the folders above what rules of [classify] name, by their
// last segments.
type folderSet map[string]bool

// ancestors are the folders above what the rules name below a folder.
var ancestors = sync.OnceValue(func() (sets struct{ secret, persistence folderSet }) {
	sets.secret, sets.persistence = foldersAbove(secretRules), foldersAbove(persistenceRules)
	return sets
})

func foldersAbove(rules string) folderSet {
	set := make(folderSet)
	for rule := range strings.FieldsSeq(rules) {
		for dir := path.Dir(strings.TrimSuffix(rule, "/")); !strings.HasPrefix(rule, "/") && dir != "."; dir = path.Dir(dir) {
			set[dir] = true
		}
	}
	return set
}

// AbovePersistence reports whether a path inside of the session's folder holds what
// runs later, beneath it.
func AbovePersistence(clean string) bool { return ancestors().persistence.covers(clean, true) }

// covers reports whether a path ends in one of the folders. Those without a dot
// before their name are everyday names inside of a project.
func (set folderSet) covers(clean string, inside bool) bool {
	segments := strings.Split(strings.ToLower(strings.Trim(clean, "/")), "/")
	for n := 1; n <= min(3, len(segments)); n++ {
		last := strings.Join(segments[len(segments)-n:], "/")
		if set[last] && (!inside || strings.HasPrefix(last, ".")) {
			return true
		}
	}
	return false
}

// lookalikes are letters that are drawn as others: those of the second word
// are what the first ones look like.
const (
	lookalikes = "аеорсухіјѕһԁԛԝɡοαερυιν"
	looksLike  = "aeopcyxijshdqwgoaepuiv"
)

// lookalike writes the letters of a path as those that they look like.
func lookalike(clean string) string {
	if !strings.ContainsFunc(clean, func(r rune) bool { return r > 0x7f }) {
		return ""
	}
	drawn := []rune(lookalikes)
	return strings.Map(func(r rune) rune {
		if r >= 0xff01 && r <= 0xff5e { // full width
			return r - 0xfee0
		}
		if i := slices.Index(drawn, r); i >= 0 {
			return rune(looksLike[i])
		}
		return r
	}, clean)
}

// instructions are files that tell an agent what to do, and which a pattern of visible names
// may stand for.
var instructions = []string{"claude.md", "agents.md", "gemini.md", "qwen.md"}

// reachesInstructions reports whether a pattern of names, in the session's folder itself or
// at any depth below it, stands for such a file: sed -i s/a/b/ *.md.
func (x *Findings) reachesInstructions(clean string, inside bool) bool {
	dir, name := path.Split(strings.ToLower(clean))
	if !inside || !isPattern(name) || !strings.HasSuffix(name, "md") || !strings.Contains(dir, "**") && !strings.EqualFold(path.Clean(dir), x.Start()) {
		return false
	}
	return slices.ContainsFunc(instructions, func(file string) bool { return GlobMatch(name, file) })
}
