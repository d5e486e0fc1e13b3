package api

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store/audit"
)

// An Undo is the body of POST /v1/undo: what a person is about to take back of a run.
type Undo struct {
	Run     string `json:"run"`
	Agent   string `json:"agent"`
	Folder  string `json:"folder"`
	Call    string `json:"call,omitempty"` // where only what happened during it is taken back
	Changes int    `json:"changes"`        // how many paths
	Digest  string `json:"digest"`         // SHA-256 of the list of changes, in hex
}

// Undone is its answer.
type Undone struct {
	Seq uint64 `json:"seq"` // of the entry in the log
}

// undo serves POST /v1/undo: it writes down who takes back what, before that is done.
func (s *Server) undo(r *request, in Undo) (Undone, error) {
	if n, ok := s.c.Queue.People().Find(r.by); !ok || !n.Has(people.RoleOperate) {
		return Undone{}, fmt.Errorf("%w: taking back what an agent did takes the role %s; ask somebody who has it", people.ErrNotEntitled, people.RoleOperate)
	}
	if in.Run == "" || in.Digest == "" {
		return Undone{}, problem(http.StatusUnprocessableEntity, "undo", "Nothing to write down", "run and digest must be set")
	}
	entry, err := UndoEntry(r.by, in)
	if err != nil {
		return Undone{}, err
	}
	if entry, err = s.c.Log.Write(r.Context(), entry, true); err != nil {
		return Undone{}, fmt.Errorf("writing to the audit log: %w", err)
	}
	return Undone{entry.Seq}, nil
}

// UndoEntry is the entry of the audit log of what a person takes back.
func UndoEntry(by string, u Undo) (audit.Entry, error) {
	input, err := json.Marshal(u)
	return audit.Entry{
		Type: audit.TypeUndo, Call: &audit.Call{Agent: u.Agent, Kind: holdgate.KindToolCall, ID: u.Call}, Outcome: &holdgate.Outcome{By: by}, Input: input,
		Note: fmt.Sprintf("takes back %d changes of run %s in %s", u.Changes, u.Run, u.Folder),
	}, err
}
