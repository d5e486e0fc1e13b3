package proxy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/identity"
	"github.com/holdgate/holdgate/store/audit"
)

// credentialPlaces are requests that show whose they are, in each way that a
// client can.
func credentialPlaces(base, up string) map[string]func() (*http.Request, *http.Client) {
	direct := func(url string, header ...string) func() (*http.Request, *http.Client) {
		return func() (*http.Request, *http.Client) {
			r, _ := http.NewRequest(http.MethodGet, url, nil)
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			return r, http.DefaultClient
		}
	}
	proxied := func(proxy string, header ...string) func() (*http.Request, *http.Client) {
		return func() (*http.Request, *http.Client) {
			r, _ := direct(up+"/thing", header...)()
			u, _ := url.Parse(proxy)
			return r, &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u), DisableKeepAlives: true}}
		}
	}
	host := strings.TrimPrefix(base, "http://")
	return map[string]func() (*http.Request, *http.Client){
		"proxy user":          proxied("http://ann:" + proxytest.AnnsToken + "@" + host),
		"proxy bearer":        proxied(base, "Proxy-Authorization", "Bearer "+proxytest.AnnsToken),
		"header":              direct(base+"/up/test/thing", "Holdgate-Token", proxytest.AnnsToken),
		"header by proxy":     proxied(base, "Holdgate-Token", proxytest.AnnsToken),
		"path":                direct(base + "/as/" + proxytest.AnnsToken + "/up/test/thing"),
		"in the place of key": direct(base+"/up/test/thing", "X-Api-Key", proxytest.AnnsToken),
		"as bearer of a key":  direct(base+"/up/test/thing", "Authorization", "Bearer "+proxytest.AnnsToken),
		"two that agree":      direct(base+"/as/"+proxytest.AnnsToken+"/up/test/thing", "X-Api-Key", proxytest.AnnsToken),
	}
}

func TestACredentialProvesWhoAsks(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	g := proxytest.New(t, up, proxytest.WithAnnAndBob(t), proxytest.WithPolicy(t, proxytest.ProvenPolicy))
	for name, make := range credentialPlaces(g.URL, g.Config.Upstreams["test"].String()) {
		t.Run(name, func(t *testing.T) {
			before := len(up.All())
			r, client := make()
			resp, err := client.Do(r)
			proxytest.Must(t, err)
			text := proxytest.ReadAll(t, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("got %d %s, want 200", resp.StatusCode, text)
			}
			reached := up.All()
			if len(reached) != before+1 || strings.Contains(reached[before], "hgt_") || strings.Contains(reached[before], "Proxy-Auth") ||
				strings.Contains(reached[before], base64.StdEncoding.EncodeToString([]byte("ann:"))) {
				t.Errorf("the credential reached the upstream: %q", reached[before:])
			}
			decided := g.Entries(audit.TypeDecision)
			if last := decided[len(decided)-1]; last.Call.Agent != "ann" || !last.Call.Proven {
				t.Errorf("the log says %+v asked, want ann, proven", last.Call)
			}
		})
	}
	for _, e := range g.Entries("") {
		text, err := json.Marshal(e)
		proxytest.Must(t, err)
		if strings.Contains(string(text), proxytest.AnnsToken) {
			t.Errorf("the log holds the token: %s", text)
		}
	}
}

