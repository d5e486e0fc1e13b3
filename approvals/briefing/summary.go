package briefing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// Arguments that say by themselves what a tool will do, most telling first.
var (
	commandKeys = []string{"command", "cmd", "commands", "script", "code"}
	targetKeys  = []string{"file_path", "path", "filename", "notebook_path", "uri", "url", "query", "sql"}
)

// summarise says in a line what the call does: from its effects where the facts
// are complete, else in the call's own text, unless what is known of it is grave. Half of
// the facts may be the harmless half.
func (b *briefer) summarise(t *holdgate.Tool, args []member, edits []edit) string {
	f := b.facts
	switch {
	case f == nil:
	case len(f.ParseErrors) > 0:
		if len(f.Effects) > 0 && f.Effects[0].What != "tool" && (f.Effects[0].Undoable == holdgate.UndoableNo || f.Effects[0].Kind == holdgate.EffectRun) {
			return worst(f.Effects, ", and not all of it could be read")
		}
	case len(edits) > 0 && len(f.Commands) == 0 && (len(f.Effects) == 0 || f.Effects[0].What != "tool"):
		return b.changed(edits)
	case len(f.Effects) > 0:
		return worst(f.Effects, "")
	case len(f.Commands) > 0:
		return "Runs " + b.programs(f.Commands)
	}
	return plainly(t, args)
}

// asksModel says what a model request does: the worst is what the provider runs by
// itself, for nobody is asked about that.
func asksModel(m *holdgate.Model) string {
	of := joined(m.Name, "at", m.Provider)
	if m.Name == "" {
		of = "a model at " + m.Provider
	}
	if m.Host != "" && !m.HostKnown {
		of = joined(of, "on", m.Host)
	}
	var runs []string
	for _, t := range m.ServerTools {
		name := t.Name
		if name == "" {
			name = t.Type
		}
		if t.URL != "" {
			name = joined(name, "of", t.URL)
		}
		if !slices.Contains(runs, name) {
			runs = append(runs, name)
		}
	}
	if len(runs) > 0 {
		return "Lets " + of + " run " + listing(runs) + " by itself, unseen"
	}
	if n := len(m.Tools); n > 0 {
		return "Asks " + of + ", which is offered " + counted(n, "tool")
	}
	return "Asks " + of
}

// methods says what requests of MCP do that are no tool calls.
var methods = map[string]string{
	"resources/read": "Reads the resource", "resources/subscribe": "Follows the resource", "resources/unsubscribe": "Follows no longer the resource",
	"prompts/get": "Fetches the prompt", "completion/complete": "Asks for completions of", "tasks/cancel": "Cancels the task", "tasks/get": "Looks at the task", "tasks/result": "Fetches the result of the task",
	"logging/setLevel": "Sets how much is logged",
}

// asksServer says what a request of MCP does.
func asksServer(m *holdgate.MCP) string {
	asks := map[string]string{
		"sampling/createMessage": "has the agent's model answer what it asks",
		"elicitation/create":     "asks the agent's user for an answer",
		"roots/list":             "asks which folders the agent works in",
	}[m.Method]
	switch {
	case m.FromServer && asks != "":
		return joined("The server", m.Server, asks)
	case m.Answer && asks != "":
		return joined("Answers the server", m.Server+",", "which", asks)
	case methods[m.Method] != "":
		return joined(methods[m.Method], m.Name, "of the server", m.Server)
	}
	return joined(m.Server, m.Method, m.Name)
}

// Line names a tool call in one line of at most [maxLineOf] characters and a mark, which
// stands behind a whole word where there is one. The call no longer has the values which
// a decision redacts.
func Line(t *holdgate.Tool) string {
	args, _ := members(t.Arguments)
	s := strings.Join(strings.Fields(plainly(t, args)), " ")
	if r := []rune(s); len(r) > maxLineOf {
		s = string(r[:maxLineOf])
		if end := strings.LastIndexByte(s, ' '); r[maxLineOf] != ' ' && end > len(s)/2 {
			s = s[:end]
		}
		s += "…"
	}
	return holdgate.Visible(s)
}

// maxLineOf is how many characters of a call [Line] shows.
const maxLineOf = 120

