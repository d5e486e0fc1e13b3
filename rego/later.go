package rego

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// later is what a call may change of what runs later by itself, once it goes on: what its
// facts name, which policy or people have judged. It counts where such changes are kept
// from all others, and is nil elsewhere.
func (p *policy) later(in Input, f facts.Facts) *holdgate.Later {
	if in.Call.Kind != holdgate.KindToolCall || in.Call.Result != nil || !in.Call.Agent.Undo {
		return nil
	}
	l := holdgate.Later{Git: (in.Shell == "" || within(in.Dir, in.Shell)) && checksOut(f.Commands, in.Dir)}
	for _, at := range f.Paths {
		if !at.Inside || at.Access == collect.AccessRead {
			continue
		}
		clean := at.Clean
		if !path.IsAbs(clean) {
			clean = path.Join(in.Dir, clean)
		}
		switch {
		case at.Access == collect.AccessDelete:
			if clean != path.Clean(in.Dir) {
				l.Gone = append(l.Gone, clean)
			}
		case at.Class == collect.ClassPersistence:
			l.Paths = append(l.Paths, clean)
		}
	}
	if len(f.Commands) > 0 {
		l.All = slices.ContainsFunc(p.shown(in.Call, f), func(e holdgate.Effect) bool { return e.Later })
	}
	if l.None() {
		return nil
	}
	return &l
}

// checksOut reports whether commands are those of git that check out what a repository
// in this folder holds, and nothing beside them runs code: a repository elsewhere may have
// hooks of the agent's.
func checksOut(list []holdgate.Command, dir string) (is bool) {
	const inert = " echo printf true pwd ls cat head tail wc grep test [ "
	for _, c := range list {
		if len(c.Reasons)+len(c.Unresolved)+len(c.Unbound)+len(c.Env) > 0 {
			return false
		}
		switch c.Program {
		case "git":
			sub, at, rest := gitSubcommand(c)
			if !path.IsAbs(at) {
				at = path.Join(dir, at)
			}
			if sub == "" || !within(dir, at) || slices.ContainsFunc(rest, func(a string) bool { return configures(sub, a) }) {
				return false
			}
			is = is || slices.Contains(strings.Fields("checkout switch restore reset merge rebase pull stash cherry-pick revert clone submodule worktree clean read-tree checkout-index sparse-checkout"), sub)
		case "gh":
			what := strings.Join(c.Argv[min(1, len(c.Argv)):min(3, len(c.Argv))], " ")
			is = is || what == "pr checkout" || what == "repo clone"
		case "cd", "pushd", "popd":
			if len(c.Argv) != 2 || strings.ContainsRune("-~", rune((c.Argv[1] + "-")[0])) {
				return false // to where the words do not say
			}
		default:
			if !strings.Contains(inert, " "+c.Program+" ") {
				return false
			}
		}
	}
	return is
}

func within(dir, at string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }

// gitSubcommand is that of a git that has no options of its own but for its folder, which
// is from the session's, and what follows it.
func gitSubcommand(c holdgate.Command) (sub, at string, rest []string) {
	at, rest = c.Dir, c.Argv[min(1, len(c.Argv)):]
	for len(rest) > 1 && (rest[0] == "-C" || rest[0] == "--no-pager") {
		if rest[0] == "-C" {
			if rest = rest[1:]; path.IsAbs(rest[0]) {
				at = ""
			}
			at = path.Join(at, rest[0])
		}
		rest = rest[1:]
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return "", "", nil
	}
	return rest[0], at, rest[1:]
}

// configures reports whether an option of a git command makes programs run (--exec,
// --strategy, --upload-pack; --config and --template of clone), also cut short.
func configures(sub, option string) bool {
	prefixes := []string{"--ex", "--str", "--upl"}
	if sub == "clone" {
		prefixes = []string{"-c", "-u", "--c", "--t", "--u"}
	}
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(option, p) })
}
