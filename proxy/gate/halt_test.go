package gate_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/store/audit"
)

func TestAStoppedAgentIsRefusedInTheFormatSpokenUntilItIsResumed(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, `{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}`))
	g := proxytest.NewTo(t, map[string]string{"test": up}, map[string]string{"files": up + "/mcp"})
	tests := []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"anthropic", proxytest.Messages, proxytest.AskPlain, 400, `"invalid_request_error"`},
		{"openai", "/up/test/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"go"}]}`, 400, `"error"`},
		{"mcp", "/mcp/files", proxytest.ToolCall("1", "x"), 200, `"isError":true`},
		{"plain HTTP", "/up/test/v1/files", `{}`, 403, `"detail"`},
	}
	g.Intervene(agents.Everybody, agents.Stop)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := g.Post(t.Context(), tt.path, tt.body)
			body := proxytest.ReadAll(t, resp.Body)
			if resp.StatusCode != tt.status || !strings.Contains(body, tt.want) || !strings.Contains(body, "stopped by ann: too fast") {
				t.Errorf("got %d %s", resp.StatusCode, body)
			}
		})
	}
	if n := len(seen.All()); n != 0 {
		t.Fatalf("%d requests of a stopped agent went on", n)
	}
	for _, e := range g.Entries(audit.TypeRefused) {
		if e.Decision.Rule != holdgate.RuleStopped {
			t.Errorf("refused by %s", e.Decision.Rule)
		}
	}
	g.Intervene(agents.Everybody, agents.Resume)
	if resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain); resp.StatusCode != 200 {
		t.Errorf("resumed, and yet: %d %s", resp.StatusCode, proxytest.ReadAll(t, resp.Body))
	}
	g.Verified()
}

func TestAPausedAgentsRequestsWaitInLine(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.New(t, proxytest.Answer(&seen, 200, `{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}`))
	g.Intervene(agents.Everybody, agents.Pause)
	answered := make(chan int, 1)
	go func() { answered <- g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain).StatusCode }()
	for {
		list, err := g.Queue.Agents.List(t.Context())
		proxytest.Must(t, err)
		if !list[0].LastSeen.IsZero() {
			break
		}
	}
	if n := len(seen.All()); n != 0 {
		t.Fatal("a paused agent's request went on")
	}
	g.Intervene(agents.Everybody, agents.Resume)
	if status := <-answered; status != 200 || len(seen.All()) != 1 {
		t.Errorf("status %d, %d requests went on", status, len(seen.All()))
	}
}

func TestAPausedAgentIsToldToAskAgainBeforeItsClientGivesUp(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	up := proxytest.NewUpstream(t, proxytest.Answer(&seen, 200, `{}`))
	g := proxytest.NewTo(t, map[string]string{"test": up}, map[string]string{"files": up + "/mcp"}, proxytest.WithBudget(10*time.Millisecond), proxytest.WithMCPBudget(10*time.Millisecond))
	g.Intervene(agents.Everybody, agents.Pause)
	resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain)
	if body := proxytest.ReadAll(t, resp.Body); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "paused by ann") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	resp = g.Post(t.Context(), "/mcp/files", proxytest.ToolCall("1", "x"))
	if body := proxytest.ReadAll(t, resp.Body); !strings.Contains(body, "paused by ann") || !strings.Contains(body, "Call the tool again") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	if n := len(seen.All()); n != 0 {
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
	begin, text := proxytest.MessageStart(), proxytest.MessageText("0", "before")
	rest := []string{proxytest.MessageTool("1", "toolu_1", "ls"), proxytest.MessageTool("2", "toolu_2", "pwd"), proxytest.MessageEnd("tool_use")}
	next := make(chan struct{})
	g := proxytest.New(t, pausing(next, begin+text, rest...), proxytest.WithIdle(10*time.Millisecond))
	r := bufio.NewReader(g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body)
	got := proxytest.Until(t, r, `"before"`)
	g.Intervene(holdgate.AgentDefault, agents.Pause)
	close(next)
	for range 3 { // signs of life: the stream stays well-formed while it waits
		got += proxytest.Until(t, r, `"text":""}}`)
	}
	if strings.Contains(got, "toolu_1") {
		t.Fatalf("a call was released while its agent is paused:\n%s", got)
	}
	g.Intervene(holdgate.AgentDefault, agents.Resume)
	got += proxytest.ReadAll(t, r)
	got = proxytest.Without(proxytest.Without(got, proxytest.EmptyDelta("0")), proxytest.Event("ping", `{"type":"ping"}`))
	if want := begin + text + strings.Join(rest, ""); got != want {
		t.Errorf("(-want +got)\n%s", cmp.Diff(want, got))
	}
}

