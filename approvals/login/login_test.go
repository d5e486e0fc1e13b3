package login

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/login/logintest"
)

// at is what signs people in at a provider.
func at(p *logintest.Provider) *Provider {
	return New(Config{Issuer: p.URL, ClientID: logintest.ClientID, NameClaim: "email", GroupsClaim: "groups", Redirect: func() string { return "http://page.localhost/back" }})
}

// signIn signs ada in, with tokens that are changed as a test says.
func signIn(t *testing.T, p *logintest.Provider, changed map[string]any, refresh bool) (*SignIn, error) {
	t.Helper()
	here := at(p)
	to, kept, err := here.Begin(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	answer, nonce := logintest.Back(t, to)
	claims := map[string]any{"nonce": nonce}
	for k, v := range changed {
		claims[k] = v
	}
	p.Token = func(r *http.Request) (int, map[string]any) {
		status, tokens := p.Gives("ada", claims)(r)
		if !refresh {
			delete(tokens, "refresh_token")
		}
		return status, tokens
	}
	s, _, err := here.Finish(t.Context(), answer, kept)
	return s, err
}

// A sign-in is for whom the provider's signed token is, and for no other.
func TestTokensOfOtherSignInsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changed map[string]any
		user    string // of whom the provider tells besides
		says    string
	}{
		"theirs":             {nil, "ada", ""},
		"another nonce":      {map[string]any{"nonce": "x"}, "ada", "not for this sign-in"},
		"no nonce":           {map[string]any{"nonce": ""}, "ada", "not for this sign-in"},
		"another subject":    {nil, "eve", "somebody else"},
		"another client":     {map[string]any{"aud": "other"}, "ada", "verifying"},
		"another issuer":     {map[string]any{"iss": "http://127.0.0.1:1"}, "ada", "verifying"},
		"out of date":        {map[string]any{"exp": 1}, "ada", "verifying"},
		"of another token":   {map[string]any{"at_hash": "x"}, "ada", "verifying"},
		"an unverified name": {map[string]any{"email_verified": false}, "ada", "has not verified"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := logintest.New(t)
			p.User = logintest.Tells(c.user, "sre")
			s, err := signIn(t, p, c.changed, true)
			if c.says == "" {
				if err != nil || s.Name() != "ada@example.com" || !slices.Equal(s.Groups(), []string{"sre"}) {
					t.Errorf("%+v, %v", s, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want an error that says %q", err, c.says)
			}
		})
	}
}

// A sign-in is over where the provider says so of it. A provider that refuses for other
// reasons, and what stands before it, ends none.
func TestOnlyTheProvidersWordEndsASignIn(t *testing.T) {
	t.Parallel()
	fails := logintest.Fails
	for name, c := range map[string]struct {
		none        bool // it gave no refresh token
		token, user logintest.Answer
		ended       bool
	}{
		"invalid_grant":                  {token: fails(http.StatusBadRequest, "invalid_grant"), ended: true},
		"invalid_grant, with status 200": {token: fails(http.StatusOK, "invalid_grant"), ended: true},
		"invalid_client":                 {token: fails(http.StatusUnauthorized, "invalid_client")},
		"unauthorized_client":            {token: fails(http.StatusBadRequest, "unauthorized_client")},
		"invalid_request":                {token: fails(http.StatusBadRequest, "invalid_request")},
		"a firewall's":                   {token: fails(http.StatusForbidden, "")},
		"not found":                      {token: fails(http.StatusNotFound, "")},
		"too many":                       {token: fails(http.StatusTooManyRequests, "slow_down")},
		"its own fault":                  {token: fails(http.StatusBadGateway, "")},
		"nothing about the person":       {user: fails(http.StatusForbidden, "")},
		"a fresh token is refused":       {user: fails(http.StatusUnauthorized, "invalid_token")},
		"the only token is over":         {none: true, user: fails(http.StatusUnauthorized, "invalid_token"), ended: true},
		"the only token, a firewall's":   {none: true, user: fails(http.StatusForbidden, "")},
		"somebody else":                  {user: logintest.Tells("eve", "sre"), ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := logintest.New(t)
			p.User = logintest.Tells("ada", "sre")
			s, err := signIn(t, p, nil, !c.none)
			if err != nil {
				t.Fatal(err)
			}
			if p.Token = c.token; c.token == nil {
				p.Token = p.Gives("ada", nil)
			}
			if c.user != nil {
				p.User = c.user
			}
			if _, err := s.Read(t.Context()); err == nil || errors.Is(err, ErrEnded) != c.ended {
				t.Errorf("ended %v: %v", c.ended, err)
			}
			if !slices.Equal(s.Groups(), []string{"sre"}) {
				t.Errorf("the groups of before: %v", s.Groups())
			}
		})
	}
}

