package effects

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// command adds what one command does, besides what its files say. What a class
// means is told by what the pack asks about it.
func (w *work) command(c command) {
	if w.brought(c) || w.unknown(c) {
		return
	}
	switch c.Class {
	case "pass", "assign":
		w.moves(c)
	case "build", "project":
		w.add(c, weighsLeast, runs("program", c, "Runs what the project itself defines: "+line(c.Argv)))
	case "remote":
		w.add(c, weighsLeast-1, holdgate.Effect{Kind: holdgate.EffectRead, What: "resource", Where: c.where(), Undoable: holdgate.UndoableYes, Says: "Looks with " + line(c.Argv)})
	case "delete":
		w.deletes(c)
	case "disk":
		w.disk(c)
	case "system":
		w.machine(c)
	case "privilege":
		w.add(c, weighsGrave+4, runs("shell", c, "Opens a shell as another user: "+line(c.Argv)))
	case "persist":
		w.add(c, weighsGrave+6, holdgate.Effect{Kind: holdgate.EffectChange, What: "settings", Where: c.Program, Undoable: holdgate.UndoableYes, Because: "settings", Says: "Changes what runs later by itself: " + line(c.Argv)})
	case "secret":
		w.add(c, weighsGrave-1, holdgate.Effect{Kind: holdgate.EffectRead, What: "credentials", Where: c.Program, Undoable: holdgate.UndoableNo, Because: "seen", Says: "Shows or uses credentials: " + line(c.Argv)})
	case "install":
		w.installs(c)
	case "publish":
		e := w.acts(c, "where others see it")
		e.Kind, e.What, e.Undoable, e.Because = holdgate.EffectSend, "package", holdgate.UndoableNo, "published"
		w.add(c, weighsOutside+2, e)
	case "deploy":
		w.deploys(c)
	case "database":
		w.database(c)
	case "git_push", "git_force", "git_discard":
		w.git(c)
	case "network":
		w.network(c)
	case "self":
		w.add(c, weighsMost, runs("program", c, "Decides held calls itself: "+line(c.Argv)))
	case "script":
		w.add(c, weighsSome+1, runs("code", c, "Runs code that the policy does not read: "+line(c.Argv)))
	default:
		if c.Program == "npx" || c.Program == "bunx" || c.Program == "pnpx" || c.Program == "uvx" {
			w.installs(c)
			return
		}
		w.add(c, weighsSome-2, runs("program", c, "Runs "+line(c.Argv)+", which the policy does not know"))
	}
}

// runs is an effect of which nobody knows what it leaves behind.
func runs(what string, c command, says string) holdgate.Effect {
	return holdgate.Effect{Kind: holdgate.EffectRun, What: what, Where: c.Program, Undoable: holdgate.UndoableUnknown, Because: "code", Says: says}
}

// unknown adds a command of which is not known what it is, or whose files nobody
// was shown. It reports false where its class says more.
func (w *work) unknown(c command) bool {
	hidden := slices.DeleteFunc(slices.Clone(c.Unbound), func(f string) bool { return slices.Contains(c.Project, f) })
	understood := []string{"", "pass", "build", "project", "script", "remote"}
	switch {
	case c.Program == "":
		w.add(c, weighsGrave-3, runs("code", c, "Runs what is known only when it runs: "+line(c.Unresolved)))
	case slices.Contains(c.Unresolved, "stdin") && c.Stdin != "":
		w.add(c, weighsGrave-3, runs("code", c, "Runs what it reads from a "+c.Stdin+" as code: "+line(c.Argv)))
	case len(hidden) > 0 && slices.Contains(understood, c.Class):
		w.add(c, weighsSome+4, runs("file", c, "Runs "+listing(hidden)+", of which nobody was shown what is in it"))
	case len(c.Unbound) > 0 && c.Class == "pass":
		w.add(c, weighsSome+3, runs("file", c, "Runs "+listing(c.Unbound)+" of the project"))
	case len(c.Unresolved) > 0 && slices.Contains(understood, c.Class):
		w.add(c, weighsGrave-4, runs("code", c, "Runs "+line(c.Argv)+": what that does is known only when it runs"))
	default:
		return false
	}
	return true
}

