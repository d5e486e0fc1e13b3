package effects

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// An act is what a command says that it does, taken apart.
type act struct {
	verb     string
	nouns    string   // what the subcommand says that it is done to, such as "db instance"
	operands []string // which of them
	options  []option // what options say besides, in the order in which they stand
	files    []string // that describe what is to be done
}

type option struct {
	name, value string
	more        []string // further values
}

// act takes a command apart. Its verb is empty where no word of it is one.
func (c command) act() act {
	a := act{options: c.options()}
	var behind []string
	a.verb, a.nouns, behind = phrase(c.Subcommand)
	for _, word := range append(behind, c.Operands...) {
		isOption := strings.HasPrefix(word, "-") && len(word) > 1
		isValue := slices.ContainsFunc(a.options, func(o option) bool { return o.value == word || slices.Contains(o.more, word) }) || c.targets(word)
		if !isOption && !isValue {
			a.operands = append(a.operands, word)
		}
	}
	if a.verb == "" || rarely[a.verb] && (a.verb != "run" || a.nouns != "") {
		for at, word := range a.operands[:min(3, len(a.operands))] {
			if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-:") != "" {
				break
			}
			if colon := strings.LastIndexByte(word, ':'); colon > 0 && isVerb(word[colon+1:]) { // "core:messages:create"
				a.nouns = spaced(append(append([]string{a.nouns}, a.operands[:at]...), words(word[:colon])...)...)
				a.verb, a.operands = long(word[colon+1:]), a.operands[at+1:]
				break
			}
			if own := words(word); len(own) > 0 && isVerb(own[0]) && !rarely[own[0]] {
				if a.verb == "run" {
					a.nouns = ""
				}
				a.nouns = spaced(append(append([]string{a.nouns}, a.operands[:at]...), own[1:]...)...)
				a.verb, a.operands = long(own[0]), a.operands[at+1:]
				break
			}
		}
	}
	if a.verb == "" {
		a.asked(c)
	}
	if c.Program == "service" && a.nouns != "" {
		a.nouns, a.operands = "", strings.Fields(a.nouns)
	}
	for i, word := range c.Argv {
		if slices.Contains([]string{"-f", "--file", "--filename", "-k", "--kustomize"}, word) && i+1 < len(c.Argv) && strings.ContainsAny(c.Argv[i+1], "./:") {
			a.files = append(a.files, c.Argv[i+1])
		}
	}
	if len(a.operands) == 0 && len(a.files) == 0 {
		a.operands = c.behindFlag()
	}
	if len(a.operands) == 0 && len(a.files) == 0 {
		a.named()
	}
	return a
}

// asked finds a verb among the options, where some programs have it: "kafka-topics
// --delete --topic orders".
func (a *act) asked(c command) {
	for _, word := range c.Argv[min(1, len(c.Argv)):] {
		own := words(word)
		if strings.HasPrefix(word, "-") && len(own) > 0 && len(own[0]) > 4 && destroys(own[0]) {
			a.verb, a.nouns = own[0], strings.Join(own[1:], " ")
			if own := words(c.bare()); a.nouns == "" {
				a.nouns = own[len(own)-1]
			}
			return
		}
	}
}

// bare is the name of the program without the ending of a script's.
func (c command) bare() string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(c.Program, ".sh"), ".py"), ".bat")
}

// targets reports whether a word is a value of the command's target, such as its
// namespace, which is told beside what is done.
func (c command) targets(word string) bool {
	name, value, set := strings.Cut(word, "=")
	for part, of := range c.Target {
		if part != "config" && (of == word || set && of == value && strings.ToUpper(name) == name) {
			return true
		}
	}
	return false
}

// behindFlag is the last word of a command behind a short option that could have
// it as its value, and that could be a flag: "rm -r gs://logs".
func (c command) behindFlag() []string {
	last := len(c.Argv) - 1
	if last < 2 || c.targets(c.Argv[last]) || slices.Contains(c.Subcommand, c.Argv[last]) || strings.HasPrefix(c.Argv[last], "-") {
		return nil
	}
	if slices.Contains([]string{"-r", "-R", "-f", "-i", "-t"}, c.Argv[last-1]) {
		return c.Argv[last:]
	}
	return nil
}

