package model_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A redirected agent has the instruction in its next model request, in each
// format, once, and nothing else of the request is changed.
func TestARedirectIsInTheNextModelRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, path, body, end string }{
		{"anthropic", proxytest.Messages, `{"model":"m","max_tokens":9, "messages":[{"role":"user","content":"go"}]}`, `"}]}]}`},
		{"openai", "/up/test/v1/chat/completions", `{"model":"m","messages":[ {"role":"user","content":"go"}] }`, `"}] }`},
		{"responses", "/up/test/v1/responses", `{"model":"m","input":[{"role":"user","content":"go"}]}`, `"}]}]}`},
		{"responses, a text", "/up/test/v1/responses", `{"model":"m","input":"go"}`, `"}`},
		{"gemini", "/up/test/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"go"}]}]}`, `"}]}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen proxytest.Counter
			g := proxytest.New(t, proxytest.Answer(&seen, 500, `{}`))
			_, err := g.Queue.Agents.Intervene(t.Context(), holdgate.AgentDefault, agents.Intervention{Action: agents.Redirect, Instruction: "write tests\u202e\x1b[2J first", By: "ann"})
			proxytest.Must(t, err)
			for range 2 { // the upstream refuses the first: what was said waits again
				g.Post(t.Context(), tt.path, tt.body)
			}
			for i, sent := range seen.All() {
				if !strings.HasPrefix(sent, tt.body[:strings.Index(tt.body, "go")]) || !strings.HasSuffix(sent, tt.end) || !strings.Contains(sent, "redirects it") ||
					!strings.Contains(sent, "write tests") || strings.Contains(sent, "\u202e") || wire.Strict([]byte(sent)) != nil {
					t.Errorf("request %d: %s", i, sent)
				}
			}
			g.Verified()
		})
	}
}

// What people ask for at a gate that a report has opened is in the next model request
// of the session, once, unless the agent has asked for the answer before.
func TestASteerAtAGateIsInTheNextModelRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, session, report string
		polls                 bool
		want                  int
	}{
		{"the agent does not ask", "s1", `{"score":85}`, false, 1},
		{"it has asked", "s1", `{"score":85}`, true, 0},
		{"its API calls name no session", "", `{"score":85}`, false, 1},
		{"a report of no trust at all", "s1", `{"score":5}`, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen proxytest.Counter
			up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, `{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}`))
			g := proxytest.NewTo(t, map[string]string{"test": up}, nil, proxytest.WithShippedPolicy(), func(c *proxy.Config) {
				c.Confidence = proxy.Confidence{Enabled: true, AutoEscalate: true, Threshold: 0.9}
			})
			g.AskAPI("POST", "/v1/confidence", tt.report, "X-Session-Id", tt.session)
			asked := g.Pending(1)[0]
			_, err := g.Queue.Decide(t.Context(), asked.ID, approvals.Vote{
				Decision: holdgate.AnswerSteer, Instructions: "- write the tests\n- with ⟨edges⟩", Artifacts: []string{"parser_test.go"},
				By: "ann", Channel: "cli", Digest: asked.Call.Digest,
			})
			proxytest.Must(t, err)
			if tt.polls {
				g.AskAPI("GET", "/v1/gates/"+asked.ID, "", "X-Session-Id", tt.session)
			}
			for range 2 {
				<-g.InSession("s1", proxytest.AskPlain)
			}
			with := 0
			for _, sent := range seen.All() {
				if strings.Contains(sent, `do this instead: - write the tests\n- with ⟨edges⟩ (about parser_test.go)`) {
					with++
				}
			}
			if with != tt.want {
				t.Errorf("%d requests had it, want %d: %s", with, tt.want, seen.All())
			}
			g.Verified()
		})
	}
}

func TestWhatPeopleSayIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}`))
	<-g.InSession("s1", proxytest.AskPlain)
	_, err := g.Queue.Sessions.Tell(t.Context(), sessions.Message{Agent: holdgate.AgentDefault, Session: "s1", Type: sessions.MessageGuidance, Content: "mind the edge cases", From: "ann"})
	proxytest.Must(t, err)
	tools := strings.Replace(proxytest.AskPlain, `"max_tokens"`, `"tools":[{"name":"Bash","input_schema":{}}],"max_tokens"`, 1)
	for _, body := range []string{tools, tools} {
		<-g.InSession("s2", body)
		<-g.InSession("s1", body)
	}
	with := 0
	for _, sent := range seen.All() {
		if strings.Contains(sent, "mind the edge cases") {
			with++
		}
	}
	if with != 1 {
		t.Errorf("%d requests had it, want 1", with)
	}
	list, err := g.Queue.Sessions.Messages(t.Context(), holdgate.AgentDefault, "s1", 0)
	proxytest.Must(t, err)
	if len(list) != 1 || list[0].Into != "request" || list[0].Waits() {
		t.Errorf("messages: %+v", list)
	}
}

// What is signed over its body, and what ends with the model's own words, goes on
// as it came; so does what clients ask beside the conversation.
func TestARequestThatHasNoPlaceForItIsLeftAlone(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}`))
	tools := strings.Replace(proxytest.AskPlain, `"max_tokens"`, `"tools":[{"name":"Bash","input_schema":{}}],"max_tokens"`, 1)
	<-g.InSession("s1", tools)
	_, err := g.Queue.Sessions.Tell(t.Context(), sessions.Message{Agent: holdgate.AgentDefault, Session: "s1", Type: sessions.MessageGuidance, Content: "be brief", From: "ann"})
	proxytest.Must(t, err)
	prefill := strings.Replace(tools, `"content":"go"}`, `"content":"go"},{"role":"assistant","content":"I will"}`, 1)
	<-g.InSession("s1", prefill)
	<-g.InSession("s1", proxytest.AskPlain)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+proxytest.Messages, strings.NewReader(tools))
	proxytest.Must(t, err)
	req.Header.Set("X-Session-Id", "s1")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=x")
	resp, err := g.Client.Do(req)
	proxytest.Must(t, err)
	resp.Body.Close()
	if got := seen.All(); len(got) != 4 || got[1] != prefill || got[2] != proxytest.AskPlain || got[3] != tools {
		t.Errorf("sent: %q", got)
	}
	if _, text := g.AskAPI("GET", "/v1/messages", ""); !strings.Contains(text, "be brief") {
		t.Errorf("the agent fetches %s", text)
	}
}