// A cluster's Service has a name that nobody has told the door. Web pages can make any
// name lead here, and know no token.
func TestAnyNameOfTheDoorWillDoWithACredential(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	g := proxytest.New(t, up, proxytest.WithAnnAndBob(t), proxytest.WithPolicy(t, strings.Replace(proxytest.ProvenPolicy, `"deny"`, `"allow"`, 1)))
	for _, c := range []struct {
		path   string
		header []string
		status int
	}{
		{"/as/" + proxytest.AnnsToken + "/up/test/x", nil, 200},
		{"/up/test/x", []string{"Holdgate-Token", proxytest.AnnsToken}, 200},
		{"/up/test/x", []string{"X-Api-Key", proxytest.AnnsToken}, 200},
		{"/up/test/x", nil, 403},
		{"/up/test/x", []string{"X-Api-Key", "sk-of-a-provider"}, 403},
		{"/up/test/x", []string{"Holdgate-Token", "hgt_" + strings.Repeat("0", 43)}, 401},
		{"/as/" + proxytest.AnnsToken + "/up/test/x", []string{"Origin", "http://evil.example"}, 403},
		{"/as/" + proxytest.AnnsToken + "/up/test/x", []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		r, err := http.NewRequest(http.MethodGet, g.URL+c.path, nil)
		proxytest.Must(t, err)
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Set(c.header[i], c.header[i+1])
		}
		r.Host = "holdgate.agents.svc:7300"
		resp, err := http.DefaultClient.Do(r)
		proxytest.Must(t, err)
		text := proxytest.ReadAll(t, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s %q: got %d %s, want %d", c.path, c.header, resp.StatusCode, text, c.status)
		}
	}
}

func TestACredentialThatIsNotKnownRefuses(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	g := proxytest.New(t, up, proxytest.WithAnnAndBob(t), proxytest.WithPolicy(t, strings.Replace(proxytest.ProvenPolicy, `"deny"`, `"allow"`, 1)))
	strange := "hgt_" + strings.Repeat("c3", 32)
	u := g.Config.Upstreams["test"].String()
	for _, tt := range []struct {
		name, url string
		header    []string
		status    int
	}{
		{"header", g.URL + "/up/test/x", []string{"Holdgate-Token", strange}, 401},
		{"empty header", g.URL + "/up/test/x", []string{"Holdgate-Token", ""}, 401},
		{"path", g.URL + "/as/" + strange + "/up/test/x", nil, 401},
		{"path without a token", g.URL + "/as//up/test/x", nil, 401},
		{"key", g.URL + "/up/test/x", []string{"X-Api-Key", strange}, 401},
		{"two agents", g.URL + "/as/" + proxytest.AnnsToken + "/up/test/x", []string{"Holdgate-Token", proxytest.BobsToken}, 401},
		{"proxy", u + "/x", []string{"Proxy-Authorization", proxytest.Basic("ann", strange)}, 407},
		{"another's name", u + "/x", []string{"Proxy-Authorization", proxytest.Basic("bob", proxytest.AnnsToken)}, 407},
		{"two tokens", g.URL + "/up/test/x", []string{"Holdgate-Token", proxytest.AnnsToken, "Holdgate-Token", proxytest.BobsToken}, 401},
		{"one token twice", g.URL + "/up/test/x", []string{"Holdgate-Token", proxytest.AnnsToken, "Holdgate-Token", proxytest.AnnsToken}, 401},
		{"two for the proxy", u + "/x", []string{"Proxy-Authorization", proxytest.Basic("ann", proxytest.AnnsToken), "Proxy-Authorization", proxytest.Basic("bob", proxytest.BobsToken)}, 407},
		{"unreadable", u + "/x", []string{"Proxy-Authorization", "Digest x"}, 407},
		{"nobody", g.URL + "/up/test/x", nil, 200}, // the control
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(up.All())
			r, err := http.NewRequest(http.MethodGet, tt.url, nil)
			proxytest.Must(t, err)
			for i := 0; i < len(tt.header); i += 2 {
				r.Header.Add(tt.header[i], tt.header[i+1])
			}
			client := http.DefaultClient
			if strings.HasPrefix(tt.url, u) {
				client = &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxytest.ParseURL(t, g.URL)), DisableKeepAlives: true}}
			}
			resp, err := client.Do(r)
			proxytest.Must(t, err)
			defer resp.Body.Close()
			text := proxytest.ReadAll(t, resp.Body)
			if resp.StatusCode != tt.status || strings.Contains(text, strange) {
				t.Errorf("got %d %s, want %d without the token", resp.StatusCode, text, tt.status)
			}
			if reached := len(up.All()) - before; (reached > 0) != (tt.status == 200) {
				t.Errorf("%d requests reached the upstream", reached)
			}
		})
	}
}

