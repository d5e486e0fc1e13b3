// Package sql reads the statements of SQL text, on tokens, and not by one database's
// parser. A call seldom says which database it is for, and the same text is other
// statements to another: what PostgreSQL takes for a harmless string ends early for
// SQL Server, and SQL Server wants no semicolon between statements. So the reader
// takes the reading that shows more, and says where readings differ. (Parsers were
// tried: TiDB's, for MySQL alone, adds 16 MB to the program; PostgreSQL's as
// WebAssembly adds 13 MB and takes seconds and 300 MB to start.)
package sql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/budget"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

const (
	// verbs begin a statement.
	verbs = "select insert update delete merge replace upsert create drop alter truncate rename grant revoke comment with explain analyze analyse vacuum reindex cluster refresh copy call do execute exec prepare deallocate declare fetch close move begin start commit end rollback abort savepoint release set reset show describe desc summarize use lock unlock values table pragma attach detach optimize repair check kill flush load import export backup restore listen notify unlisten checkpoint discard security reassign shutdown handler purge change install uninstall go print if while bulk dbcc waitfor deny put get list remove undrop unload"
	// modifiers stand between create, drop or alter and the kind of object.
	modifiers = "or replace temp temporary unlogged global local unique fulltext spatial materialized external recursive if not exists concurrently foreign algorithm definer transient dynamic online offline virtual trusted procedural default clustered nonclustered constraint secure undo undefined merge"
	// dynamic run text that is not read here.
	dynamic = "do execute exec prepare call if while declare"
)

// LooksLike reports whether a text that may be SQL begins as SQL does.
func LooksLike(s string) bool {
	tokens, _ := lex(s[:min(len(s), 400)], func() {})
	for _, t := range tokens {
		if t.punct("(") {
			continue
		}
		return t.is(verbs) && len(tokens) > 1
	}
	return false
}

// A Reading is what SQL text says. Strings stand in it as they were found.
type Reading struct {
	Statements []holdgate.Statement
	Files      []File   // that statements name: paths, or addresses with "://"
	Problems   []string // what could not be read, and where databases differ
}

// A File is what a statement reads or writes outside of its database.
type File struct{ Name, Access string }

// How a statement touches a file.
const (
	Read  = "read"
	Write = "write"
)

// Parse reads SQL text and adds what it says to found, also where the budget
// ends it.
func Parse(s string, work *budget.Budget, found *Reading) {
	x := &script{work, found}
	tokens, odd := lex(s, x.Tick)
	for _, o := range odd {
		x.fail("%s", o)
	}
	before := len(found.Statements)
	defer func() { takenBack(found.Statements[min(before, len(found.Statements)):]) }()
	start := 0
	for i, t := range tokens {
		if t.punct(";") {
			if t.depth > 0 {
				x.fail("statement ends inside of parentheses")
			}
			x.statements(tokens[start:i])
			start = i + 1
		}
	}
	x.statements(tokens[start:])
}

// A script is the reading of one text.
type script struct {
	*budget.Budget
	found *Reading
}

func (x *script) fail(format string, args ...any) {
	if p := fmt.Sprintf(format, args...); !slices.Contains(x.found.Problems, p) {
		x.found.Problems = append(x.found.Problems, p)
	}
}

// A reader reads one statement.
type reader struct {
	x      *script
	tokens []token
	st     holdgate.Statement
	hidden map[string]bool // names of common table expressions
	level  int             // depth of the statement's own words
}

// readPragmas are the settings of SQLite that only show something.
const readPragmas = "table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check database_list integrity_check quick_check compile_options function_list collation_list page_count freelist_count schema_version"

// statement reads one statement and those inside of its WITH.
func (x *script) statement(tokens []token) {
	x.Tick()
	for len(tokens) > 0 && tokens[0].punct("(") {
		tokens = tokens[1:]
	}
	if len(tokens) == 0 {
		return
	}
	x.read(&reader{x: x, tokens: tokens, hidden: make(map[string]bool), level: tokens[0].depth})
}

func (x *script) read(r *reader) {
	first := r.tokens[0]
	switch {
	case first.is("explain") || first.is("describe desc") && len(r.tokens) > 1 && r.tokens[1].is("analyze select insert update delete with"):
		r.explain()
		return
	case first.is("with"):
		if !r.with() {
			x.fail("WITH that cannot be read")
			return
		}
		first = r.tokens[0]
	}
	if first.kind != word || !wordlist.Has(verbs, first.text) {
		x.fail("unknown statement %q", first.text)
		return
	}
	r.st.Verb = first.text
	if first.is("pragma") && len(r.tokens) > 1 && r.tokens[1].is(readPragmas) && !slices.ContainsFunc(r.tokens, func(t token) bool { return t.punct("=") }) {
		r.st.Verb = "show"
	}
	if r.onlyHere() {
		r.st.Verb = "show"
	}
	if opensBlock(r.tokens) {
		x.fail("block of statements")
	}
	if wordlist.Has(dynamic, first.text) {
		x.fail("%s runs what is not read here", first.text)
	}
	r.object()
	r.names()
	r.st.Where = r.where()
	r.st.Rows = r.rows()
	r.st.Sets = r.sets()
	r.st.Only = r.only()
	r.st.Text = spell(r.tokens[1:], true, first.is("copy unload load grant revoke"))
	r.reach()
	r.calls()
	r.makes()
	if len(r.tokens) > 2 && first.is("create") && r.tokens[1].is("temp temporary") && r.tokens[2].is("table") {
		r.st.Scratch = true // it ends with the session
	}
	r.add()
}

