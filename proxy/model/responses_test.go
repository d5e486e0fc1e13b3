package model_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	responsesPath = "/up/test/v1/responses"
	askResponse   = `{"model":"m","input":"go"}`
	streamed      = `{"model":"m","stream":true,"input":"go"}`
)

// rcall is a function_call as an item.
func rcall(command string) string {
	return `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"command\":\"` + command + `\"}","call_id":"call_1","name":"Bash"}`
}

func rplain(status string, items ...string) string {
	return `{"id":"resp_1", "object":"response","status":"` + status + `","error":null,"model":"m","output":[` + strings.Join(items, ",") + `]}`
}

// revents is the same as a stream.
func revents(command string) []string {
	return []string{
		proxytest.Event("response.created", `{"type":"response.created","sequence_number":0,"response":`+rplain("in_progress")+`}`),
		proxytest.Event("response.output_item.added", `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_1","name":"Bash"}}`),
		proxytest.Event("response.function_call_arguments.delta", `{"type":"response.function_call_arguments.delta","sequence_number":2,"item_id":"fc_1","output_index":0,"delta":"{\"command\":\"`+command+`\"}"}`),
		proxytest.Event("response.function_call_arguments.done", `{"type":"response.function_call_arguments.done","sequence_number":3,"item_id":"fc_1","output_index":0,"arguments":"{\"command\":\"`+command+`\"}"}`),
		proxytest.Event("response.output_item.done", `{"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":`+rcall(command)+`}`),
		proxytest.Event("response.completed", `{"type":"response.completed","sequence_number":5,"response":`+rplain("completed", rcall(command))+`}`),
	}
}

// respond answers every request with a response that has this call: as a
// stream, or as JSON, as it was asked for.
func respond(seen *proxytest.Counter, command string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(seen.Saw(r), `"stream":true`) || r.URL.Query().Get("stream") == "true" {
			proxytest.Stream(&proxytest.Counter{}, revents(command)...).ServeHTTP(w, r)
			return
		}
		proxytest.Answer(&proxytest.Counter{}, 200, rplain("completed", rcall(command))).ServeHTTP(w, r)
	})
}

// roads are the ways on which a response with calls reaches a client.
var roads = []struct{ name, method, path, body string }{
	{"asked for", "POST", responsesPath, askResponse},
	{"asked for as a stream", "POST", responsesPath, streamed},
	{"asked for where only hosts of models have it", "POST", "/up/test/responses", askResponse},
	{"asked for at Azure", "POST", "/up/test/openai/responses?api-version=1", askResponse},
	{"fetched", "GET", responsesPath + "/resp_1", ""},
	{"fetched as a stream", "GET", responsesPath + "/resp_1?stream=true&starting_after=3", ""},
	{"fetched where only hosts of models have it", "GET", "/up/test/responses/gen-1", ""},
	{"cancelled", "POST", responsesPath + "/resp_1/cancel", ""},
	{"compacted", "POST", responsesPath + "/compact", askResponse},
}

func take(g *proxytest.Sidecar, method, path, body string) *http.Response {
	g.T.Helper()
	req, err := http.NewRequestWithContext(g.T.Context(), method, g.URL+path, strings.NewReader(body))
	proxytest.Must(g.T, err)
	resp, err := g.Client.Do(req)
	proxytest.Must(g.T, err)
	g.T.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestResponsesAreGatedOnEveryRoad(t *testing.T) {
	t.Parallel()
	for _, road := range roads {
		t.Run(road.name, func(t *testing.T) {
			var seen proxytest.Counter
			plain, stream := rplain("completed", rcall("ls")), strings.Join(revents("ls"), "")
			if got := proxytest.ReadAll(t, take(proxytest.New(t, respond(&seen, "ls")), road.method, road.path, road.body).Body); got != plain && got != stream {
				t.Errorf("allowed, it was changed: %s", got)
			}
			if got := seen.All(); len(got) != 1 || got[0] != road.body {
				t.Errorf("the upstream got %q, want %q", got, road.body)
			}
			got := proxytest.ReadAll(t, take(proxytest.New(t, respond(&seen, "forbidden")), road.method, road.path, road.body).Body)
			if strings.Contains(got, "call_1") || !strings.Contains(got, proxytest.NoticeWord) || !strings.Contains(got, "it says forbidden") {
				t.Errorf("denied, it is %s", got)
			}
		})
	}
}

// An event whose type is escaped in its field as in its data is read by clients as
// its data says: arguments that nobody has judged must not come with it.
func TestArgumentsUnderAnEscapedTypeAreRefused(t *testing.T) {
	t.Parallel()
	const escaped = `response.function_call_arguments.\u0064elta`
	events := revents("ls")
	events[2] = proxytest.Event(escaped, `{"type":"`+escaped+`","sequence_number":2,"item_id":"fc_1","output_index":0,"delta":"{\"command\":\"forbidden\"}"}`)
	got := proxytest.ReadAll(t, take(proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, events...)), "POST", responsesPath, streamed).Body)
	if strings.Contains(got, "forbidden") || strings.Contains(got, "call_1") {
		t.Errorf("it came: %s", got)
	}
}

