package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/proxy/authzen"
	"github.com/holdgate/holdgate/proxy/identity"
	"github.com/holdgate/holdgate/proxy/proxytest"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/store"
)

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	traceparent  = "00-" + callersTrace + "-b7ad6b7169203331-01"
)

// asksAboutGated holds what says so, and allows the rest.
const asksAboutGated = `package holdgate

import rego.v1

default decision := {"action": "allow", "rule": "test.rest"}

decision := {"action": "hold", "rule": "test.gated", "reason": "it says gated", "hold": {"timeout": "1h", "on_timeout": "deny"}} if {
	contains(json.marshal(object.get(input, "tool", {})), "gated")
} else := {"action": "hold", "rule": "test.gate", "reason": "a gate", "hold": {"timeout": "1h", "on_timeout": "deny"}} if {
	input.kind == "gate"
}
`

// withSpans keeps the spans of a sidecar, whose agents may ask at every door.
func withSpans(t *testing.T) (*tracetest.InMemoryExporter, []proxytest.Option) {
	to := tracetest.NewInMemoryExporter()
	return to, []proxytest.Option{proxytest.WithPolicy(t, asksAboutGated),
		proxytest.WithAgents(t, identity.Agent{ID: "ann", Tokens: [][32]byte{identity.Hash(proxytest.AnnsToken)}}),
		func(c *proxy.Config) {
			c.Tracer = trace.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(to)))
			c.AuthZEN.Clients = func(string) (authzen.Client, bool) { return authzen.Client{Trusted: true}, true }
		}}
}

// asked are the spans of what was asked: those that a caller's request began.
func asked(to *tracetest.InMemoryExporter) (list []tracetest.SpanStub) {
	for _, s := range to.GetSpans() {
		if s.SpanKind == oteltrace.SpanKindServer {
			list = append(list, s)
		}
	}
	return list
}

func said(s tracetest.SpanStub, key string) string {
	set := attribute.NewSet(s.Attributes...)
	v, _ := set.Value(attribute.Key(key))
	return v.AsString()
}

