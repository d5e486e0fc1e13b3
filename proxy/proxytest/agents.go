package proxytest

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/identity"
)

// AskAs asks in the name of an agent, with a header.
func (g *Sidecar) AskAs(token, url string, header ...string) (int, string) {
	g.T.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	Must(g.T, err)
	if token != "" {
		r.Header.Set(caller.TokenHeader, token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if !strings.HasPrefix(url, g.URL) {
		client.Transport = &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyURL(ParseURL(g.T, g.URL)), ProxyConnectHeader: nil}
	}
	resp, err := client.Do(r)
	Must(g.T, err)
	defer resp.Body.Close()
	return resp.StatusCode, ReadAll(g.T, resp.Body)
}

// Tokens as identity.NewToken makes them.
var (
	AnnsToken = "hgt_" + strings.Repeat("a1", 32)
	BobsToken = "hgt_" + strings.Repeat("b2", 32)
)

// ProvenPolicy denies what is not proven, and says in its reason who asked.
const ProvenPolicy = `package holdgate

import rego.v1

default decision := {"action": "deny", "rule": "test.unproven", "reason": "nobody is proven"}

decision := {"action": "allow", "rule": "test.proven"} if input.agent.proven
`

// WithAgents has these agents known by their tokens.
func WithAgents(t testing.TB, agents ...identity.Agent) Option {
	book, err := identity.New(agents, nil)
	Must(t, err)
	return func(c *proxy.Config) { c.Agents = func() *identity.Book { return book } }
}

// WithAnnAndBob has two agents known, who show [AnnsToken] and [BobsToken].
func WithAnnAndBob(t testing.TB) Option {
	return WithAgents(t,
		identity.Agent{ID: "ann", Labels: map[string]string{"team": "a"}, Tokens: [][32]byte{identity.Hash(AnnsToken)}},
		identity.Agent{ID: "bob", Tokens: [][32]byte{identity.Hash(BobsToken)}})
}

// A Recorder keeps what reached an upstream: the whole head and the path.
type Recorder struct{ Counter }

func (a *Recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var head strings.Builder
	_ = r.Header.Write(&head)
	a.Mu.Lock()
	a.Bodies = append(a.Bodies, r.URL.String()+"\n"+head.String())
	a.Mu.Unlock()
	_, _ = io.WriteString(w, "{}")
}

// Basic is a header of basic authentication.
func Basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
