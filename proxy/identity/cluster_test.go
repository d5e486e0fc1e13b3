package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jwt"
)

const (
	issuer   = "https://cluster.example"
	audience = "holdgate"
)

// A cluster stands for a Kubernetes API server: it signs service accounts'
// tokens, serves its keys and reviews tokens.
type cluster struct {
	t       *testing.T
	private jwk.Key
	public  []byte // the key set
	reviews atomic.Int32
	*httptest.Server
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t}
	c.private, c.public = newKeys(t, "first")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openid/v1/jwks", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(c.public) })
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", c.review)
	c.Server = httptest.NewTLSServer(mux)
	t.Cleanup(c.Close)
	return c
}

func newKeys(t *testing.T, kid string) (private jwk.Key, set []byte) {
	t.Helper()
	raw, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	private, err = jwk.Import(raw)
	must(t, err)
	must(t, private.Set(jwk.KeyIDKey, kid))
	public, err := private.PublicKey()
	must(t, err)
	must(t, public.Set(jwk.AlgorithmKey, jwa.ES256()))
	s := jwk.NewSet()
	must(t, s.AddKey(public))
	set, err = json.Marshal(s)
	must(t, err)
	return private, set
}

// review answers as an API server does (TokenReview, authentication.k8s.io/v1).
func (c *cluster) review(w http.ResponseWriter, r *http.Request) {
	c.reviews.Add(1)
	var in struct {
		Kind string
		Spec struct {
			Token     string
			Audiences []string
		}
	}
	if r.Header.Get("Authorization") != "Bearer sidecar" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Kind != "TokenReview" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	status := map[string]any{"authenticated": false, "error": "token is not valid"}
	key, err := c.private.PublicKey()
	must(c.t, err)
	if t, err := jwt.ParseString(in.Spec.Token, jwt.WithKey(jwa.ES256(), key)); err == nil {
		sub, _ := t.Subject()
		for _, a := range audiencesOf(t) {
			if len(in.Spec.Audiences) == 1 && a == in.Spec.Audiences[0] {
				status = map[string]any{"authenticated": true, "audiences": []string{a}, "user": map[string]any{"username": sub}}
			}
		}
		if len(audiencesOf(t)) == 0 { // an API server that knows no audiences
			status = map[string]any{"authenticated": true, "user": map[string]any{"username": sub}}
		}
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status})
}

func audiencesOf(t jwt.Token) []string { a, _ := t.Audience(); return a }

// A claim is what a token says otherwise than a good one.
type claim struct {
	name  string
	value any // nil: it says nothing
}

