package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdgate/holdgate/approvals/people"
)

// A Roster is what the API asks of whoever keeps who may answer. It is safe for
// concurrent use. What it changes is in force on return, and on disk with its audit
// entry. Its errors are [ErrNoPerson], a [*RosterError], or wrap
// [people.ErrNotEntitled]: by must have the role admin.
type Roster interface {
	// People are all who may answer, and those of the configuration who were removed, in
	// the order of names.
	People() []PersonState
	// PutPerson adds a person, or changes one who was added so. It refuses somebody who
	// was removed.
	PutPerson(ctx context.Context, by, name string, p PersonPut) error
	// RemovePerson removes a person. One of the configuration stays removed until the
	// configuration no longer names them.
	RemovePerson(ctx context.Context, by, name string) error
	// RestorePerson takes back that a person of the configuration was removed.
	RestorePerson(ctx context.Context, by, name string) error
}

// ErrNoPerson says that there is no such person.
var ErrNoPerson = errors.New("there is no such person")

// A RosterError says why who may answer is not changed so. Its text is for the caller.
type RosterError struct{ Text string }

func (e *RosterError) Error() string { return e.Text }

// Where a person is named.
const (
	SourceFile  = "file"  // the configuration: changed there
	SourceHere  = "here"  // added while the sidecar runs
	SourceLocal = "local" // the holder of the state folder's token, whom nobody names
	// SourceProvider is the OpenID Connect provider, at which they have signed in.
	SourceProvider = "provider"
)

// PersonState is a person as GET /v1/people lists them.
type PersonState struct {
	Name     string   `json:"name"`
	Roles    []string `json:"roles"`
	Accounts []string `json:"accounts,omitempty"` // each as "channel:user"
	Source   string   `json:"source"`
	Token    bool     `json:"token"`             // they have one
	Removed  bool     `json:"removed,omitempty"` // they do not count, though the configuration or the provider names them
	// Unlinked says that nothing links them to what the provider calls them: signing in
	// there they would count as somebody else, and twice for a quorum.
	Unlinked bool      `json:"unlinked,omitempty"`
	By       string    `json:"by,omitempty"` // who added, changed or removed them
	At       time.Time `json:"at,omitzero"`
}

// PersonPut is the body of PUT /v1/people/{name}.
type PersonPut struct {
	Roles    []string `json:"roles"`
	Accounts []string `json:"accounts,omitempty"`
	// TokenSHA256 is that of a new token, in hex; empty: the one that they have stays.
	TokenSHA256 string `json:"token_sha256,omitempty"`
}

// people serves GET /v1/people.
func (s *Server) people(r *request) ([]PersonState, error) {
	if _, err := query(r); err != nil {
		return nil, err
	}
	if s.c.Roster == nil {
		return nil, noRoster()
	}
	return s.c.Roster.People(), nil
}

// putPerson serves PUT /v1/people/{name}.
func (s *Server) putPerson(r *request, in PersonPut) ([]PersonState, error) {
	return s.rostered(func() error { return s.c.Roster.PutPerson(r.Context(), r.by, r.PathValue("name"), in) })
}

// removePerson serves DELETE /v1/people/{name}.
func (s *Server) removePerson(r *request) ([]PersonState, error) {
	return s.rostered(func() error { return s.c.Roster.RemovePerson(r.Context(), r.by, r.PathValue("name")) })
}

// restorePerson serves POST /v1/people/{name}/restore.
func (s *Server) restorePerson(r *request, _ Nothing) ([]PersonState, error) {
	return s.rostered(func() error { return s.c.Roster.RestorePerson(r.Context(), r.by, r.PathValue("name")) })
}

// rostered changes who may answer, and says who does then.
func (s *Server) rostered(change func() error) ([]PersonState, error) {
	if s.c.Roster == nil {
		return nil, noRoster()
	}
	err := change()
	wrong, isWrong := errors.AsType[*RosterError](err)
	switch {
	case err == nil:
		return s.c.Roster.People(), nil
	case errors.Is(err, ErrNoPerson):
		return nil, problem(http.StatusNotFound, ProblemNotFound, "Not found", err.Error())
	case errors.Is(err, people.ErrNotEntitled):
		return nil, problem(http.StatusForbidden, ProblemNotEntitled, "Not entitled", "changing who may answer needs the role "+people.RoleAdmin)
	case isWrong:
		return nil, problem(http.StatusUnprocessableEntity, "people-refused", "Not changed", wrong.Text)
	}
	return nil, err
}

func noRoster() error {
	return problem(http.StatusNotFound, ProblemNotFound, "Not found", "this sidecar does not serve who may answer")
}
