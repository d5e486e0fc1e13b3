package proxy_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/anthropic"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/store/audit"
)

func withBudget(d time.Duration) gateOption { return func(c *proxy.Config) { c.Limits.Budget = d } }

const gatedPlain = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"before"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"gated"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`

// Clients count their patience to the headers, so these wait for nothing.
func TestHeadersOfAStreamGoOutBeforeItsFirstByte(t *testing.T) {
	t.Parallel()
	begin := make(chan struct{})
	g := newGate(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-begin
		_, _ = io.WriteString(w, msgStart()+msgEnd("end_turn"))
	}))
	resp := g.post(t.Context(), messages, askStream) // returns with the headers
	close(begin)
	if got := readAll(t, resp.Body); got != msgStart()+msgEnd("end_turn") {
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
		{"anthropic, after text", messages, askStream, emptyDelta("0"), []string{msgStart(), msgText("0", "before"), msgTool("1", "toolu_1", "gated"), msgEnd("tool_use")}},
		{"anthropic, before anything", messages, askStream, "event: ping\n", []string{msgStart(), msgTool("0", "toolu_1", "gated"), msgEnd("tool_use")}},
		{"openai", "/up/test/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}]}`, `"delta":{"content":""}`, chat},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t, streamer(&counter{}, tt.events...), withIdle(15*time.Millisecond))
			r := bufio.NewReader(g.post(t.Context(), tt.path, tt.ask).Body)
			got := ""
			for range 3 {
				got += until(t, r, strings.TrimRight(strings.SplitAfter(tt.sign, "\n")[0], "\n"))
			}
			if strings.Contains(got, "toolu_1") {
				t.Fatalf("something of the call went on:\n%s", got)
			}
			g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
			if rest := readAll(t, r); !strings.Contains(rest, "toolu_1") {
				t.Errorf("the approved call did not come:\n%s", rest)
			}
		})
	}
}

func TestAPlainAnswerIsPickedUpByTheRetry(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, plainly(&seen, 200, gatedPlain), withBudget(100*time.Millisecond))
	resp := g.post(t.Context(), messages, askPlain)
	body := readAll(t, resp.Body)
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "overloaded_error") || !strings.Contains(body, g.pending(1)[0].ID) {
		t.Fatalf("status %d, headers %v: %s", resp.StatusCode, resp.Header, body)
	}
	g.decide(g.pending(1)[0], holdgate.AnswerApprove, "")
	resp = g.post(t.Context(), messages, askPlain)
	if got := readAll(t, resp.Body); resp.StatusCode != 200 || got != gatedPlain {
		t.Errorf("status %d: %s", resp.StatusCode, got)
	}
	if len(seen.all()) != 1 || len(g.entries(audit.TypeOutcome)) != 1 || len(g.entries(audit.TypeUsed)) != 1 {
		t.Errorf("the model was asked %d times, the person %d times", len(seen.all()), len(g.entries(audit.TypeOutcome)))
	}
}

