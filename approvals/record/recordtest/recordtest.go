// Package recordtest opens the book of a store on disk, for tests of the rooms that follow it.
package recordtest

import (
	"bytes"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

// Store opens a store on disk, which is closed with the test.
func Store(t testing.TB) store.Store {
	t.Helper()
	st := teststore.Open(t, t.TempDir())
	t.Cleanup(func() { must(t, st.Close()) })
	return st
}

// Book opens the book of a store, in which ana may approve and oda may operate. root owns the agents.
func Book(t testing.TB, st store.Store) *record.Book {
	t.Helper()
	key := bytes.Repeat([]byte{7}, 32)
	log, err := audit.Open(t.Context(), st, key)
	must(t, err)
	digester, err := holdgate.NewDigester(key)
	must(t, err)
	seal, err := record.NewSealer(key)
	must(t, err)
	team, err := people.New("root", []people.Person{{Name: "ana", Roles: []string{people.RoleApprove}}, {Name: "oda", Roles: []string{people.RoleOperate}}})
	must(t, err)
	return &record.Book{Store: st, Log: log, Digester: digester, Seal: seal, People: func() *people.People { return team }}
}

// Ask stores a request of an exchange of its own, as it is when a call is held.
func Ask(t testing.TB, b *record.Book, r record.StoredRequest) *record.StoredRequest {
	t.Helper()
	r.Header, r.Exchange, r.Status = record.Current(), "x-"+r.ID, holdgate.StatusPending
	must(t, b.Change(t.Context(), func(c *record.Change) error {
		x := c.Begin(&record.StoredExchange{ID: r.Exchange, Agent: r.Agent, Session: r.Session, Door: r.Door})
		return c.AddRequest(x, &r, "", record.KeptInput{})
	}))
	return &r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
