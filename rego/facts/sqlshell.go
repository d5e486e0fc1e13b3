package facts

import (
	"regexp"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// sqlShell is psql, mysql, sqlite3 and their like: statements come in options,
// operands, files and on standard input.
func sqlShell(s *shell, in invocation, c *Command) {
	valued, long := "cdfhpUvoPFRT", "command dbname file host port username set variable output"
	name := in.name()
	switch name {
	case "mysql", "mariadb":
		valued, long = "ehPuDS", "execute host port user database socket init-command"
	case "sqlite3", "sqlite", "duckdb":
		valued, long = "c", "cmd init"
	case "sqlcmd":
		valued, long = "QqSdUPi", ""
	case "clickhouse-client", "clickhouse":
		valued, long = "qhu", "query host user password database"
	case "cockroach", "snowsql":
		valued, long = "eq", "execute query url host"
	}
	words := in.words[1:]
	if name == "mysql" || name == "mariadb" {
		words = slices.DeleteFunc(slices.Clone(words), func(f field) bool { return strings.HasPrefix(f.text, "-p") })
	}
	o := parseOptions(words, valued, long)
	given := o.values("", "command")
	for _, l := range []string{"execute", "cmd", "query", "init-command"} {
		given = append(given, o.values("", l)...)
	}
	switch name {
	case "psql":
		given = append(given, o.values("c", "")...)
	case "mysql", "mariadb", "cockroach", "snowsql":
		given = append(given, o.values("e", "")...)
	case "sqlcmd":
		given = append(given, o.values("Qq", "")...)
	case "clickhouse-client", "clickhouse":
		given = append(given, o.values("q", "")...)
	case "sqlite3", "sqlite", "duckdb":
		given = append(given, s.sqliteOperands(in, o)...)
	}
	for _, h := range append(o.values("h", "host"), o.operands...) {
		if strings.Contains(h.text, "://") {
			s.x.URLsIn(h.text)
		}
	}
	if name == "psql" && len(given) == 0 && o.has("l", "list") {
		s.x.SQL("show meta")
	}
	if wordlist.Has("sqlite3 sqlite duckdb", name) {
		if name == "duckdb" {
			given = append(given, o.values("cs", "")...)
		}
		if from := len(s.x.Facts.SQL); name == "duckdb" && len(o.operands) == 0 {
			defer s.markScratch(from)
		} else {
			defer s.scratchDatabase(in, from)
		}
	}
	s.sqlGiven(given, c)
	for _, f := range append(o.values("f", "file"), o.values("i", "")...) {
		if text, ok := s.content(f); ok && name == "psql" {
			s.sqlText(text, c)
			s.touch(f, collect.AccessRead)
			continue
		}
		if name == "psql" || name == "sqlcmd" {
			c.Unbound = append(c.Unbound, f.text)
			s.touch(f, collect.AccessRead)
		}
	}
	s.sqlInput(given, o, c)
}

// sqliteOperands are the database's file and the statements after it.
func (s *shell) sqliteOperands(in invocation, o options) []field {
	// sqlite3's long options have one dash: what they take is not told apart.
	var operands []field
	for _, w := range in.words[1:] {
		if !strings.HasPrefix(w.text, "-") {
			operands = append(operands, w)
		}
	}
	if len(operands) == 0 {
		return nil
	}
	if operands[0].text != ":memory:" {
		s.touch(operands[0], collect.AccessWrite)
	}
	return operands[1:]
}

// sqlGiven reads statements that stand among a command's words. A command of
// the SQL shell itself may run a program.
func (s *shell) sqlGiven(given []field, c *Command) {
	for _, f := range given {
		t := strings.TrimSpace(f.text)
		switch {
		case !f.known():
			s.x.Fail("sql: part of it depends on run time")
			s.x.SQL(t)
		case strings.HasPrefix(t, `\`) || strings.HasPrefix(t, "."):
			s.sqlMeta(t, c)
		default:
			s.x.SQL(t)
		}
	}
}

// sqlMeta is a command of a SQL shell itself: \! and .shell run programs.
func (s *shell) sqlMeta(t string, c *Command) {
	for _, prefix := range []string{`\!`, ".shell ", ".system ", `\system`} {
		if code, ok := strings.CutPrefix(t, prefix); ok {
			s.codeText(field{text: code}, invocation{via: []string{c.Program}})
			return
		}
	}
	if i := strings.IndexAny(t, "|`"); i >= 0 {
		s.x.Fail("sql: a command of the SQL shell runs a program")
	}
	word, rest, _ := strings.Cut(t, " ")
	if sqlLooks.MatchString(word) && !strings.ContainsAny(t, "|`") {
		s.x.SQL("show meta")
		return
	}
	switch word {
	case `\i`, `\ir`, `\include`, ".read":
		c.Unbound = append(c.Unbound, strings.TrimSpace(rest))
	case `\o`, `\copy`, ".output", ".once", ".save", ".backup", ".import", ".load", ".restore":
		s.x.Fail("sql: %s touches a file", word)
	}
}

// sqlLooks are the commands of SQL shells that show what there is.
var sqlLooks = regexp.MustCompile(`^(\\(d[a-zA-Z]*[+S]*|l\+?|list|z|conninfo|encoding|timing|x|pset|a|t|h|\?|sf\+?|sv\+?)|\.(tables|schema|databases|indexes|indices|fullschema|headers?|mode|dbinfo|help|show|width|timer|stats|nullvalue|separator|quit|exit))$`)

// sqlInput reads statements on standard input.
func (s *shell) sqlInput(given []field, o options, c *Command) {
	switch {
	case len(given) > 0 || s.stdin.kind == "":
	case s.stdin.kind == "file":
		c.Unbound = append(c.Unbound, s.stdin.file)
	case !s.stdin.known && s.stdin.text == "":
		c.Unbound = append(c.Unbound, s.stdin.file)
		c.Unresolved = append(c.Unresolved, "stdin")
	default:
		if !s.stdin.known {
			s.x.Fail("sql: part of it depends on run time")
		}
		s.sqlText(s.stdin.text, c)
	}
}

// sqlText reads statements, and commands of the SQL shell among them.
func (s *shell) sqlText(text string, c *Command) {
	var plain strings.Builder
	for line := range strings.Lines(text) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, `\`) || strings.HasPrefix(t, ".") {
			s.sqlMeta(t, c)
			continue
		}
		plain.WriteString(line)
	}
	s.x.SQL(plain.String())
}

// scratchStatements work in one database alone.
const scratchStatements = "select insert update delete replace create drop alter begin commit end rollback savepoint release show pragma vacuum reindex analyze values"

// scratchDatabase marks the statements from one on that work in a database which
// lies in memory, or in a folder for temporary files.
func (s *shell) scratchDatabase(in invocation, from int) {
	var operands []field
	for _, w := range in.words[1:] {
		if !strings.HasPrefix(w.text, "-") {
			operands = append(operands, w)
		}
	}
	if len(operands) == 0 || len(operands) > 2 {
		return
	}
	if _, temporary := s.tempFile(operands[0]); !temporary && operands[0].text != ":memory:" {
		return
	}
	s.markScratch(from)
}

// markScratch marks the statements from one on, where they work in one database alone.
func (s *shell) markScratch(from int) {
	added := s.x.Facts.SQL[min(from, len(s.x.Facts.SQL)):]
	for _, st := range added {
		if !wordlist.Has(scratchStatements, st.Verb) {
			return
		}
	}
	for i := range added {
		added[i].Scratch = true
	}
}
