package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

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

// unnamed returns a gate before an upstream that the configuration does not
// name as one of models, a client of its forward proxy, and the upstream's URL.
func unnamed(t *testing.T, h http.Handler, opts ...gateOption) (*sidecar, *http.Client, string) {
	t.Helper()
	up := newUpstream(t, h)
	g := newGateTo(t, nil, map[string]string{"other": up + "/other"}, opts...)
	return g, g.proxied(), up
}

func TestARequestThatLooksLikeAModelsIsAFinding(t *testing.T) {
	t.Parallel()
	const asks = `{"model":"m","messages":[]}`
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	tests := []struct {
		name, path, body string
		header           http.Header
		strange          bool
	}{
		{"messages", "/own", asks, typeJSON, true},
		{"input", "/own", `{"input":"x","model":"m"}`, typeJSON, true},
		{"contents", "/own", `{"model":"m","contents":[]}`, typeJSON, true},
		{"prompt", "/own", `{"model":"m","prompt":"x"}`, typeJSON, true},
		{"names spelled otherwise", "/own", `{"MODEL":"m","m\u0065ssages":[]}`, typeJSON, true},
		{"as text", "/own", asks, http.Header{"Content-Type": {"text/plain;charset=UTF-8"}}, true},
		{"as a form", "/own", asks, form, true},
		{"of no type", "/own", asks, nil, true},
		{"in gzip", "/own", gzipped(asks), http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, true},
		{"in UTF-16", "/own", wide(asks), typeJSON, true},
		{"messages of no model", "/own", `{"messages":[]}`, typeJSON, false},
		{"a model that is no name", "/own", `{"model":{},"input":1}`, typeJSON, false},
		{"a model alone", "/own", `{"model":"m"}`, typeJSON, false},
		{"further in", "/own", `{"a":` + asks + `}`, typeJSON, false},
		{"embeddings", "/v1/embeddings", `{"model":"m","input":"x"}`, typeJSON, false},
		{"a form", "/own", "model=m&messages=", form, false},
		{"a picture", "/own", asks, http.Header{"Content-Type": {"image/png"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen counter
			g, client, up := unnamed(t, plainly(&seen, 200, `{}`), withPolicy(t, denyStrange))
			for range 2 {
				status, body := g.send(client, http.MethodPost, up+tt.path, tt.body, tt.header)
				if (status == http.StatusForbidden) != tt.strange || strings.Contains(body, "test.strange") != tt.strange {
					t.Errorf("status %d: %s", status, body)
				}
			}
			found := g.entries(audit.TypeFinding)
			if len(found) != map[bool]int{true: 1}[tt.strange] || len(seen.all()) != map[bool]int{false: 2}[tt.strange] {
				t.Errorf("sent on %d times, found %+v", len(seen.all()), found)
			}
			if tt.strange && (found[0].Call.HTTP != "POST "+strings.TrimPrefix(up, "http://")+tt.path || found[0].Door != route.DoorForward) {
				t.Errorf("found %+v of %+v", found[0], found[0].Call)
			}
			g.verified()
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
		{"gzip", "application/json", "gzip", []string{gzipped(calls)}, true},
		{"a coding that is none", "application/json", "gzip", []string{calls}, false},
		{"a page", "text/html", "", []string{calls}, false},
		{"JSON in a text", "application/json", "", []string{`{"a":"{\"tool_calls\":1}"}`}, false},
		{"behind a great deal", "application/json", "", []string{`"` + strings.Repeat("x", 2<<20) + `"`, calls}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, client, up := unnamed(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.typ)
				if tt.coding != "" {
					w.Header().Set("Content-Encoding", tt.coding)
				}
				for _, p := range tt.pieces {
					_, _ = io.WriteString(w, p)
					_ = http.NewResponseController(w).Flush()
				}
			}), withPolicy(t, denyStrange))
			status, body := g.send(client, http.MethodPost, up+"/own", "go", nil)
			if status != 200 || body != strings.Join(tt.pieces, "") {
				t.Fatalf("the answer changed: status %d, %d bytes", status, len(body))
			}
			// The finding is made before the last byte of an answer of unknown length.
			status, _ = g.send(client, http.MethodPost, up+"/own", "go", nil)
			if found := g.entries(audit.TypeFinding); (status == 403) != tt.strange || (len(found) == 1) != tt.strange {
				t.Errorf("the next one: status %d, found %+v", status, found)
			}
			if status, _ = g.send(client, http.MethodPost, up+"/another", "go", nil); status != 200 {
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
			var seen counter
			g := newGate(t, plainly(&seen, 200, `{}`), withPolicy(t, denyStrange), func(c *proxy.Config) { c.AllowUnsupported = true })
			status, body := g.send(g.client, tt.method, g.url+"/up/test"+tt.path, tt.body, typeJSON)
			if (status == 403) != tt.strange || (len(g.entries(audit.TypeFinding)) == 1) != tt.strange {
				t.Errorf("status %d, found %+v: %s", status, g.entries(audit.TypeFinding), body)
			}
		})
	}
}

func TestTheShippedPolicyAsksAboutWhatLooksLikeAModelAPI(t *testing.T) {
	t.Parallel()
	var seen counter
	g, client, up := unnamed(t, plainly(&seen, 200, `{}`), withShippedPolicy(), withIdle(1), func(c *proxy.Config) { c.Limits.Budget = 1 })
	for _, host := range []string{up, strings.Replace(up, "127.0.0.1", "127.1.2.3", 1)} { // the settings know the first
		status, _ := g.send(client, http.MethodPost, host+"/own", `{"model":"m","messages":[]}`, typeJSON)
		if host == up && status != 200 {
			t.Errorf("a host that the settings let through: status %d", status)
		}
		if host != up && (status != 503 || g.pending(1)[0].Rule != "http.model_api") {
			t.Errorf("status %d", status)
		}
	}
	if n := len(g.entries(audit.TypeFinding)); n != 2 || len(seen.all()) != 1 {
		t.Errorf("%d findings, sent on %d times", n, len(seen.all()))
	}
}
