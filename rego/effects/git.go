package effects

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// git adds what git does to work, and to what others see of it.
func (w *work) git(c command) {
	if c.verb() == "push" || c.Class == "git_push" || c.Class == "git_force" {
		w.pushes(c)
		return
	}
	e := holdgate.Effect{Kind: holdgate.EffectDelete, What: "history", Where: strings.Join(c.Operands, ", "), Undoable: holdgate.UndoableNo, Because: "uncommitted"}
	by := " (" + line(c.Argv) + ")"
	weight := weighsGrave + 3
	w.tells(c, append(slices.Clone(c.Operands), ".")...)
	switch sub := strings.Join(c.Subcommand, " "); sub {
	case "reset", "checkout", "switch", "restore":
		e.What, e.Says = "changes", "Throws away changes that are not committed"+by
	case "clean":
		e.What, e.Says = "file", "Deletes files that git does not keep"+by
	case "stash drop", "stash clear":
		e.What, e.Says = "changes", "Throws away work that was set aside"+by
	case "branch", "tag":
		e.What, e.Undoable, e.Because = sub, holdgate.UndoableYes, "reflog"
		e.Says, weight = "Deletes the "+sub+" "+listing(c.Operands), weighsSome-1
	case "worktree remove":
		e.Says = "Deletes the working folder " + listing(c.Operands)
	case "rm":
		e.What, e.Undoable, e.Because = "file", holdgate.UndoableYes, "git"
		e.Says, weight = "Deletes "+listing(c.Operands)+", as git keeps it", weighsSome-2
	case "filter-branch", "filter-repo", "replace", "rebase", "commit", "fast-import":
		e.Says = "Rewrites history" + by
	default:
		e.Undoable, e.Says = holdgate.UndoableUnknown, "Throws away work that git keeps"+by
	}
	w.add(c, weight, e)
}

// pushes adds a push: of which branches, to where.
func (w *work) pushes(c command) {
	remote, refs := "", c.Operands
	if len(refs) > 0 {
		remote, refs = refs[0], refs[1:]
	}
	forced := c.Class == "git_force"
	deleted := c.has("--delete", "-d")
	var names []string
	for _, ref := range refs {
		from, to, both := strings.Cut(strings.TrimPrefix(ref, "+"), ":")
		forced = forced || strings.HasPrefix(ref, "+") || both && from == ""
		deleted = deleted || both && from == ""
		if both {
			from = to
		}
		names = append(names, strings.TrimPrefix(from, "refs/heads/"))
	}
	e := holdgate.Effect{Kind: holdgate.EffectSend, What: "branch", Undoable: holdgate.UndoableUnknown, Because: "remote"}
	if len(names) == 0 {
		names = []string{map[bool]string{true: "all branches", false: "the current branch"}[c.has("--all", "--mirror")]}
		e.Where = remote
	} else {
		e.Where = remote + "/" + strings.Join(names, ", "+remote+"/")
	}
	at := ""
	if remote != "" {
		at = quoted(remote)
	}
	branches := listing(names)
	if len(names) == 1 && (names[0] == "the current branch" || names[0] == "all branches") {
		branches = names[0]
	}
	switch {
	case deleted:
		e.Kind, e.Undoable = holdgate.EffectDelete, holdgate.UndoableNo
		e.Says = spaced("Deletes", branches, map[bool]string{true: "on " + at, false: "where others see it"}[at != ""]) + ", for all who use it"
		w.add(c, weighsLost+3, e)
	case forced:
		e.Kind, e.Undoable = holdgate.EffectChange, holdgate.UndoableNo
		place := branches
		if at != "" && len(refs) > 0 {
			qualified := make([]string, len(names))
			for i, n := range names {
				qualified[i] = remote + "/" + n
			}
			place = listing(qualified)
		} else if at != "" {
			place += " of " + at
		}
		e.Says = "Overwrites what others see on " + place
		w.add(c, weighsLost+2, e)
	default:
		e.Says = "Pushes " + branches
		if at != "" {
			e.Says += " to " + at
		}
		if slices.Contains(names, "main") || slices.Contains(names, "master") {
			e.Says += ", where others see it"
		}
		w.add(c, weighsSome+4, e)
	}
}
