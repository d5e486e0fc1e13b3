// Package settings looks up what data.settings says of commands, tools and HTTP
// requests, in tables that are read once for each policy.
package settings

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/effects"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
)

type object = map[string]any

// Commands are data.settings.commands and data.settings.grammars, read once
// for each policy: looking words up in them is most of what a shell call costs
// in Rego. The pack's commands/tables.rego says the same, for inputs that come
// without classes; a test holds the two together.
type Commands struct {
	classes  map[string]commandClass
	grammars map[string]grammar // by program, or by program and subcommand
}

// A commandClass is what the table says of a program or of a word after it.
type commandClass struct {
	class string                  // of the command; empty where it has none of its own
	words map[string]string       // words that give the command another class
	below map[string]commandClass // by the word that follows; "*" ends a beginning
}

// A grammar says what the options are that may stand before the next subcommand.
type grammar map[string]option

// An option of a grammar.
type option struct {
	valued bool
	target string // which part of its target the command takes from it, such as "namespace"
}

// ReadCommands reads the tables out of a policy's data. What has another
// form is left out: the schema of settings refuses it, and a policy that
// replaces the pack may keep there what it likes.
func ReadCommands(data object) Commands {
	settings, _ := data["settings"].(object)
	classes, _ := settings["commands"].(object)
	t := Commands{classes: classReader{}.read(classes).below, grammars: make(map[string]grammar)}
	grammars, _ := settings["grammars"].(object)
	for path, rows := range grammars {
		rows, _ := rows.(object)
		g := make(grammar, len(rows))
		for name, v := range rows {
			target, _ := v.(string)
			g[name] = option{valued: v != false, target: target}
		}
		t.grammars[path] = g
	}
	return t
}

// A classReader remembers what it made of an object, by its address: the pack's tables
// have one object for several programs.
type classReader map[uintptr]commandClass

func (r classReader) read(v any) commandClass {
	var c commandClass
	switch v := v.(type) {
	case string:
		c.class = v
	case []any:
		if len(v) != 2 {
			return c
		}
		c.class, _ = v[0].(string)
		words, _ := v[1].(object)
		c.words = make(map[string]string, len(words))
		for word, class := range words {
			c.words[word], _ = class.(string)
		}
	case object:
		at := reflect.ValueOf(v).Pointer()
		if made, ok := r[at]; ok {
			return made
		}
		c.below = make(map[string]commandClass, len(v))
		for word, below := range v {
			c.below[word] = r.read(below)
		}
		r[at] = c
	}
	return c
}

// versioned is a program with its version at the end, such as python3.12.
var versioned = lazyregexp.New(`^(python|pip|pydoc|ruby|node|php|lua|perl|go|gcc|g\+\+|clang|clang\+\+|clang-format|clang-tidy)-?[0-9][0-9.]*$`)

// program is the name that the table has of a program.
func (t Commands) program(name string) (string, commandClass, bool) {
	c, ok := t.classes[name]
	if !ok {
		if m := versioned.FindStringSubmatch(name); m != nil {
			c, ok = t.classes[m[1]]
			name = m[1]
		}
	}
	return name, c, ok
}

// Class is the class of a command, or empty where the table does not know it, and
// the words that lead there: its subcommand.
func (t Commands) Class(cmd facts.Command) (class string, subcommand []string) {
	argv := cmd.Argv
	at, c, ok := t.program(cmd.Program)
	if !ok && len(argv) > 0 && slices.Contains(cmd.Project, argv[0]) {
		c, ok = t.classes[ofProject]
	}
	rest := argv[min(1, len(argv)):]
	helps := !slices.Contains(starters, cmd.Program)
	if helps && len(rest) == 1 && (rest[0] == "--version" || rest[0] == "--help") {
		return classPass, nil
	}
	if !ok {
		return "", nil
	}
	for c.below != nil {
		rest = t.grammars[at].skip(c, rest)
		word := ""
		if len(rest) > 0 {
			word, rest = rest[0], rest[1:]
		}
		if helps && word == "--help" && len(rest) == 0 {
			return classPass, subcommand
		}
		if c, ok = c.follow(word, slices.Contains(cmd.Project, word)); !ok {
			return "", subcommand
		}
		if word != "" && word[0] != '-' {
			at, subcommand = at+" "+word, append(subcommand, word)
		}
	}
	if helps && len(rest) == 1 && rest[0] == "--help" {
		return classPass, subcommand
	}
	return c.with(t.grammars[at], argv, rest), subcommand
}

// starters run what their first word names, or read it as code: for some of them,
// and in some shells, --help is the name of a program.
var starters = strings.Fields(`. alias builtin command coproc enable env eval exec noglob nocorrect source time trap
	ash bash busybox csh dash fish ksh mksh posh rbash sh tcsh toybox yash zsh
	chroot chrt doas fakeroot flock gtime ionice ltrace nice nohup nsenter parallel pkexec proot runuser
	setarch setsid setpriv script ssh start-stop-daemon stdbuf strace su sudo systemd-run taskset timeout gtimeout unbuffer unshare valgrind watch xargs`)

