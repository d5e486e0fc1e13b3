package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/store/audit"
)

func (g *sidecar) intervene(agent string, a agents.Action) {
	g.t.Helper()
	g.t.Logf("%s %q", a, agent)
	_, err := g.queue.Agents.Intervene(g.t.Context(), agent, agents.Intervention{Action: a, Reason: "too fast", By: "ann"})
	must(g.t, err)
}

func TestAStoppedAgentIsRefusedInTheFormatSpokenUntilItIsResumed(t *testing.T) {
	t.Parallel()
	var seen counter
	up := newUpstream(t, plainly(&seen, 200, `{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}`))
	g := newGateTo(t, map[string]string{"test": up}, map[string]string{"files": up + "/mcp"})
	tests := []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"anthropic", messages, askPlain, 400, `"invalid_request_error"`},
		{"openai", "/up/test/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"go"}]}`, 400, `"error"`},
		{"mcp", "/mcp/files", toolCall("1", "x"), 200, `"isError":true`},
		{"plain HTTP", "/up/test/v1/files", `{}`, 403, `"detail"`},
	}
	g.intervene(agents.Everybody, agents.Stop)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := g.post(t.Context(), tt.path, tt.body)
			body := readAll(t, resp.Body)
			if resp.StatusCode != tt.status || !strings.Contains(body, tt.want) || !strings.Contains(body, "stopped by ann: too fast") {
				t.Errorf("got %d %s", resp.StatusCode, body)
			}
		})
	}
	if n := len(seen.all()); n != 0 {
		t.Fatalf("%d requests of a stopped agent went on", n)
	}
	for _, e := range g.entries(audit.TypeRefused) {
		if e.Decision.Rule != holdgate.RuleStopped {
			t.Errorf("refused by %s", e.Decision.Rule)
		}
	}
	g.intervene(agents.Everybody, agents.Resume)
	if resp := g.post(t.Context(), messages, askPlain); resp.StatusCode != 200 {
		t.Errorf("resumed, and yet: %d %s", resp.StatusCode, readAll(t, resp.Body))
	}
	g.verified()
}

func TestAPausedAgentsRequestsWaitInLine(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGate(t, plainly(&seen, 200, `{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}`))
	g.intervene(agents.Everybody, agents.Pause)
	answered := make(chan int, 1)
	go func() { answered <- g.post(t.Context(), messages, askPlain).StatusCode }()
	for {
		list, err := g.queue.Agents.List(t.Context())
		must(t, err)
		if !list[0].LastSeen.IsZero() {
			break
		}
	}
	if n := len(seen.all()); n != 0 {
		t.Fatal("a paused agent's request went on")
	}
	g.intervene(agents.Everybody, agents.Resume)
	if status := <-answered; status != 200 || len(seen.all()) != 1 {
		t.Errorf("status %d, %d requests went on", status, len(seen.all()))
	}
}

func TestAPausedAgentIsToldToAskAgainBeforeItsClientGivesUp(t *testing.T) {
	t.Parallel()
	var seen counter
	up := newUpstream(t, plainly(&seen, 200, `{}`))
	g := newGateTo(t, map[string]string{"test": up}, map[string]string{"files": up + "/mcp"}, withBudget(10*time.Millisecond), withMCPBudget(10*time.Millisecond))
	g.intervene(agents.Everybody, agents.Pause)
	resp := g.post(t.Context(), messages, askPlain)
	if body := readAll(t, resp.Body); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "paused by ann") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	resp = g.post(t.Context(), "/mcp/files", toolCall("1", "x"))
	if body := readAll(t, resp.Body); !strings.Contains(body, "paused by ann") || !strings.Contains(body, "Call the tool again") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	if n := len(seen.all()); n != 0 {
		t.Errorf("%d requests of a paused agent went on", n)
	}
}

// pausing is an upstream that waits between its text and its calls until the
// test says so.
func pausing(next <-chan struct{}, before string, after ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		_, _ = io.WriteString(w, before)
		_ = rc.Flush()
		select {
		case <-next:
		case <-r.Context().Done():
			return
		}
		for _, e := range after {
			_, _ = io.WriteString(w, e)
			_ = rc.Flush()
		}
	})
}

func TestWhenPauseComesAStreamFlowsAsFarAsItsFirstCall(t *testing.T) {
	t.Parallel()
	begin, text := msgStart(), msgText("0", "before")
	rest := []string{msgTool("1", "toolu_1", "ls"), msgTool("2", "toolu_2", "pwd"), msgEnd("tool_use")}
	next := make(chan struct{})
	g := newGate(t, pausing(next, begin+text, rest...), withIdle(10*time.Millisecond))
	r := bufio.NewReader(g.post(t.Context(), messages, askStream).Body)
	got := until(t, r, `"before"`)
	g.intervene(holdgate.AgentDefault, agents.Pause)
	close(next)
	for range 3 { // signs of life: the stream stays well-formed while it waits
		got += until(t, r, `"text":""}}`)
	}
	if strings.Contains(got, "toolu_1") {
		t.Fatalf("a call was released while its agent is paused:\n%s", got)
	}
	g.intervene(holdgate.AgentDefault, agents.Resume)
	got += readAll(t, r)
	got = without(without(got, emptyDelta("0")), sse("ping", `{"type":"ping"}`))
	if want := begin + text + strings.Join(rest, ""); got != want {
		t.Errorf("(-want +got)\n%s", cmp.Diff(want, got))
	}
}

