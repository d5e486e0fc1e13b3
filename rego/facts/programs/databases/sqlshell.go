package databases

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/argv"
	"github.com/holdgate/holdgate/rego/facts/collect"
	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/shell"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// SQL walks psql, mysql, sqlite3 and their like: statements come in options,
// operands, files and on standard input. It notes what they touch and run in s and c.
func SQL(s *shell.Shell, in shell.Invocation, c *holdgate.Command) {
	valued, long := "cdfhpUvoPFRTL", "command dbname file host port username set variable output log-file"
	name := in.Name()
	switch name {
	case "mysql", "mariadb":
		valued, long = "ehPuDS", "execute host port user database socket init-command tee"
	case "sqlite3", "sqlite", "duckdb":
		valued, long = "c", "cmd init"
	case "sqlcmd":
		valued, long = "QqSdUPi", ""
	case "clickhouse-client", "clickhouse":
		valued, long = "qhu", "query host user password database"
	case "cockroach", "snowsql":
		valued, long = "eq", "execute query url host"
	}
	words := in.Words[1:]
	if name == "mysql" || name == "mariadb" {
		words = slices.DeleteFunc(slices.Clone(words), func(f argv.Field) bool { return strings.HasPrefix(f.Text, "-p") })
	}
	o := argv.ParseOptions(words, valued, long)
	given := o.Values("", "command")
	for _, l := range []string{"execute", "cmd", "query", "init-command"} {
		given = append(given, o.Values("", l)...)
	}
	switch name {
	case "psql":
		given = append(given, o.Values("c", "")...)
	case "mysql", "mariadb", "cockroach", "snowsql":
		given = append(given, o.Values("e", "")...)
	case "sqlcmd":
		given = append(given, o.Values("Qq", "")...)
	case "clickhouse-client", "clickhouse":
		given = append(given, o.Values("q", "")...)
	case "sqlite3", "sqlite", "duckdb":
		given = append(given, sqliteOperands(s, in, o)...)
	}
	for _, h := range append(o.Values("h", "host"), o.Operands...) {
		if strings.Contains(h.Text, "://") {
			s.Found.URLsIn(h.Text)
		}
	}
	if name == "psql" && len(given) == 0 && o.Has("l", "list") {
		s.Found.SQL("show meta")
	}
	if wordlist.Has("sqlite3 sqlite duckdb", name) {
		if name == "duckdb" {
			given = append(given, o.Values("cs", "")...)
		}
		if from := len(s.Found.Facts.SQL); name == "duckdb" && len(o.Operands) == 0 {
			defer markScratch(s, from)
		} else {
			defer scratchDatabase(s, in, from)
		}
	}
	sqlOutput(s, in, o)
	if shortened(words, long) {
		c.Unbound = append(c.Unbound, "an option that is not read here")
	} else {
		c.Server = sqlServer(s, in, o)
	}
	sqlGiven(s, given, c)
	for _, f := range append(o.Values("f", "file"), o.Values("i", "")...) {
		if text, ok := s.Content(f); ok && name == "psql" {
			sqlText(s, text, c)
			s.Touch(f, collect.AccessRead)
			continue
		}
		if name == "psql" || name == "sqlcmd" {
			c.Unbound = append(c.Unbound, f.Text)
			s.Touch(f, collect.AccessRead)
		}
	}
	sqlInput(s, given, o, c)
}

// sqlOutput is where an SQL shell writes what it prints, and psql what it does: a file, or
// a command that reads it.
func sqlOutput(s *shell.Shell, in shell.Invocation, o argv.Options) {
	var files []argv.Field
	switch in.Name() {
	case "psql":
		files = append(o.Values("oL", "output"), o.Values("", "log-file")...)
	case "mysql", "mariadb":
		files = o.Values("", "tee")
	case "sqlcmd":
		files = o.Values("o", "")
	}
	for _, f := range files {
		if command, piped := strings.CutPrefix(f.Text, "|"); piped {
			s.CodeText(argv.Field{Text: command, Dynamic: f.Dynamic}, in.Under("psql -o"))
			continue
		}
		s.Touch(f, collect.AccessWrite)
	}
}

// plainLong are long options of SQL shells that change neither what is said nor where
// from: any other may be a shorter spelling of one that does.
const plainLong = "no-psqlrc no-align tuples-only quiet echo-all echo-errors echo-queries echo-hidden csv html expanded no-password password list single-transaction single-line single-step field-separator record-separator pset no-readline version help batch silent skip-column-names table vertical raw ssl-mode protocol column-names comments compress default-character-set safe-updates connect-timeout show-warnings xml json line box markdown column header noheader bail readonly format multiquery time progress secure insecure"

// shortened reports whether the words have long options that nobody knows here: programs
// take a beginning of an option for the whole.
func shortened(words []argv.Field, long string) bool {
	return slices.ContainsFunc(words, func(f argv.Field) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(f.Text, "--"), "=")
		return strings.HasPrefix(f.Text, "--") && name != "" && !strings.ContainsAny(name, " \n") && !wordlist.Has(plainLong, name) && !wordlist.Has(long, name)
	})
}

// sqliteOperands are the database's file and the statements after it.
func sqliteOperands(s *shell.Shell, in shell.Invocation, o argv.Options) []argv.Field {
	// sqlite3's long options have one dash: what they take is not told apart.
	var operands []argv.Field
	for _, w := range in.Words[1:] {
		if !strings.HasPrefix(w.Text, "-") {
			operands = append(operands, w)
		}
	}
	if len(operands) == 0 {
		return nil
	}
	if operands[0].Text != ":memory:" {
		s.Touch(operands[0], collect.AccessWrite)
	}
	return operands[1:]
}