// Each question has one span in its caller's trace, whatever door it comes by.
func TestEveryDoorHasASpanForEachQuestion(t *testing.T) {
	t.Parallel()
	const (
		token    = "Bearer "
		evaluate = `{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"record","id":"1"}}`
		acpRead  = `{"folder":"/w","message":{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{"sessionId":"s1","path":"x","content":"y"}}}`
	)
	post := func(path, body string) func(*testing.T, *proxytest.Sidecar) {
		return func(t *testing.T, g *proxytest.Sidecar) {
			if status, answer := g.AskAPI(http.MethodPost, path, body, "Traceparent", traceparent, "Authorization", token+proxytest.AnnsToken); status/100 != 2 {
				t.Errorf("status %d: %s", status, answer)
			}
		}
	}
	self := func(t *testing.T, g *proxytest.Sidecar) {
		c := gosdk.NewClient(&gosdk.Implementation{Name: "test", Version: "1"}, nil)
		session, err := c.Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: g.URL + "/mcp", HTTPClient: &http.Client{Transport: headers{g.Client.Transport, http.Header{"Traceparent": {traceparent}}}}, DisableStandaloneSSE: true}, nil)
		proxytest.Must(t, err)
		defer session.Close()
		out, err := session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "get_context", Arguments: map[string]any{"tool": "Read"}})
		if err != nil || out.IsError {
			t.Errorf("%v, %v", out, err)
		}
	}
	for _, tt := range []struct {
		name, door string
		span       string
		ask        func(*testing.T, *proxytest.Sidecar)
		asked      int
	}{
		{"a gate", agentapi.Door, "request", post("/v1/gates", `{"type":"before_commit","message":"Commit?"}`), 1},
		{"a planned call", agentapi.Door, "execute_tool Read", post("/v1/would", `{"tool":"Read"}`), 1},
		{"a hook", agentapi.DoorHook, "execute_tool Bash", post("/v1/hooks/claude", `{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"/w","tool_name":"Bash","tool_input":{"command":"ls secret"},"tool_use_id":"toolu_1"}`), 1},
		{"AuthZEN", authzen.Door, "execute_tool read", post("/access/v1/evaluation", evaluate), 1},
		{"AuthZEN, two", authzen.Door, "execute_tool read", post("/access/v1/evaluations", `{"evaluations":[`+evaluate+`,`+evaluate+`]}`), 2},
		{"an editor", "acp", "execute_tool fs/write_text_file", post("/acp/calls", acpRead), 1},
		{"ext_authz", "ext_authz", "request", func(t *testing.T, g *proxytest.Sidecar) {
			newFilter(t, g).ask(described("GET", "/a", "", "traceparent", traceparent))
		}, 1},
		{"what is only looked at", "", "", func(t *testing.T, g *proxytest.Sidecar) {
			g.AskAPI(http.MethodGet, "/v1/session", "", "Traceparent", traceparent)
			g.AskAPI(http.MethodGet, "/v1/pending", "", "Traceparent", traceparent)
			g.AskAPI(http.MethodGet, "/v1/gates/abcabc-abcabc-abcabc", "", "Traceparent", traceparent)
		}, 0},
		{"Holdgate's own MCP server", agentapi.Door, "execute_tool Read", self, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			to, opts := withSpans(t)
			g := proxytest.New(t, http.NotFoundHandler(), opts...)
			tt.ask(t, g)
			proxytest.Await(t, "the spans", func() (bool, any) { return len(asked(to)) >= tt.asked, to.GetSpans() })
			got := asked(to)
			if len(got) != tt.asked {
				t.Errorf("%d spans, want %d: %v", len(got), tt.asked, got)
			}
			for _, s := range got {
				if s.Name != tt.span || said(s, "holdgate.door") != tt.door || s.SpanContext.TraceID().String() != callersTrace || !s.Parent.IsRemote() || said(s, "holdgate.request") == "" {
					t.Errorf("the span is %s by %q in %s: %v", s.Name, said(s, "holdgate.door"), s.SpanContext.TraceID(), s.Attributes)
				}
			}
			if all := fmt.Sprint(to.GetSpans()); strings.Contains(all, "secret") || strings.Contains(all, "Commit?") {
				t.Errorf("spans say what is asked about: %s", all)
			}
		})
	}
}

// A gate is asked for, looked at and taken up: two spans, and the hold is in the first one.
func TestAPollHasNoSpanUnlessItTakesTheAnswerUp(t *testing.T) {
	t.Parallel()
	to, opts := withSpans(t)
	g := proxytest.New(t, http.NotFoundHandler(), opts...)
	_, body := g.AskAPI(http.MethodPost, "/v1/gates", `{"type":"before_commit","message":"Commit?"}`, "Traceparent", traceparent)
	id := proxytest.Read[agentapi.Gate](t, body).ID
	for range 3 {
		g.AskAPI(http.MethodGet, "/v1/gates/"+id, "", "Traceparent", traceparent)
	}
	if got := asked(to); len(got) != 1 || len(got[0].Events) != 1 || got[0].Events[0].Name != "asked" || !strings.Contains(fmt.Sprint(got[0].Events), id) {
		t.Fatalf("before the answer: %v", got)
	}
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	if _, body := g.AskAPI(http.MethodGet, "/v1/gates/"+id+"?wait=60s", "", "Traceparent", traceparent); proxytest.Read[agentapi.Gate](t, body).Status != holdgate.StatusApproved {
		t.Fatalf("it is answered %s", body)
	}
	g.AskAPI(http.MethodGet, "/v1/gates/"+id, "", "Traceparent", traceparent)
	proxytest.Await(t, "the spans", func() (bool, any) { return len(asked(to)) >= 2, to.GetSpans() })
	got := asked(to)
	if len(got) != 2 {
		t.Fatalf("%d spans: %v", len(got), got)
	}
	if took := got[1]; len(took.Links) != 1 || took.Links[0].SpanContext.SpanID() != got[0].SpanContext.SpanID() || took.Links[0].SpanContext.TraceID() != got[0].SpanContext.TraceID() {
		t.Errorf("what takes the answer up is linked to %v, want the span that asked", took.Links)
	}
	if holds := holds(to); len(holds) != 1 || holds[0].Parent.SpanID() != got[0].SpanContext.SpanID() || said(holds[0], "holdgate.approval.id") != id || len(holds[0].Events) != 1 || holds[0].Events[0].Name != "vote" {
		t.Errorf("the holds are %v", holds)
	}
}

