package facts

import (
	"slices"
	"strings"
)

const (
	// sqlVerbs begin a statement.
	sqlVerbs = "select insert update delete merge replace upsert create drop alter truncate rename grant revoke comment with explain analyze analyse vacuum reindex cluster refresh copy call do execute exec prepare deallocate declare fetch close move begin start commit end rollback abort savepoint release set reset show describe desc use lock unlock values table pragma attach detach optimize repair check kill flush load import export backup restore listen notify unlisten checkpoint discard security reassign shutdown handler purge change install uninstall go print if while bulk dbcc waitfor deny put get list remove undrop unload"
	// sqlModifiers stand between create, drop or alter and the kind of object.
	sqlModifiers = "or replace temp temporary unlogged global local unique fulltext spatial materialized external recursive if not exists concurrently foreign algorithm definer transient dynamic online offline virtual trusted procedural default clustered nonclustered constraint secure undo undefined merge"
	// sqlDynamic run text that is not read here.
	sqlDynamic = "do execute exec prepare call if while declare"
)

// looksLikeSQL reports whether a text that may be SQL begins as SQL does.
func looksLikeSQL(s string) bool {
	tokens, _ := lexSQL(s[:min(len(s), 400)], func() {})
	for _, t := range tokens {
		if t.punct("(") {
			continue
		}
		return t.is(sqlVerbs) && len(tokens) > 1
	}
	return false
}

// sql reads SQL text and adds its statements.
func (x *extraction) sql(s string) {
	tokens, odd := lexSQL(s, x.tick)
	for _, o := range odd {
		x.fail("sql: %s", o)
	}
	start := 0
	for i, t := range tokens {
		if t.punct(";") {
			if t.depth > 0 {
				x.fail("sql: statement ends inside of parentheses")
			}
			x.statement(tokens[start:i])
			start = i + 1
		}
	}
	x.statement(tokens[start:])
}

// A sqlReader reads one statement.
type sqlReader struct {
	x      *extraction
	tokens []sqlToken
	st     Statement
	hidden map[string]bool // names of common table expressions
	level  int             // depth of the statement's own words
}

// statement reads one statement and those inside of its WITH.
func (x *extraction) statement(tokens []sqlToken) {
	x.tick()
	for len(tokens) > 0 && tokens[0].punct("(") {
		tokens = tokens[1:]
	}
	if len(tokens) == 0 {
		return
	}
	x.read(&sqlReader{x: x, tokens: tokens, hidden: make(map[string]bool), level: tokens[0].depth})
}

func (x *extraction) read(r *sqlReader) {
	first := r.tokens[0]
	switch {
	case first.is("explain") || first.is("describe desc") && len(r.tokens) > 1 && r.tokens[1].is("analyze select insert update delete with"):
		r.explain()
		return
	case first.is("with"):
		if !r.with() {
			x.fail("sql: WITH that cannot be read")
			return
		}
		first = r.tokens[0]
	}
	if first.kind != sqlWord || !contains(sqlVerbs, first.text) {
		x.fail("sql: unknown statement %q", first.text)
		return
	}
	r.st.Verb = first.text
	if contains(sqlDynamic, first.text) {
		x.fail("sql: %s runs what is not read here", first.text)
	}
	r.object()
	r.names()
	r.st.Where = r.where()
	r.warn()
	r.add()
}

func (r *sqlReader) add() {
	key := []string{r.st.Verb, r.st.Object, map[bool]string{true: "where"}[r.st.Where]}
	if r.x.once("sql", append(key, r.st.Tables...)...) {
		r.x.facts.SQL = append(r.x.facts.SQL, r.st)
	}
}

// explain reads EXPLAIN, which runs its statement only with ANALYZE.
func (r *sqlReader) explain() {
	runs := r.tokens[0].is("analyze")
	rest := r.tokens[1:]
	for len(rest) > 0 {
		t := rest[0]
		switch {
		case t.is("analyze analyse"):
			runs = true
		case t.is("verbose extended format json tree traditional query plan partitions costs buffers timing summary settings wal ast syntax pipeline estimate"), t.punct("="):
		case t.punct("("):
			end := slices.IndexFunc(rest, func(e sqlToken) bool { return e.punct(")") && e.depth == t.depth })
			if end < 0 {
				r.x.fail("sql: EXPLAIN that cannot be read")
				return
			}
			if slices.ContainsFunc(rest[:end], func(e sqlToken) bool { return e.is("select insert update delete with") }) {
				rest = rest[1:]
				continue
			}
			for i, e := range rest[:end] {
				if e.is("analyze analyse") && !(i+1 < end && (rest[i+1].is("false off") || rest[i+1].text == "0")) {
					runs = true
				}
			}
			rest = rest[end:]
		default:
			r.explained(rest, runs)
			return
		}
		rest = rest[1:]
	}
	r.st.Verb = "explain"
	r.add()
}

