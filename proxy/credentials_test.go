package proxy_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/store/audit"
)

const realKey = "sk-real-0123456789"

// withKey holds a key for a server.
func withKey(origin string, s credential.Spec) gateOption {
	u, err := url.Parse(origin)
	if err != nil {
		panic(err)
	}
	if s.Name == "" {
		s.Name = "test-key"
	}
	if s.Header == "" {
		s.Header, s.Form = "X-Api-Key", credential.Plain
	}
	s.Origins, s.Placeholder, s.Timeout, s.For = []string{upstream.Origin(u)}, "held-by-holdgate", patience, time.Minute
	if s.File == "" && s.Command == nil {
		s.Value = realKey
	}
	return func(c *proxy.Config) {
		var all []*credential.Credential
		if c.Network.Credentials != nil {
			all = c.Network.Credentials()
		}
		all = append(all, &credential.Credential{Spec: s})
		c.Network.Credentials = func() []*credential.Credential { return all }
	}
}

// as asks in the name of an agent, with a header.
func (g *sidecar) as(token, url string, header ...string) (int, string) {
	g.t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	must(g.t, err)
	if token != "" {
		r.Header.Set(caller.TokenHeader, token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if !strings.HasPrefix(url, g.url) {
		client.Transport = &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyURL(parseURL(g.t, g.url)), ProxyConnectHeader: nil}
	}
	resp, err := client.Do(r)
	must(g.t, err)
	defer resp.Body.Close()
	return resp.StatusCode, readAll(g.t, resp.Body)
}

func TestAHeldCredentialIsPutInForWhoIsProven(t *testing.T) {
	t.Parallel()
	up := &asker{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	var logged bytes.Buffer
	g := newGateTo(t, map[string]string{"test": server.URL}, nil, annAndBob(t), withKey(server.URL, credential.Spec{Agents: []string{"ann"}}),
		func(c *proxy.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
	for _, tt := range []struct {
		name, token string
		header      []string
		status      int
		want        string // that reaches the upstream; empty: no key
		says        string
	}{
		{"proven, placeholder", annsToken, []string{"X-Api-Key", "held-by-holdgate"}, 200, realKey, ""},
		{"proven, nothing", annsToken, nil, 200, realKey, ""},
		{"proven, another header", annsToken, []string{"Authorization", "Bearer held-by-holdgate"}, 200, realKey, ""},
		{"proven, a key of its own", annsToken, []string{"X-Api-Key", "sk-own"}, 200, realKey, ""},
		{"not for this agent", bobsToken, []string{"X-Api-Key", "held-by-holdgate"}, 401, "", "credentials.test-key.agents"},
		{"not for this agent, nothing", bobsToken, nil, 200, "", ""},
		{"unproven", "", []string{"X-Api-Key", "held-by-holdgate"}, 401, "", "holdgate run"},
		{"unproven, as bearer", "", []string{"Authorization", "Bearer held-by-holdgate"}, 401, "", "test-key"},
		{"unproven, nothing", "", nil, 200, "", ""},
		{"unproven, a key of its own", "", []string{"X-Api-Key", "sk-own"}, 200, "sk-own", ""},
	} {
		for road, at := range map[string]string{"base URL": g.url + "/up/test", "proxy": server.URL} {
			before := len(up.all())
			status, text := g.as(tt.token, at+"/x", tt.header...)
			reached := strings.Join(up.all()[before:], "")
			if status != tt.status || !strings.Contains(text, tt.says) || strings.Contains(text, realKey) {
				t.Errorf("%s by %s: got %d %s", tt.name, road, status, text)
			}
			switch has := strings.Contains(reached, realKey); {
			case has != (tt.want == realKey), strings.Contains(reached, "held-by-holdgate"), tt.want == realKey && strings.Contains(reached, "Authorization"),
				tt.want == "sk-own" && !strings.Contains(reached, "sk-own"):
				t.Errorf("%s by %s: the upstream got %q", tt.name, road, reached)
			}
		}
	}
	if strings.Contains(logged.String(), realKey) {
		t.Error("the key is in the log")
	}
	noted := false
	for _, e := range g.entries("") {
		text, err := json.Marshal(e)
		must(t, err)
		if bytes.Contains(text, []byte(realKey)) {
			t.Errorf("the audit log holds the key: %s", text)
		}
		noted = noted || bytes.Contains(text, []byte("with the credential test-key"))
	}
	if !noted {
		t.Error("the audit log does not say that the credential was used")
	}
}

// A credential that names no agents is for all that have proven who they are.
func TestAHeldCredentialForAllIsForTheProven(t *testing.T) {
	t.Parallel()
	up := &asker{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	g := newGateTo(t, map[string]string{"test": server.URL}, nil, annAndBob(t), withKey(server.URL, credential.Spec{}))
	for _, tt := range []struct {
		name, token string
		has         bool
	}{{"one agent", annsToken, true}, {"another", bobsToken, true}, {"nobody known", "", false}} {
		before := len(up.all())
		g.as(tt.token, g.url+"/up/test/x")
		if has := strings.Contains(strings.Join(up.all()[before:], ""), realKey); has != tt.has {
			t.Errorf("%s: the key was put in: %v", tt.name, has)
		}
	}
}

// TRACE has a server send back what it was sent (RFC 9110 section 9.3.8), and
// TRACK is what some call it.
func TestAHeldCredentialIsNotSentBack(t *testing.T) {
	t.Parallel()
	up := &asker{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	g := newGateTo(t, map[string]string{"test": server.URL}, nil, annAndBob(t), withKey(server.URL, credential.Spec{}))
	for _, method := range []string{"TRACE", "TRACK", "trace"} {
		r, err := http.NewRequest(method, g.url+"/up/test/x", nil)
		must(t, err)
		r.Header.Set(caller.TokenHeader, annsToken)
		resp, err := g.client.Do(r)
		must(t, err)
		resp.Body.Close()
		if reached := up.all(); resp.StatusCode != http.StatusForbidden || len(reached) > 0 {
			t.Errorf("%s: got %d, and the upstream %q", method, resp.StatusCode, reached)
		}
	}
}

// A placeholder reaches no upstream: where the credential is not put in, the
// request is refused.
func TestAPlaceholderDoesNotLeave(t *testing.T) {
	t.Parallel()
	at, elsewhere := &asker{}, &asker{}
	server, other := httptest.NewServer(at), httptest.NewServer(elsewhere)
	t.Cleanup(server.Close)
	t.Cleanup(other.Close)
	g := newGateTo(t, map[string]string{"test": server.URL, "other": other.URL}, nil, annAndBob(t), withKey(server.URL, credential.Spec{}))
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:held-by-holdgate"))
	for _, tt := range []struct {
		name, path string
		header     []string
		status     int
	}{
		{"in the credential's header", "/up/other/x", []string{"X-Api-Key", "held-by-holdgate"}, http.StatusUnauthorized},
		{"as a bearer's", "/up/other/x", []string{"Authorization", "Bearer held-by-holdgate"}, http.StatusUnauthorized},
		{"behind another scheme", "/up/other/x", []string{"Authorization", "token held-by-holdgate"}, http.StatusUnauthorized},
		{"as a password", "/up/other/x", []string{"Authorization", basic}, http.StatusUnauthorized},
		{"in a header of the agent's own", "/up/other/x", []string{"X-My-Key", "held-by-holdgate"}, http.StatusUnauthorized},
		{"in the query", "/up/other/x?key=held-by-holdgate", nil, http.StatusUnauthorized},
		{"beside the credential that is put in", "/up/test/x", []string{"X-My-Key", "held-by-holdgate"}, http.StatusUnauthorized},
		{"in the query beside it", "/up/test/x?key=held-by-holdgate", nil, http.StatusUnauthorized},
		{"where it is replaced", "/up/test/x", []string{"Authorization", "Bearer held-by-holdgate"}, http.StatusOK},
		{"a longer word", "/up/other/x", []string{"X-Api-Key", "held-by-holdgate-and-more"}, http.StatusOK},
	} {
		before := len(elsewhere.all())
		status, text := g.as(annsToken, g.url+tt.path, append(tt.header, "Holdgate-Token", annsToken)...)
		if status != tt.status || status != http.StatusOK && !strings.Contains(text, "held-by-holdgate") {
			t.Errorf("%s: got %d %s, want %d", tt.name, status, text, tt.status)
		}
		if reached := elsewhere.all()[before:]; tt.status != http.StatusOK && len(reached) > 0 {
			t.Errorf("%s: the upstream got %q", tt.name, reached)
		}
	}
}

// TestAHeldCredentialGoesNowhereElse follows a redirect, and asks other ports.
func TestAHeldCredentialGoesNowhereElse(t *testing.T) {
	t.Parallel()
	elsewhere := &asker{}
	other := httptest.NewServer(elsewhere)
	t.Cleanup(other.Close)
	seen := &asker{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.ServeHTTP(httptest.NewRecorder(), r)
		http.Redirect(w, r, other.URL+"/stolen", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	g := newGateTo(t, map[string]string{"test": server.URL, "other": other.URL}, nil, annAndBob(t), withKey(server.URL, credential.Spec{}))
	for _, at := range []string{server.URL + "/x", g.url + "/up/other/x", other.URL + "/x"} {
		if status, text := g.as(annsToken, at, "Holdgate-Token", annsToken); status != http.StatusOK && status != http.StatusTemporaryRedirect {
			t.Fatalf("%s: %d %s", at, status, text)
		}
	}
	if all := strings.Join(seen.all(), ""); !strings.Contains(all, realKey) {
		t.Fatalf("the control: the key did not reach its own server: %q", all)
	}
	all := elsewhere.all()
	if len(all) != 3 {
		t.Fatalf("%d requests reached the other server, want 3: %q", len(all), all)
	}
	if strings.Contains(strings.Join(all, ""), realKey) {
		t.Errorf("the key reached another server: %q", all)
	}
}

func TestPolicyKnowsThatACredentialWillBeUsed(t *testing.T) {
	t.Parallel()
	up := &asker{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	policy := "package holdgate\n\nimport rego.v1\n\ndefault decision := {\"action\": \"allow\", \"rule\": \"test.allow\"}\n\n" +
		"decision := {\"action\": \"deny\", \"rule\": \"test.key\", \"reason\": input.credential} if input.credential == \"test-key\"\n"
	g := newGateTo(t, map[string]string{"test": server.URL}, map[string]string{"tools": server.URL + "/mcp"}, annAndBob(t), withKey(server.URL, credential.Spec{}), withPolicy(t, policy))
	post := func(token, path, body string) string {
		r, err := http.NewRequest(http.MethodPost, g.url+path, strings.NewReader(body))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if token != "" {
			r.Header.Set(caller.TokenHeader, token)
		}
		resp, err := http.DefaultClient.Do(r)
		must(t, err)
		defer resp.Body.Close()
		return readAll(t, resp.Body)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{}}}`
	for path, body := range map[string]string{"/up/test/v1/messages": askPlain, "/up/test/thing": "x", "/mcp/tools": call} {
		if text := post(annsToken, path, body); !strings.Contains(text, "test-key") {
			t.Errorf("%s: policy did not know: %s", path, text)
		}
		if text := post("", path, body); strings.Contains(text, "test-key") {
			t.Errorf("%s: policy was told of a credential that is not put in: %s", path, text)
		}
	}
}

func TestACredentialThatCannotBeHad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open, empty := filepath.Join(dir, "open"), filepath.Join(dir, "empty")
	must(t, os.WriteFile(open, []byte(realKey), 0o600))
	must(t, os.Chmod(open, 0o644)) //nolint:gosec // what the test is about
	must(t, os.WriteFile(empty, nil, 0o600))
	for name, tt := range map[string]struct {
		spec credential.Spec
		says string
	}{
		"open file":    {credential.Spec{File: open}, "chmod 600"},
		"empty file":   {credential.Spec{File: empty}, "it is empty"},
		"missing file": {credential.Spec{File: filepath.Join(dir, "none")}, "mode 0600"},
		"two lines":    {credential.Spec{Command: []string{"sh", "-c", "echo a; echo b"}}, "one line"},
		"fails":        {credential.Spec{Command: []string{"sh", "-c", "echo " + realKey + "; echo " + realKey + " >&2; exit 3"}}, "exit status 3"},
		"no program":   {credential.Spec{Command: []string{filepath.Join(dir, "none")}}, "no program"},
	} {
		t.Run(name, func(t *testing.T) {
			up := &asker{}
			server := httptest.NewServer(up)
			t.Cleanup(server.Close)
			g := newGateTo(t, map[string]string{"test": server.URL}, nil, annAndBob(t), withKey(server.URL, tt.spec))
			status, text := g.as(annsToken, g.url+"/up/test/x")
			if status != http.StatusBadGateway || !strings.Contains(text, tt.says) || !strings.Contains(text, "test-key") || strings.Contains(text, realKey) {
				t.Errorf("got %d %s", status, text)
			}
			if len(up.all()) > 0 {
				t.Error("the request went without it")
			}
			for _, e := range g.entries(audit.TypeRefused) {
				if strings.Contains(e.Note, realKey) {
					t.Errorf("the log holds it: %s", e.Note)
				}
			}
		})
	}
}

func TestACommandsCredentialIsAskedForOnce(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	up := &asker{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	g := newGateTo(t, map[string]string{"test": server.URL}, nil, annAndBob(t),
		withKey(server.URL, credential.Spec{Header: "Authorization", Form: credential.Basic, Command: []string{"sh", "-c", "echo x >>" + count + "; echo user:" + realKey}}))
	for range 3 {
		if status, text := g.as(annsToken, g.url+"/up/test/x"); status != http.StatusOK {
			t.Fatalf("got %d %s", status, text)
		}
	}
	for _, head := range up.all() {
		if !strings.Contains(head, "Authorization: "+basic("user", realKey)) {
			t.Errorf("the upstream got %q", head)
		}
	}
	f, err := os.Open(count)
	must(t, err)
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || len(b) != 2 {
		t.Errorf("the command ran %d times (%v), want once", len(b)/2, err)
	}
}
