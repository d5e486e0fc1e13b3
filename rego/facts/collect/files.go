package collect

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// What a call writes, fetches and builds itself decides whether what it runs is the
// project's.

// A Fetch says whose code a call brings.
type Fetch uint8

const (
	FetchNone    Fetch = iota
	FetchOwn           // that of the branches of the project's own remote
	FetchForeign       // anybody's
)

// Version counts what was written to a file, or to a folder above it.
func (x *Findings) Version(at string) int {
	whole, n := at, x.Writes[at]
	for at != "/" && at != "." && at != "~" && at != "" {
		at = path.Dir(at)
		n += x.Writes[at]
	}
	return n + x.perhaps(whole)
}

// Filled is Version without what was deleted.
func (x *Findings) Filled(at string) int {
	n := x.Version(at)
	for ; at != "/" && at != "." && at != "~" && at != ""; at = path.Dir(at) {
		n -= x.removals[at]
	}
	return n
}

// perhaps counts the writes to patterns that may stand for a file, or for a folder above it.
func (x *Findings) perhaps(at string) (n int) {
	for _, p := range x.patterns {
		if p != at && standsFor(p, at) {
			n++
		}
	}
	return n
}

// standsFor reports whether a pattern may stand for a path, or for a folder above it. The path
// may be a pattern too.
func standsFor(pattern, at string) bool {
	for {
		name, rest, more := strings.Cut(pattern, "/")
		part, below, deeper := strings.Cut(at, "/")
		switch {
		case strings.Contains(name, "**"), strings.Contains(part, "**"):
			return true
		case !meet(name, part):
			return false
		case !more:
			return true
		case !deeper:
			return false
		}
		pattern, at = rest, below
	}
}

// meet reports whether two names, of which each may be a pattern, may be one.
func meet(a, b string) bool {
	ends := func(s string) (before, after string) {
		i, j := strings.IndexAny(s, "*?["), strings.LastIndexAny(s, "*?]")
		if i < 0 {
			return s, s
		}
		return s[:i], s[j+1:]
	}
	a1, a2 := ends(a)
	b1, b2 := ends(b)
	return (strings.HasPrefix(a1, b1) || strings.HasPrefix(b1, a1)) && (strings.HasSuffix(a2, b2) || strings.HasSuffix(b2, a2))
}

// configures are names of what tools of a project load wherever they find it.
const configures = "conftest.py setup.py sitecustomize.py usercustomize.py noxfile.py tasks.py gulpfile.js gruntfile.js makefile rakefile gemfile vagrantfile dockerfile node_modules site-packages vendor hooks"

// MayConfigure reports whether a pattern may stand for what tools load by its name, or for
// a folder of such, going by how its names begin; or for a configuration, by what they say.
func MayConfigure(pattern string) bool {
	for name := range strings.SplitSeq(strings.ToLower(pattern), "/") {
		if begins := strings.IndexAny(name, "*?["); begins >= 0 && (strings.Contains(name, ".config") || begins > 0 && slices.ContainsFunc(strings.Fields(configures), func(c string) bool { return meet(name, c) })) {
			return true
		}
	}
	return false
}

// keptWord says that files which were read as scripts are what they were: where
// something runs beside the line, or holds a file open, it may write at any time,
// so that one write is all that may be.
func (x *Findings) keptWord() {
	for at, version := range x.Relied {
		if x.Beside && (x.Writes[at]-x.removals[at] != 1 || x.Filled(at) != version) {
			x.Fail("shell: %s is written more than once, and run", at)
		}
	}
	if x.Numbered != "" && (x.CopiesMore || x.Scatters) { // also what a loop does later
		x.Fail("%s is to hold the number of a process, and may be one that is copied", x.Numbered)
	}
	for _, at := range slices.Sorted(maps.Keys(x.Numbers)) {
		if x.Numbers[at] != 0 {
			x.Fail("%s is to hold the number of a process, and not of one that the call starts", at)
		}
	}
}

// FileKey is a path as it is compared: some file systems take letters of either
// case for one, and have /tmp under two names.
func FileKey(clean string) string {
	return strings.ToLower(strings.TrimPrefix(clean, "/private"))
}

// A Run is a file of the project that a command runs, as Unbound has it.
type Run struct {
	Text  string
	Clean []string // where it may lie
	Below bool     // what lies below it runs too
	Away  bool     // it lies elsewhere, and is the project's where the call builds it
	First bool     // it is itself the program, or the script of one
}

// A File is one that a command runs, as Unbound has it.
type File struct {
	Text    string
	Reasons []string // why its content was not read; nil where it is not in the call
}