// Groups are read again by the person's refresh token. A token of somebody else's ends
// the sign-in.
func TestGroupsAreReadAgainForTheSamePersonAlone(t *testing.T) {
	t.Parallel()
	p := logintest.New(t)
	p.User = logintest.Tells("ada", "sre")
	s, err := signIn(t, p, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	p.User = logintest.Tells("ada", "ops")
	p.Token = func(r *http.Request) (int, map[string]any) {
		if r.PostForm.Get("grant_type") != "refresh_token" || r.PostForm.Get("refresh_token") != "ada" {
			return http.StatusBadRequest, map[string]any{"error": "invalid_grant"}
		}
		return p.Gives("ada", nil)(r)
	}
	if groups, err := s.Read(t.Context()); err != nil || !slices.Equal(groups, []string{"ops"}) {
		t.Errorf("%v, %v", groups, err)
	}
	p.Token, p.User = p.Gives("eve", nil), logintest.Tells("eve", "leads")
	if _, err := s.Read(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("somebody else's token: %v", err)
	}
	if got := s.Groups(); !slices.Equal(got, []string{"ops"}) {
		t.Errorf("groups: %v", got)
	}
}

// What browsers keep counts in them alone, for ten minutes, and in the process that made
// it. However many sign-ins are begun, each can be finished.
func TestASignInIsFinishedWhereItWasBegun(t *testing.T) {
	t.Parallel()
	p := logintest.New(t)
	here := at(p)
	begin := func(at *Provider) (to, kept string) {
		t.Helper()
		to, kept, err := at.Begin(t.Context(), "/people")
		if err != nil {
			t.Fatal(err)
		}
		return to, kept
	}
	to, kept := begin(here)
	_, elsewhere := begin(at(p))
	var other string
	for range 5000 {
		_, other = begin(here)
	}
	b, ok := here.unseal(kept)
	b.Until = time.Now().Add(-time.Second)
	late, err := here.seal(b)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	answer, nonce := logintest.Back(t, to)
	p.User, p.Token = logintest.Tells("ada"), p.Gives("ada", map[string]any{"nonce": nonce})
	for name, c := range map[string]struct{ kept, says string }{
		"another's":         {other, "another browser"},
		"another process's": {elsewhere, "not begun in this browser"},
		"none":              {"", "not begun in this browser"},
		"not whole":         {kept[:len(kept)-2], "not begun in this browser"},
		"too late":          {late, "too long ago"},
	} {
		if _, _, err := here.Finish(t.Context(), answer, c.kept); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := here.Finish(t.Context(), url.Values{"code": {"c"}}, kept); err == nil {
		t.Error("an answer without a state")
	}
	if _, path, err := here.Finish(t.Context(), answer, kept); err != nil || path != "/people" {
		t.Errorf("%q, %v", path, err)
	}
	if _, quoted, err := here.Begin(t.Context(), "/"+strings.Repeat("&", 1999)); err != nil || len(quoted) > 3500 {
		t.Errorf("the browser is to keep %d bytes, %v", len(quoted), err)
	}
	if _, long, err := here.Begin(t.Context(), "/"+strings.Repeat("a", 1<<20)); err != nil || len(long) > 3500 {
		t.Errorf("a cookie of %d bytes, %v", len(long), err)
	}
}