// A client's patience runs from its request, not from the question to a person.
func TestTheBudgetCountsTheUpstreamsTime(t *testing.T) {
	t.Parallel()
	inTime(t, func(t *testing.T, c *clocked) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, messages, strings.NewReader(askPlain))
		r.Header.Set("Content-Type", "application/json")
		w, begin := httptest.NewRecorder(), time.Now()
		_ = c.s.Take(w, r, &route.Target{Recognised: route.Recognised{Codec: &anthropic.Codec{}}, Door: route.DoorBaseURL, Name: "test",
			URL: &url.URL{Scheme: "http", Host: "model.test", Path: "/v1/messages"}, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				time.Sleep(4 * time.Minute)
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(gatedPlain)), Request: r}, nil
			})})
		if took := time.Since(begin); w.Code != http.StatusServiceUnavailable || took != 290*time.Second {
			t.Errorf("the client waited %v, and got status %d: %s", took, w.Code, w.Body)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestANoticeSaysWhoIsAsked(t *testing.T) {
	t.Parallel()
	g := newGate(t, streamer(&counter{}, msgStart(), msgText("0", "before"), msgTool("1", "toolu_1", "gated"), msgEnd("tool_use")), withNotice())
	r := bufio.NewReader(g.post(t.Context(), messages, askStream).Body)
	req := g.pending(1)[0]
	got := until(t, r, "holdgate approve "+req.ID)
	g.decide(req, holdgate.AnswerApprove, "")
	if rest := readAll(t, r); !strings.Contains(rest, "toolu_1") || strings.Contains(got, "toolu_1") {
		t.Errorf("got:\n%s%s", got, rest)
	}
}

// Two agents in one session may ask the same at once: each gets an answer of
// its own.
func TestTheSameRequestBesideALiveOneIsItsOwn(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, streamer(&seen, msgStart(), msgText("0", "before"), msgTool("1", "toolu_1", "gated"), msgEnd("tool_use")))
	got := make(chan string, 2)
	for i := range 2 {
		resp := g.post(t.Context(), messages, askStream)
		r := bufio.NewReader(resp.Body)
		before := until(t, r, "before")
		g.pending(i + 1)
		go func() {
			b, _ := io.ReadAll(r)
			got <- before + string(b)
		}()
	}
	for _, req := range g.pending(2) {
		g.decide(req, holdgate.AnswerApprove, "")
	}
	for range 2 {
		if body := <-got; !strings.Contains(body, "toolu_1") {
			t.Errorf("got:\n%s", body)
		}
	}
	if n := len(g.entries(audit.TypeUsed)); n != 2 || len(seen.all()) != 2 {
		t.Errorf("%d approvals were used, and the model was asked %d times; want 2 and 2", n, len(seen.all()))
	}
}

// A client that leaves before the upstream has answered whole loses nothing:
// the answer is read to its end for the one that comes back.
func TestAnAnswerIsReadToItsEndForTheRetry(t *testing.T) {
	t.Parallel()
	var seen counter
	more, left := make(chan struct{}), make(chan struct{}, 2)
	up := newUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		streamer(&seen, msgStart(), msgText("0", "before"), msgTool("1", "toolu_1", "gated")).ServeHTTP(w, r)
		<-more
		if r.Context().Err() != nil {
			return
		}
		_, _ = io.WriteString(w, msgText("2", "after")+msgEnd("tool_use"))
	}))
	g := newGateWith(t, parts{handler: func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			context.AfterFunc(r.Context(), func() { left <- struct{}{} })
			h.ServeHTTP(w, r)
		})
	}}, map[string]string{"test": up}, nil, withNotice())
	ctx, leave := context.WithCancel(t.Context())
	until(t, bufio.NewReader(g.post(ctx, messages, askStream).Body), "holdgate approve ")
	req := g.pending(1)[0]
	leave()
	<-left
	got := make(chan string, 1)
	go func() {
		resp, err := g.client.Post(g.url+messages, "application/json", strings.NewReader(askStream))
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	g.decide(req, holdgate.AnswerApprove, "")
	close(more)
	if body := <-got; !strings.Contains(body, "toolu_1") || !strings.Contains(body, "after") || len(seen.all()) != 1 {
		t.Errorf("the model was asked %d times; got:\n%s", len(seen.all()), body)
	}
}

// An answer that was kept is delivered once, also where policy no longer holds
// anything in it.
func TestAKeptAnswerIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, plainly(&seen, 200, gatedPlain), withBudget(50*time.Millisecond))
	if resp := g.post(t.Context(), messages, askPlain); resp.StatusCode != 503 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	g.s.Config().Engine = allowEverything(t)
	g.newGate()
	for i := range 2 {
		if got := readAll(t, g.post(t.Context(), messages, askPlain).Body); got != gatedPlain {
			t.Errorf("got %s", got)
		}
		if n := len(seen.all()); n != i+1 {
			t.Errorf("after %d deliveries the model had been asked %d times", i+1, n)
		}
	}
	g.pending(0)
}
