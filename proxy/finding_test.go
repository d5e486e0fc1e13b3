package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

// denyStrange lets everything through but what looks like a model API's.
const denyStrange = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.allow"}

decision := {"action": "deny", "rule": "test.strange"} if input.http.looks_like == "model_api"
`

func TestARequestThatLooksLikeAModelsIsAFinding(t *testing.T) {
	t.Parallel()
	const asks = `{"model":"m","messages":[]}`
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	tests := []struct {
		name, path, body string
		header           http.Header
		strange          bool
	}{
		{"messages", "/own", asks, proxytest.TypeJSON, true},
		{"input", "/own", `{"input":"x","model":"m"}`, proxytest.TypeJSON, true},
		{"contents", "/own", `{"model":"m","contents":[]}`, proxytest.TypeJSON, true},
		{"prompt", "/own", `{"model":"m","prompt":"x"}`, proxytest.TypeJSON, true},
		{"names spelled otherwise", "/own", `{"MODEL":"m","m\u0065ssages":[]}`, proxytest.TypeJSON, true},
		{"as text", "/own", asks, http.Header{"Content-Type": {"text/plain;charset=UTF-8"}}, true},
		{"as a form", "/own", asks, form, true},
		{"of no type", "/own", asks, nil, true},
		{"in gzip", "/own", proxytest.Gzipped(asks), http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, true},
		{"in UTF-16", "/own", proxytest.UTF16(asks), proxytest.TypeJSON, true},
		{"messages of no model", "/own", `{"messages":[]}`, proxytest.TypeJSON, false},
		{"a model that is no name", "/own", `{"model":{},"input":1}`, proxytest.TypeJSON, false},
		{"a model alone", "/own", `{"model":"m"}`, proxytest.TypeJSON, false},
		{"further in", "/own", `{"a":` + asks + `}`, proxytest.TypeJSON, false},
		{"embeddings", "/v1/embeddings", `{"model":"m","input":"x"}`, proxytest.TypeJSON, false},
		{"a form", "/own", "model=m&messages=", form, false},
		{"a picture", "/own", asks, http.Header{"Content-Type": {"image/png"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen proxytest.Counter
			g, client, up := proxytest.Unnamed(t, proxytest.Answer(&seen, 200, `{}`), proxytest.WithPolicy(t, denyStrange))
			for range 2 {
				status, body := g.Send(client, http.MethodPost, up+tt.path, tt.body, tt.header)
				if (status == http.StatusForbidden) != tt.strange || strings.Contains(body, "test.strange") != tt.strange {
					t.Errorf("status %d: %s", status, body)
				}
			}
			found := g.Entries(audit.TypeFinding)
			if len(found) != map[bool]int{true: 1}[tt.strange] || len(seen.All()) != map[bool]int{false: 2}[tt.strange] {
				t.Errorf("sent on %d times, found %+v", len(seen.All()), found)
			}
			if tt.strange && (found[0].Call.HTTP != "POST "+strings.TrimPrefix(up, "http://")+tt.path || found[0].Door != route.DoorForward) {
				t.Errorf("found %+v of %+v", found[0], found[0].Call)
			}
			g.Verified()
		})
	}
}

// The answer that shows it has gone when it is found: from then on policy knows.
func TestAnAnswerThatHoldsCallsIsAFinding(t *testing.T) {
	t.Parallel()
	const calls = `{"choices":[{"message":{"tool_calls":[{"id":"a"}]}}]}`
	tests := []struct {
		name, typ, coding string
		pieces            []string
		strange           bool
	}{
		{"JSON", "application/json", "", []string{calls}, true},
		{"a stream", "text/event-stream", "", []string{"data: {}\n\n", "data: {\"type\":\"tool_use\"}\n\n"}, true},
		{"cut in the name", "application/x-ndjson", "", []string{`{"a":"` + strings.Repeat("x", 40<<10), `","function`, `C`, `all":{}}`}, true},
		{"gzip", "application/json", "gzip", []string{proxytest.Gzipped(calls)}, true},
		{"a coding that is none", "application/json", "gzip", []string{calls}, false},
		{"a page", "text/html", "", []string{calls}, false},
		{"JSON in a text", "application/json", "", []string{`{"a":"{\"tool_calls\":1}"}`}, false},
		{"behind a great deal", "application/json", "", []string{`"` + strings.Repeat("x", 2<<20) + `"`, calls}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, client, up := proxytest.Unnamed(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.typ)
				if tt.coding != "" {
					w.Header().Set("Content-Encoding", tt.coding)
				}
				for _, p := range tt.pieces {
					_, _ = io.WriteString(w, p)
					_ = http.NewResponseController(w).Flush()
				}
			}), proxytest.WithPolicy(t, denyStrange))
			status, body := g.Send(client, http.MethodPost, up+"/own", "go", nil)
			if status != 200 || body != strings.Join(tt.pieces, "") {
				t.Fatalf("the answer changed: status %d, %d bytes", status, len(body))
			}
			// The finding is made before the last byte of an answer of unknown length.
			status, _ = g.Send(client, http.MethodPost, up+"/own", "go", nil)
			if found := g.Entries(audit.TypeFinding); (status == 403) != tt.strange || (len(found) == 1) != tt.strange {
				t.Errorf("the next one: status %d, found %+v", status, found)
			}
			if status, _ = g.Send(client, http.MethodPost, up+"/another", "go", nil); status != 200 {
				t.Errorf("another road: status %d", status)
			}
		})
	}
}

func TestPolicyIsToldOfModelAPIsThatTheConfigurationLetsThrough(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, path, body string
		strange                  bool
	}{
		{"a road that is known", "GET", "/v1/conversations/conv_1/items", "", true},
		{"a shape that is known", "POST", "/own", `{"input":"x"}`, true},
		{"a body that no codec reads", "POST", "/model/mistral.x/invoke", `{"prompt":"x"}`, true},
		{"a list of models", "GET", "/v1/models", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen proxytest.Counter
			g := proxytest.New(t, proxytest.Answer(&seen, 200, `{}`), proxytest.WithPolicy(t, denyStrange), func(c *proxy.Config) { c.AllowUnsupported = true })
			status, body := g.Send(g.Client, tt.method, g.URL+"/up/test"+tt.path, tt.body, proxytest.TypeJSON)
			if (status == 403) != tt.strange || (len(g.Entries(audit.TypeFinding)) == 1) != tt.strange {
				t.Errorf("status %d, found %+v: %s", status, g.Entries(audit.TypeFinding), body)
			}
		})
	}
}

func TestTheShippedPolicyAsksAboutWhatLooksLikeAModelAPI(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g, client, up := proxytest.Unnamed(t, proxytest.Answer(&seen, 200, `{}`), proxytest.WithShippedPolicy(), proxytest.WithIdle(1), func(c *proxy.Config) { c.Limits.Budget = 1 })
	for _, host := range []string{up, strings.Replace(up, "127.0.0.1", "127.1.2.3", 1)} { // the settings know the first
		status, _ := g.Send(client, http.MethodPost, host+"/own", `{"model":"m","messages":[]}`, proxytest.TypeJSON)
		if host == up && status != 200 {
			t.Errorf("a host that the settings let through: status %d", status)
		}
		if host != up && (status != 503 || g.Pending(1)[0].Rule != "http.model_api") {
			t.Errorf("status %d", status)
		}
	}
	if n := len(g.Entries(audit.TypeFinding)); n != 2 || len(seen.All()) != 1 {
		t.Errorf("%d findings, sent on %d times", n, len(seen.All()))
	}
}