// moves adds what mv does to files of the project.
func (w *work) moves(c command) {
	if c.Program != "mv" || len(c.Operands) != 2 {
		return
	}
	var at []string
	for _, word := range c.Operands {
		i := slices.IndexFunc(w.facts.Paths, func(p holdgate.Path) bool { return p.Path == word })
		if i < 0 || w.facts.Paths[i].Class != "" || !w.facts.Paths[i].Inside {
			return
		}
		at = append(at, w.place(w.facts.Paths[i]))
	}
	w.tells(c, c.Operands...)
	w.add(c, weighsLittle, holdgate.Effect{Kind: holdgate.EffectWrite, What: "file", Where: strings.Join(at, ", "), Undoable: holdgate.UndoableYes, Because: "moved", Says: "Moves " + quoted(at[0]) + " to " + quoted(at[1])})
}

// deletes adds a deletion whose files no path tells.
func (w *work) deletes(c command) {
	var emptied []string
	for _, p := range w.facts.Paths {
		if p.Access == "delete" {
			return
		}
		if p.Access == "write" && slices.Contains(c.Argv, p.Path) {
			emptied = append(emptied, w.place(p))
			w.tells(c, p.Path)
		}
	}
	if len(emptied) > 0 {
		w.add(c, weighsSome, holdgate.Effect{Kind: holdgate.EffectDelete, What: "file", Where: strings.Join(emptied, ", "), Undoable: holdgate.UndoableUnknown, Because: "git", Says: "Empties " + listing(emptied)})
		return
	}
	w.add(c, weighsSome, holdgate.Effect{Kind: holdgate.EffectDelete, What: "file", Undoable: holdgate.UndoableUnknown, Because: "git", Says: "Deletes files: " + line(c.Argv)})
}

func (w *work) disk(c command) {
	e := holdgate.Effect{Kind: holdgate.EffectWrite, What: "disk", Undoable: holdgate.UndoableNo, Because: "overwritten", Says: "Overwrites a disk or a file system: " + line(c.Argv)}
	for _, word := range c.Argv[min(1, len(c.Argv)):] {
		target := strings.TrimPrefix(word, "of=")
		w.tells(c, target)
		if strings.HasPrefix(target, "/dev/") {
			e.Where, e.Says = target, "Overwrites "+quoted(target)+", with all that is on it ("+c.Program+")"
		}
		if target != word && !strings.HasPrefix(target, "/dev/") {
			e.What, e.Where, e.Says = "file", target, "Writes over "+quoted(target)+" (dd)"
			w.add(c, weighsSome+2, e)
			return
		}
	}
	w.add(c, weighsMost, e)
}

// machine adds what a command does to the machine that it runs on.
func (w *work) machine(c command) {
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "machine", Where: c.Program, Undoable: holdgate.UndoableUnknown, Because: "machine"}
	rest := c.Argv[min(1, len(c.Argv)):]
	names := slices.DeleteFunc(slices.Clone(rest), func(word string) bool { return strings.HasPrefix(word, "-") })
	switch c.Program {
	case "chmod", "chown", "chgrp", "setfacl", "chattr":
		e.What, e.Undoable, e.Because = "rights", holdgate.UndoableYes, "rights"
		if len(names) < 2 {
			e.Says = "Changes rights: " + line(c.Argv)
			break
		}
		w.tells(c, names[1:]...)
		e.Where = strings.Join(names[1:], ", ")
		e.Says = "Changes the rights of " + listing(names[1:]) + " to " + quoted(names[0])
		if strings.HasPrefix(c.Program, "ch") && strings.HasSuffix(c.Program, "own") {
			e.Says = "Gives " + listing(names[1:]) + " to the user " + quoted(names[0])
		}
		if c.has("-R", "--recursive") {
			e.Says += ", and all below"
		}
	case "kill", "pkill", "killall", "xkill":
		e.What, e.Undoable, e.Because = "process", holdgate.UndoableNo, "process"
		e.Says = "Ends the process " + listing(names) + " (" + c.Program + ")"
	default:
		if v := c.verb(); v == "run" || v == "exec" || v == "create" {
			e.Says = "Runs in a container: " + line(c.Argv)
			w.add(c, weighsGrave+1, e)
			return
		}
		if len(c.Subcommand) > 0 {
			act := w.acts(c, "")
			act.Because = e.Because
			e = act
			break
		}
		e.Says = "Changes the machine: " + line(c.Argv)
	}
	w.add(c, weighsGrave-5, e)
}