// A token in a place where none is looked for is the agent's slip, which must not
// give it away.
func TestATokenInAnotherPlaceGoesNowhere(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	g := proxytest.New(t, up, proxytest.WithAnnAndBob(t), proxytest.WithPolicy(t, strings.Replace(proxytest.ProvenPolicy, `"deny"`, `"allow"`, 1)))
	at, u := g.URL+"/up/test/x", g.Config.Upstreams["test"].String()
	for name, ask := range map[string]struct {
		url    string
		header []string
	}{
		"query":               {at + "?key=" + proxytest.AnnsToken, nil},
		"query, escaped":      {at + "?key=hgt%5F" + strings.TrimPrefix(proxytest.AnnsToken, "hgt_"), nil},
		"path":                {at + "/" + proxytest.AnnsToken, nil},
		"path of another's":   {u + "/as/" + proxytest.AnnsToken + "/x", nil},
		"path of no door":     {g.URL + "//as/" + proxytest.AnnsToken + "/up/test/x", nil},
		"escaped as":          {g.URL + "/%61s/" + proxytest.AnnsToken + "/up/test/x", nil},
		"basic":               {at, []string{"Authorization", proxytest.Basic("ann", proxytest.AnnsToken)}},
		"basic, as user":      {at, []string{"Authorization", proxytest.Basic(proxytest.AnnsToken, "")}},
		"cookie":              {at, []string{"Cookie", "k=" + proxytest.AnnsToken}},
		"another header":      {at, []string{"X-Auth-Token", proxytest.AnnsToken}},
		"in another scheme":   {at, []string{"Authorization", "Token " + proxytest.AnnsToken}},
		"besides one that is": {at, []string{"Holdgate-Token", proxytest.AnnsToken, "X-Auth-Token", proxytest.AnnsToken}},
	} {
		if status, text := g.AskAs("", ask.url, ask.header...); status != 401 && status != 407 || strings.Contains(text, "hgt_") {
			t.Errorf("%s: got %d %s, want 401 without the token", name, status, text)
		}
	}
	if status, text := g.AskAs("", at, "Authorization", "bearer "+proxytest.AnnsToken); status != 200 { // RFC 9110 section 11.1: in any case
		t.Errorf("bearer: got %d %s", status, text)
	}
	for _, reached := range up.All() {
		if strings.Contains(reached, proxytest.AnnsToken[4:]) || strings.Contains(reached, "Basic") {
			t.Errorf("the token reached the upstream: %q", reached)
		}
	}
	for _, e := range g.Entries("") {
		if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), proxytest.AnnsToken[4:]) {
			t.Errorf("the log holds the token: %s", text)
		}
	}
}

// TestAPathOfAnothersIsLeftAlone is about /as/... of upstreams, which is no token.
func TestAPathOfAnothersIsLeftAlone(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	g, secure := proxytest.NewTLS(t, up, proxytest.WithAnnAndBob(t), proxytest.WithPolicy(t, proxytest.ProvenPolicy))
	roots := x509.NewCertPool()
	roots.AddCert(g.CA.Leaf)
	client := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(proxytest.ParseURL(t, "http://ann:"+proxytest.AnnsToken+"@"+strings.TrimPrefix(g.URL, "http://"))), TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true,
	}}
	resp, err := client.Get(secure + "/as/token.oauth2/x")
	proxytest.Must(t, err)
	resp.Body.Close()
	if all := up.All(); resp.StatusCode != 200 || len(all) != 1 || !strings.HasPrefix(all[0], "/as/token.oauth2/x\n") {
		t.Errorf("got %d, and the upstream %q", resp.StatusCode, all)
	}
	escaped := "hgt_%61" + strings.TrimPrefix(proxytest.AnnsToken, "hgt_a")
	if status, text := g.AskAs("", g.URL+"/as/"+escaped+"/up/test/x"); status != 401 || strings.Contains(text, proxytest.AnnsToken) {
		t.Errorf("an escaped token got %d %s", status, text)
	}
	for _, e := range g.Entries(audit.TypeRefused) {
		if strings.Contains(e.Call.HTTP+e.Note, "hgt_") {
			t.Errorf("the log holds the token: %+v", e.Call)
		}
	}
}

