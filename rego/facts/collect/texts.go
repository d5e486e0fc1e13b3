package collect

import (
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/rego/facts/patch"
	"github.com/holdgate/holdgate/rego/facts/sql"
)

// Text looks at one string for credentials and deceiving characters.
func (x *Findings) Text(at *Place, s string) {
	x.Suspicious(s)
	x.Secrets(at, s)
}

// Patch adds the files that a patch touches.
func (x *Findings) Patch(s string, dirs []string) {
	files, ok := patch.Files(s)
	for _, f := range files {
		access := AccessWrite
		if f.Delete {
			access = AccessDelete
		}
		x.Path(Ref{Text: f.Name, Access: access, Dirs: dirs})
	}
	if !ok {
		x.Fail("patch names no file")
	}
}

// SQL reads SQL text and adds its statements.
func (x *Findings) SQL(s string) {
	var found sql.Reading
	defer func() { // what was found stands, also where the work is given up
		for _, p := range found.Problems {
			x.Fail("sql: %s", p)
		}
		x.Statements += len(found.Statements)
		for _, st := range found.Statements {
			key := []string{st.Verb, st.Object, strconv.FormatBool(st.Where), strconv.Itoa(st.Rows)}
			if x.Once("sql", append(key, st.Tables...)...) {
				x.Facts.SQL = append(x.Facts.SQL, st)
			}
		}
		for _, f := range found.Files {
			if strings.Contains(f.Name, "://") {
				x.URL(f.Name)
				continue
			}
			x.Path(Ref{Text: f.Name, Access: f.Access, Dirs: DirsOf(x.Start())})
		}
	}()
	sql.Parse(s, x.Budget, &found)
}
