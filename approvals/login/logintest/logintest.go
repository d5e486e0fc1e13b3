// Package logintest is an OpenID Connect provider for tests: it speaks the protocol, and
// answers as a test says.
package logintest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// ClientID is the client that the provider knows.
const ClientID = "holdgate"

const keyID = "k"

// An Answer is what the provider says to one request, whose form is parsed.
type Answer func(r *http.Request) (status int, body map[string]any)

// A Provider answers at the token endpoint and about a person as a test says, until it
// says otherwise. It is set while nobody asks.
type Provider struct {
	*httptest.Server
	Token, User Answer

	key *ecdsa.PrivateKey
}

// New starts a provider, which ends with the test.
func New(t *testing.T) *Provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{key: key}
	keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: keyID, Algorithm: oidc.ES256}}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		status := http.StatusOK
		var body map[string]any
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			body = map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token", "userinfo_endpoint": p.URL + "/user",
				"jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{oidc.ES256}}
		case "/token":
			status, body = p.Token(r)
		case "/user":
			status, body = p.User(r)
		default:
			keys.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(p.Close)
	return p
}

// Gives answers a code and a refresh token with tokens of a person, whose name is also
// the refresh token's.
func (p *Provider) Gives(person string, claims map[string]any) Answer {
	return func(*http.Request) (int, map[string]any) {
		all := map[string]any{"iss": p.URL, "aud": ClientID, "sub": person, "exp": time.Now().Add(time.Hour).Unix(), "email": person + "@example.com"}
		maps.Copy(all, claims)
		raw, _ := json.Marshal(all)
		return http.StatusOK, map[string]any{"access_token": person, "token_type": "Bearer", "refresh_token": person, "id_token": oidctest.SignIDToken(p.key, keyID, oidc.ES256, string(raw))}
	}
}

// Tells answers about a person with their groups.
func Tells(person string, groups ...string) Answer {
	return func(*http.Request) (int, map[string]any) {
		return http.StatusOK, map[string]any{"sub": person, "groups": groups}
	}
}

// Fails answers with an error code.
func Fails(status int, code string) Answer {
	return func(*http.Request) (int, map[string]any) { return status, map[string]any{"error": code} }
}

// Back is what the provider sends a browser back with that was led to an address, and the
// nonce that is for it.
func Back(t *testing.T, to string) (answer url.Values, nonce string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return url.Values{"state": {u.Query().Get("state")}, "code": {"c"}}, u.Query().Get("nonce")
}
