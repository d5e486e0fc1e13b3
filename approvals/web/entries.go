package web

import (
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store/audit"
)

// An entryRow is an entry of the log, with the call that it is about.
type entryRow struct {
	audit.Entry

	Line string // the call with what it is given, or nothing
}

// entryRows are rows for entries. Decisions have the arguments of their call. Votes,
// outcomes and the like do not: they have them from the decision that asked, where that is
// among the entries, else from the request.
func entryRows(v *visit, entries []audit.Entry) []entryRow {
	type question struct {
		request string
		call    holdgate.Digest
	}
	lines, sought := map[question]string{}, map[string]bool{}
	for _, e := range entries {
		if e.Call != nil && e.Input != nil && e.RequestID != "" {
			lines[question{e.RequestID, e.Call.Digest}] = approvals.CallLine(e)
		}
	}
	rows := make([]entryRow, len(entries))
	for i, e := range entries {
		rows[i] = entryRow{Entry: e}
		if e.Call == nil {
			continue
		}
		of := question{e.RequestID, e.Call.Digest}
		if e.Call.Tool != nil && e.Input == nil && e.RequestID != "" && lines[of] == "" && !sought[e.RequestID] {
			sought[e.RequestID] = true
			if r, err := v.api.Request(v.Context(), e.RequestID); err == nil && r.Call.Tool != nil { // it may be forgotten
				asked := e
				asked.Input = r.Call.Tool.Arguments
				lines[question{r.ID, r.Call.Digest}] = approvals.CallLine(asked)
			}
		}
		if rows[i].Line = lines[of]; rows[i].Line == "" {
			rows[i].Line = approvals.CallLine(e)
		}
	}
	return rows
}
