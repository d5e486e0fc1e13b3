package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

func TestWhatPolicyAllowsPassesByteForByte(t *testing.T) {
	t.Parallel()
	stream := proxytest.MessageStart() + ": a comment\n\n" + proxytest.MessageText("0", "hello") + proxytest.MessageTool("1", "toolu_1", "ls -la") + proxytest.Event("ping", `{"type": "ping"}`) + proxytest.MessageEnd("tool_use")
	const plain = "{ \"id\":\"msg_1\", \"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Bash\",\"input\":{ \"command\" : \"ls\" }}],\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1.0}}\n"
	var seen proxytest.Counter
	g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "plain") {
			proxytest.Answer(&seen, 200, plain).ServeHTTP(w, r)
			return
		}
		proxytest.Stream(&seen, stream).ServeHTTP(w, r)
	}))
	if got := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages+"?beta=true", proxytest.AskStream).Body); got != stream {
		t.Errorf("the stream was changed:\n%s", got)
	}
	if got := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages+"?plain", proxytest.AskPlain).Body); got != plain {
		t.Errorf("the answer was changed:\n%s", got)
	}
	for i, want := range []string{proxytest.AskStream, proxytest.AskPlain} {
		if got := seen.All()[i]; got != want {
			t.Errorf("the upstream got %s, want %s", got, want)
		}
	}
	if n := len(g.Entries(audit.TypeDecision)); n != 4 {
		t.Errorf("%d decisions are logged, want 4: two requests, two calls", n)
	}
	g.Verified()
}

func TestPromise1NoByteOfAHeldCallGoesOnBeforeItIsApproved(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	call := proxytest.MessageTool("1", "toolu_1", "gated thing")
	whole := proxytest.MessageStart() + proxytest.MessageText("0", "before") + call + proxytest.MessageText("2", "after") + proxytest.MessageEnd("tool_use")
	g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageText("0", "before"), call, proxytest.MessageText("2", "after"), proxytest.MessageEnd("tool_use")), proxytest.WithIdle(20*time.Millisecond))
	resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskStream)
	r := bufio.NewReader(resp.Body)
	got := proxytest.Until(t, r, `"before"`)
	req := g.Pending(1)[0]
	got += proxytest.Until(t, r, `"text":""}}`) // what came before has flowed; now a sign of life
	if strings.Contains(got, "toolu_1") || strings.Contains(got, "after") {
		t.Fatalf("something of the held call, or of what follows it, went on:\n%s", got)
	}
	g.Decide(req, holdgate.AnswerApprove, "")
	rest := proxytest.ReadAll(t, r)
	if !strings.Contains(got+rest, call) {
		t.Errorf("the approved call is not what came:\n%s", rest)
	}
	ping := proxytest.Event("ping", `{"type":"ping"}`) // on a busy machine even the first byte can be late
	if proxytest.Without(proxytest.Without(got+rest, proxytest.EmptyDelta("0")), ping) != whole {
		t.Errorf("more than signs of life was changed:\n%s", got+rest)
	}
	for _, typ := range []audit.Type{audit.TypeUsed, audit.TypeOutcome, audit.TypeVote, audit.TypeResult} {
		if n := len(g.Entries(typ)); n != 1 {
			t.Errorf("%d entries of type %s, want 1", n, typ)
		}
	}
	if n := len(seen.All()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	g.Verified()
}

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
				var seen proxytest.Counter
				up := proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageText("0", "before"), proxytest.MessageTool("1", "toolu_1", tt.command), proxytest.MessageEnd("tool_use"))
				ask := proxytest.AskStream
				if form == "plain" {
					up = proxytest.Answer(&seen, 200, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"before"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"`+tt.command+`"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`)
					ask = proxytest.AskPlain
				}
				g := proxytest.New(t, up)
				got := make(chan string, 1)
				go func() { got <- proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, ask).Body) }()
				if tt.answer != "" {
					g.Decide(g.Pending(1)[0], tt.answer, tt.text)
				}
				body := <-got
				for _, w := range append(tt.want, proxytest.NoticeWord, "end_turn", "before") {
					if !strings.Contains(body, w) {
						t.Errorf("%q is not in the refusal:\n%s", w, body)
					}
				}
				if strings.Contains(body, "toolu_1") || strings.Contains(body, `"tool_use"`) {
					t.Errorf("something of the call is left:\n%s", body)
				}
				g.Verified()
			})
		}
	}
}

func TestEveryCallOfAnAnswerIsDecidedByItself(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_a", "gated one"), proxytest.MessageTool("1", "toolu_b", "ls"), proxytest.MessageTool("2", "toolu_c", "gated two"), proxytest.MessageTool("3", "toolu_d", "forbidden"), proxytest.MessageEnd("tool_use")))
	got := make(chan string, 1)
	go func() { got <- proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body) }()
	for _, r := range g.Pending(2) {
		if strings.Contains(r.Briefing.Summary, "one") {
			g.Decide(r, holdgate.AnswerDeny, "")
		} else {
			g.Decide(r, holdgate.AnswerApprove, "")
		}
	}
	body := <-got
	if strings.Contains(body, "toolu_a") || strings.Contains(body, "toolu_d") {
		t.Errorf("a refused call went on:\n%s", body)
	}
	if !strings.Contains(body, proxytest.MessageTool("1", "toolu_b", "ls")) || !strings.Contains(body, proxytest.MessageTool("2", "toolu_c", "gated two")) {
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
		{"the same request", proxytest.AskStream},
		{"the same request with its keys in another order", `{"stream":true,"messages":[{"content":"go","role":"user"}],"max_tokens":9,"model":"m"}`},
		{"the same request, no longer streamed", proxytest.AskPlain},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen proxytest.Counter
			g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageText("0", "before"), proxytest.MessageTool("1", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")))
			ctx, leave := context.WithCancel(t.Context())
			resp := g.Post(ctx, proxytest.Messages, proxytest.AskStream)
			proxytest.Until(t, bufio.NewReader(resp.Body), "before")
			first := g.Pending(1)[0]
			leave()
			g.Noticed()
			got := make(chan string, 1)
			go func() { got <- proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, tt.retry).Body) }()
			g.Decide(first, holdgate.AnswerApprove, "")
			body := <-got
			if !strings.Contains(body, "toolu_1") || strings.Contains(body, proxytest.NoticeWord) {
				t.Errorf("the retry did not get the approved call:\n%s", body)
			}
			if tt.retry == proxytest.AskPlain && !json.Valid([]byte(body)) {
				t.Errorf("a plain request got no JSON:\n%s", body)
			}
			if n := len(seen.All()); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
			if n := len(g.Entries(audit.TypeOutcome)); n != 1 {
				t.Errorf("the person was asked %d times", n)
			}
		})
	}
}

func TestAnOutcomeWaitsForItsCall(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")), proxytest.WithIdle(10*time.Millisecond))
	ctx, leave := context.WithCancel(t.Context())
	g.Post(ctx, proxytest.Messages, proxytest.AskStream)
	r := g.Pending(1)[0]
	leave()
	g.Noticed()
	g.Decide(r, holdgate.AnswerApprove, "")
	body := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body)
	if !strings.Contains(body, "toolu_1") {
		t.Fatalf("the outcome was lost:\n%s", body)
	}
	// It is spent now: the same call is a new call.
	rest := begin(g, form{path: proxytest.Messages, ask: proxytest.AskStream})
	if again := g.Pending(1)[0]; again.ID == r.ID {
		t.Error("an approval was used twice")
	} else {
		g.Decide(again, holdgate.AnswerDeny, "")
	}
	<-rest
	if n := len(seen.All()); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
}

func TestAHeldModelRequestIsNotSentBeforeItIsApproved(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`))
	ask := `{"model":"gated-model","max_tokens":9,"messages":[{"role":"user","content":"go"}]}`
	got := make(chan *http.Response, 1)
	go func() { got <- g.Post(t.Context(), proxytest.Messages, ask) }()
	r := g.Pending(1)[0]
	if len(seen.All()) != 0 {
		t.Fatal("the request went on before it was approved")
	}
	g.Decide(r, holdgate.AnswerApprove, "")
	if resp := <-got; resp.StatusCode != 200 || len(seen.All()) != 1 {
		t.Errorf("status %d, the model was asked %d times", resp.StatusCode, len(seen.All()))
	}
	go func() { got <- g.Post(t.Context(), proxytest.Messages, ask) }()
	g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "too dear")
	resp := <-got
	body := proxytest.ReadAll(t, resp.Body)
	if resp.StatusCode != 400 || !strings.Contains(body, "too dear") || !strings.Contains(body, `"type":"error"`) {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
	if resp.Header.Get("X-Should-Retry") != "false" {
		t.Error("a refusal invites a retry")
	}
}

