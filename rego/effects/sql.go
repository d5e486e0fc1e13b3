package effects

import (
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
		by := command{}
		for _, c := range w.commands {
			if c.Class == "database" {
				by = c
				break
			}
		}
		if db := by.database(); db != "" && e.Kind != holdgate.EffectRead {
			e.Says += " in the database " + quoted(db)
		}
		w.add(by, weight, e)
	}
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
	unnamed := tables == ""
	if unnamed {
		tables = "what is not named"
	}
	object := s.Object
	if object == "" {
		object = "table"
	}
	no := func(kind holdgate.EffectKind, what, says string, weight int) (holdgate.Effect, int) {
		return holdgate.Effect{Kind: kind, What: what, Where: strings.Join(s.Tables, ", "), Undoable: holdgate.UndoableNo, Because: "database", Says: says}, weight
	}
	switch s.Verb {
	case "drop":
		if unnamed {
			return no(holdgate.EffectDelete, object, "Drops a "+object, weighsLost+2)
		}
		return no(holdgate.EffectDelete, object, "Drops the "+object+" "+tables, weighsLost+2)
	case "truncate":
		return no(holdgate.EffectDelete, "rows", "Empties the table "+tables, weighsLost+1)
	case "delete":
		return no(holdgate.EffectDelete, "rows", "Deletes "+rows(s)+" of "+tables, byRows(s, weighsLost))
	case "update":
		says := "Changes " + rows(s) + " of " + tables
		if s.Sets != "" {
			says = "Sets " + short(s.Sets, 80) + " on " + rows(s) + " of " + tables
		}
		return no(holdgate.EffectChange, "rows", says, byRows(s, weighsLost-1))
	case "alter":
		return no(holdgate.EffectChange, object, "Changes how the "+object+" "+tables+" is made", weighsGrave+1)
	case "grant", "revoke":
		return no(holdgate.EffectChange, "rights", does(s.Verb)+" rights on "+tables, weighsGrave+3)
	case "insert", "merge", "replace", "upsert", "copy", "load", "import":
		e, weight := no(holdgate.EffectWrite, "rows", "Adds rows to "+tables, weighsSome-5)
		if s.Rows > 0 {
			e.Says = "Adds " + counted(s.Rows, "row") + " to " + tables
		}
		e.Undoable = holdgate.UndoableUnknown
		return e, weight
	case "create":
		e, weight := no(holdgate.EffectWrite, object, "Creates the "+object+" "+tables, weighsSome-6)
		e.Undoable = holdgate.UndoableYes
		return e, weight
	case "select", "explain", "show", "describe", "desc", "values", "table", "with", "pragma":
		return holdgate.Effect{Kind: holdgate.EffectRead, What: "rows", Where: strings.Join(s.Tables, ", "), Undoable: holdgate.UndoableYes, Says: "Reads from " + tables}, weighsLeast
	}
	return holdgate.Effect{Kind: holdgate.EffectChange, What: "database", Where: strings.Join(s.Tables, ", "), Undoable: holdgate.UndoableUnknown, Because: "database",
		Says: "Runs SQL: " + strings.ToUpper(spaced(s.Verb, s.Object)) + " " + tables}, weighsSome + 5
}

// rows says which rows a statement is about.
func rows(s holdgate.Statement) string {
	switch {
	case s.Rows > 0:
		return "at most " + counted(s.Rows, "row")
	case s.Where:
		return "some rows"
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
