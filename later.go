package holdgate

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Later is what a call that goes on may change of what runs later by itself (git hooks,
// editors' settings, CI files, agents' instructions), as far as its own facts say so.
// The zero value is nothing.
type Later struct {
	Paths []string `json:"paths,omitempty"` // absolute, with all below them; a star stands for a part of a name
	Gone  []string `json:"gone,omitempty"`  // as Paths, but may only be removed or moved away
	Git   bool     `json:"git,omitempty"`   // what git checks out: all outside of .git
	All   bool     `json:"all,omitempty"`   // the call itself is about that
}

// None reports whether it is nothing.
func (l Later) None() bool { return !l.All && !l.Git && len(l.Paths)+len(l.Gone) == 0 }

// How agents, and sed -i, name the new content of a file in its folder until it takes the
// file's name. What tells a kind of file by how its name ends takes it for none.
var (
	ofTheFile = regexp.MustCompile(`^(.+)\.tmp(\.[0-9a-f]+)*$`)
	ofSed     = regexp.MustCompile(`^sed[0-9A-Za-z]{6}$`)
)

// CoversRemoval reports whether what has an absolute path may lose it.
func (l Later) CoversRemoval(p string) bool { return l.Covers(p) || named(l.Gone, p) }

// Covers reports whether an absolute path may be changed in every way.
func (l Later) Covers(p string) bool {
	if l.All || l.Git && !strings.Contains(p, "/.git/") {
		return true
	}
	dir, base := path.Split(p)
	if name := ofTheFile.FindStringSubmatch(base); name != nil && named(l.Paths, dir+name[1]) {
		return true
	}
	beside := func(pattern string) bool { return path.Dir(pattern) == path.Clean(dir) }
	return named(l.Paths, p) || ofSed.MatchString(base) && slices.ContainsFunc(l.Paths, beside)
}

// named reports whether one of the patterns is this path, or one above it.
func named(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		for at := p; ; at = path.Dir(at) {
			if ok, err := path.Match(pattern, at); at == pattern || ok && err == nil {
				return true
			}
			if at == "/" || at == "." {
				return false
			}
		}
	})
}