func TestAStopEndsAFlowingStreamAndCancelsWhatItHolds(t *testing.T) {
	t.Parallel()
	t.Run("in its text", func(t *testing.T) {
		g := newGate(t, pausing(nil, msgStart()+msgText("0", "before")))
		r := bufio.NewReader(g.post(t.Context(), messages, askStream).Body)
		until(t, r, `"before"`)
		g.intervene(holdgate.AgentDefault, agents.Stop)
		rest, err := io.ReadAll(r)
		if err != nil || !strings.Contains(string(rest), "event: error") || !strings.Contains(string(rest), "stopped by ann") {
			t.Errorf("the stream ends so: %v %s", err, rest)
		}
	})
	t.Run("while a call is held", func(t *testing.T) {
		g := newGate(t, streamer(&counter{}, msgStart(), msgTool("0", "toolu_1", "gated"), msgTool("1", "toolu_2", "ls"), msgEnd("tool_use")))
		resp := g.post(t.Context(), messages, askStream)
		id := g.pending(1)[0].ID
		g.intervene(holdgate.AgentDefault, agents.Stop)
		body := readAll(t, resp.Body)
		if strings.Contains(body, "toolu_") || !strings.Contains(body, "stopped by ann") || !strings.Contains(body, "message_stop") {
			t.Errorf("got:\n%s", body)
		}
		req, err := g.queue.Request(t.Context(), id)
		must(t, err)
		if req.Status != holdgate.StatusCancelled || req.Outcome.By != "ann" {
			t.Errorf("the request is %s: %+v", req.Status, req.Outcome)
		}
	})
	t.Run("a download of no known format", func(t *testing.T) {
		g := newGate(t, pausing(nil, "data: 1\n\n"))
		resp := g.post(t.Context(), "/up/test/v1/files", `{}`)
		r := bufio.NewReader(resp.Body)
		until(t, r, "data: 1")
		g.intervene(holdgate.AgentDefault, agents.Stop)
		if _, err := io.ReadAll(r); err == nil {
			t.Error("the download ends as if it were whole")
		}
	})
}

func TestAnApprovalOfAPausedAgentsCallReleasesItOnlyAfterwards(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain %v", plain), func(t *testing.T) {
			upstream, ask := streamer(&counter{}, msgStart(), msgTool("0", "toolu_1", "gated"), msgEnd("tool_use")), askStream
			if plain {
				upstream, ask = plainly(&counter{}, 200, gatedPlain), askPlain
			}
			g := newGate(t, upstream)
			answer := make(chan string, 1)
			go func() {
				b, _ := io.ReadAll(g.post(t.Context(), messages, ask).Body)
				answer <- string(b)
			}()
			req := g.pending(1)[0]
			g.intervene(holdgate.AgentDefault, agents.Pause)
			g.decide(req, holdgate.AnswerApprove, "")
			if used := g.entries(audit.TypeUsed); len(used) > 0 {
				t.Fatal("an approval was used while the agent is paused")
			}
			g.intervene(holdgate.AgentDefault, agents.Resume)
			if got := <-answer; !strings.Contains(got, "toolu_1") {
				t.Errorf("got:\n%s", got)
			}
			resumed, used := g.entries(audit.TypeIntervention)[1], g.entries(audit.TypeUsed)
			if len(used) != 1 || used[0].Seq < resumed.Seq {
				t.Errorf("used before it was resumed: %+v", used)
			}
		})
	}
}

func TestADenialWithStopStopsTheAgent(t *testing.T) {
	t.Parallel()
	g := newGate(t, streamer(&counter{}, msgStart(), msgTool("0", "toolu_1", "gated"), msgTool("1", "toolu_2", "gated too"), msgEnd("tool_use")))
	resp := g.post(t.Context(), messages, askStream)
	req := g.pending(2)[0]
	_, err := g.queue.Decide(t.Context(), req.ID, approvals.Vote{Decision: holdgate.AnswerDeny, By: "ann", Channel: "cli", Stop: true, Reason: "enough"})
	must(t, err)
	if body := readAll(t, resp.Body); strings.Contains(body, "toolu_") || !strings.Contains(body, "stopped by ann: enough") {
		t.Errorf("got:\n%s", body)
	}
	if resp := g.post(t.Context(), messages, askPlain); resp.StatusCode != 400 {
		t.Errorf("the next request got %d", resp.StatusCode)
	}
}
