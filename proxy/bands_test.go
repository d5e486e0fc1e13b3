package proxy_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/agentapi"
)

// run has what comes be that of an agent which the kernel keeps, as `run` starts one.
func (g *sidecar) run(confinement string) {
	g.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(g.t, err)
	served := make(chan error, 1)
	agent := holdgate.Agent{ID: "ci", Proven: true, Confinement: confinement}
	go func() { served <- g.s.ServeRun(ln, agent, "/work") }()
	g.url = "http://" + ln.Addr().String()
	g.t.Cleanup(func() {
		g.client.CloseIdleConnections()
		must(g.t, ln.Close())
		must(g.t, <-served)
	})
}

// Requirement 000: a report of the middle band is shown to people, and goes on by
// itself unless they step in, with the calls that wait for it. Nothing is asked twice.
func TestAReportOfTheMiddleBandGoesOnByItself(t *testing.T) {
	t.Parallel()
	f := endings()[0]
	for _, c := range []struct {
		name, confinement string
		results           int
		score             string
		silence           string
	}{
		{"the middle band", "strong", 5, "65", "approve"},
		{"surer, and below the line of reports", "strong", 5, "85", "approve"},
		{"by its own number alone", "strong", 4, "65", "deny"},
		{"not kept from going around", "weak", 5, "65", "deny"},
		{"the low band", "strong", 5, "45", "deny"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var upstream atomic.Value
			g := newGate(t, saying(&upstream), withSettings(t, "  confidence: {show_for: 3s}\n"), func(c *proxy.Config) {
				c.Confidence = proxy.Confidence{Enabled: true, AutoEscalate: true, Threshold: 0.9}
			})
			g.run(c.confinement)
			g.queue.Reaches("stage", true)
			turns := ""
			for _, id := range []string{"a1", "a2", "a3", "a4", "a5"}[:c.results] {
				g.say(f.toolFormat, &upstream, "s1", f.answer(f.call(id, "ls "+id)), turns)
				turns += f.turn(f.call(id, "ls "+id)) + f.well(id)
			}
			g.say(f.toolFormat, &upstream, "s1", messageWith(`{"type":"text","text":"ok"}`), turns)
			_, text := g.ask("POST", "/v1/confidence", `{"score":`+c.score+`}`)
			r := read[agentapi.Reported](t, text)
			asked := g.pending(1)[0]
			if asked.ID != r.Gate || asked.OnTimeout != c.silence {
				t.Fatalf("silence would %s; %s", asked.OnTimeout, text)
			}
			if left := asked.ExpiresAt.Sub(asked.CreatedAt); (c.silence == "approve") != (left == 3*time.Second) || left > time.Hour {
				t.Errorf("people have %s", left)
			}
			if c.silence != "approve" {
				return
			}
			waits := 2
			if c.score == "65" { // by its band even what changes nothing
				waits = 3
			}
			answered := []<-chan string{g.calls(f, &upstream, "cp a b")}
			g.pending(2)
			answered = append(answered, g.calls(f, &upstream, "ls b"))
			for _, r := range g.pending(waits)[1:] {
				if r.Gate != sessions.GateConfidence || r.OnTimeout != "deny" {
					t.Errorf("a call waits under %q, and silence would %s", r.Gate, r.OnTimeout)
				}
			}
			must(t, g.queue.Told(t.Context(), asked.ID))
			for _, a := range answered {
				if body := <-a; !strings.Contains(body, `"tool_use"`) || strings.Contains(body, "holdgate") {
					t.Errorf("answered: %s", body)
				}
			}
			if body := <-g.calls(f, &upstream, "ls c"); !strings.Contains(body, `"tool_use"`) {
				t.Errorf("after it was shown: %s", body)
			}
			for range 2 {
				if _, text := g.ask("GET", "/v1/gates/"+r.Gate, ""); read[agentapi.Gate](t, text).Status != holdgate.StatusApproved {
					t.Errorf("the agent is told %s", text)
				}
			}
			g.ask("POST", "/v1/confidence", `{"score":65}`)
			if again := g.pending(1)[0]; again.Gate != sessions.GateConfidence || again.OnTimeout != "approve" {
				t.Errorf("the next report: %+v", again)
			}
			g.verified()
		})
	}
}

// calls has the model ask for a command in session s1.
func (g *sidecar) calls(f struct {
	toolFormat

	well, badly func(id string) string
}, upstream *atomic.Value, command string,
) <-chan string {
	upstream.Store(f.answer(f.call("x", command)))
	return g.inSession("s1", f.request(""))
}