// takenBack marks the rows that statements change of which the last takes all back that
// was done since the first.
func takenBack(list []holdgate.Statement) {
	if len(list) < 3 || !wordlist.Has("begin start", list[0].Verb) || list[len(list)-1].Verb != "rollback" {
		return
	}
	inner := list[1 : len(list)-1]
	if slices.ContainsFunc(inner, func(st holdgate.Statement) bool {
		return !wordlist.Has("select show values insert update delete", st.Verb)
	}) {
		return
	}
	for i := range inner {
		inner[i].Scratch = true
	}
}

func (r *reader) add() { r.x.found.Statements = append(r.x.found.Statements, r.st) }

// explain reads EXPLAIN, which runs its statement only with ANALYZE.
func (r *reader) explain() {
	runs := r.tokens[0].is("analyze")
	rest := r.tokens[1:]
	for len(rest) > 0 {
		t := rest[0]
		switch {
		case t.is("analyze analyse"):
			runs = true
		case t.is("verbose extended format json tree traditional query plan partitions costs buffers timing summary settings wal ast syntax pipeline estimate"), t.punct("="):
		case t.punct("("):
			end := slices.IndexFunc(rest, func(e token) bool { return e.punct(")") && e.depth == t.depth })
			if end < 0 {
				r.x.fail("EXPLAIN that cannot be read")
				return
			}
			if slices.ContainsFunc(rest[:end], func(e token) bool { return e.is("select insert update delete with") }) {
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

func (r *reader) explained(rest []token, runs bool) {
	if runs {
		r.x.read(&reader{x: r.x, tokens: rest, hidden: r.hidden, level: rest[0].depth})
		return
	}
	r.tokens, r.level = rest, rest[0].depth
	r.st.Verb = "explain"
	r.names()
	r.add()
}

// with reads the common table expressions before a statement. Those that
// change data are statements of their own.
func (r *reader) with() bool {
	i := 1
	if i < len(r.tokens) && r.tokens[i].is("recursive") {
		i++
	}
	for i < len(r.tokens) {
		if k := r.tokens[i].kind; k != word && k != quoted {
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
	for i < len(r.tokens) && !r.tokens[i].is(verbs) { // SEARCH and CYCLE clauses
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
func (r *reader) expression(tokens []token) {
	if len(tokens) == 0 {
		return
	}
	in := &reader{x: r.x, tokens: tokens, hidden: r.hidden, level: tokens[0].depth}
	if tokens[0].is("insert update delete merge with") {
		r.x.read(in)
		return
	}
	in.st.Verb = "select"
	in.names()
	in.reach()
	in.calls()
	r.st.Tables = append(r.st.Tables, in.st.Tables...)
}

// closing is the index of the parenthesis that closes the one at i.
func (r *reader) closing(i int) int {
	for j := i + 1; j < len(r.tokens); j++ {
		if j%16 == 0 {
			r.x.Tick()
		}
		if r.tokens[j].punct(")") && r.tokens[j].depth == r.tokens[i].depth {
			return j
		}
	}
	return len(r.tokens)
}

// object is the kind of thing that create, drop and alter act on.
func (r *reader) object() {
	if !wordlist.Has("create drop alter truncate rename comment undrop attach detach optimize refresh", r.st.Verb) {
		return
	}
	for _, t := range r.tokens[1:] {
		if t.kind != word {
			break
		}
		if wordlist.Has(modifiers, t.text) || t.text == "on" && r.st.Verb == "comment" {
			continue
		}
		r.st.Object = t.text
		break
	}
	if r.st.Verb == "truncate" {
		r.st.Object = "table"
	}
}

// makes is for SELECT INTO, which makes a table: but for the files and
// variables that MySQL selects into.
func (r *reader) makes() {
	for i, t := range r.tokens {
		next := r.at(i + 1)
		if r.st.Verb == "select" && t.is("into") && t.depth == r.level && !next.is("outfile dumpfile") && !next.punct("@") && !strings.HasPrefix(next.text, "@") {
			r.st.Verb, r.st.Object = "create", "table"
		}
	}
}

// sessionSettings are what SET may set without a change to what anybody else sees.
const sessionSettings = "statement_timeout lock_timeout search_path timezone time client_min_messages work_mem random_page_cost extra_float_digits datestyle intervalstyle names max_parallel_workers_per_gather jit transaction idle_in_transaction_session_timeout effective_cache_size sql_safe_updates max_execution_time"

// actingPragmas do something without a value.
const actingPragmas = "optimize wal_checkpoint incremental_vacuum shrink_memory"

// onlyHere reports whether a statement changes nothing but the session that it runs in,
// or what the database knows of its own tables: a time limit, a pragma that is asked,
// ANALYZE.
func (r *reader) onlyHere() bool {
	first := r.tokens[0]
	switch {
	case first.is("set"):
		at := 1
		if len(r.tokens) > 1 && r.tokens[1].is("session local") {
			at = 2
		}
		return len(r.tokens) > at && (r.tokens[at].is(sessionSettings) || r.tokens[at].kind == word && strings.HasPrefix(r.tokens[at].text, "enable_"))
	case first.is("analyze analyse"):
		return !slices.ContainsFunc(r.tokens[1:], func(t token) bool { return t.is("select insert update delete with") })
	case first.is("pragma"):
		return len(r.tokens) == 2 && !r.tokens[1].is(actingPragmas)
	case first.is("summarize"):
		return true
	}
	return false
}
