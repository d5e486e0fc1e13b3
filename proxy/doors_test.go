package proxy_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
)

func TestAWebPageCannotUseTheOwnPaths(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{}`))
	tests := []struct {
		name    string
		host    string
		headers string
		ok      bool
	}{
		{"the door by address", g.Addr, "", true},
		{"the door by name", "localhost:" + g.Port(), "", true},
		{"the door by name in capitals, with the root's dot", "LOCALHOST.:" + g.Port(), "", true},
		{"the door by IPv6", "[::1]:" + g.Port(), "", true},
		{"a name that was bound to this address", "evil.example:" + g.Port(), "", false},
		{"another host's address", "1.1.1.1", "", false},
		{"no host", "", "", false},
		{"a page of the door's own", g.Addr, "Origin: http://" + g.Addr + "\r\n", true},
		{"a page of another site", g.Addr, "Origin: https://evil.example\r\n", false},
		{"a page of another port", g.Addr, "Origin: http://127.0.0.1:1\r\n", false},
		{"a page without an origin", g.Addr, "Origin: null\r\n", false},
		{"a browser's word on another site", g.Addr, "Sec-Fetch-Site: cross-site\r\n", false},
		{"a browser's word on the same site", g.Addr, "Sec-Fetch-Site: same-site\r\n", false},
		{"a browser's address bar", g.Addr, "Sec-Fetch-Site: none\r\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, refused := len(seen.All()), len(g.Refusals())
			resp, body := g.SendRaw("GET /up/test/x HTTP/1.1\r\nHost: " + tt.host + "\r\n" + tt.headers + "Connection: close\r\n\r\n")
			if tt.ok {
				if resp.StatusCode != 200 || len(seen.All()) != before+1 {
					t.Errorf("status %d: %s", resp.StatusCode, body)
				}
				return
			}
			if resp.StatusCode != 403 || len(seen.All()) != before || len(g.Refusals()) != refused+1 {
				t.Errorf("status %d, reached the upstream: %t, logged: %t", resp.StatusCode, len(seen.All()) != before, len(g.Refusals()) != refused)
			}
		})
	}
}

func TestAbsoluteFormToTheOwnAddress(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{}`))
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	g.Server.Own(other.Listener.Addr())
	otherPort := other.URL[strings.LastIndex(other.URL, ":"):]
	tests := []struct {
		name, url string
		status    int
	}{
		{"is served as if direct", "http://" + g.Addr + "/up/test/x", 200},
		{"is served as if direct by name", "http://localhost:" + g.Port() + "/up/test/x", 200},
		{"is served as if direct by the unspecified address", "http://0.0.0.0:" + g.Port() + "/up/test/x", 200},
		{"of the approvers' door is refused", other.URL + "/v1/approvals", 403},
		{"of the approvers' door by name is refused", "http://localhost" + otherPort + "/v1/approvals", 403},
		{"of the approvers' door by IPv6 is refused", "http://[::1]" + otherPort + "/v1/approvals", 403},
		{"of the approvers' door as a mapped address is refused", "http://[::ffff:127.0.0.1]" + otherPort + "/v1/approvals", 403},
		{"with a scheme of its own is refused", "ftp://example.com/x", 400},
		{"over TLS to the own address is refused", "https://" + g.Addr + "/up/test/x", 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host := strings.SplitN(strings.SplitN(tt.url, "//", 2)[1], "/", 2)[0]
			resp, body := g.SendRaw("GET " + tt.url + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
			if resp.StatusCode != tt.status {
				t.Errorf("status %d, want %d: %s", resp.StatusCode, tt.status, body)
			}
		})
	}
}

