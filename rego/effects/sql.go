package effects

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// statements adds what SQL does.
func (w *work) statements() {
	for _, s := range w.facts.SQL {
		if slices.Contains([]string{"begin", "start", "commit", "end", "savepoint", "release", "set", "use", "rollback"}, s.Verb) {
			continue
		}
		e, weight := statement(s)
		by := w.client()
		if db := by.database(); db != "" && e.Kind != holdgate.EffectRead {
			e.Says += " in the database " + quoted(db)
		}
		w.add(by, weight, e)
	}
}

// client is the command to which the statements of the call go. Where several could be
// meant its server names them all.
func (w *work) client() (by command) {
	var servers []string
	for _, c := range w.commands {
		if c.Class != "database" {
			continue
		}
		if by.Program == "" {
			by = c
		}
		if server := cmp.Or(c.Server, unnamed); !slices.Contains(servers, server) {
			servers = append(servers, server)
		}
	}
	if i := slices.Index(servers, unnamed); i >= 0 { // it reads better behind the others
		servers = append(slices.Delete(servers, i, i+1), unnamed)
	}
	if len(servers) > 1 {
		by.Server = strings.Join(servers, " or ")
	}
	return by
}

// unnamed stands for the server of a client that names none.
const unnamed = "a server that is not named"

// machines writes out those that could be meant, which are joined by " or ".
func machines(on string) string {
	each := strings.Split(on, " or ")
	for i, m := range each {
		if m != unnamed {
			each[i] = quoted(short(m, 60))
		}
	}
	return strings.Join(each, " or ")
}

// database is the database that a client names.
func (c command) database() string {
	if d := c.Target["database"]; d != "" {
		return d
	}
	for i, word := range c.Argv {
		if (word == "-d" || word == "--dbname" || word == "--database") && i+1 < len(c.Argv) {
			return c.Argv[i+1]
		}
		if _, db, ok := strings.Cut(word, "--dbname="); ok {
			return db
		}
	}
	return ""
}

func statement(s holdgate.Statement) (holdgate.Effect, int) {
	tables := listing(s.Tables)
	nameless := tables == ""
	if nameless {
		tables = "what is not named"
	}
	object := s.Object
	if object == "" {
		object = "table"
	}
	no := func(kind holdgate.EffectKind, what, says string, weight int) (holdgate.Effect, int) {
		return holdgate.Effect{Kind: kind, What: what, Where: strings.Join(s.Tables, ", "), Undoable: holdgate.UndoableNo, Because: "database", Says: says}, weight
	}
	name := tables
	if nameless {
		name = quoted(named(s))
	}
	switch s.Verb {
	case "drop":
		return no(holdgate.EffectDelete, object, "Drops the "+object+" "+name, weighsLost+2)
	case "truncate":
		return no(holdgate.EffectDelete, "rows", "Empties the "+map[bool]string{true: "table ", false: "tables "}[len(s.Tables) < 2]+tables, weighsLost+1)
	case "delete":
		return no(holdgate.EffectDelete, "rows", "Deletes "+rows(s)+" of "+tables+only(s), byRows(s, weighsLost))
	case "update":
		says := "Changes " + rows(s) + " of " + tables
		if s.Sets != "" {
			says = "Sets " + short(s.Sets, 80) + " on " + rows(s) + " of " + tables
		}
		return no(holdgate.EffectChange, "rows", says+only(s), byRows(s, weighsLost-1))
	case "alter":
		how := after(s)
		if object == "system" {
			return no(holdgate.EffectChange, object, "Changes settings of the whole database server: "+short(strings.TrimPrefix(s.Text, "system "), 80), weighsLost)
		}
		if column, ok := strings.CutPrefix(how, "drop column "); ok && object == "table" {
			return no(holdgate.EffectDelete, "column", "Drops the column "+quoted(firstOf(column))+" of the table "+tables, weighsLost+1)
		}
		if how != "" {
			how = ": " + short(how, 80)
		}
		return no(holdgate.EffectChange, object, "Changes the "+object+" "+name+how, weighsGrave+1)
	case "grant", "revoke":
		return no(holdgate.EffectChange, "rights", does(s.Verb)+" "+short(s.Text, 100), weighsGrave+3)
	case "do":
		return holdgate.Effect{Kind: holdgate.EffectRun, What: "code", Undoable: holdgate.UndoableUnknown, Because: "code", Says: "Runs code in the database"}, weighsGrave + 1
	case "copy", "unload":
		if strings.Contains(" "+strings.ToLower(s.Text), " program ") {
			return holdgate.Effect{Kind: holdgate.EffectRun, What: "program", Where: strings.Join(s.Tables, ", "), Undoable: holdgate.UndoableUnknown, Because: "code",
				Says: "Runs a program on the database's machine: COPY " + short(s.Text, 80)}, weighsLost + 6
		}
		if strings.Contains(" "+s.Text+" ", " to ") {
			return no(holdgate.EffectSend, "rows", "Copies "+tables+" out of the database", weighsSome+4)
		}
		fallthrough
	case "insert", "merge", "replace", "upsert", "load", "import":
		return added(s, tables, no)
	case "create":
		e, weight := no(holdgate.EffectWrite, object, "Creates the "+object+" "+name, weighsSome-6)
		e.Undoable = holdgate.UndoableYes
		if slices.Contains([]string{"function", "procedure", "trigger", "rule"}, object) {
			e.Kind, weight = holdgate.EffectChange, weighsGrave
			if e.Says = "Creates the " + object + " " + quoted(named(s)); object == "trigger" || object == "rule" {
				e.Says += " on " + tables
			}
			e.Says += ", code that the database runs later"
		}
		if text := " " + strings.ToLower(s.Text); strings.HasPrefix(text, " or replace ") {
			e.Undoable, e.Says = holdgate.UndoableNo, strings.Replace(e.Says, "Creates", "Creates or replaces", 1)
		}
		return e, weight
	case "select", "explain", "show", "describe", "desc", "values", "table", "with", "pragma":
		return holdgate.Effect{Kind: holdgate.EffectRead, What: "rows", Where: strings.Join(s.Tables, ", "), Undoable: holdgate.UndoableYes, Says: "Reads from " + tables}, weighsLeast
	}
	return holdgate.Effect{Kind: holdgate.EffectChange, What: "database", Where: strings.Join(s.Tables, ", "), Undoable: holdgate.UndoableUnknown, Because: "database",
		Says: "Runs SQL: " + strings.ToUpper(s.Verb) + " " + short(s.Text, 80)}, weighsSome + 5
}