func TestAHeldResponseWaits(t *testing.T) {
	t.Parallel()
	for _, road := range roads {
		t.Run(road.name, func(t *testing.T) {
			var seen proxytest.Counter
			g := proxytest.New(t, respond(&seen, "gated"), proxytest.WithIdle(time.Hour))
			got := make(chan string, 1)
			go func() { got <- proxytest.ReadAll(t, take(g, road.method, road.path, road.body).Body) }()
			g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
			plain, stream := rplain("completed", rcall("gated")), strings.Join(revents("gated"), "")
			if got := <-got; got != plain && got != stream {
				t.Errorf("approved, it was changed: %s", got)
			}
			for _, typ := range []audit.Type{audit.TypeUsed, audit.TypeOutcome} {
				if n := len(g.Entries(typ)); n != 1 {
					t.Errorf("%d entries of type %s, want 1", n, typ)
				}
			}
		})
	}
}

func TestAResponseThatIsHeldKeepsItsClient(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, respond(&seen, "gated"), proxytest.WithIdle(20*time.Millisecond), proxytest.WithNotice())
	r := bufio.NewReader(take(g, "POST", responsesPath, streamed).Body)
	got := proxytest.Until(t, r, `{"type":"keepalive","sequence_number":6}`) // after the six events of the line that says who is asked
	if strings.Contains(got, "call_1") || !strings.Contains(got, "waiting") {
		t.Fatalf("while it waits the client has %s", got)
	}
	g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "not today")
	if got := proxytest.ReadAll(t, r); strings.Contains(got, "call_1") || !strings.Contains(got, `"output_index":1`) || !strings.Contains(got, "not today") {
		t.Errorf("denied, it ends with %s", got)
	}
}

// The other form of an answer that an earlier connection had asked for.
func TestAHeldResponseIsPickedUpInTheOtherForm(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, respond(&seen, "gated"), func(c *proxy.Config) { c.Limits.Budget = time.Millisecond })
	if resp := take(g, "POST", responsesPath, askResponse); resp.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("status %d", resp.StatusCode)
	}
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	got := proxytest.ReadAll(t, take(g, "POST", responsesPath, streamed).Body)
	if !strings.Contains(got, "event: response.function_call_arguments.delta\n") || !strings.HasSuffix(got, rplain("completed", rcall("gated"))+"}\n\n") {
		t.Errorf("as a stream it is %s", got)
	}
	if n := len(seen.All()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestResponsesInTheBackground(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			proxytest.Answer(&seen, 200, rplain("queued")).ServeHTTP(w, r)
			return
		}
		respond(&seen, "forbidden").ServeHTTP(w, r)
	}))
	if got := proxytest.ReadAll(t, take(g, "POST", responsesPath, `{"model":"m","input":"go","background":true}`).Body); got != rplain("queued") {
		t.Errorf("the response in the queue is %s", got)
	}
	if got := proxytest.ReadAll(t, take(g, "GET", responsesPath+"/resp_1", "").Body); strings.Contains(got, "call_1") {
		t.Errorf("the call came: %s", got)
	}
	if resp := take(g, "GET", responsesPath+"/resp_1", askResponse); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a request with a body has status %d", resp.StatusCode)
	}
}

// What is called responses on a host that serves no models is none of ours.
func TestOtherThingsThatAreCalledResponses(t *testing.T) {
	t.Parallel()
	const form = `{"answers":["yes"]}`
	up := proxytest.NewUpstream(t, proxytest.Answer(&proxytest.Counter{}, 200, form))
	g := proxytest.NewTo(t, nil, map[string]string{"named": up + "/mcp"}) // a host that is named may be on the loopback
	for _, r := range []struct{ method, path string }{{"POST", "/api/responses"}, {"GET", "/api/responses/1"}} {
		req, err := http.NewRequestWithContext(t.Context(), r.method, up+r.path, strings.NewReader(map[bool]string{true: form}[r.method == "POST"]))
		proxytest.Must(t, err)
		resp, err := g.Proxied().Do(req)
		proxytest.Must(t, err)
		if got := proxytest.ReadAll(t, resp.Body); got != form {
			t.Errorf("%s %s: %s", r.method, r.path, got)
		}
		resp.Body.Close()
	}
}