func TestAddressesThatTheConfigurationDoesNotNameAreRefused(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`))
	unnamed := httptest.NewServer(proxytest.Answer(&seen, 200, `{}`))
	defer unnamed.Close()
	port := unnamed.URL[strings.LastIndex(unnamed.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		t.Run("plain "+host, func(t *testing.T) {
			resp, err := g.Proxied().Get("http://" + host + port + "/secret")
			proxytest.Must(t, err)
			defer resp.Body.Close()
			var problem struct{ Title, Detail string }
			proxytest.Must(t, json.Unmarshal([]byte(proxytest.ReadAll(t, resp.Body)), &problem))
			if resp.StatusCode != 403 || !strings.Contains(problem.Detail, "refused") {
				t.Errorf("status %d: %+v", resp.StatusCode, problem)
			}
		})
	}
	for _, host := range []string{"169.254.169.254", "10.0.0.1", "192.168.0.1"} {
		t.Run("plain "+host, func(t *testing.T) {
			resp, err := g.Proxied().Get("http://" + host + "/latest/meta-data")
			proxytest.Must(t, err)
			defer resp.Body.Close()
			if resp.StatusCode != 403 {
				t.Errorf("status %d: %s", resp.StatusCode, proxytest.ReadAll(t, resp.Body))
			}
		})
	}
	t.Run("a model request", func(t *testing.T) {
		resp, err := g.Proxied().Post(unnamed.URL+"/v1/messages", "application/json", strings.NewReader(proxytest.AskPlain))
		proxytest.Must(t, err)
		defer resp.Body.Close()
		body := proxytest.ReadAll(t, resp.Body)
		if resp.StatusCode != 403 || !strings.Contains(body, `"type":"error"`) {
			t.Errorf("status %d: %s", resp.StatusCode, body)
		}
	})
	if n := len(seen.All()); n != 0 {
		t.Fatalf("an address that nobody named was reached %d times", n)
	}
	for _, rule := range g.Refusals() {
		if rule != holdgate.RuleAddress {
			t.Errorf("a refusal is logged under %s", rule)
		}
	}
	if n := len(g.Refusals()); n != 9 {
		t.Errorf("%d refusals are logged, want 9", n)
	}
	t.Run("but a named one passes through the proxy as well", func(t *testing.T) {
		resp, err := g.Proxied().Post(g.Config.Upstreams["test"].String()+"/v1/messages", "application/json", strings.NewReader(proxytest.AskPlain))
		proxytest.Must(t, err)
		defer resp.Body.Close()
		if resp.StatusCode != 200 || len(seen.All()) != 1 {
			t.Errorf("status %d: %s", resp.StatusCode, proxytest.ReadAll(t, resp.Body))
		}
	})
}

func TestUpJoinsPathsOnly(t *testing.T) {
	t.Parallel()
	var paths proxytest.Counter
	g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths.Mu.Lock()
		defer paths.Mu.Unlock()
		paths.Bodies = append(paths.Bodies, r.Host+" "+r.RequestURI)
	}))
	host := g.Config.Upstreams["test"].Host
	tests := []struct{ path, want string }{
		{"/up/test/v1/files?x=1", host + " /v1/files?x=1"},
		{"/up/test", host + " /"},
		{"/up/test/a%3Ab%20c", host + " /a%3Ab%20c"},
		{"/up/test/@evil.example/x", host + " /@evil.example/x"},
		{"/up/test//evil.example/x", ""},
		{"/up/test//openai/models?api-version=1", host + " /openai/models?api-version=1"},
		{"/up/test//openai//models", ""},
		{"/up/test/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123%3Ainference-profile%2Fus.amazon.nova-lite-v1%3A0/count-tokens", host + " /model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123%3Ainference-profile%2Fus.amazon.nova-lite-v1%3A0/count-tokens"},
		{"/up/test/model/arn%3Aaws%3Abedrock%2F..%2Fx/converse", ""},
		{"/up/test/model/arn%3Aaws%2F../converse", ""},
		{"/up/test/model/m%2Fx/converse", ""},
		{"/up/test/../x", ""},
		{"/up/test/%2e%2e/x", ""},
		{"/up/test/a%2fb", ""},
		{"/up/test/a\\b", ""},
		{"/up/nobody/x", ""},
		{"/up/", ""},
		{"/up/test@evil.example/x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			before := len(paths.All())
			resp, _ := g.SendRaw("GET " + tt.path + " HTTP/1.1\r\nHost: " + g.Addr + "\r\nConnection: close\r\n\r\n")
			got := paths.All()[before:]
			switch {
			case tt.want == "" && (len(got) != 0 || resp.StatusCode/100 != 4):
				t.Errorf("status %d, the upstream saw %q", resp.StatusCode, got)
			case tt.want != "" && (len(got) != 1 || got[0] != tt.want):
				t.Errorf("status %d, the upstream saw %q, want %q", resp.StatusCode, got, tt.want)
			}
		})
	}
}

// Servers differ in what they make of a path; what one of them may take for a
// model's is a model's.
func TestNoSpellingOfAPathEscapesTheCodec(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"forbidden\"}"}}]}}]}`))
	up := g.Config.Upstreams["test"].String()
	for _, path := range []string{
		"/v1/chat/completions", "/v1/chat//completions", "/v1/Chat/Completions/", "/v1/chat/./completions", "/x/../v1/chat/completions", "/v1/ch%61t/completions",
		"/v1/Responses", "/v1//responses", "/v1beta/models/m:GenerateContent",
	} {
		t.Run(path, func(t *testing.T) {
			host := strings.TrimPrefix(up, "http://")
			body := `{"model":"m","messages":[{"role":"user","content":"go"}]}`
			resp, got := g.SendRaw("POST " + up + path + " HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\nConnection: close\r\n\r\n" + body)
			if strings.Contains(got, `"tool_calls":[`) {
				t.Errorf("status %d: a call went by unseen: %s", resp.StatusCode, got)
			}
		})
	}
}
