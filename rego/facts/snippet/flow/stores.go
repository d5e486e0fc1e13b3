package flow

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/snippet/outcome"
)

// storeSpecial are the functions that open what holds data in a form of its own.
func (w *walker) storeSpecial(c call, arg func(int, string) value) (value, bool) {
	switch c.spec.special {
	case "npload": // a pickle runs code
		if _, pickled := c.arg(2, "allow_pickle"); pickled || len(c.args) > 2 {
			w.unseen("%s of a pickle", c.spec.name)
		}
		w.touch("read", arg(0, "file"), c.spec.name)
		return kinds("frame"), true
	case "sqlite":
		return w.database(c, arg(0, "database"))
	case "readsql":
		con := arg(1, "con")
		if !con.is("db") {
			return value{}, false
		}
		c.recv = value{places: con.places}
		w.statement(c, arg(0, "sql"))
		return kinds("frame"), true
	case "sqlrun":
		w.statement(c, arg(0, "sql"))
		return c.recv, true
	case "archive":
		return w.archive(c, arg(0, "file")), true
	}
	return value{}, false
}

// archive opens a file that holds others.
func (w *walker) archive(c call, file value) value {
	mode, given := c.arg(1, "mode")
	if name, named := c.arg(99, "name"); named {
		file = name
	}
	if _, other := c.arg(99, "fileobj"); other {
		w.unseen("%s of a file object", c.spec.name)
	}
	if !given {
		mode = places(outcome.Place{Path: "r"})
	}
	t := mode.text()
	if len(t.kinds) > 0 || t.none() {
		w.unseen("%s in a mode that is not known", c.spec.name)
	}
	for _, m := range t.places {
		if strings.HasPrefix(m.Path, "r") {
			w.touch("read", file, c.spec.name)
		} else {
			w.touch("write", file, c.spec.name)
		}
	}
	return kinds("archive")
}

// database opens a database of SQLite. It reports false where that could be any.
func (w *walker) database(c call, file value) (value, bool) {
	t := file.text()
	if len(c.args) == 1 && len(t.kinds) == 0 && len(t.places) == 1 && !t.places[0].Below && databaseFile.MatchString(t.places[0].Path) {
		return join(places(t.places[0]), kinds("db")), true
	}
	for _, p := range t.places {
		if rest, ok := strings.CutPrefix(p.Path, "file:"); ok {
			file, options, _ := strings.Cut(rest, "?")
			if _, uri := c.arg(9, "uri"); uri && options == "mode=ro" && !strings.Contains(file, "%") {
				w.touch("read", places(outcome.Place{Path: file}), c.spec.name)
				return join(places(outcome.Place{Path: file}), kinds("db")), true
			}
		}
		if p.Path == ":memory:" {
			return join(places(p), kinds("db")), true
		}
	}
	return value{}, false
}

// databaseFile is the path of a file, as the program sqlite3 would take it too.
var databaseFile = lazyregexp.New(`^[\w./][\w./ -]*$`)

// statement notes a statement that is run in a database of SQLite: it is judged as
// the program sqlite3 with that statement is.
func (w *walker) statement(c call, sql value) {
	if sql.is(kindSelect) && c.spec.name != "db.executescript" { // which runs one statement alone
		sql.kinds = slices.DeleteFunc(slices.Clone(sql.kinds), func(k string) bool { return k == kindSelect })
		sql.add(places(outcome.Place{Path: "SELECT 1"}))
	}
	t := sql.text()
	if len(c.recv.places) == 0 || len(t.kinds) > 0 || t.none() || len(sql.objs) > 0 || c.spec.name == "db.executemany" {
		w.unseen("%s: a statement that is not known", c.spec.name)
	}
	for _, file := range c.recv.places {
		for _, p := range t.places {
			if p.Below || strings.HasPrefix(strings.TrimSpace(p.Path), ".") || strings.HasPrefix(p.Path, "-") {
				w.unseen("%s: a statement that is not known", c.spec.name)
				continue
			}
			w.command(c, []string{"sqlite3", file.Path, p.Path})
		}
	}
}
