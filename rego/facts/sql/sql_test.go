package sql

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/budget"
)

var sqlTests = []struct{ name, sql, want, odd string }{
	{"a select has its where", `select * from users where id = 1`, "select users where", ""},
	{"names keep their case in quotes, and subqueries count", `SELECT a, (select max(b) from c) FROM "Public"."Users" u JOIN orders o ON o.uid=u.id`, "select c,Public.Users,orders", ""},
	{"a delete without where has none", `DELETE/**/FROM/**/users`, "delete users", ""},
	{"a where that leaves nothing out is none", `delete from users where 1=1`, "delete users", ""},
	{"nor is true", `delete from users where not false`, "delete users", ""},
	{"a where of a subquery is not the statement's own", `update only users set a=(select 1 from b where x)`, "update users,b", ""},
	{"a where around a subquery is", `update users set a=1 where id in (select id from old)`, "update users,old where", ""},
	{"drop lists its tables", `drop table if exists a, b cascade`, "drop table a,b", ""},
	{"drop database names its object", `drop database prod`, "drop database", ""},
	{"truncate needs no table", `truncate a`, "truncate table a", ""},
	{"strings hold no statements", `insert into t values ('drop table x; --')`, "insert t 1 rows", ""},
	{"a doubled quote does not end a string", `select 'it''s; drop table y' ; drop table x`, "select; drop table x", ""},
	{"what a WITH deletes is deleted", `with d as (delete from users returning *) select * from d`, "delete users; select", ""},
	{"names of a WITH are no tables", `with a as (select * from b), c(x) as (update d set y=1) insert into e select * from a`, "update d; insert b,e", ""},
	{"explain runs nothing", `explain delete from users`, "explain users", ""},
	{"explain analyze does", `explain analyze delete from users`, "delete users", ""},
	{"and so in parentheses", `explain (analyze, buffers) delete from users`, "delete users", ""},
	{"unless it is off", `explain (analyze false) delete from users`, "explain users", ""},
	{"a comment hides the rest of its line only", "select 1 -- ; drop table x\n; drop table y", "select; drop table y", ""},
	{"a tight comment is odd where a statement could hide", `select 1 --; drop table x`, "select", "-- without a blank is a comment to some databases only"},
	{"a block comment is skipped", `select 1 /* ; drop table x */`, "select", ""},
	{"a MySQL comment runs", `select 1 /*!50000 ; drop table x */`, "select; drop table x", "comment that some databases run"},
	{"a comment in a comment is odd", `select 1 /* /* */ ; drop table x; -- */`, "select; drop table x", "comment inside of a comment"},
	{"a backslash before a quote is odd", `select 'a\'; drop table x; --'`, "select; drop table x", "backslash before a quote"},
	{"but not in an escape string", `select E'a\'b; c'`, "select", ""},
	{"unless a statement could hide in it", `select E'a\'; drop table x; --'`, "select", "backslash before a quote"},
	{"double quotes hold no statements", `select "a; drop table x"`, "select", ""},
	{"backticks hold no statements", "select `a; drop table x` from t", "select t", ""},
	{"statements in dollar quotes are odd", `select $a$; drop table x$a$`, "select", "statements inside of dollar-quoted text"},
	{"do runs what is not read", `do $$ begin perform 1 end $$`, "do", "do runs what is not read here"},
	{"an index is on its table", `create unique index concurrently i on t (a)`, "create index t", ""},
	{"alter names its table", `alter table "My Table" add x int`, "alter table My Table", ""},
	{"a grant names its table", `grant all on table t to bob`, "grant t", ""},
	{"copy to a program is odd", `copy t to program 'rm x'`, "copy t", "copy runs a program"},
	{"from inside of a function is no table", `select extract(year from ts), trim(both from x), a is distinct from b from t`, "select t", ""},
	{"a function is no table, and the list goes on", `select * from generate_series(1,10) g, t2`, "select t2", ""},
	{"so it does after a subquery", `select * from (select 1 from a) x, b`, "select a,b", ""},
	{"aliases are no tables", `select * from a, b as c, d e where x`, "select a,b,d where", ""},
	{"merge names both", `merge into t using s on t.id=s.id when matched then delete`, "merge t,s", ""},
	{"exec is odd", `exec sp_x`, "exec", "exec runs what is not read here"},
	{"brackets quote names", `SELECT * FROM [dbo].[Users] WHERE [id]=1`, "select dbo.Users where", ""},
	{"brackets after a name are a subscript", `select * from t where id=arr[1]`, "select t where", ""},
	{"what begins with no verb is odd", `foo bar`, "", `unknown statement "foo"`},
	{"a union is one statement", `(select 1 from a) union (select 2 from b)`, "select a,b", ""},
	{"a MySQL comment sign is read as text", `select 1 # ; drop table x`, "select; drop table x", "# is a comment to some databases only"},
	{"a table made from another names both", `create table a as select * from b`, "create table a,b", ""},
	{"nothing is nothing", ` ; ;`, "", ""},
	{"full-width letters are no keyword", `ＤＲＯＰ table x`, "", `unknown statement "ｄｒｏｐ"`},
	{"a string that does not end is odd", `select 'a`, "select", "string without an end"},
	{"unmatched parentheses are odd", `select (1; drop table x`, "select; drop table x", "statement ends inside of parentheses"},
}

