package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

func TestWhatPolicyAllowsPassesByteForByte(t *testing.T) {
	t.Parallel()
	stream := msgStart() + ": a comment\n\n" + msgText("0", "hello") + msgTool("1", "toolu_1", "ls -la") + sse("ping", `{"type": "ping"}`) + msgEnd("tool_use")
	const plain = "{ \"id\":\"msg_1\", \"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Bash\",\"input\":{ \"command\" : \"ls\" }}],\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1.0}}\n"
	var seen counter
	g := newGate(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "plain") {
			plainly(&seen, 200, plain).ServeHTTP(w, r)
			return
		}
		streamer(&seen, stream).ServeHTTP(w, r)
	}))
	if got := readAll(t, g.post(t.Context(), messages+"?beta=true", askStream).Body); got != stream {
		t.Errorf("the stream was changed:\n%s", got)
	}
	if got := readAll(t, g.post(t.Context(), messages+"?plain", askPlain).Body); got != plain {
		t.Errorf("the answer was changed:\n%s", got)
	}
	for i, want := range []string{askStream, askPlain} {
		if got := seen.all()[i]; got != want {
			t.Errorf("the upstream got %s, want %s", got, want)
		}
	}
	if n := len(g.entries(audit.TypeDecision)); n != 4 {
		t.Errorf("%d decisions are logged, want 4: two requests, two calls", n)
	}
	g.verified()
}

