package app

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// rosterOf is a sidecar whose people can be changed.
func rosterOf(t *testing.T, people map[config.PersonName]config.Person) *configs {
	t.Helper()
	c := config.Default(filepath.Join(t.TempDir(), "state"), "me")
	c.OIDC = config.OIDC{Issuer: "http://127.0.0.1:1", ClientID: "x"}
	c.People = people
	a, err := New(t.Context(), c, Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(t.Context()) })
	return a.configs
}

// refused fails where err is no refusal that says so.
func refused(t *testing.T, err error, says string) {
	t.Helper()
	if wrong, ok := errors.AsType[*api.RosterError](err); !ok || !strings.Contains(wrong.Text, says) {
		t.Errorf("%v, want a refusal that says %q", err, says)
	}
}

// Somebody who was removed does not come back by being added, under no name.
func TestRemovedPeopleAreRestoredAndNotAdded(t *testing.T) {
	t.Parallel()
	c := rosterOf(t, nil)
	put := api.PersonPut{Roles: []string{"approve"}, Accounts: []string{"oidc:bob@example.com"}}
	change := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	change(c.PutPerson(t.Context(), "me", "bob", put))
	change(c.RemovePerson(t.Context(), "me", "bob"))
	refused(t, c.PutPerson(t.Context(), "me", "bob", put), "bob was removed by me: restore them first")
	refused(t, c.PutPerson(t.Context(), "me", "bob2", put), "oidc:bob@example.com is of bob, who was removed")
	change(c.RestorePerson(t.Context(), "me", "bob"))
	change(c.PutPerson(t.Context(), "me", "bob", put))
}

// A sign-in at the provider ends with the day: whom it makes admin is not the last one.
func TestTheLastAdminIsNoneOfTheProvider(t *testing.T) {
	t.Parallel()
	hash := config.TokenHash{1}
	c := rosterOf(t, map[config.PersonName]config.Person{"me": {Roles: []config.Role{"approve"}}, "ada": {Roles: []config.Role{"admin"}, TokenSHA256: hash}})
	in := []signed{{"leader", []string{"admin"}, []api.TokenHash{{2}}}, {"me@example.com", []string{"admin"}, []api.TokenHash{{3}}}}
	n, err := c.a.current.Load().withPeople(c.a, nil, in)
	if err != nil {
		t.Fatal(err)
	}
	c.a.current.Store(n)
	refused(t, c.RemovePerson(t.Context(), "leader", "ada"), "nobody with a token would have the role admin")
	// Where the configuration gives it to nobody who has one, nothing is lost.
	alone := rosterOf(t, map[config.PersonName]config.Person{"me": {Roles: []config.Role{"approve"}}})
	if n, err = alone.a.current.Load().withPeople(alone.a, nil, in); err != nil {
		t.Fatal(err)
	}
	alone.a.current.Store(n)
	if err := alone.PutPerson(t.Context(), "leader", "bob", api.PersonPut{Roles: []string{"approve"}, Accounts: []string{"oidc:bob"}}); err != nil {
		t.Errorf("an admin of the provider alone adds nobody: %v", err)
	}
}

// Whom nothing links to the provider counts as two there: it is said once of the same.
func TestPeopleWhoCountTwiceAreNamed(t *testing.T) {
	t.Parallel()
	c := rosterOf(t, map[config.PersonName]config.Person{
		"ada":   {Roles: []config.Role{"approve"}, Channels: map[string]string{config.ChannelOIDC: "ada@example.com"}},
		"bob":   {Roles: []config.Role{"approve"}},
		"carol": {Roles: []config.Role{"operate"}},
	})
	var said bytes.Buffer
	c.a.log = slog.New(slog.NewTextHandler(&said, nil))
	c.warnUnlinked()
	c.warnUnlinked()
	if got := said.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `people="bob, me"`) {
		t.Errorf("%s", got)
	}
	if err := c.PutPerson(t.Context(), "me", "dora", api.PersonPut{Roles: []string{"approve"}, Accounts: []string{"oidc:dora"}}); err != nil {
		t.Fatal(err)
	}
	said.Reset()
	if err := c.RemovePerson(t.Context(), "me", "bob"); err != nil {
		t.Fatal(err)
	}
	if got := said.String(); !strings.Contains(got, `people=me`) {
		t.Errorf("%s", got)
	}
}
