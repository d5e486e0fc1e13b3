package sql

const (
	// following begin a statement wherever they stand in one of opening: SQL
	// Server wants no semicolon between statements.
	following = "drop truncate delete update insert exec execute alter create grant revoke merge backup restore shutdown kill deny dbcc"
	// opening are the verbs whose own grammar has none of these words but after
	// those of beforeVerb.
	opening = "select with values show describe desc use begin start commit rollback savepoint release set print declare insert update delete"
	// beforeVerb are words and marks after which such a word goes on with the
	// statement: FOR UPDATE, ON CONFLICT DO UPDATE, ON DUPLICATE KEY UPDATE,
	// INSERT OR REPLACE, SHOW CREATE TABLE, SELECT a AS update.
	beforeVerb = "for do key or as show on and by select full"
	// afterBegin are what BEGIN says of a transaction. Before anything else
	// it opens a block of statements.
	afterBegin = "transaction tran work isolation read deferred immediate exclusive concurrent not deferrable"
)

// statements reads what stands between two semicolons. That is several
// statements to a database that needs no semicolon.
func (x *script) statements(tokens []token) {
	start := 0
	for i := range tokens {
		x.Tick()
		if i > start && x.follows(tokens[start:], i-start) {
			x.statement(tokens[start:i])
			start = i
		}
	}
	x.statement(tokens[start:])
}

// follows reports whether a statement of its own begins at the word i of
// another.
func (x *script) follows(tokens []token, i int) bool {
	first, t, before := tokens[0], tokens[i], tokens[i-1]
	switch {
	case !first.is(opening) || !t.is(following) || t.depth != first.depth:
		return false
	case i+1 < len(tokens) && (tokens[i+1].punct(".") || tokens[i+1].punct("=") || tokens[i+1].punct(",") || tokens[i+1].is("from as") && !t.is("delete")):
		return false // a column of this name
	case before.is(beforeVerb) || before.kind == mark && before.text != ")" && before.text != "]" && before.text != "*":
		return false
	case first.is("with"):
		return !before.punct(")") || x.anyStatement(tokens[1:i], first.depth)
	}
	return true
}

// anyStatement reports whether the statement of a WITH has begun.
func (x *script) anyStatement(tokens []token, depth int) bool {
	for i, t := range tokens {
		if i%16 == 0 {
			x.Tick()
		}
		if t.depth == depth && t.is("select insert update delete merge") {
			return true
		}
	}
	return false
}

// opensBlock reports whether the statement is a BEGIN that opens a block of
// statements rather than a transaction.
func opensBlock(tokens []token) bool {
	return tokens[0].is("begin") && len(tokens) > 1 && !tokens[1].is(afterBegin)
}
