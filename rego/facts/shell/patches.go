package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

// What git itself prints of a repository as a patch holds what the repository has, or
// what the agent's calls have put into its folder before everybody's eyes. Putting it in
// again is no more than a merge.

// diffOptions are options of git diff that leave its output a patch of the repository,
// with the names that its files have.
var diffOptions = lazyregexp.New(`^(--|-p|-u|--patch|-U[0-9]+|--unified=[0-9]+|-w|-b|-M|-a|--text|--cached|--staged|--binary|--full-index|--no-color|--no-ext-diff|--no-textconv|--minimal|--patience|--histogram|--find-renames|--merge-base|--diff-filter=[A-Za-z]+)$`)

// ownCommits are commits of the repository that no fetch moves, and ranges of them. What
// another name stands for may be anybody's: "evil" is also the branch of a remote.
var ownCommits = lazyregexp.New(`^((HEAD|@|main|master|develop|trunk)([~^][0-9]*)*(\.\.\.?((HEAD|@|main|master|develop|trunk)([~^][0-9]*)*)?)?|\.\.\.?(HEAD|@|main|master|develop|trunk)([~^][0-9]*)*)$`)

// printsPatch reports whether a statement prints a patch of the repository that the
// session's folder lies in. The shell is a quiet one.
func (s *Shell) printsPatch(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Background || st.Negated || len(call.Assigns) > 0 || len(s.Env) > 0 || s.Wild || s.Remote || !silences(st.Redirs) || len(s.Dirs) != 1 || !s.TakesPatch() || s.Found.Fetches == collect.FetchForeign ||
		slices.ContainsFunc(st.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.RdrIn }) {
		return false
	}
	words := s.fields(call.Args)
	if len(words) < 2 || words[0].Text != "git" || s.overridden("git") || !argv.AllKnown(words[:2]) {
		return false
	}
	args, commits := words[2:], ownCommits
	switch words[1].Text {
	case "diff":
	case "stash":
		if len(args) == 0 || args[0].Text != "show" || !slices.ContainsFunc(args, func(f argv.Field) bool { return f.Text == "-p" || f.Text == "--patch" }) {
			return false
		}
		args, commits = args[1:], stashed
	default: // show and format-patch print what commits say, too, and show prints files
		return false
	}
	paths := false
	for _, w := range args {
		switch {
		case !w.Known() && w.Origin != argv.OriginAtom, w.Glob:
			return false
		case paths:
			if !s.ordinary(w) {
				return false
			}
		case w.Text == "--":
			paths = true
		case strings.HasPrefix(w.Text, "-"):
			if !diffOptions.MatchString(w.Text) {
				return false
			}
		case !commits.MatchString(w.Text):
			return false // git compares any two files, too, and not only those of the repository
		}
	}
	return true
}

// stashed is an entry of the stash.
var stashed = lazyregexp.New(`^(stash@\{)?[0-9]+\}?$`)

// TakesPatch reports whether git stands in a folder, of the session's, to which a patch of
// the repository may be put in: it puts in no more than what lies below.
func (s *Shell) TakesPatch() bool {
	return s.Stays(argv.Field{Text: "."}) && !slices.ContainsFunc(s.Dirs, runsLater)
}

// ordinary reports whether a word names files, in the shell's one folder, of which none
// runs by itself.
func (s *Shell) ordinary(w argv.Field) bool {
	return s.Stays(w) && !strings.ContainsAny(w.Text, `*?[\:`) && !runsLater(collect.JoinDir(s.Dirs[0], w.Text))
}

// runsLater reports whether a path of the session's folder has a class, or lies above one.
func runsLater(clean string) bool {
	return collect.Classify(clean, collect.AccessWrite) != "" || collect.AbovePersistence(clean)
}

// OwnPatch reports whether a file holds a patch that the line had git print of the
// repository, and nothing since may have changed it.
func (s *Shell) OwnPatch(f argv.Field) bool {
	at, ok := s.FileAt(f)
	version, printed := s.Found.Patches[at]
	return ok && f.Sure() && printed && version == s.Found.Version(at) && !s.Wild && !s.Found.Scatters && !s.Found.Linked && (!s.Found.Beside || s.Found.Writes[at] == 1)
}

// patched notes that a file has been given such a patch.
func (s *Shell) patched(at string, st *syntax.Stmt) {
	if !s.quietly().printsPatch(st) {
		return
	}
	if s.Found.Patches == nil {
		s.Found.Patches = make(map[string]int)
	}
	s.Found.Patches[collect.FileKey(at)] = s.Found.Version(at)
}