func TestPromise1NoByteOfAHeldCallGoesOnBeforeItIsApproved(t *testing.T) {
	t.Parallel()
	var seen counter
	call := msgTool("1", "toolu_1", "gated thing")
	whole := msgStart() + msgText("0", "before") + call + msgText("2", "after") + msgEnd("tool_use")
	g := newGate(t, streamer(&seen, msgStart(), msgText("0", "before"), call, msgText("2", "after"), msgEnd("tool_use")), withIdle(20*time.Millisecond))
	resp := g.post(t.Context(), messages, askStream)
	r := bufio.NewReader(resp.Body)
	got := until(t, r, `"before"`)
	req := g.pending(1)[0]
	got += until(t, r, `"text":""}}`) // what came before has flowed; now a sign of life
	if strings.Contains(got, "toolu_1") || strings.Contains(got, "after") {
		t.Fatalf("something of the held call, or of what follows it, went on:\n%s", got)
	}
	g.decide(req, holdgate.AnswerApprove, "")
	rest := readAll(t, r)
	if !strings.Contains(got+rest, call) {
		t.Errorf("the approved call is not what came:\n%s", rest)
	}
	ping := sse("ping", `{"type":"ping"}`) // on a busy machine even the first byte can be late
	if without(without(got+rest, emptyDelta("0")), ping) != whole {
		t.Errorf("more than signs of life was changed:\n%s", got+rest)
	}
	for _, typ := range []audit.Type{audit.TypeUsed, audit.TypeOutcome, audit.TypeVote, audit.TypeResult} {
		if n := len(g.entries(typ)); n != 1 {
			t.Errorf("%d entries of type %s, want 1", n, typ)
		}
	}
	if n := len(seen.all()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	g.verified()
}

func emptyDelta(i string) string {
	return sse("content_block_delta", `{"type":"content_block_delta","index":`+i+`,"delta":{"type":"text_delta","text":""}}`)
}

func without(s, what string) string { return strings.ReplaceAll(s, what, "") }

func TestARefusalTakesTheCallsPlace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		command string
		answer  holdgate.Answer
		text    string
		want    []string
	}{
		{"policy denies", "forbidden", "", "", []string{"denied by policy", "test.deny", "it says forbidden"}},
		{"a person denies", "gated", holdgate.AnswerDeny, "not today", []string{"denied by the approver (ann)", "not today"}},
		{"a person steers", "gated", holdgate.AnswerSteer, "use the archive", []string{"ann", "asks for this instead", "use the archive"}},
	}
	for _, tt := range tests {
		for _, form := range []string{"stream", "plain"} {
			t.Run(tt.name+", "+form, func(t *testing.T) {
				var seen counter
				up := streamer(&seen, msgStart(), msgText("0", "before"), msgTool("1", "toolu_1", tt.command), msgEnd("tool_use"))
				ask := askStream
				if form == "plain" {
					up = plainly(&seen, 200, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"before"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"`+tt.command+`"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`)
					ask = askPlain
				}
				g := newGate(t, up)
				got := make(chan string, 1)
				go func() { got <- readAll(t, g.post(t.Context(), messages, ask).Body) }()
				if tt.answer != "" {
					g.decide(g.pending(1)[0], tt.answer, tt.text)
				}
				body := <-got
				for _, w := range append(tt.want, noticeWord, "end_turn", "before") {
					if !strings.Contains(body, w) {
						t.Errorf("%q is not in the refusal:\n%s", w, body)
					}
				}
				if strings.Contains(body, "toolu_1") || strings.Contains(body, `"tool_use"`) {
					t.Errorf("something of the call is left:\n%s", body)
				}
				g.verified()
			})
		}
	}
}

func TestEveryCallOfAnAnswerIsDecidedByItself(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, streamer(&seen, msgStart(), msgTool("0", "toolu_a", "gated one"), msgTool("1", "toolu_b", "ls"), msgTool("2", "toolu_c", "gated two"), msgTool("3", "toolu_d", "forbidden"), msgEnd("tool_use")))
	got := make(chan string, 1)
	go func() { got <- readAll(t, g.post(t.Context(), messages, askStream).Body) }()
	for _, r := range g.pending(2) {
		if strings.Contains(r.Briefing.Summary, "one") {
			g.decide(r, holdgate.AnswerDeny, "")
		} else {
			g.decide(r, holdgate.AnswerApprove, "")
		}
	}
	body := <-got
	if strings.Contains(body, "toolu_a") || strings.Contains(body, "toolu_d") {
		t.Errorf("a refused call went on:\n%s", body)
	}
	if !strings.Contains(body, msgTool("1", "toolu_b", "ls")) || !strings.Contains(body, msgTool("2", "toolu_c", "gated two")) {
		t.Errorf("an allowed call is not what came:\n%s", body)
	}
	if !strings.Contains(body, `"stop_reason":"tool_use"`) {
		t.Errorf("calls are left, so the stop reason must stay:\n%s", body)
	}
}

// A client that gives up and asks again gets the very answer that was held:
// the model is asked once, and so is the person.
func TestARetryPicksUpWhatIsHeld(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, retry string }{
		{"the same request", askStream},
		{"the same request with its keys in another order", `{"stream":true,"messages":[{"content":"go","role":"user"}],"max_tokens":9,"model":"m"}`},
		{"the same request, no longer streamed", askPlain},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen counter
			g := newGate(t, streamer(&seen, msgStart(), msgText("0", "before"), msgTool("1", "toolu_1", "gated"), msgEnd("tool_use")))
			ctx, leave := context.WithCancel(t.Context())
			resp := g.post(ctx, messages, askStream)
			until(t, bufio.NewReader(resp.Body), "before")
			first := g.pending(1)[0]
			leave()
			g.noticed()
			got := make(chan string, 1)
			go func() { got <- readAll(t, g.post(t.Context(), messages, tt.retry).Body) }()
			g.decide(first, holdgate.AnswerApprove, "")
			body := <-got
			if !strings.Contains(body, "toolu_1") || strings.Contains(body, noticeWord) {
				t.Errorf("the retry did not get the approved call:\n%s", body)
			}
			if tt.retry == askPlain && !json.Valid([]byte(body)) {
				t.Errorf("a plain request got no JSON:\n%s", body)
			}
			if n := len(seen.all()); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
			if n := len(g.entries(audit.TypeOutcome)); n != 1 {
				t.Errorf("the person was asked %d times", n)
			}
		})
	}
}

func TestAnOutcomeWaitsForItsCall(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, streamer(&seen, msgStart(), msgTool("0", "toolu_1", "gated"), msgEnd("tool_use")), withIdle(10*time.Millisecond))
	ctx, leave := context.WithCancel(t.Context())
	g.post(ctx, messages, askStream)
	r := g.pending(1)[0]
	leave()
	g.noticed()
	g.decide(r, holdgate.AnswerApprove, "")
	body := readAll(t, g.post(t.Context(), messages, askStream).Body)
	if !strings.Contains(body, "toolu_1") {
		t.Fatalf("the outcome was lost:\n%s", body)
	}
	// It is spent now: the same call is a new call.
	rest := g.begin(form{path: messages, ask: askStream})
	if again := g.pending(1)[0]; again.ID == r.ID {
		t.Error("an approval was used twice")
	} else {
		g.decide(again, holdgate.AnswerDeny, "")
	}
	<-rest
	if n := len(seen.all()); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
}

func TestAHeldModelRequestIsNotSentBeforeItIsApproved(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, plainly(&seen, 200, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`))
	ask := `{"model":"gated-model","max_tokens":9,"messages":[{"role":"user","content":"go"}]}`
	got := make(chan *http.Response, 1)
	go func() { got <- g.post(t.Context(), messages, ask) }()
	r := g.pending(1)[0]
	if len(seen.all()) != 0 {
		t.Fatal("the request went on before it was approved")
	}
	g.decide(r, holdgate.AnswerApprove, "")
	if resp := <-got; resp.StatusCode != 200 || len(seen.all()) != 1 {
		t.Errorf("status %d, the model was asked %d times", resp.StatusCode, len(seen.all()))
	}
	go func() { got <- g.post(t.Context(), messages, ask) }()
	g.decide(g.pending(1)[0], holdgate.AnswerDeny, "too dear")
	resp := <-got
	body := readAll(t, resp.Body)
	if resp.StatusCode != 400 || !strings.Contains(body, "too dear") || !strings.Contains(body, `"type":"error"`) {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
	if resp.Header.Get("X-Should-Retry") != "false" {
		t.Error("a refusal invites a retry")
	}
}