// plainly names the tool and what it is given.
func plainly(t *holdgate.Tool, args []member) string {
	name := t.Name
	if t.Server != "" {
		name += " of " + t.Server
	}
	if s, ok := find(args, commandKeys...); ok {
		return name + ": " + s
	}
	if s, ok := find(args, targetKeys...); ok {
		return name + " " + s
	}
	names := make([]string, len(args))
	for i, a := range args {
		names[i] = a.name
	}
	if len(names) == 0 {
		return name
	}
	return name + " (" + strings.Join(names, ", ") + ")"
}

// programs names what runs: a single command whole, several by program,
// subcommand and what forces them.
func (b *briefer) programs(commands []holdgate.Command) string {
	if len(commands) == 1 {
		s := line(commands[0])
		if slices.Contains(commands[0].Via, "sudo") {
			s += " as another user"
		}
		return s
	}
	if len(commands) > 5 {
		commands = ranked(commands)
	}
	var names []string
	for _, c := range commands {
		if n := name(c); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return counted(len(commands), "command") + ": " + strings.Join(names, ", ")
}

// Programs whose first word says what they do.
var withSubcommand = []string{"git", "go", "npm", "npx", "yarn", "pnpm", "pip", "pip3", "cargo", "docker", "kubectl", "helm", "terraform", "make", "apt", "apt-get", "brew", "systemctl", "gh", "aws", "gcloud", "az"}

func name(c holdgate.Command) string {
	if c.Program == "" {
		return "what is not known yet"
	}
	words := []string{c.Program}
	for _, w := range c.Argv[min(1, len(c.Argv)):] {
		option := strings.HasPrefix(w, "-")
		sub := len(words) == 1 && !option && slices.Contains(withSubcommand, c.Program)
		if sub || strings.HasPrefix(w, "--force") || w == "--hard" || (c.Program == "rm" && option) {
			words = append(words, quoted(w))
		}
	}
	return strings.Join(words, " ")
}

// touched lists the paths that are touched in one way.
func (b *briefer) touched(access string) (paths []string) {
	for _, p := range b.facts.Paths {
		if where := b.place(p); p.Access == access && where != "" && !slices.Contains(paths, where) {
			paths = append(paths, where)
		}
	}
	return paths
}

// changed says what edits do to files.
func (b *briefer) changed(edits []edit) string {
	paths := b.touched("write")
	for _, p := range b.touched("delete") {
		if !slices.Contains(paths, p) {
			paths = append(paths, p+" (deleted)")
		}
	}
	where := listing(paths)
	if len(paths) == 0 {
		where = "a file"
	}
	where += b.belonging()
	gone, come := 0, 0
	for _, e := range edits {
		g, c := e.counts()
		gone, come = gone+g, come+c
	}
	switch {
	case len(edits) == 1 && edits[0].whole:
		return fmt.Sprintf("Writes %s to %s", counted(come, "line"), where)
	case len(paths) > 1:
		return fmt.Sprintf("Changes %d files (%s, %s): %s", len(paths), verb(gone, "line goes", "lines go"), verb(come, "comes", "come"), where)
	}
	return fmt.Sprintf("Changes %s (%s, %s)", where, verb(gone, "line goes", "lines go"), verb(come, "comes", "come"))
}

// belonging says what the files that are written are besides.
func (b *briefer) belonging() string {
	for _, p := range b.facts.Paths {
		switch {
		case p.Access != "write":
		case p.Class == "persistence":
			return ", which runs later by itself"
		case p.Class == "secret":
			return ", which holds secrets"
		case p.Class == "system":
			return ", which belongs to the system"
		case !p.Inside && b.facts.Dir != "":
			return ", outside of the session's folder"
		}
	}
	return ""
}

// sql lists the statements.
func (b *briefer) sql() {
	if b.facts == nil {
		return
	}
	var lines []string
	for _, s := range b.facts.SQL {
		l := joined(strings.ToUpper(joined(s.Verb, s.Object)), strings.Join(s.Tables, ", "))
		if !s.Where && (s.Verb == "delete" || s.Verb == "update") {
			l += "   [no WHERE: every row]"
		}
		lines = append(lines, l)
	}
	b.section("statements", KindSQL, lines)
}
