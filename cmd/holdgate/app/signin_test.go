package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/login"
	"github.com/holdgate/holdgate/approvals/login/logintest"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/roster"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// Who was removed counts no more through the provider, under the name or what it was linked to.
func TestRemovedPeopleDoNotCountThroughTheProvider(t *testing.T) {
	t.Parallel()
	c := config.Config{Approver: "me", OIDC: config.OIDC{Issuer: "https://login.example.com"}}
	entries := []roster.Entry{
		*goneAtProvider("bob", []string{"oidc:bob@example.com", "slack:U1"}),
		{Name: "carol", Removed: true},
	}
	var in []signed
	for i, name := range []string{"bob", "bob@example.com", "carol", "dora"} {
		in = append(in, signed{name: name, roles: []string{"approve"}, tokens: []api.TokenHash{{byte(i + 1)}}})
	}
	all, tokens, err := known(c, entries, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bob", "bob@example.com", "carol"} {
		if _, counts := all.Find(name); counts {
			t.Errorf("%s counts", name)
		}
	}
	if len(tokens) != 1 || tokens[0].Person != "dora" {
		t.Errorf("tokens: %v", tokens)
	}
	if got := entries[0].Accounts; !slices.Equal(got, []string{"oidc:bob", "oidc:bob@example.com"}) {
		t.Errorf("accounts: %v", got)
	}
	for name, want := range map[string]bool{"eve@example.com": true, "": false, "a,b": false, "a:b": false, "policy": false, " x": false} {
		if got := wellFormed(name); got != want {
			t.Errorf("%q well-formed: %v", name, got)
		}
	}
}

// Each browser's sign-in ends by itself, and what has changed is said.
func TestSignInsLapse(t *testing.T) {
	t.Parallel()
	now := time.Now()
	old, young := cookie{api.TokenHash{1}, now.Add(-time.Second)}, cookie{api.TokenHash{2}, now.Add(time.Hour)}
	s := &signIn{until: young.until, cookies: []cookie{old, young}}
	if s.lapse(now); s.over || !slices.Equal(s.cookies, []cookie{young}) {
		t.Errorf("%+v", s)
	}
	if s.lapse(now.Add(2 * time.Hour)); !s.over || len(s.cookies) > 0 {
		t.Errorf("%+v", s)
	}
	before := []signed{{"ada", []string{"admin"}, []api.TokenHash{{1}}}, {"bob", nil, nil}}
	after := []signed{{"ada", nil, nil}}
	want := []string{"the groups of ada at the provider give no role; before: the role admin", "ada is signed out in a browser", "the sign-in of bob at the provider is over"}
	if got := changes(before, after); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// What cannot be put in force is tried again, and nothing of high risk is approved before.
func TestAnEndedSignInIsPutInForceUntilItSucceeds(t *testing.T) {
	t.Parallel()
	c := config.Default(filepath.Join(t.TempDir(), "state"), "me")
	c.OIDC = config.OIDC{Issuer: "http://127.0.0.1:1", ClientID: "x"}
	a, err := New(t.Context(), c, Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Stop(t.Context()) }()
	bob := []signed{{"bob", []string{"approve"}, []api.TokenHash{{1}}}}
	n, err := a.current.Load().withPeople(a, nil, bob)
	if err != nil {
		t.Fatal(err)
	}
	fails := *n
	fails.c.Approver = "" // a credential is nobody's
	a.current.Store(&fails)
	f := a.configs
	f.in = []*signIn{{at: &login.SignIn{}, over: true}}
	if err := f.renew(t.Context()); err == nil || len(f.in) != 1 {
		t.Fatalf("%v, %d sign-ins", err, len(f.in))
	}
	if err := f.confirm(t.Context(), "bob"); !errors.Is(err, people.ErrNotEntitled) {
		t.Errorf("bob, of whom there is no sign-in, approves: %v", err)
	}
	a.current.Store(n)
	if err := f.renew(t.Context()); err != nil || len(f.in) != 0 {
		t.Errorf("%v, %d sign-ins", err, len(f.in))
	}
	if _, counts := a.current.Load().queue.People.Find("bob"); counts {
		t.Error("bob counts")
	}
}

// A provider that keeps silent about some keeps nobody else's groups from being read, and
// no sign-in from ending; and it is not asked more than a few things at once.
func TestASilentProviderHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	p := logintest.New(t)
	c := config.Default(filepath.Join(t.TempDir(), "state"), "me")
	c.OIDC = config.OIDC{Issuer: p.URL, ClientID: logintest.ClientID, NameClaim: "email", GroupsClaim: "groups", Roles: map[string][]config.Role{"sre": {"approve"}}, Reread: config.Duration(time.Millisecond)}
	a, err := New(t.Context(), c, Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Stop(t.Context()) }()
	f := a.configs
	signIn := func(name string) {
		t.Helper()
		to, kept, err := f.Begin(t.Context(), "/")
		if err != nil {
			t.Fatal(err)
		}
		answer, nonce := logintest.Back(t, to)
		p.Token, p.User = p.Gives(name, map[string]any{"nonce": nonce}), logintest.Tells(name, "sre")
		if _, _, err := f.Finish(t.Context(), answer, kept); err != nil {
			t.Fatal(err)
		}
	}
	const silent = 2 * maxRereads
	for i := range silent {
		signIn(fmt.Sprint("silent", i))
	}
	signIn("ada")
	f.in[0].until = time.Now().Add(-time.Second) // it ends while nobody can be asked

	asked, end := make(chan string, 100), make(chan struct{})
	release := sync.OnceFunc(func() { close(end) })
	defer release()
	var now, most atomic.Int32
	p.Token = func(r *http.Request) (int, map[string]any) {
		name := r.PostForm.Get("refresh_token")
		if name == "ada" {
			return http.StatusBadRequest, map[string]any{"error": "invalid_grant"}
		}
		defer now.Add(-1)
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		select {
		case asked <- name:
		default: // enough is known
		}
		select {
		case <-end:
		case <-r.Context().Done(): // nobody waits for it any more
		}
		return p.Gives(name, nil)(r)
	}
	over := func(name string) bool {
		_, counts := a.current.Load().queue.People.Find(name + "@example.com")
		return !counts
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	kept := make(chan error, 1)
	f.mu.Lock()
	for _, s := range f.in[maxRereads:silent] { // fewer than may be asked at once stay silent
		s.read = time.Now().Add(time.Hour)
	}
	f.mu.Unlock()
	go func() { kept <- f.keepGroups(ctx) }()
	for range maxRereads - 1 {
		<-asked
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for started := time.Now(); !over("ada") || !over("silent0"); <-tick.C {
		if time.Since(started) > 3*time.Minute {
			t.Fatalf("over: ada %v, who was to lapse %v", over("ada"), over("silent0"))
		}
	}
	f.mu.Lock()
	for _, s := range f.in {
		s.read = time.Time{}
	}
	f.mu.Unlock()
	<-asked // and one more of the rest, while those who are too many wait
	for started := time.Now(); most.Load() <= maxRereads && time.Since(started) < 200*time.Millisecond; <-tick.C {
	}
	release()
	for range silent - maxRereads - 1 {
		<-asked
	}
	stop()
	if err := <-kept; err != nil {
		t.Error(err)
	}
	if got := most.Load(); got > maxRereads {
		t.Errorf("%d questions at once", got)
	}
}