// Compiled is what is known of a file that was compiled of sources in the call.
type Compiled struct {
	Reasons []string
	Version int // how often the file had been written
}

// Explain notes why something that the command at hand hangs on was not read.
func (x *Findings) Explain(what string, reasons []string) {
	if x.Why == nil {
		x.Why = make(map[string][]string)
	}
	x.Why[what] = reasons
}

// explainFiles adds to each command why the files that it runs were not read, once it is
// known which of them are the project's.
func (x *Findings) explainFiles() {
	for i, files := range x.Files[:min(len(x.Files), len(x.Facts.Commands))] {
		c := &x.Facts.Commands[i]
		for _, f := range files {
			reasons := f.Reasons
			switch {
			case slices.Contains(c.Project, f.Text):
				reasons = []string{holdgate.ReasonProjectCode}
			case reasons != nil:
			case !x.Scatters && x.Fetches == FetchNone && slices.ContainsFunc(x.Runs[i], func(r Run) bool { return r.Text == f.Text && !r.Away }):
				reasons = []string{holdgate.ReasonOwnFile}
			default:
				reasons = []string{holdgate.ReasonUnseenFile}
			}
			c.Reasons = wordlist.Unique(append(c.Reasons, reasons...))
		}
		slices.Sort(c.Reasons)
	}
}

// passing are the folders that files pass through, by any part of a path.
var passing = lazyregexp.New(`(?i)(^|/)(\.?te?mp|downloads?|\.git)(/|$)`)

// Project reports whether a cleaned path lies in the session's folder, and not
// where files only pass through. Where that folder is not known, a build in an
// absolute one counts as the project's unless it lies there too.
func (x *Findings) Project(clean string, door bool) bool {
	if x.Inside(clean) {
		return !passing.MatchString(strings.TrimPrefix(clean, x.Start()))
	}
	return door && x.Opts.Dir == "" && path.IsAbs(clean) && !passing.MatchString(clean) && !SystemProgram(clean) && clean != "/"+path.Base(clean)
}

// ownRuns sets [Command.Project]: of the candidates those that the call does
// not write, by their own name or with a folder above them.
func (x *Findings) ownRuns() {
	if x.Scatters || x.Fetches == FetchForeign && x.Places {
		return
	}
	for i, runs := range x.Runs[:min(len(x.Runs), len(x.Facts.Commands))] {
		for _, r := range runs {
			if slices.ContainsFunc(r.Clean, func(p string) bool { return x.Unread[p] }) {
				continue
			}
			if r.Away && !x.makes(r.Clean) || r.First && x.Fetches != FetchNone && x.Places {
				continue
			}
			if !slices.ContainsFunc(r.Clean, func(p string) bool { return x.Overwrites(p, r.Below) }) {
				x.Facts.Commands[i].Project = append(x.Facts.Commands[i].Project, r.Text)
			}
		}
	}
}

// Overwrites reports whether the call decides what a path holds, by its own name or
// by a folder's above it; or, with below, what lies beneath it.
func (x *Findings) Overwrites(p string, below bool) bool {
	if slices.ContainsFunc(x.rewritten, func(w string) bool { return standsFor(w, p) }) {
		return true
	}
	return slices.ContainsFunc(x.written, func(w string) bool {
		return w == p || w == "." || strings.HasPrefix(p, w+"/") || below && strings.HasPrefix(w, p+"/")
	})
}

// JoinAny is a path as it is seen from a folder, or itself where it is absolute.
func JoinAny(dir, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return JoinDir(dir, p)
}

// WasShown reports whether a source was read when it was compiled, and is the same.
func (x *Findings) WasShown(at string) bool {
	version, ok := x.Shown[FileKey(at)]
	return ok && version == x.Version(FileKey(at))
}

// sources are the names of what programs are made of.
var sources = lazyregexp.New(`(?i)\.(go|c|cc|cpp|cxx|h|hpp|rs|zig|s|asm|java|kt|swift|cmake|mk)$|(^|/)(GNU)?Makefile$|(^|/)CMakeLists.txt$`)

// makes reports whether the call makes a file of the project, and writes none of
// its sources.
func (x *Findings) makes(at []string) bool {
	if slices.ContainsFunc(x.written, func(w string) bool { return sources.MatchString(w) && !x.WasShown(w) }) {
		return false
	}
	return !slices.ContainsFunc(at, func(p string) bool {
		return !x.Project(p, false) && !slices.ContainsFunc(x.Made, func(m string) bool { return p == m || strings.HasPrefix(p, m+"/") })
	})
}

// LeadsOut reports whether a path is not relative to the folder at hand.
func LeadsOut(p string) bool {
	p = path.Clean(p)
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || p == ".." || strings.HasPrefix(p, "../")
}
