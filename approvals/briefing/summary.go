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

// summarise says in a line what the call does: from the facts where they are
// complete, else in the call's own text. Half of the facts may be the harmless
// half.
func (b *briefer) summarise(t *holdgate.Tool, args []member, edits []edit) string {
	f := b.facts
	switch {
	case f == nil, len(f.ParseErrors) > 0:
	case len(f.Commands) > 0:
		return b.runs(f)
	case len(f.SQL) > 0:
		return statements(f.SQL)
	case len(edits) > 0:
		return b.changed(edits)
	case f.Category == "delete" && len(b.touched("delete")) > 0:
		return "Deletes " + listing(b.touched("delete"))
	case f.Category == "write" && len(b.touched("write")) > 0:
		return "Writes " + listing(b.touched("write"))
	case f.Category == "read" && len(b.touched("read")) > 0:
		return "Reads " + listing(b.touched("read"))
	}
	return plainly(t, args)
}

// Line names a tool call in one line of at most [maxLineOf] characters. The
// call no longer has the values which a decision redacts.
func Line(t *holdgate.Tool) string {
	args, _ := members(t.Arguments)
	s := strings.Join(strings.Fields(plainly(t, args)), " ")
	if r := []rune(s); len(r) > maxLineOf {
		s = string(r[:maxLineOf]) + "…"
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

// runs says what a command line does: what it deletes, else what it runs.
func (b *briefer) runs(f *holdgate.Facts) string {
	run := b.programs(f.Commands)
	gone := b.touched("delete")
	if len(gone) == 0 {
		return "Runs " + run
	}
	s := "Deletes " + listing(gone)
	if f.Impact.Recursive {
		s += map[bool]string{true: " and everything in it", false: " and everything in them"}[len(gone) == 1]
	}
	if len(f.Commands) > 1 {
		return s + ", runs " + run
	}
	return s + " (" + line(f.Commands[0]) + ")"
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
	gone, come := 0, 0
	for _, e := range edits {
		g, c := e.counts()
		gone, come = gone+g, come+c
	}
	switch {
	case len(edits) == 1 && edits[0].whole:
		return fmt.Sprintf("Writes %s to %s", counted(come, "line"), where)
	case len(paths) > 1:
		return fmt.Sprintf("Changes %d files (%d lines go, %d come): %s", len(paths), gone, come, where)
	}
	return fmt.Sprintf("Changes %s (%s, %d come)", where, verb(gone, "line goes", "lines go"), come)
}

// statements says what SQL does.
func statements(list []holdgate.Statement) string {
	if len(list) == 1 {
		s := statement(list[0])
		return strings.ToUpper(s[:1]) + s[1:]
	}
	var parts []string
	for _, s := range list {
		parts = append(parts, statement(s))
	}
	return fmt.Sprintf("Runs %d SQL statements: %s", len(list), strings.Join(parts, "; "))
}

func statement(s holdgate.Statement) string {
	tables := strings.Join(s.Tables, ", ")
	if tables == "" {
		tables = "?"
	}
	object := s.Object
	if object == "" {
		object = "table"
	}
	switch s.Verb {
	case "drop":
		return "drops " + object + " " + tables
	case "create", "alter":
		return s.Verb + "s " + object + " " + tables
	case "truncate":
		return "empties table " + tables
	case "delete":
		return "deletes " + map[bool]string{true: "rows", false: "all rows"}[s.Where] + " of " + tables
	case "update":
		return "changes " + map[bool]string{true: "rows", false: "all rows"}[s.Where] + " of " + tables
	case "insert":
		return "adds rows to " + tables
	case "select":
		return "reads from " + tables
	case "":
		return "runs SQL on " + tables
	}
	return joined("runs SQL:", s.Verb, s.Object, strings.Join(s.Tables, ", "))
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