// sqlGiven reads statements that stand among a command's words. A command of
// the SQL shell itself may run a program.
func sqlGiven(s *shell.Shell, given []argv.Field, c *holdgate.Command) {
	for _, f := range given {
		t := strings.TrimSpace(f.Text)
		switch {
		case !f.Known() && !f.Stdin && f.Origin >= argv.OriginText && strings.HasPrefix(c.Program, "sqlite"):
			for _, d := range f.Dynamic {
				t = strings.Replace(t, d, "x", 1)
			}
			s.Found.SQL(t)
		case !f.Known():
			s.Found.Fail("sql: part of it depends on run time")
			s.Found.SQL(t)
		case strings.HasPrefix(t, `\`) || strings.HasPrefix(t, "."):
			sqlMeta(s, t, c)
		default:
			s.Found.SQL(t)
		}
	}
}

// sqlMeta is a command of a SQL shell itself: \! and .shell run programs.
func sqlMeta(s *shell.Shell, t string, c *holdgate.Command) {
	for _, prefix := range []string{`\!`, ".shell ", ".system ", `\system`} {
		if code, ok := strings.CutPrefix(t, prefix); ok {
			s.CodeText(argv.Field{Text: code}, shell.Invocation{Via: []string{c.Program}})
			return
		}
	}
	if i := strings.IndexAny(t, "|`"); i >= 0 {
		s.Found.Fail("sql: a command of the SQL shell runs a program")
		return
	}
	word, rest, _ := strings.Cut(t, " ")
	switch {
	case wordlist.Has(`\i \ir \include .read`, word):
		c.Unbound = append(c.Unbound, strings.TrimSpace(rest))
	case sqlLooks.MatchString(word) && !strings.ContainsAny(t, "|`"):
		s.Found.SQL("show meta")
	case !sqlSets.MatchString(t):
		s.Found.Fail("sql: %s does what is not read here", word)
	}
}

// sqlSets are the commands of SQL shells that change nothing but the shell itself, and
// what it prints. Any other may run a program, or write a file: sqlite3's .excel does both.
var sqlSets = lazyregexp.New(`^(\\(q|gx?|gdesc|p|r|errverbose|else|endif|(if|elif|echo|qecho|warn|unset|prompt)( .*)?|set( \w+( \S+)*)?|c(onnect)?( \w+)?)|\.(print|echo|bail|timeout|changes|eqp|explain|limit|parameter|prompt|dump|sha3sum|lint|cpu|maxrows|maxwidth|rows|columns)( .*)?|go)$`)

// sqlLooks are the commands of SQL shells that show what there is.
var sqlLooks = lazyregexp.New(`^(\\(d[a-zA-Z]*[+S]*|l\+?|list|z|conninfo|encoding|timing|x|pset|a|t|h|\?|sf\+?|sv\+?)|\.(tables|schema|databases|indexes|indices|fullschema|headers?|mode|dbinfo|help|show|width|timer|stats|nullvalue|separator|quit|exit))$`)

// sqlInput reads statements on standard input.
func sqlInput(s *shell.Shell, given []argv.Field, o argv.Options, c *holdgate.Command) {
	switch {
	case len(given) > 0 || s.Stdin.Kind == "":
	case s.Stdin.Kind == "file":
		c.Unbound = append(c.Unbound, s.Stdin.File)
	case !s.Stdin.Known && s.Stdin.Text == "":
		c.Unbound = append(c.Unbound, s.Stdin.File)
		c.Unresolved = append(c.Unresolved, "stdin")
	default:
		if !s.Stdin.Known {
			s.Found.Fail("sql: part of it depends on run time")
		}
		sqlText(s, s.Stdin.Text, c)
	}
}

// sqlText reads statements, and commands of the SQL shell among them.
func sqlText(s *shell.Shell, text string, c *holdgate.Command) {
	var plain strings.Builder
	for line := range strings.Lines(text) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, `\`) || strings.HasPrefix(t, ".") {
			sqlMeta(s, t, c)
			continue
		}
		plain.WriteString(line)
	}
	s.Found.SQL(plain.String())
}

// scratchStatements work in one database alone.
const scratchStatements = "select insert update delete replace create drop alter begin commit end rollback savepoint release show pragma vacuum reindex analyze values"

// scratchDatabase marks the statements from one on that work in a database which
// lies in memory, or in a folder for temporary files.
func scratchDatabase(s *shell.Shell, in shell.Invocation, from int) {
	var operands []argv.Field
	for _, w := range in.Words[1:] {
		if !strings.HasPrefix(w.Text, "-") {
			operands = append(operands, w)
		}
	}
	if len(operands) == 0 || len(operands) > 2 {
		return
	}
	if _, temporary := s.TempFile(operands[0]); !temporary && operands[0].Text != ":memory:" {
		return
	}
	markScratch(s, from)
}

// markScratch marks the statements from one on, where they work in one database alone.
func markScratch(s *shell.Shell, from int) {
	added := s.Found.Facts.SQL[min(from, len(s.Found.Facts.SQL)):]
	for _, st := range added {
		if !wordlist.Has(scratchStatements, st.Verb) {
			return
		}
	}
	for i := range added {
		added[i].Scratch = true
	}
}
