package model_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/agentapi"
)

// run has what comes be that of an agent which the kernel keeps, as `run` starts one.
func run(g *proxytest.Sidecar, confinement string) {
	g.T.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	proxytest.Must(g.T, err)
	served := make(chan error, 1)
	agent := holdgate.Agent{ID: "ci", Proven: true, Confinement: confinement}
	go func() { served <- g.Server.ServeRun(ln, agent, "/work") }()
	g.URL = "http://" + ln.Addr().String()
	g.T.Cleanup(func() {
		g.Client.CloseIdleConnections()
		proxytest.Must(g.T, ln.Close())
		proxytest.Must(g.T, <-served)
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
			g := proxytest.New(t, saying(&upstream), proxytest.WithSettings(t, "  confidence: {show_for: 3s}\n"), func(c *proxy.Config) {
				c.Confidence = proxy.Confidence{Enabled: true, AutoEscalate: true, Threshold: 0.9}
			})
			run(g, c.confinement)
			g.Queue.Reaches("stage", true)
			turns := ""
			for _, id := range []string{"a1", "a2", "a3", "a4", "a5"}[:c.results] {
				say(g, f.toolFormat, &upstream, "s1", f.answer(f.call(id, "ls "+id)), turns)
				turns += f.turn(f.call(id, "ls "+id)) + f.well(id)
			}
			say(g, f.toolFormat, &upstream, "s1", messageWith(`{"type":"text","text":"ok"}`), turns)
			_, text := g.AskAPI("POST", "/v1/confidence", `{"score":`+c.score+`}`)
			r := proxytest.Read[agentapi.Reported](t, text)
			asked := g.Pending(1)[0]
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
			answered := []<-chan string{calls(g, f, &upstream, "cp a b")}
			g.Pending(2)
			answered = append(answered, calls(g, f, &upstream, "ls b"))
			for _, r := range g.Pending(waits)[1:] {
				if r.Gate != sessions.GateConfidence || r.OnTimeout != "deny" {
					t.Errorf("a call waits under %q, and silence would %s", r.Gate, r.OnTimeout)
				}
			}
			proxytest.Must(t, g.Queue.Told(t.Context(), asked.ID))
			for _, a := range answered {
				if body := <-a; !strings.Contains(body, `"tool_use"`) || strings.Contains(body, "holdgate") {
					t.Errorf("answered: %s", body)
				}
			}
			if body := <-calls(g, f, &upstream, "ls c"); !strings.Contains(body, `"tool_use"`) {
				t.Errorf("after it was shown: %s", body)
			}
			for range 2 {
				if _, text := g.AskAPI("GET", "/v1/gates/"+r.Gate, ""); proxytest.Read[agentapi.Gate](t, text).Status != holdgate.StatusApproved {
					t.Errorf("the agent is told %s", text)
				}
			}
			g.AskAPI("POST", "/v1/confidence", `{"score":65}`)
			if again := g.Pending(1)[0]; again.Gate != sessions.GateConfidence || again.OnTimeout != "approve" {
				t.Errorf("the next report: %+v", again)
			}
			g.Verified()
		})
	}
}

// calls has the model ask for a command in session s1.
func calls(g *proxytest.Sidecar, f struct {
	toolFormat

	well, badly func(id string) string
}, upstream *atomic.Value, command string,
) <-chan string {
	upstream.Store(f.answer(f.call("x", command)))
	return g.InSession("s1", f.request(""))
}