// classPass is the class of commands that need no closer look.
const classPass = "pass"

// skip returns the words from the next subcommand on: options that the grammar
// knows, and the table does not have as words of its own, are passed over with
// their values.
func (g grammar) skip(c commandClass, rest []string) []string {
	for len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' {
		word := rest[0]
		if _, own := c.below[word]; own {
			return rest
		}
		name, _, glued := strings.Cut(word, "=")
		o, ok := g[name]
		switch {
		case ok && o.valued && !glued:
			rest = rest[min(2, len(rest)):]
		case ok, word[1] != '-' && g[word[:2]].valued: // -nprod
			rest = rest[1:]
		default:
			return rest
		}
	}
	return rest
}

// ofProject stands in the tables for the files of the project that they do not
// name.
const ofProject = "./"

// follow is what the table says below a word: what it has of the word itself,
// else of the file of the project that it names, else of its longest beginning.
func (c commandClass) follow(word string, project bool) (commandClass, bool) {
	if below, ok := c.below[word]; ok {
		return below, true
	}
	if project && word != "" && word[0] != '-' {
		if below, ok := c.below[path.Base(word)]; ok {
			return below, true
		}
		if below, ok := c.below[ofProject]; ok {
			return below, true
		}
	}
	if word == "" || word[0] == '-' {
		return commandClass{}, false
	}
	for n := len(word); n >= 0; n-- {
		if below, ok := c.below[word[:n]+"*"]; ok {
			return below, true
		}
	}
	return commandClass{}, false
}

// with is the class with regard to the words that change it. Of several the
// strictest counts, or the last by name of those that are as strict.
//
// rest are the words behind the subcommand: a short option before it is the
// program's own, and not the subcommand's of the same letter.
func (c commandClass) with(g grammar, argv, rest []string) string {
	found := ""
	for changing, class := range c.words {
		if asksNothing(class) {
			if !says(g, argv, changing) {
				continue
			}
		} else if !holds(g, argv, rest, changing) {
			continue
		}
		if found == "" || asksNothing(found) && !asksNothing(class) || asksNothing(found) == asksNothing(class) && class > found {
			found = class
		}
	}
	if found == "" {
		return c.class
	}
	return found
}

// holds reports whether a word of the table that makes a command stricter could be
// one of its words. An empty one is for a command without any, and a dollar at
// the end is for the last.
func holds(g grammar, argv, rest []string, changing string) bool {
	if last, ok := strings.CutSuffix(changing, "$"); ok {
		return argv[len(argv)-1] == last
	}
	if changing == "" {
		return len(argv) == 1
	}
	words := argv
	if len(changing) == 2 && changing[0] == '-' {
		words = rest
	}
	for i, word := range words {
		value := i > 0 && changing[0] == '-' && words[i-1] != "" && words[i-1][0] == '-' && g[words[i-1]].valued
		if !value && names(g, word, changing) {
			return true
		}
	}
	return false
}

// says reports whether a word of the table that makes a command harmless, such as
// --dry-run, stands among its words beyond doubt: as it is written in the table,
// where it cannot be the value of an option, before "--", and not taken back by
// another option.
func says(g grammar, argv []string, changing string) bool {
	said := false
	for i, word := range argv {
		if word == "--" {
			break
		}
		name, _, _ := strings.Cut(word, "=")
		option, _, _ := strings.Cut(changing, "=")
		switch {
		case word == changing:
			said = said || i > 0 && !takesNext(g, argv[i-1])
		case name == option, name == "--no-"+strings.TrimLeft(option, "-"):
			return false
		}
	}
	return said
}

// takesNext reports whether a word may be an option that takes the next word as
// its value.
func takesNext(g grammar, word string) bool {
	o, known := g[word]
	return strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && (!known || o.valued)
}

// asksNothing reports whether a class by itself asks nothing.
func asksNothing(class string) bool {
	return slices.Contains([]string{classPass, "build", "project", "remote", "assign"}, class)
}

// names reports whether a word of a command is, or can be read as, a word of the
// table: an option cut short or among others that share its dash, or a part of
// a list.
func names(g grammar, word, changing string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case name == changing:
		return true
	case strings.Contains(changing, "="):
		return word == changing
	case strings.HasPrefix(changing, "--"):
		_, known := g[name]
		return len(name) > 2 && !known && strings.HasPrefix(changing, name)
	case len(changing) == 2 && changing[0] == '-':
		if len(word) < 3 || word[0] != '-' || word[1] == '-' {
			return false
		}
		for i := 1; i < len(word); i++ {
			if word[i] == changing[1] {
				return true
			}
			if g["-"+word[i:i+1]].valued {
				return false
			}
		}
		return false
	case changing[0] == '-' || strings.HasPrefix(word, "-"):
		return false
	case len(changing) > 2 && changing[0] == '*' && strings.HasSuffix(changing, "*"):
		return namesTask(word, changing[1:len(changing)-1])
	}
	if beginning, ok := strings.CutSuffix(changing, "*"); ok {
		return strings.HasPrefix(word, beginning)
	}
	for part := range strings.SplitSeq(word, ",") {
		if kind, _, _ := strings.Cut(part, "/"); kind == changing && kind != "." {
			return true
		}
	}
	return false
}