// installs adds packages that come and go.
func (w *work) installs(c command) {
	verb, _ := phrase(c.Subcommand)
	packages := make([]string, len(c.Operands))
	for i, p := range c.Operands {
		packages[i] = versioned(p)
	}
	what := some(packages)
	if what == "" {
		what = "all that the project's lists name"
	}
	by := " (" + line(c.Argv[:min(1+len(c.Subcommand), len(c.Argv))]) + ")"
	e := holdgate.Effect{Kind: holdgate.EffectRun, What: "package", Where: strings.Join(packages, ", "), Undoable: holdgate.UndoableUnknown, Because: "scripts"}
	switch {
	case c.Class == "" || slices.Contains([]string{"exec", "x", "dlx", "run", "create", "init", "innit", "c"}, verb):
		name := what
		if len(c.Operands) > 0 {
			name = packages[0]
		}
		e.Says = "Fetches " + name + " and runs it: " + line(c.Argv)
		w.add(c, weighsSome+8, e)
		return
	case slices.Contains([]string{"pull", "download", "fetch", "clone"}, verb):
		e.Kind, e.Says, e.Undoable, e.Because = holdgate.EffectFetch, "Downloads "+what+by, holdgate.UndoableYes, "files"
	case destroys(verb) || verb == "unlink":
		e.Kind, e.Says, e.Undoable, e.Because = holdgate.EffectDelete, "Uninstalls "+what, holdgate.UndoableYes, "package"
		w.add(c, weighsLittle+6, e)
		return
	case c.has("--ignore-scripts", "--dry-run"):
		e.Kind, e.Says, e.Because = holdgate.EffectFetch, "Installs "+what+by, "package"
	default:
		e.Says = "Installs " + what
		if c.has("-g", "--global", "--system", "--break-system-packages") {
			e.Says += " for the whole machine"
		}
		e.Says += " (runs install scripts)"
	}
	w.add(c, weighsSome+5, e)
}

// versioned writes name@1.2 and name==1.2 as "name 1.2".
func versioned(p string) string {
	if strings.HasPrefix(p, "-") || strings.Contains(p, "://") || strings.HasPrefix(p, ".") || strings.HasPrefix(p, "/") {
		return quoted(p)
	}
	if name, version, ok := strings.Cut(p, "=="); ok && name != "" {
		return quoted(name) + " " + quoted(version)
	}
	if i := strings.LastIndexByte(p, '@'); i > 0 {
		return quoted(p[:i]) + " " + quoted(p[i+1:])
	}
	return quoted(p)
}

// unasked are options by which a program does not ask again.
var unasked = []string{"-auto-approve", "--auto-approve", "-y", "--yes", "--assume-yes", "--non-interactive", "--no-input", "--noinput", "--skip-confirmation", "--no-confirm", "--force", "-force", "--confirm"}

func (w *work) deploys(c command) {
	e := w.acts(c, "")
	verb, _ := phrase(c.Subcommand)
	weight := weighsOutside
	e.Because = "remote"
	if verb == "run" {
		e.Says += ", which changes what others use"
	}
	if destroys(verb) {
		e.Kind, e.Undoable, weight = holdgate.EffectDelete, holdgate.UndoableNo, weighsLost+1
	}
	if c.has(unasked...) {
		e.Says += ", without asking again"
		weight += 2
	}
	w.add(c, weight, e)
}

