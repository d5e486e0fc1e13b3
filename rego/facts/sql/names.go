package sql

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// names collects the tables that a statement names: after FROM, JOIN, INTO,
// UPDATE and the like, in its subqueries too.
func (r *reader) names() {
	query := make([]bool, 0, 8)   // by depth: whether a query stands in these parentheses
	sources := make(map[int]bool) // by depth: whether a list of tables goes on
	base := r.level
	for i := 0; i < len(r.tokens); i++ {
		r.x.Tick()
		t := r.tokens[i]
		if t.punct("(") {
			d := t.depth + 1 - base
			for len(query) <= d {
				query = append(query, false)
			}
			query[d] = i+1 < len(r.tokens) && r.tokens[i+1].is("select with values insert update delete table from (") || i+1 < len(r.tokens) && r.tokens[i+1].punct("(")
			continue
		}
		if t.punct(",") && sources[t.depth] {
			i = r.list(i + 1)
			continue
		}
		if t.kind != word {
			continue
		}
		if t.is("select where set group order having limit union returning values") {
			sources[t.depth] = false
		}
		d := t.depth - base
		inQuery := d <= 0 || d < len(query) && query[d]
		if r.precedes(i, inQuery) {
			sources[t.depth] = t.is("from join using")
			i = r.list(i + 1)
		}
	}
	r.st.Tables = wordlist.Unique(r.st.Tables)
}

// precedes reports whether the word at i is followed by the names of tables.
func (r *reader) precedes(i int, inQuery bool) bool {
	t := r.tokens[i]
	before := token{}
	if i > 0 {
		before = r.tokens[i-1]
	}
	switch t.text {
	case "from", "using":
		if t.text == "using" && !wordlist.Has("delete merge", r.st.Verb) {
			return false
		}
		return inQuery && !before.is("distinct") && !wordlist.Has("revoke grant show copy fetch prepare execute", r.st.Verb)
	case "join", "straight_join":
		return true
	case "into":
		return !before.is("fetch")
	case "update":
		return i == 0 || before.punct("(") || before.punct(")")
	case "overwrite":
		return r.st.Verb == "insert"
	case "table":
		return wordlist.Has("create drop alter truncate lock rename comment undrop attach detach optimize repair check analyze table", r.st.Verb) || i == 0
	case "view":
		return wordlist.Has("create drop alter refresh", r.st.Verb) && !before.is("as")
	case "truncate":
		return i == 0 && i+1 < len(r.tokens) && !r.tokens[1].is("table")
	case "copy", "replace", "insert", "merge", "delete":
		// INTO and FROM may be left out.
		return i == 0 && i+1 < len(r.tokens) && !r.tokens[1].punct("(") && !r.tokens[1].is("into from low_priority delayed high_priority ignore quick or overwrite top")
	case "on":
		return wordlist.Has("grant revoke", r.st.Verb) && t.depth == r.level || wordlist.Has("create drop alter", r.st.Verb) && wordlist.Has("index trigger policy rule", r.st.Object)
	case "references":
		return false
	}
	return false
}

// list reads names, comma-separated, from i on, and returns the index of the
// last token that belongs to them.
func (r *reader) list(i int) int {
	for {
		for i < len(r.tokens) && r.tokens[i].is("only if not exists table lateral ignore low_priority concurrently overwrite or top") {
			switch {
			case r.tokens[i].is("or"):
				i++ // SQLite's UPDATE OR IGNORE
			case r.tokens[i].is("top") && r.at(i+1).punct("("):
				i = r.closing(i + 1)
			case r.tokens[i].is("top"):
				i++
			}
			i++
		}
		name, end := r.name(i)
		if end == i {
			return i - 1
		}
		if name != "" && !r.hidden[strings.ToLower(name)] {
			r.st.Tables = append(r.st.Tables, name)
		}
		i = r.skipAlias(end)
		if i >= len(r.tokens) || !r.tokens[i].punct(",") {
			return i - 1
		}
		i++
	}
}

// name reads one dotted name. A call of a function is no name.
func (r *reader) name(i int) (string, int) {
	start, parts := i, []string(nil)
	for i < len(r.tokens) {
		t := r.tokens[i]
		if t.kind != word && t.kind != quoted || t.is("select values set where lateral unnest outfile dumpfile") {
			break
		}
		parts = append(parts, t.text)
		i++
		if i < len(r.tokens) && r.tokens[i].punct(".") {
			i++
			continue
		}
		break
	}
	if len(parts) == 0 {
		return "", start
	}
	insert := wordlist.Has("insert replace create copy", r.st.Verb)
	if i < len(r.tokens) && r.tokens[i].punct("(") && !insert {
		return "", start
	}
	return strings.Join(parts, "."), i
}

// skipAlias steps over "AS alias" and over PostgreSQL's star.
func (r *reader) skipAlias(i int) int {
	if i < len(r.tokens) && r.tokens[i].punct("*") {
		i++
	}
	if i < len(r.tokens) && r.tokens[i].is("as") && i+2 < len(r.tokens) && r.tokens[i+2].punct(",") {
		return i + 2
	}
	if i+1 < len(r.tokens) && slices.Contains([]kind{word, quoted}, r.tokens[i].kind) && r.tokens[i+1].punct(",") && !r.tokens[i].is("set values select where") {
		return i + 1
	}
	return i
}
