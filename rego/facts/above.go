package facts

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// above reports whether a path that stands for what lies beneath it holds what
// has a class of its own: secrets, where it is read outside of the session's
// folder, or what runs later, where folders are written into.
func (x *extraction) above(clean string, r pathRef, inside bool) bool {
	if clean = strings.TrimSuffix(clean, "/."); len(clean) > 1 {
		clean = strings.TrimSuffix(clean, "/")
	}
	switch {
	case r.reach == reachOne || r.reach == reachName || r.remote || r.dynamic:
		return false
	case r.reach == reachOrigin:
		return true
	case r.access != accessRead:
		return ancestors().persistence.covers(clean, inside)
	case inside:
		return false
	}
	home := path.Clean(x.opts.Home)
	return r.reach == reachHunt || clean == "/" || clean == "~" || clean == ".." && x.opts.Dir == "" ||
		x.opts.Home != "" && (clean == home || strings.HasPrefix(home, clean+"/")) ||
		homeFolder.MatchString(clean) || ancestors().secret.covers(clean, false)
}

// homeFolder is what holds somebody's files, or several people's.
var homeFolder = regexp.MustCompile(`^/(home|Users)(/[^/]+)?$|^/root$|^~[^/]*$|^/proc$`)

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

// reaching does something with paths that stand for others.
func (s *shell) reaching(to reach, f func()) {
	defer func(r reach) { s.reach = r }(s.reach)
	s.reach = to
	f()
}

// into touches the folder that files are put into, as far as what is put there
// steers what runs later: by its own name, or by those of the files.
func (s *shell) into(in invocation, dir field, files []field) {
	if classify(dir.text, accessWrite) == classPersistence {
		return // by its own name
	}
	s.reaching(reachBeneath, func() {
		if len(files) == 0 || path.Base(dir.text) == ".git" {
			s.use(in, dir, accessWrite)
			return
		}
		for _, f := range files {
			base := path.Base(f.text)
			if !f.known() || f.glob || strings.HasSuffix(f.text, "/.") || base == "." || base == ".." {
				s.use(in, dir, accessWrite)
				return
			}
			if name := path.Join(dir.text, base); classify(name, accessWrite) == classPersistence {
				s.use(in, field{text: name, dynamic: dir.dynamic}, accessWrite)
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
func readReach(p program, o options, patterns []field) reach {
	narrowed := slices.ContainsFunc(slices.Concat(o.values(p.globs, "include"), o.values("", "glob"), o.values("", "type"), o.values(p.types, "")), func(f field) bool {
		return classify(f.text, accessRead) != classSecret && !strings.HasPrefix(f.text, "!")
	})
	deep := p.always || o.has(p.recursive, "") || p.recursive != "" && (o.has("", "recursive") || o.has("", "dereference-recursive") || o.has("", "archive") || o.has("", "hidden"))
	switch {
	case slices.ContainsFunc(patterns, func(f field) bool { return huntedText.MatchString(f.text) }):
		return reachHunt
	case deep && slices.ContainsFunc(patterns, func(f field) bool { return huntedWord.MatchString(f.text) }):
		return reachHunt
	case deep && !narrowed:
		return reachBeneath
	}
	return reachOne
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