func TestATunnelIsItsAgents(t *testing.T) {
	t.Parallel()
	seen := &proxytest.Recorder{}
	g, up := proxytest.NewTLS(t, seen, proxytest.WithAnnAndBob(t), proxytest.WithPolicy(t, proxytest.ProvenPolicy))
	roots := x509.NewCertPool()
	roots.AddCert(g.CA.Leaf)
	for user, want := range map[string]int{"ann:" + proxytest.AnnsToken + "@": 200, "": 403} {
		client := &http.Client{Transport: &http.Transport{
			Proxy:           http.ProxyURL(proxytest.ParseURL(t, "http://"+user+strings.TrimPrefix(g.URL, "http://"))),
			TLSClientConfig: &tls.Config{RootCAs: roots},
		}}
		resp, err := client.Get(up + "/inside")
		proxytest.Must(t, err)
		resp.Body.Close()
		client.CloseIdleConnections()
		if resp.StatusCode != want {
			t.Errorf("as %q: %d, want %d", user, resp.StatusCode, want)
		}
	}
	if all := seen.All(); len(all) != 1 || strings.Contains(all[0], "hgt_") {
		t.Errorf("the upstream got %q", all)
	}
}

// A tunnel that is open when its agent's token is taken back carries nothing more.
func TestATunnelEndsWithItsAgentsToken(t *testing.T) {
	t.Parallel()
	ann := identity.Agent{ID: "ann", Tokens: [][32]byte{identity.Hash(proxytest.AnnsToken)}}
	with, err := identity.New([]identity.Agent{ann}, nil)
	proxytest.Must(t, err)
	ann.Labels = map[string]string{"team": "a"}
	changed, err := identity.New([]identity.Agent{ann}, nil)
	proxytest.Must(t, err)
	without, err := identity.New([]identity.Agent{{ID: "bob", Tokens: [][32]byte{identity.Hash(proxytest.BobsToken)}}}, nil)
	proxytest.Must(t, err)
	var book atomic.Pointer[identity.Book]
	book.Store(with)
	g, up := proxytest.NewTLS(t, &proxytest.Recorder{}, func(c *proxy.Config) { c.Agents = book.Load }, proxytest.WithPolicy(t, proxytest.ProvenPolicy))
	roots := x509.NewCertPool()
	roots.AddCert(g.CA.Leaf)
	tunnels := 0
	client := &http.Client{Transport: &http.Transport{
		Proxy:           http.ProxyURL(proxytest.ParseURL(t, "http://ann:"+proxytest.AnnsToken+"@"+strings.TrimPrefix(g.URL, "http://"))),
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			tunnels++
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	}}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		book *identity.Book
		want int
	}{{with, 200}, {changed, 200}, {without, 401}} {
		book.Store(c.book)
		resp, err := client.Get(up + "/inside")
		proxytest.Must(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%d, want %d", resp.StatusCode, c.want)
		}
	}
	if tunnels != 1 {
		t.Errorf("%d tunnels, want one", tunnels)
	}
}

// TestWhatPeopleApprovedIsOfWhoProvedIt has one agent's approval be of no use to
// another that asks the same, and to one that proves nothing.
func TestWhatPeopleApprovedIsOfWhoProvedIt(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	g := proxytest.New(t, up, proxytest.WithAnnAndBob(t))
	ask := func(ctx context.Context, token string) (int, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/up/test/gated", nil)
		proxytest.Must(t, err)
		if token != "" {
			r.Header.Set("Holdgate-Token", token)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		return resp.StatusCode, nil
	}
	leave := func(token string) approvals.Request {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _, _ = ask(ctx, token) }()
		r := g.Pending(1)[0]
		cancel()
		<-done
		g.Noticed()
		return r
	}
	r := leave(proxytest.AnnsToken)
	if !r.Agent.Proven || r.Agent.ID != "ann" {
		t.Fatalf("asked by %+v, want ann, proven", r.Agent)
	}
	g.Decide(r, holdgate.AnswerApprove, "")
	for _, token := range []string{proxytest.BobsToken, ""} {
		other := leave(token)
		if other.ID == r.ID {
			t.Fatal("another agent has taken up ann's request")
		}
		g.Decide(other, holdgate.AnswerDeny, "no")
	}
	if n := len(up.All()); n > 0 {
		t.Fatalf("%d requests reached the upstream before ann came back", n)
	}
	if status, err := ask(t.Context(), proxytest.AnnsToken); err != nil || status != http.StatusOK {
		t.Errorf("ann came back and got %d, %v", status, err)
	}
}

