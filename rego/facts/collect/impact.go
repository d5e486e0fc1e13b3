package collect

import (
	"strings"

	"github.com/holdgate/holdgate/rego/facts/wordlist"
)

// touched is how many paths and rows the call changes.
func (x *Findings) touched() {
	paths := make(map[string]bool)
	for _, p := range x.Facts.Paths {
		if p.Access != AccessRead {
			paths[p.Clean] = true
			x.Facts.Impact.More = x.Facts.Impact.More || strings.ContainsAny(p.Clean, "*?[$")
		}
	}
	x.Facts.Impact.Paths = len(paths)
	rows := 0
	for _, st := range x.Facts.SQL {
		switch {
		case wordlist.Has("select explain show describe desc use begin start commit rollback savepoint release values table", st.Verb):
		case st.Rows == 0:
			return
		default:
			rows += st.Rows
		}
	}
	x.Facts.Impact.Rows = rows
}
