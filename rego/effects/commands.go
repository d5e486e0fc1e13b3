package effects

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// command adds what one command does, besides what its files say. What a class
// means is told by what the pack asks about it.
func (w *work) command(c command) {
	if w.brought(c) || w.listed(c) || w.opens(c) || w.unknown(c) || w.enters(c) {
		return
	}
	switch c.Class {
	case "assign":
		w.assigns(c)
	case "pass":
		w.moves(c)
		w.commits(c)
	case "build", "project":
		if a := c.act(); a.verb == "bring up" || a.verb == "take down" {
			w.add(c, weighsLittle+2, w.acts(c, ""))
			return
		}
		w.add(c, weighsLeast, runs("program", c, "Runs what the project itself defines: "+line(c.Argv)))
	case "remote":
		if w.commits(c) {
			return
		}
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
		w.settles(c)
	case "secret":
		w.credentials(c)
	case "install":
		w.installs(c)
	case "publish":
		e, weight := w.acts(c, "where others see it"), weighsOutside+2
		if c.verb() == "publish" || c.verb() == "push" {
			weight++
		}
		e.Kind, e.What, e.Undoable, e.Because = holdgate.EffectSend, "package", holdgate.UndoableNo, "published"
		w.add(c, weight, e)
	case "deploy":
		w.deploys(c)
	case "database":
		w.database(c)
	case "git_push", "git_force", "git_discard":
		w.git(c)
	case "network":
		w.network(c)
	case "tunnel":
		e := runs("host", c, "Opens a way into this machine from outside: "+line(c.Argv))
		e.Kind, e.Because = holdgate.EffectChange, "network"
		w.add(c, weighsOutside+4, e)
	case "self":
		w.add(c, weighsMost, runs("program", c, "Decides held calls itself: "+line(c.Argv)))
	case "script":
		if c.On != "" && len(c.Argv) == 1 {
			w.add(c, weighsSome+1, runs("shell", c, "Opens a shell ("+c.Program+")"))
			return
		}
		w.add(c, weighsSome+1, runs("code", c, "Runs code that the policy does not read: "+line(c.Argv)))
	default:
		if c.Program == "npx" || c.Program == "bunx" || c.Program == "pnpx" || c.Program == "uvx" {
			w.installs(c)
			return
		}
		w.stranger(c)
	}
}

// stranger adds a program, or a subcommand, that the tables do not have. What it
// says of itself is told, and that this is all there is.
func (w *work) stranger(c command) {
	const unheard = ", which the policy does not know"
	a := c.act()
	if own := words(c.Program); a.verb == "" && len(own) > 1 && isVerb(own[len(own)-1]) { // pg_restore
		a.verb = long(own[len(own)-1])
	}
	switch object := a.object(c); {
	case a.verb == "" || object == "" || readVerbs[a.verb] || strings.ContainsAny(c.Argv[0], "/"):
		w.add(c, weighsSome-2, runs("program", c, "Runs "+line(c.Argv)+unheard))
	case destroys(a.verb):
		e := runs("program", c, does(a.verb)+" "+object+a.by(c, true)+unheard)
		e.Kind, e.Undoable, e.Because = holdgate.EffectDelete, holdgate.UndoableNo, "remote"
		w.add(c, weighsOutside+3, e)
	default:
		w.add(c, weighsSome, runs("program", c, does(a.verb)+" "+object+a.by(c, true)+unheard))
	}
}

// assigns adds a variable that decides which programs later commands run, or with what.
func (w *work) assigns(c command) {
	if len(c.Unbound) == 0 && len(w.commands) > 1 {
		return
	}
	set := line(c.Argv[min(1, len(c.Argv)-1):])
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "settings", Where: set, Undoable: holdgate.UndoableYes, Because: "settings", Says: "Sets " + set + " for later commands"}
	if len(c.Unbound) == 0 {
		w.add(c, weighsLeast, e)
		return
	}
	e = runs("file", c, "Sets "+set+": later commands run what is in "+listing(c.Unbound))
	weight := weighsSome + 4
	if len(c.Project) < len(c.Unbound) {
		e.Says += ", and nobody was shown that"
		weight = weighsGrave - 1
	}
	w.add(c, weight, e)
}

// settles adds what later runs obey, or what runs later by itself.
func (w *work) settles(c command) {
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "settings", Where: c.Program, Undoable: holdgate.UndoableYes, Because: "settings", Later: true}
	a := c.act()
	object := a.object(c)
	e.Says = "Changes what runs later by itself: " + line(c.Argv)
	switch {
	case slices.Contains([]string{"git", "npm", "yarn", "pnpm", "pip"}, c.Program):
		e.Says = "Changes what later runs of " + c.Program + " do: " + line(c.Argv)
	case object != "" && slices.Contains([]string{"enable", "load", "bootstrap", "start", "install", "add", "register", "submit"}, a.verb):
		e.Says = does(a.verb) + " " + object + a.by(c, true) + ", which runs by itself from now on"
	case destroys(a.verb) && object != "":
		e.Says = does(a.verb) + " " + object + a.by(c, true) + ", which ran by itself"
	case object != "" && slices.Contains([]string{"disable", "mask", "unload", "stop"}, a.verb):
		e.Says = does(a.verb) + " " + object + a.by(c, true) + ", which runs no longer by itself"
	}
	w.add(c, weighsGrave+6, e)
}

