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
	remote, refs := c.refs()
	forced := c.Class == "git_force"
	deleted := c.has("--delete", "-d")
	var names, gone []string
	for _, ref := range refs {
		from, to, both := strings.Cut(strings.TrimPrefix(ref, "+"), ":")
		forced = forced || strings.HasPrefix(ref, "+") || both && from == ""
		if both && from == "" {
			gone = append(gone, strings.TrimPrefix(to, "refs/heads/"))
		}
		if both {
			from = to
		}
		if from == "HEAD" {
			from = "the current branch"
		}
		names = append(names, strings.TrimPrefix(from, "refs/heads/"))
	}
	if len(gone) > 0 {
		deleted, names = true, gone
	}
	e := holdgate.Effect{Kind: holdgate.EffectSend, What: "branch", Undoable: holdgate.UndoableUnknown, Because: "remote"}
	if len(names) == 0 {
		switch names = []string{"the current branch"}; {
		case c.has("--all", "--mirror"):
			names[0] = "all branches"
		case c.has("--tags"):
			names[0] = "all tags"
		}
		e.Where = remote
	} else {
		e.Where = remote + "/" + strings.Join(names, ", "+remote+"/")
	}
	at := ""
	if remote != "" {
		at = quoted(remote)
	}
	branches := listing(names)
	if len(names) == 1 && (slices.Contains([]string{"the current branch", "all branches", "all tags"}, names[0])) {
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

// refs are the remote that a push names, and what it pushes there. Options of push
// that take a value have it glued, but for two.
func (c command) refs() (remote string, refs []string) {
	at := slices.Index(c.Argv, "push")
	if at < 0 {
		refs = c.Operands
	} else {
		for i := at + 1; i < len(c.Argv); i++ {
			switch word := c.Argv[i]; {
			case word == "-o" || word == "--push-option" || word == "--repo" || word == "--receive-pack":
				i++
			case !strings.HasPrefix(word, "-"):
				refs = append(refs, word)
			}
		}
	}
	if len(refs) == 0 {
		return "", nil
	}
	return refs[0], refs[1:]
}

// commits adds what git does to the project's own history, which it keeps. It
// reports false where it adds nothing.
func (w *work) commits(c command) bool {
	if from := w.patches(c); from != "" {
		w.add(c, weighsLittle, holdgate.Effect{Kind: holdgate.EffectWrite, What: "file", Where: from, Undoable: holdgate.UndoableUnknown, Because: "git", Says: "Changes files as " + from + " says (patch)"})
		return true
	}
	if c.Program != "git" || len(c.Subcommand) == 0 && len(c.Operands) == 0 {
		return false
	}
	sub := c.Argv[min(1, len(c.Argv)-1)]
	if len(c.Subcommand) > 0 {
		sub = c.Subcommand[0]
	}
	names := slices.DeleteFunc(slices.Clone(c.Operands), func(o string) bool { return o == sub || strings.HasPrefix(o, "-") })
	which := listing(names)
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "history", Where: strings.Join(names, ", "), Undoable: holdgate.UndoableYes, Because: "reflog"}
	weight := weighsLittle
	switch sub {
	case "commit":
		e.Says = "Commits what is staged"
		if c.has("-a", "-am", "--all") || slices.ContainsFunc(c.Argv, func(word string) bool { return shortWith(word, 'a') }) {
			e.Says = "Commits all changes of files that git keeps"
		}
		if c.has("--amend") {
			e.Says, weight = "Replaces the last commit", weighsLittle+4
		}
		if m := c.message(); m != "" {
			e.Says += ": " + quoted(short(m, 70))
		}
	case "rebase":
		e.Says, weight = spaced("Rewrites the commits of this branch", map[bool]string{true: "onto " + which}[which != ""])+" ("+line(c.Argv)+")", weighsLittle+4
	case "merge":
		e.Says = "Merges " + which + " into the current branch"
	case "cherry-pick":
		e.Says = "Copies the commits " + which + " onto the current branch"
	case "revert":
		e.Says = "Commits the reverse of " + which
	case "pull":
		e.What, e.Says = "changes", spaced("Fetches", map[bool]string{true: "from " + which}[which != ""])+" and merges it into the current branch"
		if c.has("--rebase", "-r") {
			e.Says = strings.Replace(e.Says, "merges it into", "rebases", 1)
		}
	case "stash":
		e.What, e.Says = "changes", "Sets the changes aside that are not committed"
	case "reset":
		e.Says = "Moves the current branch to " + which + ", and keeps the files as they are"
	case "am", "apply":
		e.What, e.Undoable, e.Because, e.Says = "file", holdgate.UndoableUnknown, "git", "Changes files as "+which+" says ("+line(c.Argv)+")"
	default:
		return false
	}
	if which == "" && strings.Contains(e.Says, "  ") {
		e.Says = "Runs " + line(c.Argv)
	}
	w.add(c, weight, e)
	return true
}

// patches is the file by which patch changes others.
func (w *work) patches(c command) string {
	if c.Program != "patch" || c.has("--dry-run") {
		return ""
	}
	for _, p := range w.facts.Paths {
		if p.Access == "read" {
			return quoted(w.place(p))
		}
	}
	return "what it reads"
}

// shortWith reports whether a word is a group of short options with one of them.
func shortWith(word string, option rune) bool {
	return len(word) > 1 && word[0] == '-' && word[1] != '-' && !strings.ContainsRune(word, '=') && strings.ContainsRune(word[1:], option)
}

// message is the message that a commit is given in its words.
func (c command) message() string {
	for i, word := range c.Argv {
		if m, ok := strings.CutPrefix(word, "--message="); ok {
			return m
		}
		if (word == "--message" || shortWith(word, 'm') && strings.HasSuffix(word, "m")) && i+1 < len(c.Argv) {
			return c.Argv[i+1]
		}
	}
	return ""
}
