package upstream_test

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

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/store/audit"
)

const realKey = "sk-real-0123456789"

// withKey holds a key for a server.
func withKey(origin string, s credential.Spec) proxytest.Option {
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
	s.Origins, s.Placeholder, s.Timeout, s.For = []string{upstream.Origin(u)}, "held-by-holdgate", proxytest.Patience, time.Minute
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

func TestAHeldCredentialIsPutInForWhoIsProven(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	var logged bytes.Buffer
	g := proxytest.NewTo(t, map[string]string{"test": server.URL}, nil, proxytest.WithAnnAndBob(t), withKey(server.URL, credential.Spec{Agents: []string{"ann"}}),
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
		{"proven, placeholder", proxytest.AnnsToken, []string{"X-Api-Key", "held-by-holdgate"}, 200, realKey, ""},
		{"proven, nothing", proxytest.AnnsToken, nil, 200, realKey, ""},
		{"proven, another header", proxytest.AnnsToken, []string{"Authorization", "Bearer held-by-holdgate"}, 200, realKey, ""},
		{"proven, a key of its own", proxytest.AnnsToken, []string{"X-Api-Key", "sk-own"}, 200, realKey, ""},
		{"not for this agent", proxytest.BobsToken, []string{"X-Api-Key", "held-by-holdgate"}, 401, "", "credentials.test-key.agents"},
		{"not for this agent, nothing", proxytest.BobsToken, nil, 200, "", ""},
		{"unproven", "", []string{"X-Api-Key", "held-by-holdgate"}, 401, "", "holdgate run"},
		{"unproven, as bearer", "", []string{"Authorization", "Bearer held-by-holdgate"}, 401, "", "test-key"},
		{"unproven, nothing", "", nil, 200, "", ""},
		{"unproven, a key of its own", "", []string{"X-Api-Key", "sk-own"}, 200, "sk-own", ""},
	} {
		for road, at := range map[string]string{"base URL": g.URL + "/up/test", "proxy": server.URL} {
			before := len(up.All())
			status, text := g.AskAs(tt.token, at+"/x", tt.header...)
			reached := strings.Join(up.All()[before:], "")
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
	for _, e := range g.Entries("") {
		text, err := json.Marshal(e)
		proxytest.Must(t, err)
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
	up := &proxytest.Recorder{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	g := proxytest.NewTo(t, map[string]string{"test": server.URL}, nil, proxytest.WithAnnAndBob(t), withKey(server.URL, credential.Spec{}))
	for _, tt := range []struct {
		name, token string
		has         bool
	}{{"one agent", proxytest.AnnsToken, true}, {"another", proxytest.BobsToken, true}, {"nobody known", "", false}} {
		before := len(up.All())
		g.AskAs(tt.token, g.URL+"/up/test/x")
		if has := strings.Contains(strings.Join(up.All()[before:], ""), realKey); has != tt.has {
			t.Errorf("%s: the key was put in: %v", tt.name, has)
		}
	}
}

// TRACE has a server send back what it was sent (RFC 9110 section 9.3.8), and
// TRACK is what some call it.
func TestAHeldCredentialIsNotSentBack(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	g := proxytest.NewTo(t, map[string]string{"test": server.URL}, nil, proxytest.WithAnnAndBob(t), withKey(server.URL, credential.Spec{}))
	for _, method := range []string{"TRACE", "TRACK", "trace"} {
		r, err := http.NewRequest(method, g.URL+"/up/test/x", nil)
		proxytest.Must(t, err)
		r.Header.Set(caller.TokenHeader, proxytest.AnnsToken)
		resp, err := g.Client.Do(r)
		proxytest.Must(t, err)
		resp.Body.Close()
		if reached := up.All(); resp.StatusCode != http.StatusForbidden || len(reached) > 0 {
			t.Errorf("%s: got %d, and the upstream %q", method, resp.StatusCode, reached)
		}
	}
}

// A placeholder reaches no upstream: where the credential is not put in, the
// request is refused.
func TestAPlaceholderDoesNotLeave(t *testing.T) {
	t.Parallel()
	at, elsewhere := &proxytest.Recorder{}, &proxytest.Recorder{}
	server, other := httptest.NewServer(at), httptest.NewServer(elsewhere)
	t.Cleanup(server.Close)
	t.Cleanup(other.Close)
	g := proxytest.NewTo(t, map[string]string{"test": server.URL, "other": other.URL}, nil, proxytest.WithAnnAndBob(t), withKey(server.URL, credential.Spec{}))
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
		before := len(elsewhere.All())
		status, text := g.AskAs(proxytest.AnnsToken, g.URL+tt.path, append(tt.header, "Holdgate-Token", proxytest.AnnsToken)...)
		if status != tt.status || status != http.StatusOK && !strings.Contains(text, "held-by-holdgate") {
			t.Errorf("%s: got %d %s, want %d", tt.name, status, text, tt.status)
		}
		if reached := elsewhere.All()[before:]; tt.status != http.StatusOK && len(reached) > 0 {
			t.Errorf("%s: the upstream got %q", tt.name, reached)
		}
	}
}

// TestAHeldCredentialGoesNowhereElse follows a redirect, and asks other ports.
func TestAHeldCredentialGoesNowhereElse(t *testing.T) {
	t.Parallel()
	elsewhere := &proxytest.Recorder{}
	other := httptest.NewServer(elsewhere)
	t.Cleanup(other.Close)
	seen := &proxytest.Recorder{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.ServeHTTP(httptest.NewRecorder(), r)
		http.Redirect(w, r, other.URL+"/stolen", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	g := proxytest.NewTo(t, map[string]string{"test": server.URL, "other": other.URL}, nil, proxytest.WithAnnAndBob(t), withKey(server.URL, credential.Spec{}))
	for _, at := range []string{server.URL + "/x", g.URL + "/up/other/x", other.URL + "/x"} {
		if status, text := g.AskAs(proxytest.AnnsToken, at, "Holdgate-Token", proxytest.AnnsToken); status != http.StatusOK && status != http.StatusTemporaryRedirect {
			t.Fatalf("%s: %d %s", at, status, text)
		}
	}
	if all := strings.Join(seen.All(), ""); !strings.Contains(all, realKey) {
		t.Fatalf("the control: the key did not reach its own server: %q", all)
	}
	all := elsewhere.All()
	if len(all) != 3 {
		t.Fatalf("%d requests reached the other server, want 3: %q", len(all), all)
	}
	if strings.Contains(strings.Join(all, ""), realKey) {
		t.Errorf("the key reached another server: %q", all)
	}
}

func TestPolicyKnowsThatACredentialWillBeUsed(t *testing.T) {
	t.Parallel()
	up := &proxytest.Recorder{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	policy := "package holdgate\n\nimport rego.v1\n\ndefault decision := {\"action\": \"allow\", \"rule\": \"test.allow\"}\n\n" +
		"decision := {\"action\": \"deny\", \"rule\": \"test.key\", \"reason\": input.credential} if input.credential == \"test-key\"\n"
	g := proxytest.NewTo(t, map[string]string{"test": server.URL}, map[string]string{"tools": server.URL + "/mcp"}, proxytest.WithAnnAndBob(t), withKey(server.URL, credential.Spec{}), proxytest.WithPolicy(t, policy))
	post := func(token, path, body string) string {
		r, err := http.NewRequest(http.MethodPost, g.URL+path, strings.NewReader(body))
		proxytest.Must(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if token != "" {
			r.Header.Set(caller.TokenHeader, token)
		}
		resp, err := http.DefaultClient.Do(r)
		proxytest.Must(t, err)
		defer resp.Body.Close()
		return proxytest.ReadAll(t, resp.Body)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{}}}`
	for path, body := range map[string]string{"/up/test/v1/messages": proxytest.AskPlain, "/up/test/thing": "x", "/mcp/tools": call} {
		if text := post(proxytest.AnnsToken, path, body); !strings.Contains(text, "test-key") {
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
	proxytest.Must(t, os.WriteFile(open, []byte(realKey), 0o600))
	proxytest.Must(t, os.Chmod(open, 0o644)) //nolint:gosec // what the test is about
	proxytest.Must(t, os.WriteFile(empty, nil, 0o600))
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
			up := &proxytest.Recorder{}
			server := httptest.NewServer(up)
			t.Cleanup(server.Close)
			g := proxytest.NewTo(t, map[string]string{"test": server.URL}, nil, proxytest.WithAnnAndBob(t), withKey(server.URL, tt.spec))
			status, text := g.AskAs(proxytest.AnnsToken, g.URL+"/up/test/x")
			if status != http.StatusBadGateway || !strings.Contains(text, tt.says) || !strings.Contains(text, "test-key") || strings.Contains(text, realKey) {
				t.Errorf("got %d %s", status, text)
			}
			if len(up.All()) > 0 {
				t.Error("the request went without it")
			}
			for _, e := range g.Entries(audit.TypeRefused) {
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
	up := &proxytest.Recorder{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	g := proxytest.NewTo(t, map[string]string{"test": server.URL}, nil, proxytest.WithAnnAndBob(t),
		withKey(server.URL, credential.Spec{Header: "Authorization", Form: credential.Basic, Command: []string{"sh", "-c", "echo x >>" + count + "; echo user:" + realKey}}))
	for range 3 {
		if status, text := g.AskAs(proxytest.AnnsToken, g.URL+"/up/test/x"); status != http.StatusOK {
			t.Fatalf("got %d %s", status, text)
		}
	}
	for _, head := range up.All() {
		if !strings.Contains(head, "Authorization: "+proxytest.Basic("user", realKey)) {
			t.Errorf("the upstream got %q", head)
		}
	}
	f, err := os.Open(count)
	proxytest.Must(t, err)
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || len(b) != 2 {
		t.Errorf("the command ran %d times (%v), want once", len(b)/2, err)
	}
}