// flags are long options that take no value in most programs that have them.
var flags = wordSet("all auto-approve cascade color confirm debug delete detach detached draft dry-run dryrun fill force force-new-deployment global hard help if-exists " +
	"ignore-daemonsets interactive json keep-history latest now linked local no-cache offline overwrite preview prod production prune public private privileged purge " +
	"quiet recurse recursive remote rm save save-dev skip-final-snapshot squash tags tty unmanaged upgrade verbose volumes wait watch web yes assume-yes no-input delete-branch allow-unauthenticated cleanup")

// withoutEffect are options that say nothing of what happens.
var withoutEffect = wordSet("cli-input-json cidr-blocks color format help jq json log-level max-items no-color output page-size query timeout verbosity file filename kustomize")

// options are the long options of a command that have a value.
func (c command) options() (list []option) {
	for i, word := range c.Argv {
		name, value, glued := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if word == "--" {
			break
		}
		if len(word) == 2 && word[0] == '-' && !strings.Contains("rRfyvqaAdithkcC", word[1:]) && i+1 < len(c.Argv) && !strings.HasPrefix(c.Argv[i+1], "-") && !c.targets(c.Argv[i+1]) {
			list = append(list, option{name: word, value: c.Argv[i+1]})
			continue
		}
		if !strings.HasPrefix(word, "--") || slices.Contains(unasked, word) || flags[name] || strings.HasPrefix(name, "no-") || strings.HasPrefix(name, "skip-") || withoutEffect[name] {
			continue
		}
		if !glued && i+1 < len(c.Argv) && !strings.HasPrefix(c.Argv[i+1], "-") {
			value = c.Argv[i+1]
		}
		if value != "" && !c.targets(value) && !slices.Contains(c.Subcommand, value) && !strings.ContainsAny(name, "./") {
			o := option{name: strings.ReplaceAll(name, "-", " "), value: value}
			for j := i + 2; !glued && strings.HasSuffix(name, "s") && j < len(c.Argv) && !strings.HasPrefix(c.Argv[j], "-"); j++ {
				o.more = append(o.more, c.Argv[j])
			}
			list = append(list, o)
		}
	}
	return list
}

// hushed reports whether the value of an option is likely to be a secret.
func hushed(name string) bool {
	return slices.ContainsFunc(words(name), func(w string) bool {
		return slices.Contains([]string{"password", "pw", "secret", "token", "literal", "passphrase", "auth", "credentials", "value"}, w)
	})
}

// named finds which option names what the act is done to: "delete-table
// --table-name users" is done to users.
func (a *act) named() {
	about := func(o option) int {
		own, nouns := strings.Fields(o.name), strings.Fields(a.nouns)
		same := func(a, b string) bool { return strings.TrimSuffix(a, "s") == strings.TrimSuffix(b, "s") }
		last := own[len(own)-1]
		isID := slices.Contains([]string{"name", "names", "id", "ids", "identifier", "arn", "url"}, last) || slices.ContainsFunc(nouns, func(n string) bool { return same(n, last) })
		if !isID || len(nouns) == 0 || hushed(o.name) {
			return 0
		}
		for i, n := range slices.Backward(nouns) {
			if slices.ContainsFunc(own, func(w string) bool { return same(w, n) }) {
				return i + 2
			}
		}
		if len(own) == 1 {
			return 1
		}
		return 0
	}
	best := -1
	for i, o := range a.options {
		if n := about(o); n > 0 && (best < 0 || n > about(a.options[best])) {
			best = i
		}
	}
	if best >= 0 {
		a.operands = append([]string{a.options[best].value}, a.options[best].more...)
		a.options = slices.Delete(slices.Clone(a.options), best, best+1)
	}
}

// between is what stands between what goes and where it goes.
var between = map[string]string{"copy": "to", "move": "to", "sync": "to", "rename": "to", "transfer": "to", "upload": "to", "attach": "to", "promote": "to", "merge": "into"}