// namesTask reports whether a word is the name of a task or a script that has
// the part, as in deploy-api and scripts/api_deploy.sh; behind a slash, a part of
// several. One that only looks, by another part, is none, and a document is none.
func namesTask(word, part string) bool {
	if strings.Contains(word, "=") || document.MatchString(word) {
		return false
	}
	if compound, ok := strings.CutPrefix(part, "/"); ok {
		if part = compound; !strings.ContainsAny(word, "/.:-_") {
			return false
		}
	}
	parts := parting.Split(strings.ToLower(path.Base(word)), -1)
	return slices.Contains(parts, part) && !slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(readingParts, p) })
}

var (
	document     = lazyregexp.New(`\.(md|json|txt|ya?ml|csv|html|lock|toml|log|png)$`)
	parting      = lazyregexp.New(`[^a-z0-9]+`)
	readingParts = []string{"build", "check", "docs", "dry", "lint", "list", "notes", "plan", "preview", "spec", "status", "test", "tests", "validate"}
)

// anyProgram stands in the grammars for every program: options that have the same
// meaning in most.
const anyProgram = "*"

// Target is what a command is about, by the options of its program and by its
// environment: such as its context and its namespace. An option counts before a
// variable, and the last of several.
func (t Commands) Target(c facts.Command) map[string]string {
	name, _, _ := t.program(c.Program)
	g, any := t.grammars[name], t.grammars[anyProgram]
	if len(g) == 0 && len(any) == 0 {
		return nil
	}
	var found map[string]string
	set := func(part, value string) {
		if part == "stage" && !strings.Contains(strings.ToLower(value), "prod") && !strings.Contains(strings.ToLower(value), "live") {
			return // no other stage is worth a look
		}
		if found == nil {
			found = make(map[string]string)
		}
		found[part] = value
	}
	for _, v := range c.Env {
		o, ok := g["$"+v.Name]
		if !ok {
			o = any["$"+v.Name]
		}
		if o.target != "" {
			set(o.target, v.Value)
		}
	}
	for i, word := range c.Argv[min(1, len(c.Argv)):] {
		option, value, glued := strings.Cut(word, "=")
		if len(word) < 2 || word[0] != '-' {
			if !glued { // make NAME=value
				continue
			}
			option = "$" + option
		}
		o, ok := g[option]
		if !ok {
			o, ok = any[option]
		}
		switch {
		case ok && !glued && i+2 < len(c.Argv):
			value = c.Argv[i+2]
		case !ok && len(word) > 2 && word[0] == '-' && word[1] != '-':
			o, value = g[word[:2]], word[2:]
		}
		if o.target != "" && value != "" {
			set(o.target, value)
		}
	}
	return found
}

// Empty reports whether there are no tables.
func (t Commands) Empty() bool { return len(t.classes) == 0 }

// Known is what the tables say of a command.
func (t Commands) Known(c facts.Command) effects.Known {
	class, subcommand := t.Class(c)
	return effects.Known{Class: class, Subcommand: subcommand, Operands: t.operands(c, subcommand), Target: t.Target(c)}
}

// valuedAnywhere are options that take a value in most programs that have them.
var valuedAnywhere = strings.Fields("-m --message -f --file --filename -n --namespace --context --title --body --notes --registry --index-url --extra-index-url -i -c --config --region --profile --project --zone -o --output -r --requirement -t --tag --token --format --jq --json -u --user --password --var --var-file --set --values --version --timeout --repo -R --branch --base --head --target --env --environment --scope -w --workspace --filter --prefix --dir --cwd --app --confirm")

// operands are the words of a command behind its subcommand that are no options
// and no values of options. Where the tables do not know an option, what follows
// it counts.
func (t Commands) operands(c facts.Command, subcommand []string) (words []string) {
	rest := c.Argv[min(1, len(c.Argv)):]
	for _, sub := range subcommand {
		rest = rest[slices.Index(rest, sub)+1:]
	}
	name, _, _ := t.program(c.Program)
	own, sub := t.grammars[name], t.grammars[strings.Join(append([]string{name}, subcommand...), " ")]
	for i := 0; i < len(rest); i++ {
		word := rest[i]
		switch {
		case word == "--":
			return append(words, rest[i+1:]...)
		case len(word) < 2 || word[0] != '-':
			words = append(words, word)
		case strings.Contains(word, "="):
		case word == "-f" && (i+1 == len(rest) || !strings.ContainsAny(rest[i+1], "./")): // --force
		case own[word].valued, sub[word].valued, slices.Contains(valuedAnywhere, word):
			i++
		}
	}
	return words
}
