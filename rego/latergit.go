package rego

import (
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// Commands of git's, by what they do to the files of a working tree. Those that only read
// it run no code but hooks and settings, which nobody changes unasked. A push runs the hooks
// of where it goes, which may be a folder of the agent's.
const (
	gitWrites = "checkout switch restore reset merge rebase pull stash cherry-pick revert clone submodule worktree clean read-tree checkout-index sparse-checkout"
	gitReads  = "status log diff show add commit fetch branch rev-parse ls-files remote tag describe merge-base rev-list shortlog blame symbolic-ref cat-file mv rm"
)

// checksOut reports whether commands are those of git that check out what the repository
// of this folder holds, and nothing beside them runs code: a repository elsewhere, also in
// a folder below, may have hooks of the agent's.
func checksOut(list []holdgate.Command, dir string) (is bool) {
	for _, c := range list {
		if len(c.Reasons)+len(c.Unresolved)+len(c.Unbound)+len(c.Env) > 0 {
			return false
		}
		here := c.Dir == "" || path.Clean(c.Dir) == path.Clean(dir)
		switch c.Program {
		case "git":
			sub, at, rest := gitSubcommand(c, dir)
			writes := oneOf(gitWrites, sub)
			if sub == "" || at != path.Clean(dir) || !writes && !oneOf(gitReads, sub) || runsMore(sub, rest) {
				return false
			}
			is = is || writes && !onlyLooks(sub, rest)
		case "gh":
			what := strings.Join(c.Argv[min(1, len(c.Argv)):min(3, len(c.Argv))], " ")
			if !here || what != "pr checkout" && what != "repo clone" || len(beforeOperands(c.Argv)) < len(c.Argv) {
				return false // behind "--" stand options for git
			}
			is = true
		case "cd":
			if len(c.Argv) != 2 || path.Clean(c.Argv[1]) != path.Clean(dir) {
				return false
			}
		default:
			if !oneOf("echo printf true pwd ls cat head tail wc grep test [", c.Program) {
				return false
			}
		}
	}
	return is
}

// gitSubcommand is that of a git that has no options of its own but for its folder, where
// it works, and what follows it.
func gitSubcommand(c holdgate.Command, dir string) (sub, at string, rest []string) {
	at, rest = below(dir, c.Dir), c.Argv[min(1, len(c.Argv)):]
	for len(rest) > 1 && (rest[0] == "-C" || rest[0] == "--no-pager") {
		if rest[0] == "-C" {
			rest = rest[1:]
			at = below(at, rest[0])
		}
		rest = rest[1:]
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return "", "", nil
	}
	return rest[0], at, rest[1:]
}

// below is where a path leads from a folder.
func below(dir, to string) string {
	if path.IsAbs(to) {
		return path.Clean(to)
	}
	return path.Join(dir, to)
}

// beforeOperands are the words before "--".
func beforeOperands(words []string) []string {
	for i, w := range words {
		if w == "--" {
			return words[:i]
		}
	}
	return words
}

// What makes git run further programs. Of a rebase and its like that goes on, the plan is a
// file, which may name programs; an editor is one that the environment names.
var (
	runningOptions = map[string]string{
		"":            "--exec --strategy --upload-pack --receive-pack",
		"clone":       "--config --template --upload-pack",
		"rebase":      "--interactive --exec --edit-todo --continue --skip --quit",
		"merge":       "--edit --continue --quit",
		"cherry-pick": "--edit --continue --skip --quit",
		"revert":      "--edit --continue --skip --quit",
		"commit":      "--edit --reedit-message --interactive --patch",
		"add":         "--edit --interactive --patch",
		"branch":      "--edit-description",
		"tag":         "--edit --annotate --sign --local-user",
	}
	runningLetters = map[string]string{"clone": "cu", "rebase": "isx", "merge": "es", "pull": "s", "cherry-pick": "e", "revert": "e",
		"commit": "cep", "add": "eip", "tag": "aesu"}
	// withoutEditor are options of which one is needed, where a command starts an editor else.
	withoutEditor = map[string][]string{"commit": {"-m", "-am", "-F", "-C", "--message", "--file", "--reuse-message", "--no-edit"}, "revert": {"--no-edit"}}
)

// runsMore reports whether words of a git command make it run further programs: options,
// also cut short, or what a pattern could make one.
func runsMore(sub string, rest []string) bool {
	rest = beforeOperands(rest)
	if sub == "submodule" && verb(rest) == "foreach" {
		return true
	}
	if quiet, asks := withoutEditor[sub]; asks && !slices.ContainsFunc(rest, func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return slices.Contains(quiet, name)
	}) {
		return true
	}
	for _, w := range rest {
		name, value, _ := strings.Cut(w, "=")
		switch {
		case strings.ContainsAny(w[:min(1, len(w))], "*?["):
			return true
		case len(name) > 2 && strings.HasPrefix(name, "--"):
			if sub == "pull" && strings.HasPrefix("--rebase", name) && strings.HasPrefix(value, "i") {
				return true // interactive
			}
			for _, all := range []string{runningOptions[""], runningOptions[sub]} {
				for option := range strings.FieldsSeq(all) {
					if strings.HasPrefix(option, name) {
						return true
					}
				}
			}
		case !strings.HasPrefix(w, "-") || strings.HasPrefix(w, "--") || strings.HasPrefix(w, "-X"):
		case strings.ContainsAny(w, runningLetters[sub]), sub == "pull" && strings.Contains(w, "ri"):
			return true
		}
	}
	return false
}

// onlyLooks reports whether a git command of [gitWrites] leaves the files as they are.
func onlyLooks(sub string, rest []string) bool {
	switch rest = beforeOperands(rest); sub {
	case "stash":
		return oneOf("list show drop clear create store", verb(rest))
	case "worktree":
		return !oneOf("add move remove", verb(rest))
	case "submodule":
		return !oneOf("add update deinit", verb(rest))
	case "sparse-checkout":
		return oneOf("list check-rules", verb(rest))
	}
	for _, w := range rest {
		long := strings.HasPrefix(w, "--")
		switch {
		case sub == "clean" && (long && len(w) > 2 && strings.HasPrefix("--dry-run", w) || !long && strings.HasPrefix(w, "-") && strings.Contains(w, "n")):
			return true
		case sub == "rebase" && strings.HasPrefix(w, "--show"):
			return true
		}
	}
	return false
}

func oneOf(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// verb is the first word that is no option.
func verb(words []string) string {
	for _, w := range words {
		if !strings.HasPrefix(w, "-") {
			return w
		}
	}
	return ""
}
