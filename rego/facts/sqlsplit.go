package facts

const (
	// sqlFollowing begin a statement wherever they stand in one of sqlOpen: SQL
	// Server wants no semicolon between statements.
	sqlFollowing = "drop truncate delete update insert exec execute alter create grant revoke merge backup restore shutdown kill deny dbcc"
	// sqlOpen are the verbs whose own grammar has none of these words but after
	// those of sqlBefore.
	sqlOpen = "select with values show describe desc use begin start commit rollback savepoint release set print declare insert update delete"
	// sqlBefore are words and marks after which such a word goes on with the
	// statement: FOR UPDATE, ON CONFLICT DO UPDATE, ON DUPLICATE KEY UPDATE,
	// INSERT OR REPLACE, SHOW CREATE TABLE, SELECT a AS update.
	sqlBefore = "for do key or as show on and by select full"
	// sqlAfterBegin are what BEGIN says of a transaction. Before anything else
	// it opens a block of statements.
	sqlAfterBegin = "transaction tran work isolation read deferred immediate exclusive concurrent not deferrable"
)

// statements reads what stands between two semicolons. That is several
// statements to a database that needs no semicolon.
func (x *extraction) statements(tokens []sqlToken) {
	start := 0
	for i := range tokens {
		x.tick()
		if i > start && x.follows(tokens[start:], i-start) {
			x.statement(tokens[start:i])
			start = i
		}
	}
	x.statement(tokens[start:])
}

// follows reports whether a statement of its own begins at the word i of
// another.
func (x *extraction) follows(tokens []sqlToken, i int) bool {
	first, t, before := tokens[0], tokens[i], tokens[i-1]
	switch {
	case !first.is(sqlOpen) || !t.is(sqlFollowing) || t.depth != first.depth:
		return false
	case i+1 < len(tokens) && (tokens[i+1].punct(".") || tokens[i+1].punct("=") || tokens[i+1].punct(",") || tokens[i+1].is("from as") && !t.is("delete")):
		return false // a column of this name
	case before.is(sqlBefore) || before.kind == sqlPunct && before.text != ")" && before.text != "]" && before.text != "*":
		return false
	case first.is("with"):
		return !before.punct(")") || x.anyStatement(tokens[1:i], first.depth)
	}
	return true
}

// anyStatement reports whether the statement of a WITH has begun.
func (x *extraction) anyStatement(tokens []sqlToken, depth int) bool {
	for i, t := range tokens {
		if i%16 == 0 {
			x.tick()
		}
		if t.depth == depth && t.is("select insert update delete merge") {
			return true
		}
	}
	return false
}

// opensBlock reports whether the statement is a BEGIN that opens a block of
// statements rather than a transaction.
func opensBlock(tokens []sqlToken) bool {
	return tokens[0].is("begin") && len(tokens) > 1 && !tokens[1].is(sqlAfterBegin)
}