func (c *cluster) token(t *testing.T, key jwk.Key, claims ...claim) string {
	t.Helper()
	b := jwt.NewBuilder().Issuer(issuer).Audience([]string{audience}).Subject("system:serviceaccount:ci:builder").
		IssuedAt(time.Now()).Expiration(time.Now().Add(10 * time.Minute))
	token, err := b.Build()
	must(t, err)
	for _, cl := range claims {
		if cl.value == nil {
			must(t, token.Remove(cl.name))
			continue
		}
		must(t, token.Set(cl.name, cl.value))
	}
	signed, err := jwt.Sign(token, jwt.WithKey(jwa.ES256(), key))
	must(t, err)
	return string(signed)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clusters are the two ways to verify, each with what it must say.
func clusters(t *testing.T, c *cluster) map[string]Cluster {
	dir := t.TempDir()
	own, keys := filepath.Join(dir, "token"), filepath.Join(dir, "jwks.json")
	must(t, os.WriteFile(own, []byte("sidecar\n"), 0o600))
	must(t, os.WriteFile(keys, c.public, 0o600))
	return map[string]Cluster{
		"reviewed":     NewReviewer(Reviewer{URL: c.URL, Audience: audience, TokenFile: own, Client: c.Client()}),
		"keys by URL":  &Issued{Issuer: issuer, Audience: audience, Keys: c.URL + "/openid/v1/jwks", Client: c.Client()},
		"keys in file": &Issued{Issuer: issuer, Audience: audience, Keys: keys},
	}
}

func TestServiceAccountsAreProvenByTheCluster(t *testing.T) {
	c := newCluster(t)
	other, _ := newKeys(t, "first") // by another key of the same name
	good := c.token(t, c.private)
	forged := strings.Split(good, ".")
	forged[0] = "eyJhbGciOiJub25lIn0" // {"alg":"none"}
	for name, verify := range clusters(t, c) {
		book, err := New([]Agent{{ID: "builder", ServiceAccounts: []string{"ci/builder"}}}, verify)
		must(t, err)
		for _, tt := range []struct {
			name, token, want string
			words             string
		}{
			{"good", good, "builder", ""},
			{"another account", c.token(t, c.private, claim{jwt.SubjectKey, "system:serviceaccount:ci:other"}), "", "ci/other"},
			{"a person", c.token(t, c.private, claim{jwt.SubjectKey, "jane"}), "", "no service account"},
			{"another audience", c.token(t, c.private, claim{jwt.AudienceKey, []string{"vault"}}), "", ""},
			{"no audience", c.token(t, c.private, claim{jwt.AudienceKey, nil}), "", "audience"},
			{"expired", c.token(t, c.private, claim{jwt.ExpirationKey, time.Now().Add(-time.Hour)}), "", ""},
			{"another key", c.token(t, other), "", ""},
			{"no signature", forged[0] + "." + forged[1] + ".", "", ""},
			{"nonsense", "a.b.c", "", ""},
		} {
			a, _, err := book.Find(t.Context(), Shown{Token: tt.token})
			if a.ID != tt.want || (err == nil) != (tt.want != "") || a.Proven != (tt.want != "") {
				t.Errorf("%s, %s: got %+v, %v", name, tt.name, a, err)
			}
			if err != nil && (strings.Contains(err.Error(), tt.token) || !strings.Contains(err.Error(), tt.words)) {
				t.Errorf("%s, %s: says %q", name, tt.name, err)
			}
		}
	}
}

func TestIssuedTokensMustEndAndBeOfTheIssuer(t *testing.T) {
	c := newCluster(t)
	v := clusters(t, c)["keys by URL"]
	for _, cl := range []claim{{jwt.IssuerKey, "https://elsewhere.example"}, {jwt.ExpirationKey, nil}, {jwt.NotBeforeKey, time.Now().Add(time.Hour)}} {
		if account, err := v.ServiceAccount(t.Context(), c.token(t, c.private, cl)); err == nil {
			t.Errorf("%s %v: taken as %s", cl.name, cl.value, account)
		}
	}
}

func TestKeysThatAreSharedAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jwks.json")
	must(t, os.WriteFile(path, []byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0","alg":"HS256","kid":"first"}]}`), 0o600))
	if _, err := (&Issued{Issuer: issuer, Audience: audience, Keys: path}).ServiceAccount(t.Context(), "a.b.c"); err == nil || !strings.Contains(err.Error(), "shared secret") {
		t.Errorf("got %v", err)
	}
}

func TestAReviewIsRememberedForAWhile(t *testing.T) {
	c := newCluster(t)
	v := clusters(t, c)["reviewed"]
	token := c.token(t, c.private)
	for range 3 {
		if _, err := v.ServiceAccount(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.reviews.Load(); n != 1 {
		t.Errorf("the cluster was asked %d times, want once", n)
	}
}

func TestNewKeysAreFetched(t *testing.T) {
	c := newCluster(t)
	v := &Issued{Issuer: issuer, Audience: audience, Keys: c.URL + "/openid/v1/jwks", Client: c.Client()}
	if _, err := v.ServiceAccount(t.Context(), c.token(t, c.private)); err != nil {
		t.Fatal(err)
	}
	c.private, c.public = newKeys(t, "second")
	if _, err := v.ServiceAccount(t.Context(), c.token(t, c.private)); err == nil {
		t.Error("keys were fetched anew at once: whoever shows nonsense could have them fetched for each request")
	}
	v.read = v.read.Add(-keysLeast)
	if _, err := v.ServiceAccount(t.Context(), c.token(t, c.private)); err != nil {
		t.Errorf("a token by the new key is refused: %v", err)
	}
}

func TestTokensAreToldFromKeys(t *testing.T) {
	if token := NewToken(); !IsToken(token) || IsToken("sk-ant-"+token) || IsToken(token+"x") {
		t.Errorf("%d characters are told wrongly", len(token))
	}
	if _, err := New([]Agent{{ID: "a", Tokens: [][32]byte{Hash("x")}}, {ID: "b", Tokens: [][32]byte{Hash("x")}}}, nil); err == nil {
		t.Error("two agents have one token")
	}
	if _, err := New([]Agent{{ID: "a", ServiceAccounts: []string{"n/a"}}}, nil); err == nil {
		t.Error("a service account without a cluster")
	}
}
