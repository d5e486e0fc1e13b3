package sql

import (
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/lazyregexp"
	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

const (
	// reaching are functions and words by which a statement reaches out of
	// the database, runs what is not read here, or steers the server, whatever
	// its verb: of PostgreSQL, MySQL, SQLite, SQL Server, Oracle and DuckDB.
	reaching = "infile load_file load_extension readfile writefile edit fts3_tokenizer sys_exec sys_eval sys_get sys_set query_to_xml query_to_xmlschema database_to_xml cursor_to_xml openrowset opendatasource openquery httpuritype set_config pg_reload_conf pg_rotate_logfile pg_promote pg_switch_wal pg_terminate_backend pg_cancel_backend pg_stat_file pg_execute_server_program pg_current_logfile copy_to copy_from xmltransform getenv"
	// reachingPrefixes begin the names of such functions.
	reachingPrefixes = "pg_read_ pg_write_ pg_file_ pg_ls_ pg_logical_ pg_create_ pg_drop_ pg_replication_ lo_ dblink xp_ sp_ utl_ dbms_ http_ sqlite_dbpage postgres_query postgres_execute mysql_query mysql_execute"
	// readers are functions that read a file, given as text, as a table.
	readers = "read_csv read_csv_auto read_parquet parquet_scan read_json read_json_auto read_ndjson read_text read_blob sniff_csv glob sqlite_scan iceberg_scan delta_scan load_file readfile pg_read_file pg_read_binary_file pg_ls_dir lo_import file s3 url"
)

// reach says what a statement does besides that is not read here.
func (r *reader) reach() {
	for i, t := range r.tokens {
		next := r.at(i + 1)
		switch {
		case t.kind == str:
			r.file(i)
		case t.is("program") && r.st.Verb == "copy":
			r.x.fail("copy runs a program")
		case t.is("outfile dumpfile") && next.kind == str:
			r.touches(next, Write)
		case t.is("delimiter") && i == 0:
			r.x.fail("delimiter changes")
		case t.is("begin") && wordlist.Has("create alter", r.st.Verb):
			r.x.fail("body of a routine")
		case t.is("go") && i > 0 && t.depth == r.level && next.is(verbs):
			r.x.fail("GO inside of a statement")
		case r.reaches(i):
			r.x.fail("%s", strings.ToLower(t.text))
		}
		if t.is(readers) && next.punct("(") {
			for j := i + 2; r.at(j).kind == str || r.at(j).punct("[") || r.at(j).punct(","); j++ {
				if r.at(j).kind == str {
					r.touches(r.at(j), Read)
				}
			}
		}
	}
}

func (r *reader) at(i int) token {
	if i < 0 || i >= len(r.tokens) {
		return token{kind: mark}
	}
	return r.tokens[i]
}

// reaches reports whether the word at i is such a function where it is called,
// or a word that needs no call. A name in quotes calls a function too.
func (r *reader) reaches(i int) bool {
	t := r.tokens[i]
	name := strings.ToLower(t.text)
	switch {
	case t.kind != word && t.kind != quoted:
		return false
	case t.is("infile"), t.is("xp_cmdshell sp_executesql"):
		return true
	case !r.at(i+1).punct("(") && !r.at(i+1).punct("."):
		return false
	case wordlist.Has(reaching, name):
		return r.at(i + 1).punct("(")
	}
	for prefix := range strings.FieldsSeq(reachingPrefixes) {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// file adds the file that the text at i names by the word before it.
func (r *reader) file(i int) {
	verb, before, t := r.st.Verb, r.at(i-1), r.tokens[i]
	switch {
	case verb == "copy" && before.is("to"), verb == "attach", verb == "vacuum" && before.is("into"), verb == "backup", verb == "unload" && before.is("to"), verb == "export":
		r.touches(t, Write)
	case wordlist.Has("copy bulk restore import", verb) && before.is("from"), before.is("infile"):
		r.touches(t, Read)
	case before.is("from join") && r.selecting(i):
		r.touches(t, Read) // DuckDB
	}
}

// selecting reports whether the word at i stands in a SELECT, and not among
// the arguments of a function in it.
func (r *reader) selecting(i int) bool {
	depth := r.tokens[i].depth
	for i--; i >= 0 && r.tokens[i].depth >= depth; i-- {
		if i%16 == 0 {
			r.x.Tick()
		}
		if r.tokens[i].depth == depth && r.tokens[i].is("select") {
			return true
		}
	}
	return false
}

func (r *reader) touches(t token, access string) {
	if address.MatchString(t.text) {
		r.x.fail("%s is an address", t.text) // what is asked for there may carry data away
	}
	r.x.found.Files = append(r.x.found.Files, File{t.text, access})
}

// address is what a table is read from or written to that lies on another machine.
var address = lazyregexp.New(`(?i)^\s*(https?|ftp|s3[an]?|gs|gcs|r2|hf|azure|az|abfss?|hdfs|wss?|postgres(ql)?|mysql|md):`)

// rows is how many rows the statement changes at most, where it says so
// itself: by LIMIT, by TOP, or by the rows that it lists.
func (r *reader) rows() int {
	if !wordlist.Has("delete update insert replace", r.st.Verb) {
		return 0
	}
	listed := 0
	for i, t := range r.tokens {
		if t.depth != r.level {
			continue
		}
		switch next := r.at(i + 1); {
		case t.is("limit") && r.at(i+2).punct(",") && r.st.Verb != "insert":
			return number(r.at(i + 3))
		case t.is("limit") && r.st.Verb != "insert":
			return number(next)
		case t.is("top") && r.at(i+4).is("percent"):
			return 0
		case t.is("top") && next.punct("("):
			return number(r.at(i + 2))
		case t.is("top"):
			return number(next)
		case t.is("select"):
			return 0
		case t.is("values") || listed > 0 && t.punct(","):
			if next.punct("(") {
				listed++
			}
		case t.is("on returning as"):
			return listed
		}
	}
	return listed
}

func number(t token) int {
	n, err := strconv.Atoi(t.text)
	if t.kind != numeral || err != nil || n < 0 {
		return 0
	}
	return n
}
