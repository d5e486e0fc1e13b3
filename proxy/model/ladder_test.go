package model_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/store/audit"
)

// Clients count their patience to the headers, so these wait for nothing.
func TestHeadersOfAStreamGoOutBeforeItsFirstByte(t *testing.T) {
	t.Parallel()
	begin := make(chan struct{})
	g := proxytest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-begin
		_, _ = io.WriteString(w, proxytest.MessageStart()+proxytest.MessageEnd("end_turn"))
	}))
	resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskStream) // returns with the headers
	close(begin)
	if got := proxytest.ReadAll(t, resp.Body); got != proxytest.MessageStart()+proxytest.MessageEnd("end_turn") {
		t.Errorf("got:\n%s", got)
	}
}

// The signs of life are those that the format's clients were seen to count.
func TestSignsOfLifeAreTheFormatsOwn(t *testing.T) {
	t.Parallel()
	const chunk = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":`
	chat := []string{
		chunk + `{"role":"assistant","content":"before"},"finish_reason":null}]}` + "\n\n",
		chunk + `{"tool_calls":[{"index":0,"id":"toolu_1","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"gated\"}"}}]},"finish_reason":null}]}` + "\n\n",
		chunk + `{},"finish_reason":"tool_calls"}]}` + "\n\n", "data: [DONE]\n\n",
	}
	tests := []struct {
		name, path, ask, sign string
		events                []string
	}{
		{"anthropic, after text", proxytest.Messages, proxytest.AskStream, proxytest.EmptyDelta("0"), []string{proxytest.MessageStart(), proxytest.MessageText("0", "before"), proxytest.MessageTool("1", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")}},
		{"anthropic, before anything", proxytest.Messages, proxytest.AskStream, "event: ping\n", []string{proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")}},
		{"openai", "/up/test/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}]}`, `"delta":{"content":""}`, chat},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, tt.events...), proxytest.WithIdle(15*time.Millisecond))
			r := bufio.NewReader(g.Post(t.Context(), tt.path, tt.ask).Body)
			got := ""
			for range 3 {
				got += proxytest.Until(t, r, strings.TrimRight(strings.SplitAfter(tt.sign, "\n")[0], "\n"))
			}
			if strings.Contains(got, "toolu_1") {
				t.Fatalf("something of the call went on:\n%s", got)
			}
			g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
			if rest := proxytest.ReadAll(t, r); !strings.Contains(rest, "toolu_1") {
				t.Errorf("the approved call did not come:\n%s", rest)
			}
		})
	}
}

func TestAPlainAnswerIsPickedUpByTheRetry(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	rungs := make(chan gate.Rung, 9)
	g := proxytest.New(t, proxytest.Answer(&seen, 200, proxytest.GatedPlain), proxytest.WithBudget(100*time.Millisecond),
		func(c *proxy.Config) { c.OnHeld = func(r gate.Rung) { rungs <- r } })
	resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain)
	body := proxytest.ReadAll(t, resp.Body)
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "overloaded_error") || !strings.Contains(body, g.Pending(1)[0].ID) {
		t.Fatalf("status %d, headers %v: %s", resp.StatusCode, resp.Header, body)
	}
	if first, then := <-rungs, <-rungs; first != gate.RungLine || then != gate.RungAgain {
		t.Errorf("the client waited by %s and %s", first, then)
	}
	g.Decide(g.Pending(1)[0], holdgate.AnswerApprove, "")
	resp = g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain)
	if got := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 200 || got != proxytest.GatedPlain {
		t.Errorf("status %d: %s", resp.StatusCode, got)
	}
	if len(rungs) != 0 {
		t.Errorf("who gets a decision waits by %s", <-rungs)
	}
	if len(seen.All()) != 1 || len(g.Entries(audit.TypeOutcome)) != 1 || len(g.Entries(audit.TypeUsed)) != 1 {
		t.Errorf("the model was asked %d times, the person %d times", len(seen.All()), len(g.Entries(audit.TypeOutcome)))
	}
}

func TestANoticeSaysWhoIsAsked(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, proxytest.MessageStart(), proxytest.MessageText("0", "before"), proxytest.MessageTool("1", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")), proxytest.WithNotice())
	r := bufio.NewReader(g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body)
	req := g.Pending(1)[0]
	got := proxytest.Until(t, r, "holdgate approve "+req.ID)
	g.Decide(req, holdgate.AnswerApprove, "")
	if rest := proxytest.ReadAll(t, r); !strings.Contains(rest, "toolu_1") || strings.Contains(got, "toolu_1") {
		t.Errorf("got:\n%s%s", got, rest)
	}
}

// Two agents in one session may ask the same at once: each gets an answer of
// its own.
func TestTheSameRequestBesideALiveOneIsItsOwn(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Stream(&seen, proxytest.MessageStart(), proxytest.MessageText("0", "before"), proxytest.MessageTool("1", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")))
	got := make(chan string, 2)
	for i := range 2 {
		resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskStream)
		r := bufio.NewReader(resp.Body)
		before := proxytest.Until(t, r, "before")
		g.Pending(i + 1)
		go func() {
			b, _ := io.ReadAll(r)
			got <- before + string(b)
		}()
	}
	for _, req := range g.Pending(2) {
		g.Decide(req, holdgate.AnswerApprove, "")
	}
	for range 2 {
		if body := <-got; !strings.Contains(body, "toolu_1") {
			t.Errorf("got:\n%s", body)
		}
	}
	if n := len(g.Entries(audit.TypeUsed)); n != 2 || len(seen.All()) != 2 {
		t.Errorf("%d approvals were used, and the model was asked %d times; want 2 and 2", n, len(seen.All()))
	}
}

// An answer that was kept is delivered once, also where policy no longer holds
// anything in it.
func TestAKeptAnswerIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, proxytest.GatedPlain), proxytest.WithBudget(50*time.Millisecond))
	if resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain); resp.StatusCode != 503 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	g = g.Restarted(func(c *proxy.Config) { c.Engine = proxytest.AllowEverything(t) })
	for i := range 2 {
		if got := proxytest.ReadAll(t, g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain).Body); got != proxytest.GatedPlain {
			t.Errorf("got %s", got)
		}
		if n := len(seen.All()); n != i+1 {
			t.Errorf("after %d deliveries the model had been asked %d times", i+1, n)
		}
	}
	g.Pending(0)
}