// credentials adds what is done to credentials.
func (w *work) credentials(c command) {
	e := holdgate.Effect{Kind: holdgate.EffectRead, What: "credentials", Where: c.Program, Undoable: holdgate.UndoableNo, Because: "seen", Says: "Shows or uses credentials: " + line(c.Argv)}
	a := c.act()
	switch {
	case destroys(a.verb):
		e.Kind, e.Because, e.Says = holdgate.EffectDelete, "remote", "Deletes credentials: "+line(c.Argv)
	case slices.Contains([]string{"set", "put", "create", "add", "write", "update", "patch", "import", "generate", "rotate", "save"}, a.verb):
		e.Kind, e.Because, e.Says = holdgate.EffectChange, "settings", "Changes credentials: "+line(c.Argv)
	case a.verb != "":
		e.Says = "Shows credentials: " + line(c.Argv)
	}
	w.add(c, weighsGrave-1, e)
}

// enters reports whether a command only runs another one of the call in a
// container or on a machine, so that the other one says what happens.
func (w *work) enters(c command) bool {
	if c.Stdin == "pipe" && len(c.Unresolved) > 0 {
		return false
	}
	return slices.ContainsFunc(w.commands, func(in command) bool {
		return in.outer == c.index+1 && in.Class != "pass" && in.Class != "assign" && in.Class != "remote"
	})
}

// listed adds what a command does to all that another one lists for it.
func (w *work) listed(c command) bool {
	if !slices.Contains(c.Via, "xargs") || !slices.Contains(c.Unresolved, "stdin") || c.Program == "" || len(c.Unbound) > 0 {
		return false
	}
	lists := "what is known only when it runs"
	for _, before := range w.commands[:c.index] {
		if !slices.Contains(before.Via, "xargs") {
			lists = "what " + line(before.Argv) + " lists"
		}
	}
	if c.Stdin == "file" || len(lists) > 120 {
		lists = "what a file lists"
	}
	e := holdgate.Effect{Kind: holdgate.EffectDelete, What: "file", Undoable: holdgate.UndoableUnknown, Because: "git"}
	switch {
	case c.Program == "kill" || c.Program == "pkill":
		e.What, e.Undoable, e.Because, e.Says = "process", holdgate.UndoableNo, "process", "Ends the processes: "+lists
		w.add(c, weighsGrave-5, e)
	case slices.Contains([]string{"rm", "unlink", "shred", "rmdir"}, c.Program) && len(c.Operands) == 0:
		e.Undoable, e.Because, e.Says = holdgate.UndoableNo, "outside", "Deletes "+lists
		w.add(c, weighsGrave+1, e)
	default:
		return false
	}
	return true
}

// runs is an effect of which nobody knows what it leaves behind.
func runs(what string, c command, says string) holdgate.Effect {
	return holdgate.Effect{Kind: holdgate.EffectRun, What: what, Where: c.Program, Undoable: holdgate.UndoableUnknown, Because: "code", Says: says}
}

// codeShown marks the running of code that stands in the call, where people read it beside
// what is known of it.
func (c command) codeShown(e holdgate.Effect) holdgate.Effect {
	if !slices.ContainsFunc(c.Unresolved, func(u string) bool {
		return strings.ContainsAny(u, "$`") || u == "stdin" && c.Stdin != "heredoc"
	}) {
		e.Harm = harmShown
	}
	return e
}

// unknown adds a command of which is not known what it is, or whose files nobody
// was shown. It reports false where its class says more.
func (w *work) unknown(c command) bool {
	hidden := slices.DeleteFunc(slices.Clone(c.Unbound), func(f string) bool { return slices.Contains(c.Project, f) })
	understood := []string{"", "pass", "build", "project", "script", "remote"}
	switch {
	case w.byName(c):
	case c.Program == "":
		w.add(c, weighsGrave-3, runs("code", c, "Runs what is known only when it runs: "+line(c.Unresolved)))
	case slices.Contains(c.Unresolved, "stdin") && c.Stdin != "":
		w.add(c, weighsGrave-3, c.codeShown(runs("code", c, "Runs what it reads from a "+c.Stdin+" as code: "+line(c.Argv))))
	case len(hidden) > 0 && slices.Contains(understood, c.Class):
		w.add(c, weighsSome+4, runs("file", c, "Runs "+listing(hidden)+", of which nobody was shown what is in it"))
	case len(c.Unbound) > 0 && c.Class == "pass":
		w.add(c, weighsSome+3, runs("file", c, "Runs "+listing(c.Unbound)+" of the project"))
	case len(c.Unresolved) > 0 && slices.Contains(understood, c.Class):
		w.add(c, weighsGrave-4, c.codeShown(runs("code", c, "Runs "+line(c.Argv)+": what that does is known only when it runs")))
	default:
		return false
	}
	return true
}