// object is what the act is done to; empty where the command does not say it.
func (a act) object(c command) string {
	switch {
	case len(a.operands) > 1 && strings.HasPrefix(a.verb, "run a command"):
		return thing(a.operands[0]) + ": " + line(a.operands[1:])
	case len(a.operands) == 2 && between[a.verb] != "" && a.nouns == "" || len(a.operands) == 2 && (a.verb == "copy" || a.verb == "move" || a.verb == "sync"):
		return thing(a.operands[0]) + " " + between[a.verb] + " " + thing(a.operands[1])
	case len(a.operands) > 0:
		nouns := a.nouns
		if slices.ContainsFunc(a.operands, func(o string) bool { return strings.HasPrefix(o, nouns+"://") }) {
			nouns = ""
		}
		if len(a.operands) == 2 && nouns == "" && strings.Trim(a.operands[0], "abcdefghijklmnopqrstuvwxyz") == "" {
			if inner, ok := printed(a.operands[1]); ok { // "delete pod $(...)"
				return strings.TrimSuffix(a.operands[0], "s") + "s that " + short(inner, 90) + " lists"
			}
		}
		if inner, ok := printed(a.operands[0]); ok && len(a.operands) == 1 && nouns != "" {
			return strings.TrimSuffix(nouns, "s") + "s that " + short(inner, 90) + " lists"
		}
		return spaced(nouns, things(a.operands))
	case len(a.files) > 0 && destroys(a.verb):
		return "what " + listing(a.files) + " describes"
	case len(a.files) > 0:
		return spaced(a.nouns, listing(a.files))
	case c.has("--all", "-A", "-a", "-fa", "-af", "-aq") && a.nouns != "":
		return "all " + strings.TrimSuffix(a.nouns, "s") + "s"
	case a.nouns != "" && (len(a.options) > 0 || strings.Contains(c.verb(), "-")):
		return a.nouns
	}
	return ""
}

// described are verbs of programs that are told by files what to do it to.
var described = wordSet("apply bring build deploy destroy initialize migrate plan publish refresh release roll take start stop restart update upgrade promote preview validate")

// maxOptions is how many options a sentence tells.
const maxOptions = 3

// by says with what an act is done: the program, its target, and options that say
// what is done.
func (a act) by(c command, program bool) string {
	var by []string
	if program {
		by = append(by, c.Program)
	}
	for _, part := range slices.Sorted(maps.Keys(c.Target)) {
		if part != "folder" && part != "config" {
			by = append(by, part+" "+quoted(c.Target[part]))
		}
	}
	told := slices.DeleteFunc(slices.Clone(a.options), func(o option) bool { return hushed(o.name) })
	for _, o := range told[:min(len(told), maxOptions)] {
		by = append(by, quotedName(o.name)+" "+quoted(short(o.value, 60)))
	}
	if len(by) == 0 {
		return ""
	}
	return " (" + strings.Join(by, ", ") + ")"
}

func quotedName(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.-") == "" {
		return name
	}
	return quoted(name)
}

// acts says what a program is told to do in its own words: "Deletes pod web-1
// (kubectl, namespace pay)".
func (w *work) acts(c command, more string) holdgate.Effect {
	e := holdgate.Effect{Kind: holdgate.EffectChange, What: "resource", Where: c.where(), Undoable: holdgate.UndoableUnknown}
	if e.Where == "" {
		e.Where = strings.TrimPrefix(w.folder(c), " in ")
	}
	a := c.act()
	if a.verb == "" {
		e.Says = "Changes what others use: " + line(c.Argv) + w.folder(c)
		if more != "" {
			e.Says = "Publishes for others to see: " + line(c.Argv)
		}
		return e
	}
	first, _, _ := strings.Cut(a.verb, " ")
	switch object := a.object(c); {
	case a.verb == "log in":
		e.Says = spaced("Logs in with "+c.Program, a.nouns)
	case a.verb == "prune" && len(a.operands) == 0:
		e.Says = "Deletes what " + spaced(c.Program, a.nouns) + " does not use (" + line(c.Argv) + ")"
	case object != "":
		e.Says = does(a.verb) + " " + object + w.folder(c) + reallyApplies(a) + a.by(c, true)
	case described[first], first == "remove" && a.nouns == "" && len(c.Target) > 0:
		e.Says = does(a.verb) + " what " + spaced(c.Program, a.nouns) + " describes" + w.folder(c) + reallyApplies(a) + a.by(c, false)
	default:
		e.Says = spaced(does(a.verb), a.nouns) + w.folder(c) + " (" + line(c.Argv) + ")"
	}
	if destroys(a.verb) || strings.HasSuffix(a.nouns, " deletion") {
		e.Kind = holdgate.EffectDelete
	}
	if more != "" {
		e.Says += ", " + more
	}
	return e
}

func reallyApplies(a act) string {
	if a.verb == "apply" {
		return " to the real thing"
	}
	return ""
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