// added is a statement that adds rows to its first table, from the others.
func added(s holdgate.Statement, tables string, no func(holdgate.EffectKind, string, string, int) (holdgate.Effect, int)) (holdgate.Effect, int) {
	from := ""
	if len(s.Tables) > 1 {
		tables, from = quoted(s.Tables[0]), " from "+listing(s.Tables[1:])
	}
	e, weight := no(holdgate.EffectWrite, "rows", "Adds rows to "+tables+from, weighsSome-5)
	switch {
	case s.Verb == "merge":
		e.Says, weight = "Adds and changes rows of "+tables+from, weighsGrave
	case s.Rows > 0:
		e.Says = "Adds " + counted(s.Rows, "row") + " to " + tables
	}
	e.Undoable = holdgate.UndoableUnknown
	return e, weight
}

// named is what a statement is about that is no table: a database, a user, an index.
func named(s holdgate.Statement) string {
	for w := range strings.FieldsSeq(s.Text) {
		if w == s.Object || slices.Contains(strings.Fields("if not exists or replace concurrently temp temporary unique unlogged"), w) {
			continue
		}
		w, _, _ = strings.Cut(w, "(")
		return strings.Trim(w, ",;")
	}
	return "that is not named"
}

// after is what a statement says behind the name of its table.
func after(s holdgate.Statement) string {
	if len(s.Tables) == 0 {
		return ""
	}
	_, rest, _ := strings.Cut(" "+s.Text+" ", " "+s.Tables[0]+" ")
	return strings.TrimSpace(rest)
}

func firstOf(text string) string {
	text = strings.TrimPrefix(text, "if exists ")
	word, _, _ := strings.Cut(text, " ")
	return strings.Trim(word, ",")
}

// only says which rows are changed.
func only(s holdgate.Statement) string {
	if s.Only == "" {
		return ""
	}
	return " where " + short(s.Only, 80)
}

// rows says which rows a statement is about.
func rows(s holdgate.Statement) string {
	switch {
	case s.Rows > 0:
		return "at most " + counted(s.Rows, "row")
	case s.Where:
		return map[bool]string{true: "some rows", false: "rows"}[s.Only == ""]
	}
	return "every row"
}

func byRows(s holdgate.Statement, weight int) int {
	if s.Where || s.Rows > 0 {
		return weighsGrave
	}
	return weight
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