// deletes adds a deletion whose files no path tells.
func (w *work) deletes(c command) {
	if len(c.Subcommand) > 0 {
		e := w.acts(c, "")
		e.Kind, e.Undoable, e.Because = holdgate.EffectDelete, holdgate.UndoableNo, "outside"
		if c.has("-v", "--volumes") {
			e.Says += ", with its volumes"
		}
		w.add(c, weighsGrave+2, e)
		return
	}
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
	e := holdgate.Effect{Kind: holdgate.EffectDelete, What: "file", Undoable: holdgate.UndoableUnknown, Because: "git", Says: "Deletes files: " + line(c.Argv)}
	if c.finder > 0 {
		e.Says = "Deletes what " + w.commands[c.finder-1].searched() + " lists"
		w.add(c, weighsGrave+1, e)
		return
	}
	if len(c.Operands) == 0 && len(c.Argv) > 1 { // "history -c", "ccache -C"
		e.Undoable, e.Because, e.Says = holdgate.UndoableNo, "outside", "Deletes what "+quoted(c.Program)+" keeps: "+line(c.Argv)
	}
	w.add(c, weighsSome, e)
}

func (w *work) disk(c command) {
	e := holdgate.Effect{Kind: holdgate.EffectWrite, What: "disk", Undoable: holdgate.UndoableNo, Because: "overwritten", Says: "Overwrites a disk or a file system: " + line(c.Argv)}
	if a := c.act(); a.verb != "" && len(a.operands) > 0 {
		e.Says = does(a.verb) + " " + a.object(c) + ", with all that is on it (" + c.Program + ")"
	}
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

// installs adds packages that come and go.
func (w *work) installs(c command) {
	verb := c.verb()
	if v, _, _ := phrase(c.Subcommand); v != "" && !strings.Contains(verb, "dlx") {
		verb = v
	}
	packages := make([]string, len(c.Operands))
	for i, p := range c.Operands {
		packages[i] = versioned(p)
	}
	what := some(packages)
	if what == "" {
		what = "all that the project's lists name"
	}
	if from := c.source(); from != "" && !destroys(verb) {
		what += " from " + from
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
	case len(c.Subcommand) == 0 && slices.Contains(c.Operands, "install"), verb != "" && slices.Contains([]string{"fix", "run"}, verb):
		e.Says = "Installs what comes of " + line(c.Argv)
	case slices.Contains([]string{"pull", "download", "fetch", "clone"}, verb):
		e.Kind, e.Says, e.Undoable, e.Because = holdgate.EffectFetch, "Downloads "+what+by, holdgate.UndoableYes, "files"
	case destroys(verb) && len(packages) == 0 && len(c.Subcommand) > 1:
		e = w.acts(c, "")
		e.Kind, e.Undoable, e.Because = holdgate.EffectDelete, holdgate.UndoableUnknown, "package"
		w.add(c, weighsSome, e)
		return
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

// indexOptions name where packages come from, in the programs that install them.
var indexOptions = strings.Fields("-i --index-url --extra-index-url --default-index --index -f --find-links --registry --source --repository --repo")

// source lists the addresses that packages come from, where the command names them apart.
func (c command) source() string {
	var from []string
	for i, word := range c.Argv {
		name, value, glued := strings.Cut(word, "=")
		if !glued && i+1 < len(c.Argv) {
			value = c.Argv[i+1]
		}
		if !slices.Contains(indexOptions, name) {
			continue
		}
		for _, at := range c.at {
			if strings.Contains(value, at) && !slices.Contains(from, at) {
				from = append(from, at)
			}
		}
	}
	return listing(from)
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
	if w.ansible(c) {
		return
	}
	e := w.acts(c, "")
	a := c.act()
	weight := weighsOutside
	e.Because = "remote"
	if a.verb == "run" {
		e.Says += ", which changes what others use"
	}
	if e.Kind == holdgate.EffectDelete {
		e.Undoable, weight = holdgate.UndoableNo, weighsLost+1
	} else if a.verb == "sync" && c.has("--delete", "-d", "--delete-destination") {
		e.Kind, e.Undoable, weight = holdgate.EffectDelete, holdgate.UndoableNo, weighsLost
		e.Says += ", and deletes there what is not here"
	}
	if c.has(unasked...) {
		e.Says += ", without asking again"
		weight += 2
	}
	w.add(c, weight, e)
}