// TestATokenOfAUserCountsFromThatUserAlone is about agents on a unix socket.
func TestATokenOfAUserCountsFromThatUserAlone(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	me, other := uint32(os.Getuid()), uint32(os.Getuid()+1)
	g := proxytest.New(t, up, proxytest.WithPolicy(t, proxytest.ProvenPolicy), proxytest.WithAgents(t,
		identity.Agent{ID: "ann", Tokens: [][32]byte{identity.Hash(proxytest.AnnsToken)}, UID: &me},
		identity.Agent{ID: "bob", Tokens: [][32]byte{identity.Hash(proxytest.BobsToken)}, UID: &other}))
	path := filepath.Join(sockettest.Folder(t), "a.sock")
	ln, err := net.Listen("unix", path)
	proxytest.Must(t, err)
	served := make(chan error, 1)
	go func() { served <- g.Server.Serve(ln) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		_ = ln.Close()
		proxytest.Must(t, <-served)
	})
	for _, tt := range []struct {
		name, url, token string
		client           *http.Client
		status           int
	}{
		{"the user, by the socket", "http://localhost", proxytest.AnnsToken, client, 200},
		{"the user, by TCP", g.URL, proxytest.AnnsToken, http.DefaultClient, 401},
		{"another user", "http://localhost", proxytest.BobsToken, client, 401},
		{"the socket alone", "http://localhost", "", client, 403},
	} {
		r, err := http.NewRequest(http.MethodGet, tt.url+"/up/test/x", nil)
		proxytest.Must(t, err)
		if tt.token != "" {
			r.Header.Set("Holdgate-Token", tt.token)
		}
		resp, err := tt.client.Do(r)
		proxytest.Must(t, err)
		resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%s: got %d, want %d", tt.name, resp.StatusCode, tt.status)
		}
	}
}

// TestAListenerIsOneAgents has two runs use one server, each by a listener.
func TestAListenerIsOneAgents(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	g := proxytest.New(t, up, proxytest.WithAnnAndBob(t), proxytest.WithPolicy(t, strings.Replace(proxytest.ProvenPolicy, "if input.agent.proven",
		"if {\n\tinput.agent.proven\n\tinput.agent.confinement == \"strong\"\n\tinput.session.cwd == concat(\"/\", [\"/work\", input.agent.id])\n}", 1)))
	for _, name := range []string{"one", "two"} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		proxytest.Must(t, err)
		served := make(chan error, 1)
		go func() {
			served <- g.Server.ServeRun(ln, holdgate.Agent{ID: name, Proven: true, Confinement: "strong"}, "/work/"+name)
		}()
		ask := func(token string) int {
			r, err := http.NewRequest(http.MethodGet, "http://"+ln.Addr().String()+"/up/test/x", nil)
			proxytest.Must(t, err)
			if token != "" {
				r.Header.Set("Holdgate-Token", token)
			}
			resp, err := http.DefaultClient.Do(r)
			proxytest.Must(t, err)
			resp.Body.Close()
			return resp.StatusCode
		}
		if got := ask(""); got != 200 {
			t.Errorf("%s got %d", name, got)
		}
		decided := g.Entries(audit.TypeDecision)
		if last := decided[len(decided)-1]; last.Call.Agent != name {
			t.Errorf("the log says %s, want %s", last.Call.Agent, name)
		}
		if got := ask(proxytest.AnnsToken); got != 401 {
			t.Errorf("%s passed for ann: %d", name, got)
		}
		http.DefaultClient.CloseIdleConnections()
		proxytest.Must(t, ln.Close())
		proxytest.Must(t, <-served)
	}
}