// acts says what a program is told to do in its own words: "Deletes pod web-1
// (kubectl, namespace pay)".
func (w *work) acts(c command, more string) holdgate.Effect {
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "resource", Where: c.where(), Undoable: holdgate.UndoableUnknown}
	verb, nouns := phrase(c.Subcommand)
	if !isVerb(verb) {
		e.Says = "Changes what others use: " + line(c.Argv) + w.folder(c)
		if more != "" {
			e.Says = "Publishes for others to see: " + line(c.Argv)
		}
		return e
	}
	var by []string
	object := c.object(nouns)
	if object == "" {
		object = "what " + spaced(c.Program, nouns) + " describes"
	} else {
		by = append(by, c.Program)
	}
	for _, part := range slices.Sorted(maps.Keys(c.Target)) {
		if part != "folder" && part != "config" {
			by = append(by, part+" "+quoted(c.Target[part]))
		}
	}
	e.Says = does(verb) + " " + object + w.folder(c)
	if verb == "apply" {
		e.Says += " to the real thing"
	}
	if len(by) > 0 {
		e.Says += " (" + strings.Join(by, ", ") + ")"
	}
	if more != "" {
		e.Says += ", " + more
	}
	return e
}

// object is what a command is told to do something to: its words, else what its
// options name, else what its subcommand does; empty where none of them says it.
func (c command) object(nouns string) string {
	if len(c.Operands) == 0 {
		values := c.values()
		if len(values) == 0 && strings.Contains(c.verb(), "-") {
			return nouns
		}
		if len(values) == 0 {
			return ""
		}
		return spaced(nouns, some(values))
	}
	if slices.ContainsFunc(c.Operands, func(o string) bool { return strings.HasPrefix(o, nouns+"://") }) {
		nouns = ""
	}
	return spaced(nouns, line(c.Operands))
}

// values are what the options of a command name, where it has no other words.
func (c command) values() (values []string) {
	for i, word := range c.Argv {
		name, value, glued := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if slices.Contains([]string{"-f", "--file", "--filename", "-k", "--kustomize"}, word) && i+1 < len(c.Argv) {
			values = append(values, quoted(c.Argv[i+1]))
			continue
		}
		if !strings.HasPrefix(word, "--") || slices.Contains(unasked, word) {
			continue
		}
		if !glued && i+1 < len(c.Argv) && !strings.HasPrefix(c.Argv[i+1], "-") {
			value = c.Argv[i+1]
		}
		for _, of := range c.Target {
			if of == value {
				value = ""
			}
		}
		if value != "" {
			values = append(values, strings.ReplaceAll(name, "-", " ")+" "+quoted(value))
		}
	}
	return values
}

// where is what a command of a cluster, an account or a forge is about.
func (c command) where() string {
	parts := slices.Clone(c.Operands)
	for _, part := range slices.Sorted(maps.Keys(c.Target)) {
		parts = append(parts, part+"="+c.Target[part])
	}
	return strings.Join(parts, " ")
}

// folder says in which folder a command runs, where the call has gone to one.
func (w *work) folder(c command) string {
	dir := c.Target["folder"]
	if dir != "" {
		return " in " + quoted(dotted(dir))
	}
	if c.Dir == "" {
		return ""
	}
	if rel, ok := w.within(c.Dir); ok {
		return " in " + quoted(rel)
	}
	return " in " + quoted(dotted(c.Dir))
}

// database adds a client whose statements are not read.
func (w *work) database(c command) {
	if len(w.facts.SQL) > 0 {
		if !slices.ContainsFunc(w.facts.SQL, func(s holdgate.Statement) bool { e, _ := statement(s); return !e.Plain() }) {
			w.tells(c, c.Argv...)
		}
		return
	}
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "database", Where: c.database(), Undoable: holdgate.UndoableUnknown, Because: "database"}
	verb, _ := phrase(c.Subcommand)
	switch {
	case destroys(verb):
		e.Kind, e.Undoable = holdgate.EffectDelete, holdgate.UndoableNo
		e.Says = "Empties or resets a database: " + line(c.Argv)
		w.add(c, weighsLost, e)
	case verb != "":
		e.Says = "Changes a database: " + line(c.Argv)
		w.add(c, weighsGrave, e)
	default:
		e.Says = "Talks to a database, and what it says there is not in the call: " + line(c.Argv)
		w.add(c, weighsSome, e)
	}
}