func TestStatements(t *testing.T) {
	for _, tt := range sqlTests {
		t.Run(tt.name, func(t *testing.T) {
			found, _ := read(t, tt.sql)
			var got []string
			for _, st := range found.Statements {
				got = append(got, written(st))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("statements of %q (-want +got):\n%s", tt.sql, diff)
			}
			if odd := strings.Join(found.Problems, "\n"); !strings.Contains(odd, tt.odd) || tt.odd == "" && odd != "" {
				t.Errorf("problems of %q: %q, want %q", tt.sql, odd, tt.odd)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	for sql, want := range map[string][]File{
		"copy t to '/tmp/a.csv'":                        {{"/tmp/a.csv", Write}},
		"copy t from '/tmp/a.csv'":                      {{"/tmp/a.csv", Read}},
		"select * from read_csv(['a.csv', 's3://b/c'])": {{"a.csv", Read}, {"s3://b/c", Read}},
		"select 1 into outfile '/tmp/x'":                {{"/tmp/x", Write}},
		"attach 'b.db'":                                 {{"b.db", Write}},
		"select 'a.csv' from t":                         nil,
	} {
		if found, _ := read(t, sql); !slices.Equal(found.Files, want) {
			t.Errorf("files of %q: %v, want %v", sql, found.Files, want)
		}
	}
}

// read reads SQL, and says whether the work on it was given up.
func read(t testing.TB, sql string) (found Reading, spent bool) {
	t.Helper()
	work := budget.New(t.Context(), time.Minute)
	defer func() {
		if p := recover(); p != nil {
			if _, spent = p.(budget.Spent); !spent {
				panic(p)
			}
		}
		if work.Late() || work.Steps() > budget.MaxSteps+budget.MaxText {
			t.Errorf("%d steps were taken", work.Steps())
		}
	}()
	Parse(sql, work, &found)
	return found, false
}

func written(st holdgate.Statement) string {
	parts := []string{st.Verb}
	if st.Object != "" {
		parts = append(parts, st.Object)
	}
	if len(st.Tables) > 0 {
		parts = append(parts, strings.Join(st.Tables, ","))
	}
	if st.Where {
		parts = append(parts, "where")
	}
	if st.Rows > 0 {
		parts = append(parts, strconv.Itoa(st.Rows)+" rows")
	}
	return strings.Join(parts, " ")
}

// FuzzParse holds that no text panics or takes more work than its budget.
func FuzzParse(f *testing.F) {
	for _, tt := range sqlTests {
		f.Add(tt.sql)
	}
	f.Fuzz(func(t *testing.T, sql string) { read(t, sql) })
}

// TestSQLThatGoesOnAndOn holds that what a reader would go over again and again
// ends by its budget.
func TestSQLThatGoesOnAndOn(t *testing.T) {
	for _, unit := range []string{"where 1 ", "from 'a' ", "select 1 from 'a' ", "with a as (select 1) drop ", ") drop ", "select drop ", "select (", "from top ( ", "read_csv('a', ", "with a as (", "values (1), ", "explain ", "or 1 ", "/* ", "$a$ ", "a.", "begin ", "select 1 delete from t where a or 1 "} {
		for _, start := range []string{"", "select * ", "with a as (select 1) "} {
			for _, n := range []int{2000, (128 << 10) / len(unit)} {
				if found, spent := read(t, start+strings.Repeat(unit, n)); n > 2000 && !spent && len(found.Problems) == 0 {
					t.Errorf("%q and on with %q: nothing is said", start, unit)
				}
			}
		}
	}
}