func TestAStopEndsAFlowingStreamAndCancelsWhatItHolds(t *testing.T) {
	t.Parallel()
	t.Run("in its text", func(t *testing.T) {
		g := proxytest.New(t, pausing(nil, proxytest.MessageStart()+proxytest.MessageText("0", "before")))
		r := bufio.NewReader(g.Post(t.Context(), proxytest.Messages, proxytest.AskStream).Body)
		proxytest.Until(t, r, `"before"`)
		g.Intervene(holdgate.AgentDefault, agents.Stop)
		rest, err := io.ReadAll(r)
		if err != nil || !strings.Contains(string(rest), "event: error") || !strings.Contains(string(rest), "stopped by ann") {
			t.Errorf("the stream ends so: %v %s", err, rest)
		}
	})
	t.Run("while a call is held", func(t *testing.T) {
		g := proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageTool("1", "toolu_2", "ls"), proxytest.MessageEnd("tool_use")))
		resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskStream)
		id := g.Pending(1)[0].ID
		g.Intervene(holdgate.AgentDefault, agents.Stop)
		body := proxytest.ReadAll(t, resp.Body)
		if strings.Contains(body, "toolu_") || !strings.Contains(body, "stopped by ann") || !strings.Contains(body, "message_stop") {
			t.Errorf("got:\n%s", body)
		}
		req, err := g.Queue.Request(t.Context(), id)
		proxytest.Must(t, err)
		if req.Status != holdgate.StatusCancelled || req.Outcome.By != "ann" {
			t.Errorf("the request is %s: %+v", req.Status, req.Outcome)
		}
	})
	t.Run("a download of no known format", func(t *testing.T) {
		g := proxytest.New(t, pausing(nil, "data: 1\n\n"))
		resp := g.Post(t.Context(), "/up/test/v1/files", `{}`)
		r := bufio.NewReader(resp.Body)
		proxytest.Until(t, r, "data: 1")
		g.Intervene(holdgate.AgentDefault, agents.Stop)
		if _, err := io.ReadAll(r); err == nil {
			t.Error("the download ends as if it were whole")
		}
	})
}

func TestAnApprovalOfAPausedAgentsCallReleasesItOnlyAfterwards(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain %v", plain), func(t *testing.T) {
			upstream, ask := proxytest.Stream(&proxytest.Counter{}, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageEnd("tool_use")), proxytest.AskStream
			if plain {
				upstream, ask = proxytest.Answer(&proxytest.Counter{}, 200, proxytest.GatedPlain), proxytest.AskPlain
			}
			g := proxytest.New(t, upstream)
			answer := make(chan string, 1)
			go func() {
				b, _ := io.ReadAll(g.Post(t.Context(), proxytest.Messages, ask).Body)
				answer <- string(b)
			}()
			req := g.Pending(1)[0]
			g.Intervene(holdgate.AgentDefault, agents.Pause)
			g.Decide(req, holdgate.AnswerApprove, "")
			if used := g.Entries(audit.TypeUsed); len(used) > 0 {
				t.Fatal("an approval was used while the agent is paused")
			}
			g.Intervene(holdgate.AgentDefault, agents.Resume)
			if got := <-answer; !strings.Contains(got, "toolu_1") {
				t.Errorf("got:\n%s", got)
			}
			resumed, used := g.Entries(audit.TypeIntervention)[1], g.Entries(audit.TypeUsed)
			if len(used) != 1 || used[0].Seq < resumed.Seq {
				t.Errorf("used before it was resumed: %+v", used)
			}
		})
	}
}

func TestADenialWithStopStopsTheAgent(t *testing.T) {
	t.Parallel()
	g := proxytest.New(t, proxytest.Stream(&proxytest.Counter{}, proxytest.MessageStart(), proxytest.MessageTool("0", "toolu_1", "gated"), proxytest.MessageTool("1", "toolu_2", "gated too"), proxytest.MessageEnd("tool_use")))
	resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskStream)
	req := g.Pending(2)[0]
	_, err := g.Queue.Decide(t.Context(), req.ID, approvals.Vote{Decision: holdgate.AnswerDeny, By: "ann", Channel: "cli", Stop: true, Reason: "enough"})
	proxytest.Must(t, err)
	if body := proxytest.ReadAll(t, resp.Body); strings.Contains(body, "toolu_") || !strings.Contains(body, "stopped by ann: enough") {
		t.Errorf("got:\n%s", body)
	}
	if resp := g.Post(t.Context(), proxytest.Messages, proxytest.AskPlain); resp.StatusCode != 400 {
		t.Errorf("the next request got %d", resp.StatusCode)
	}
}
