// Package effects says what a call does to the world: what it reads, writes,
// deletes, runs, sends, fetches and changes, to what, as whom, and whether that
// can be taken back.
//
// Effects are made from the facts of a call and from what the policy's tables say
// of its commands (data.settings.commands and grammars): a class, such as
// "deploy", says what sort of thing happens (commands.go, git.go, network.go), and
// the subcommand, in the program's own word, what it is called (words.go). There
// is no second list of programs here. Files come from the paths of the facts
// (paths.go), databases from their statements (sql.go), everything else from the
// call itself (calls.go).
//
// Nothing here judges, and nothing here is what a call says of itself. In doubt
// there is one effect more.
package effects

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// Known is what the policy's tables say of a command.
type Known struct {
	Class      string            // empty where the tables do not know it
	Subcommand []string          // the words that lead to the class
	Operands   []string          // the words behind those that are no options
	Target     map[string]string // such as its context and its namespace
}

// Of lists the effects of a call, the worst first. Known is asked once for each
// command of the facts.
func Of(c holdgate.Call, f holdgate.Facts, known func(holdgate.Command) Known) []holdgate.Effect {
	w := &work{facts: f}
	for i, cmd := range f.Commands {
		w.commands = append(w.commands, command{Command: cmd, Known: known(cmd), index: i})
		w.commands[i].at = w.addresses(w.commands[i])
		w.inside(&w.commands[i])
		w.each(&w.commands[i])
	}
	for _, c := range w.commands {
		w.from = append(w.from, w.fetches(c))
	}
	for _, c := range w.commands {
		w.command(c)
	}
	w.paths()
	w.statements()
	w.call(c)
	slices.SortStableFunc(w.found, func(a, b weighed) int { return cmp.Compare(b.weight, a.weight) })
	var effects []holdgate.Effect
	for _, e := range w.found {
		e.Harm = e.harm()
		same := func(o holdgate.Effect) bool { // also one that weighs less
			o.Harm = e.Harm
			return o == e.Effect
		}
		if !slices.ContainsFunc(effects, same) {
			effects = append(effects, e.Effect)
		}
	}
	return effects
}

// harm names the sort of harm that an effect does, if it weighs enough for people to
// hear of it beside a worse one.
func (e weighed) harm() string {
	if e.weight < weighsSome-1 || e.Plain() || e.Harm == harmShown {
		return ""
	}
	what := e.What
	switch {
	case e.Harm != "":
		return e.Harm
	case e.Later:
		return harmsLater
	case e.Kind == holdgate.EffectRun:
		what = ""
	case what == "folder":
		what = "file"
	}
	return strings.TrimSpace(strings.Join([]string{string(e.Kind), what, e.On}, " "))
}

// work is the work on one call.
type work struct {
	facts    holdgate.Facts
	commands []command
	found    []weighed
	from     []source // by command, what of the call brings what it runs
	told     []telling
	shells   []int // the commands of the network that hand out a shell, which says all
}

type command struct {
	holdgate.Command
	Known
	index  int
	at     []string // the addresses that it names
	outer  int      // the index of the command in whose container it runs, and one more
	finder int      // the index of the command that finds what it is done to, and one more
}

// inside finds the container in which a command runs, as "kubectl exec web-1"
// names it: what it does happens there.
func (w *work) inside(c *command) {
	if len(c.Via) == 0 || c.On != "" {
		return
	}
	program, sub, ok := strings.Cut(c.Via[len(c.Via)-1], " ")
	if !ok || !strings.HasSuffix(sub, "exec") || !slices.Contains([]string{"kubectl", "oc", "docker", "podman", "nerdctl", "docker-compose"}, program) {
		return
	}
	for i := c.index - 1; i >= 0; i-- {
		if out := w.commands[i]; out.Program == program {
			for _, word := range out.act().operands {
				c.On, c.outer = word, i+1
				return
			}
		}
	}
}

// each writes out what stands for each file that a search finds, as
// "find -exec chmod 600 {} +" has it, so that a sentence can say which.
func (w *work) each(c *command) {
	if len(c.Via) == 0 {
		return
	}
	via, _, _ := strings.Cut(c.Via[len(c.Via)-1], " ")
	at := slices.IndexFunc(w.commands[:c.index], func(o command) bool { return o.Program == via })
	if at < 0 || !searches[via] {
		return
	}
	c.finder = at + 1
	found := "$(" + w.commands[at].searched() + ")"
	put := func(words []string) []string {
		words = slices.Clone(words)
		for i, word := range words {
			if word == "{}" {
				words[i] = found
			}
		}
		return words
	}
	c.Argv, c.Operands = put(c.Argv), put(c.Operands)
}