// TestASessionIsTheClientsOwn has clients name their session in each way that
// they do; one that names none is in the session default.
func TestASessionIsTheClientsOwn(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, proxytest.Answer(&proxytest.Counter{}, http.StatusOK, `{"id":"resp_1","object":"response","status":"completed","output":[]}`), proxytest.WithAnnAndBob(t))
	for _, tt := range []struct{ name, header, body, want string }{
		{"Claude Code", "X-Claude-Code-Session-Id", `{"model":"m","input":"a"}`, "s1"},
		{"Codex", "Session-Id", `{"model":"m","input":"a"}`, "s1"},
		{"older Codex", "session_id", `{"model":"m","input":"a"}`, "s1"},
		{"MCP", "Mcp-Session-Id", `{"model":"m","input":"a"}`, "s1"},
		{"a conversation", "", `{"model":"m","input":"a","conversation":"conv_1"}`, "conv_1"},
		{"a conversation's object", "", `{"model":"m","input":"a","conversation":{"id":"conv_2"}}`, "conv_2"},
		{"both", "Session-Id", `{"model":"m","input":"a","conversation":"conv_1"}`, "s1"},
		{"no conversation", "", `{"model":"m","input":"a","conversation":null}`, "default"},
		{"a strange one", "", `{"model":"m","input":"a","conversation":{"id":"a b"}}`, "default"},
		{"a number", "", `{"model":"m","input":"a","conversation":7}`, "default"},
		{"none", "", `{"model":"m","input":"a"}`, "default"},
	} {
		r, err := http.NewRequest(http.MethodPost, g.URL+"/up/test/v1/responses", strings.NewReader(tt.body))
		proxytest.Must(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(caller.TokenHeader, proxytest.AnnsToken)
		if tt.header != "" {
			r.Header.Set(tt.header, "s1")
		}
		resp, err := http.DefaultClient.Do(r)
		proxytest.Must(t, err)
		resp.Body.Close()
		decided := g.Entries(audit.TypeDecision)
		if len(decided) == 0 || decided[len(decided)-1].Call.Session != tt.want || decided[len(decided)-1].Call.Agent != "ann" {
			t.Errorf("%s: the log says %+v, want session %s", tt.name, decided, tt.want)
		}
	}
}

// TestANameAloneTakesNothingUp has an agent that proves its name not take up what
// was approved for one that only says it, and the other way round.
func TestANameAloneTakesNothingUp(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	g := proxytest.New(t, up)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	proxytest.Must(t, err)
	served := make(chan error, 1)
	go func() { served <- g.Server.ServeRun(ln, holdgate.Agent{ID: holdgate.AgentDefault, Proven: true}, "") }()
	t.Cleanup(func() { _ = ln.Close(); proxytest.Must(t, <-served) })
	ask := func(ctx context.Context, base string) (int, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/up/test/gated", nil)
		proxytest.Must(t, err)
		r.Close = true
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		return resp.StatusCode, nil
	}
	leave := func(base string) approvals.Request {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _, _ = ask(ctx, base) }()
		r := g.Pending(1)[0]
		cancel()
		<-done
		return r
	}
	proven := "http://" + ln.Addr().String()
	r := leave(g.URL)
	g.Noticed()
	g.Decide(r, holdgate.AnswerApprove, "")
	if other := leave(proven); other.ID == r.ID || !other.Agent.Proven {
		t.Fatalf("the proven agent has taken up %s", r.ID)
	}
	if n := len(up.All()); n > 0 {
		t.Errorf("%d requests reached the upstream", n)
	}
	if status, err := ask(t.Context(), g.URL); err != nil || status != http.StatusOK {
		t.Errorf("the control: the agent that was approved got %d, %v", status, err)
	}
}