// holds are the spans of questions to people.
func holds(to *tracetest.InMemoryExporter) (list []tracetest.SpanStub) {
	for _, s := range to.GetSpans() {
		if s.Name == "hold" {
			list = append(list, s)
		}
	}
	return list
}

// A question has its hold once it has ended, whether or not anybody is there for the answer:
// within the span that asked, with the votes.
func TestAHoldHasItsSpanWhoeverIsThere(t *testing.T) {
	t.Parallel()
	asksAGate := func(_ *testing.T, g *proxytest.Sidecar) {
		g.AskAPI(http.MethodPost, "/v1/gates", `{"type":"before_commit","message":"Commit?"}`, "Traceparent", traceparent)
	}
	answered := func(a holdgate.Answer) func(*testing.T, *proxytest.Sidecar) {
		return func(_ *testing.T, g *proxytest.Sidecar) { g.Decide(g.Pending(1)[0], a, "") }
	}
	for _, tt := range []struct {
		name   string
		policy string
		ask    func(*testing.T, *proxytest.Sidecar)
		anew   bool // another process serves before the answer
		end    func(*testing.T, *proxytest.Sidecar)
		status holdgate.Status
		votes  string
	}{
		{"nobody answers in time", strings.ReplaceAll(asksAboutGated, `"1h"`, `"1s"`), asksAGate, false, nil, holdgate.StatusExpired, ""},
		{"denied", asksAboutGated, asksAGate, false, answered(holdgate.AnswerDeny), holdgate.StatusDenied, "deny by cli"},
		{"approved", asksAboutGated, asksAGate, false, answered(holdgate.AnswerApprove), holdgate.StatusApproved, "approve by cli"},
		{"two are asked", strings.ReplaceAll(asksAboutGated, `"1h", `, `"1h", "approvers": {"quorum": 2}, `), asksAGate, false, func(t *testing.T, g *proxytest.Sidecar) {
			for _, by := range []string{"ann", "bob"} {
				r := g.Pending(1)[0]
				_, err := g.Queue.Decide(t.Context(), r.ID, approvals.Vote{Decision: holdgate.AnswerApprove, By: by, Channel: by + "s", Digest: r.Call.Digest})
				proxytest.Must(t, err)
			}
		}, holdgate.StatusApproved, "approve by anns, approve by bobs"},
		{"withdrawn", asksAboutGated, asksAGate, false, func(t *testing.T, g *proxytest.Sidecar) {
			_, err := g.Queue.Cancel(t.Context(), g.Pending(1)[0].ID, "no more")
			proxytest.Must(t, err)
		}, holdgate.StatusCancelled, ""},
		{"the client of a held call has gone", asksAboutGated, func(t *testing.T, g *proxytest.Sidecar) {
			ctx, leave := context.WithCancel(t.Context())
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/mcp/files", strings.NewReader(proxytest.ToolCall("1", "gated")))
				proxytest.Must(t, err)
				r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Traceparent": {traceparent}}
				if resp, err := g.Client.Do(r); err == nil {
					resp.Body.Close()
				}
			}()
			g.Pending(1)
			leave()
			<-gone
		}, false, answered(holdgate.AnswerDeny), holdgate.StatusDenied, "deny by cli"},
		{"another process serves meanwhile", asksAboutGated, asksAGate, true, answered(holdgate.AnswerDeny), holdgate.StatusDenied, "deny by cli"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			to, opts := withSpans(t)
			up := proxytest.NewUpstream(t, http.NotFoundHandler())
			two, err := people.New("ann", []people.Person{{Name: "ann", Roles: []string{people.RoleApprove}}, {Name: "bob", Roles: []string{people.RoleApprove}}})
			proxytest.Must(t, err)
			g := proxytest.NewWith(t, proxytest.Parts{Queue: func(c *approvals.Config) { c.People = two }}, nil, map[string]string{"files": up + "/mcp"}, append(opts, proxytest.WithPolicy(t, tt.policy))...)
			tt.ask(t, g)
			if tt.anew {
				g = g.Restarted()
			}
			if tt.end != nil {
				tt.end(t, g)
			}
			proxytest.Await(t, "the hold, and the span that asked", func() (bool, any) { return len(holds(to)) > 0 && len(asked(to)) > 0, to.GetSpans() })
			var votes []string
			hold, asking := holds(to)[0], asked(to)[0]
			for _, e := range hold.Events {
				set := attribute.NewSet(e.Attributes...)
				decision, _ := set.Value("holdgate.vote.decision")
				channel, _ := set.Value("holdgate.vote.channel")
				votes = append(votes, decision.AsString()+" by "+channel.AsString())
			}
			if got := strings.Join(votes, ", "); got != tt.votes || said(hold, "holdgate.approval.status") != string(tt.status) {
				t.Errorf("it ended as %s with the votes %s, want %s, %s", said(hold, "holdgate.approval.status"), got, tt.status, tt.votes)
			}
			if hold.SpanContext.TraceID().String() != callersTrace || hold.Parent.SpanID() != asking.SpanContext.SpanID() || !hold.StartTime.Before(hold.EndTime) || len(holds(to)) != 1 {
				t.Errorf("%d holds, the first within %s from %s to %s; %v asked", len(holds(to)), hold.Parent.SpanID(), hold.StartTime, hold.EndTime, asking)
			}
		})
	}
}