// searched is a search without what it runs on what it finds.
func (c command) searched() string {
	words := c.Argv
	if i := slices.IndexFunc(words, func(word string) bool { return acting[word] }); i > 0 {
		words = words[:i]
	}
	return line(words)
}

// searches are programs that run another one on what they find, and acting their
// options that say which.
var (
	searches = wordSet("find gfind fd fdfind")
	acting   = wordSet("-exec -execdir -ok -okdir -x -X --exec --exec-batch")
)

// A telling says that the effect of a command tells what happens to a path.
type telling struct {
	path string
	by   int
}

// tells notes paths of which the effect of a command says all there is.
func (w *work) tells(c command, paths ...string) {
	for _, p := range paths {
		w.told = append(w.told, telling{p, c.index})
	}
}

// isTold reports whether the effect of a command says what happens to a path, and
// no other command could be what touches it.
func (w *work) isTold(p string) bool {
	return len(w.told) <= maxTold && slices.ContainsFunc(w.told, func(t telling) bool {
		return t.path == p && !slices.ContainsFunc(w.commands, func(c command) bool {
			return c.index != t.by && w.commands[t.by].finder != c.index+1 && (!slices.Contains([]string{"pass", "assign", "remote"}, c.Class) || len(c.Unresolved) > 0 || c.names(p))
		})
	})
}

// names reports whether a word of the command has the path in it.
func (c command) names(p string) bool {
	return slices.ContainsFunc(c.Argv, func(word string) bool { return strings.Contains(word, p) })
}

// Harms that are no kind of effect.
const (
	harmsLater = "later" // what is left behind runs later by itself
	harmShown  = "shown" // code that the call shows; for [holdgate.Effect.Harm] it is none
)

// weighed is an effect and how much people should want to hear of it first. The
// weights are the package's own matter: only their order is seen.
type weighed struct {
	holdgate.Effect
	weight int
}

// maxTold bounds the work of finding out who tells of which path. Beyond it every
// path has an effect of its own.
const maxTold = 200

// Weights, for the order of effects.
const (
	weighsMost    = 100 // a disk, the call's own judge
	weighsLost    = 85  // what is gone for good, or seen by all
	weighsOutside = 70  // what others see or use
	weighsGrave   = 60  // what is hard to take back
	weighsSome    = 45
	weighsLittle  = 30
	weighsLeast   = 8
	asRoot        = 6 // more for each effect as somebody else
)

// add adds an effect of a command. Notes end its sentence.
func (w *work) add(c command, weight int, e holdgate.Effect, notes ...string) {
	e.As, e.On = c.As, cmp.Or(c.Server, c.On)
	if e.As == "" && c.privileged() {
		e.As = "another user"
	}
	where := ""
	if e.As != "" {
		weight += asRoot
		where = " as " + e.As
	}
	if e.On != "" {
		where += " on " + machines(e.On)
	}
	if c.Server != "" && c.On != "" {
		where += ", asked from " + quoted(c.On)
	}
	if i := strings.LastIndex(e.Says, " ("); i > 0 && strings.HasSuffix(e.Says, ")") {
		e.Says = e.Says[:i] + where + e.Says[i:]
	} else {
		e.Says += where
	}
	e.Says = strings.Join(append([]string{e.Says}, slices.DeleteFunc(notes, func(n string) bool { return n == "" })...), ", ")
	w.found = append(w.found, weighed{e, weight})
}

func (c command) privileged() bool {
	return slices.ContainsFunc(c.Via, func(via string) bool {
		return slices.Contains([]string{"sudo", "su", "doas", "pkexec", "runuser"}, via)
	})
}

// has reports whether one of the command's words is one of those.
func (c command) has(words ...string) bool {
	return slices.ContainsFunc(c.Argv, func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return slices.Contains(words, w) || slices.Contains(words, name)
	})
}

// verb is the last word of the subcommand, in which most programs say what to do.
func (c command) verb() string {
	if len(c.Subcommand) == 0 {
		return ""
	}
	return c.Subcommand[len(c.Subcommand)-1]
}