// A client that leaves before the upstream has answered whole loses nothing:
// the answer is read to its end for the one that comes back.
func TestAnAnswerIsReadToItsEndForTheRetry(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	more, left := make(chan struct{}), make(chan struct{}, 2)
	up := proxytest.NewUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageText("0", "before"), proxytest.MessageTool("1", "toolu_1", "gated")).ServeHTTP(w, r)
		<-more
		if r.Context().Err() != nil {
			return
		}
		_, _ = io.WriteString(w, proxytest.MessageText("2", "after")+proxytest.MessageEnd("tool_use"))
	}))
	g := proxytest.NewWith(t, handling(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			context.AfterFunc(r.Context(), func() { left <- struct{}{} })
			h.ServeHTTP(w, r)
		})
	}), map[string]string{"test": up}, nil, proxytest.WithNotice())
	ctx, leave := context.WithCancel(t.Context())
	proxytest.Until(t, bufio.NewReader(g.Post(ctx, proxytest.Messages, proxytest.AskStream).Body), "holdgate approve ")
	req := g.Pending(1)[0]
	leave()
	<-left
	got := make(chan string, 1)
	go func() {
		resp, err := g.Client.Post(g.URL+proxytest.Messages, "application/json", strings.NewReader(proxytest.AskStream))
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	g.Decide(req, holdgate.AnswerApprove, "")
	close(more)
	if body := <-got; !strings.Contains(body, "toolu_1") || !strings.Contains(body, "after") || len(seen.All()) != 1 {
		t.Errorf("the model was asked %d times; got:\n%s", len(seen.All()), body)
	}
}