func (r *sqlReader) explained(rest []sqlToken, runs bool) {
	if runs {
		r.x.read(&sqlReader{x: r.x, tokens: rest, hidden: r.hidden, level: rest[0].depth})
		return
	}
	r.tokens, r.level = rest, rest[0].depth
	r.st.Verb = "explain"
	r.names()
	r.add()
}

// with reads the common table expressions before a statement. Those that
// change data are statements of their own.
func (r *sqlReader) with() bool {
	i := 1
	if i < len(r.tokens) && r.tokens[i].is("recursive") {
		i++
	}
	for i < len(r.tokens) {
		if k := r.tokens[i].kind; k != sqlWord && k != sqlQuoted {
			return false
		}
		r.hidden[strings.ToLower(r.tokens[i].text)] = true
		i++
		if i < len(r.tokens) && r.tokens[i].punct("(") {
			i = r.closing(i) + 1
		}
		for i < len(r.tokens) && r.tokens[i].is("as not materialized") {
			i++
		}
		if i >= len(r.tokens) || !r.tokens[i].punct("(") {
			return false
		}
		end := r.closing(i)
		if end >= len(r.tokens) {
			return false
		}
		r.expression(r.tokens[i+1 : end])
		i = end + 1
		if i < len(r.tokens) && r.tokens[i].punct(",") {
			i++
			continue
		}
		break
	}
	for i < len(r.tokens) && !r.tokens[i].is(sqlVerbs) { // SEARCH and CYCLE clauses
		if i++; i >= len(r.tokens) {
			return false
		}
	}
	if i >= len(r.tokens) {
		return false
	}
	r.tokens = r.tokens[i:]
	r.level = r.tokens[0].depth
	return true
}

// expression reads the statement inside of one common table expression.
func (r *sqlReader) expression(tokens []sqlToken) {
	if len(tokens) == 0 {
		return
	}
	in := &sqlReader{x: r.x, tokens: tokens, hidden: r.hidden, level: tokens[0].depth}
	if tokens[0].is("insert update delete merge with") {
		r.x.read(in)
		return
	}
	in.names()
	r.st.Tables = append(r.st.Tables, in.st.Tables...)
}

// closing is the index of the parenthesis that closes the one at i.
func (r *sqlReader) closing(i int) int {
	for j := i + 1; j < len(r.tokens); j++ {
		if r.tokens[j].punct(")") && r.tokens[j].depth == r.tokens[i].depth {
			return j
		}
	}
	return len(r.tokens)
}

// object is the kind of thing that create, drop and alter act on.
func (r *sqlReader) object() {
	if !contains("create drop alter truncate rename comment undrop attach detach optimize refresh", r.st.Verb) {
		return
	}
	for _, t := range r.tokens[1:] {
		if t.kind != sqlWord {
			break
		}
		if contains(sqlModifiers, t.text) || t.text == "on" && r.st.Verb == "comment" {
			continue
		}
		r.st.Object = t.text
		break
	}
	if r.st.Verb == "truncate" {
		r.st.Object = "table"
	}
}

// where reports whether the statement has a WHERE of its own that names a
// column: WHERE 1=1 leaves nothing out.
func (r *sqlReader) where() bool {
	for i, t := range r.tokens {
		if !t.is("where") || t.depth != r.level {
			continue
		}
		for _, c := range r.tokens[i+1:] {
			if c.depth == r.level && c.is("returning order limit group having window union") {
				break
			}
			if c.kind == sqlQuoted || c.kind == sqlWord && !c.is("true false null and or not is in between like ilike exists select") {
				return true
			}
		}
	}
	return false
}

// warn says what a statement does besides that is not read here.
func (r *sqlReader) warn() {
	for i, t := range r.tokens {
		next := sqlToken{}
		if i+1 < len(r.tokens) {
			next = r.tokens[i+1]
		}
		switch {
		case t.is("program") && r.st.Verb == "copy":
			r.x.fail("sql: copy runs a program")
		case t.is("outfile dumpfile") && next.kind == sqlString:
			r.x.path(pathRef{text: next.text, access: accessWrite})
		case t.is("infile load_file pg_read_file pg_ls_dir lo_import lo_export dblink xp_cmdshell sp_executesql load_extension readfile writefile sys_exec query_to_xml pg_execute_server_program"):
			r.x.fail("sql: %s", t.text)
		case t.is("delimiter") && i == 0:
			r.x.fail("sql: delimiter changes")
		case t.is("begin") && contains("create alter", r.st.Verb):
			r.x.fail("sql: body of a routine")
		case t.is("go") && i > 0 && t.depth == r.level && next.is(sqlVerbs):
			r.x.fail("sql: GO inside of a statement")
		}
	}
}