// lines are log lines, for several goroutines.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// What goes wrong at a door is logged with the request's id, and its trace.
func TestLinesOfEachDoorHaveTheRequest(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*proxytest.Sidecar){
		"a gate": func(g *proxytest.Sidecar) {
			g.AskAPI(http.MethodPost, "/v1/gates", `{"type":"before_commit","message":"Commit?"}`, "Traceparent", traceparent)
		},
		"a hook": func(g *proxytest.Sidecar) {
			g.AskAPI(http.MethodPost, "/v1/hooks/claude", `{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"/w","tool_name":"Bash","tool_input":{"command":"gated"},"tool_use_id":"toolu_1"}`, "Traceparent", traceparent)
		},
		"AuthZEN": func(g *proxytest.Sidecar) {
			g.AskAPI(http.MethodPost, "/access/v1/evaluation", `{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"record","id":"gated"}}`, "Traceparent", traceparent, "Authorization", "Bearer "+proxytest.AnnsToken)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, disk := &lines{}, &proxytest.FailingStore{Prefix: "audit/"}
			_, opts := withSpans(t)
			g := proxytest.NewWith(t, proxytest.Parts{Store: func(s store.Store) store.Store { disk.Store = s; return disk }}, nil, nil,
				append(opts, func(c *proxy.Config) {
					c.Logger = slog.New(trace.LogHandler(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
				})...)
			disk.On.Store(true)
			ask(g)
			disk.On.Store(false)
			text := log.text()
			if text == "" {
				t.Fatal("nothing was logged")
			}
			for line := range strings.Lines(text) {
				if !regexp.MustCompile(` request=[0-9a-z]{13} trace=` + callersTrace + `\n$`).MatchString(line) {
					t.Errorf("a line without its request: %s", line)
				}
			}
		})
	}
}
