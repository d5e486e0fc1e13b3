package proxy_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy"
)

// calling answers each request with a message that calls Bash.
func calling(seen *counter, command string) http.Handler {
	return plainly(seen, 200, fmt.Sprintf(`{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":%q}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`, command))
}

// inSession sends a model request of a session, and returns its answer's body.
func (g *sidecar) inSession(session, body string) <-chan string {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.url+messages, strings.NewReader(body))
	must(g.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", session)
	answered := make(chan string, 1)
	go func() {
		resp, err := g.client.Do(req)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		answered <- readAll(g.t, resp.Body)
	}()
	return answered
}

// withGates lays a configuration over the types of gate.
func withGates(configured map[string]sessions.Gate) parts {
	return parts{queue: func(c *approvals.Config) {
		all, err := sessions.NewGates(configured)
		if err != nil {
			panic(err)
		}
		c.Gates = all
	}}
}

func TestAManualSessionIsAskedAboutEachCall(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGateTo(t, map[string]string{"test": newUpstream(t, calling(&seen, "ls"))}, nil, withShippedPolicy())
	if body := <-g.inSession("s1", askPlain); !strings.Contains(body, `"tool_use"`) {
		t.Fatalf("in mode auto: %s", body)
	}
	_, err := g.queue.Sessions.SetMode(t.Context(), "", "s1", sessions.Setting{Mode: sessions.ModeManual}, 0, "ann")
	must(t, err)
	answered := g.inSession("s1", askPlain)
	r := g.pending(1)[0]
	if r.Rule != "mode.manual" {
		t.Errorf("held by %s", r.Rule)
	}
	g.decide(r, holdgate.AnswerApprove, "")
	if body := <-answered; !strings.Contains(body, `"tool_use"`) {
		t.Errorf("approved: %s", body)
	}
	g.verified()
}

func TestASessionInModeConfidenceThreshold(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGateTo(t, map[string]string{"test": newUpstream(t, calling(&seen, "ls"))}, nil, withShippedPolicy(), func(c *proxy.Config) { c.Confidence.Enabled = true })
	<-g.inSession("s1", askPlain)
	_, err := g.queue.Sessions.SetMode(t.Context(), "", "s1", sessions.Setting{Mode: sessions.ModeThreshold, Threshold: 0.7}, 0, "ann")
	must(t, err)
	answered := g.inSession("s1", askPlain)
	r := g.pending(1)[0]
	if r.Rule != "confidence.threshold" {
		t.Errorf("without a score it is held by %s", r.Rule)
	}
	g.decide(r, holdgate.AnswerDeny, "")
	<-answered
	who := approvals.Caller{Agent: holdgate.Agent{ID: holdgate.AgentDefault}, Session: holdgate.Session{ID: "s1"}}
	for _, score := range []float64{0.7, 0.69} {
		_, err = g.queue.Sessions.Report(t.Context(), who, sessions.Report{Score: score, Source: sessions.SourceAgent}, false)
		must(t, err)
		answered = g.inSession("s1", askPlain)
		if score == 0.7 {
			if body := <-answered; !strings.Contains(body, `"tool_use"`) {
				t.Errorf("sure enough: %s", body)
			}
			continue
		}
		g.decide(g.pending(1)[0], holdgate.AnswerDeny, "")
		<-answered
	}
}

// The session's first changes wait for one gate: who lets one of them pass it
// lets all, and each is decided anew.
func TestAGateIsPassedOnceForTheSession(t *testing.T) {
	t.Parallel()
	var seen counter
	p := withGates(map[string]sessions.Gate{sessions.GateIntent: {Sessions: []string{"work-*"}}})
	g := newGateWith(t, p, map[string]string{"test": newUpstream(t, calling(&seen, "cp a b"))}, nil, withShippedPolicy())
	if body := <-g.inSession("play", askPlain); !strings.Contains(body, `"tool_use"`) {
		t.Fatalf("a session that is not bound: %s", body)
	}
	first := g.inSession("work-1", askPlain)
	a := g.pending(1)[0]
	second := g.inSession("work-1", strings.Replace(askPlain, "go", "go on", 1))
	g.pending(2)
	if a.Gate != sessions.GateIntent || a.Rule != "session.gate" {
		t.Errorf("held under %q by %s", a.Gate, a.Rule)
	}
	g.decide(a, holdgate.AnswerApprove, "")
	for _, answered := range []<-chan string{first, second} {
		if body := <-answered; !strings.Contains(body, `"tool_use"`) {
			t.Errorf("the gate is passed: %s", body)
		}
	}
	if body := <-g.inSession("work-1", strings.Replace(askPlain, "go", "more", 1)); !strings.Contains(body, `"tool_use"`) {
		t.Errorf("later: %s", body)
	}
	s, err := g.queue.Sessions.One(t.Context(), "", "work-1")
	must(t, err)
	if len(s.Passed) != 1 || s.Passed[0].Gate != sessions.GateIntent || s.Passed[0].By != "ann" || len(s.Needed) != 0 {
		t.Errorf("the session: %+v", s)
	}
	g.verified()
}

// Who lets one commit go on has not seen the next.
func TestACommitIsAtItsGateEachTime(t *testing.T) {
	t.Parallel()
	var seen counter
	yes := true
	p := withGates(map[string]sessions.Gate{"before_commit": {Enabled: &yes}})
	g := newGateWith(t, p, map[string]string{"test": newUpstream(t, calling(&seen, "git commit -m x"))}, nil, withShippedPolicy())
	for i := range 2 {
		answered := g.inSession("s1", strings.Replace(askPlain, "go", fmt.Sprint("go ", i), 1))
		r := g.pending(1)[0]
		if r.Gate != "before_commit" || r.Rule != "session.checkpoint" {
			t.Errorf("held under %q by %s", r.Gate, r.Rule)
		}
		g.decide(r, holdgate.AnswerApprove, "")
		if body := <-answered; !strings.Contains(body, `"tool_use"`) {
			t.Errorf("approved: %s", body)
		}
	}
}

// What the configuration says of a gate holds whether the agent asks for it or its
// traffic is at it.
func TestTrafficAtAGateIsAskedAboutAsTheConfigurationSays(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		name string
		gate sessions.Gate
		want func(approvals.Request) bool
	}{
		{"its message", sessions.Gate{Message: "Commit to main?"}, func(r approvals.Request) bool { return r.Message == "Commit to main?" }},
		{"that of the type", sessions.Gate{}, func(r approvals.Request) bool { return r.Message == "Commit this?" && r.Required }},
		{"nobody is required", sessions.Gate{Required: &no}, func(r approvals.Request) bool { return !r.Required }},
		{"what is to be shown", sessions.Gate{Show: []string{"diff", "plan"}}, func(r approvals.Request) bool {
			return slices.Contains(r.Briefing.Why, "not shown, though this gate is to show it: diff, plan")
		}},
		{"how long", sessions.Gate{Timeout: 5 * time.Minute}, func(r approvals.Request) bool { return r.ExpiresAt.Sub(r.CreatedAt) == 5*time.Minute }},
		{"no steering", sessions.Gate{Edits: &no}, func(r approvals.Request) bool { return !slices.Contains(r.Allow, "steer") }},
		{"a choice", sessions.Gate{Options: []holdgate.Option{{ID: "main", Label: "To main"}}}, func(r approvals.Request) bool {
			return r.Kind == holdgate.RequestChoice && r.Options[0].ID == "main"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen counter
			c.gate.Enabled = &yes
			p := withGates(map[string]sessions.Gate{"before_commit": c.gate})
			g := newGateWith(t, p, map[string]string{"test": newUpstream(t, calling(&seen, "git commit -m x"))}, nil, withShippedPolicy())
			answered := g.inSession("s1", askPlain)
			r := g.pending(1)[0]
			if r.Gate != "before_commit" || !c.want(r) {
				t.Errorf("people are asked %+v", r)
			}
			v := approvals.Vote{Decision: holdgate.AnswerApprove, By: "ann", Channel: "cli", Digest: r.Call.Digest}
			if r.Kind == holdgate.RequestChoice {
				v.Decision, v.Choice = holdgate.AnswerChoose, "main"
			}
			_, err := g.queue.Decide(t.Context(), r.ID, v)
			must(t, err)
			if body := <-answered; !strings.Contains(body, `"tool_use"`) {
				t.Errorf("approved: %s", body)
			}
			g.verified()
		})
	}
}

// An attack: an agent that is watched more closely begins a session of another
// name, or goes on in one that it began before.
func TestAnotherNameOfASessionLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	who := approvals.Caller{Agent: holdgate.Agent{ID: holdgate.AgentDefault}, Session: holdgate.Session{ID: "s1"}}
	mode := func(g *sidecar, session string, m sessions.Mode) {
		_, err := g.queue.Sessions.SetMode(g.t.Context(), "", session, sessions.Setting{Mode: m}, 0, "ann")
		must(g.t, err)
	}
	report := func(g *sidecar, score float64, need bool) {
		_, err := g.queue.Sessions.Report(g.t.Context(), who, sessions.Report{Score: score, Source: sessions.SourceAgent}, need)
		must(g.t, err)
	}
	for _, c := range []struct {
		name, rule string
		watch      func(*sidecar)
		clear      func(*sidecar)
	}{
		{"the mode", "mode.manual", func(g *sidecar) { mode(g, "s1", sessions.ModeManual) }, func(g *sidecar) { mode(g, "s1", sessions.ModeAuto) }},
		{"a gate that is needed", "session.gate", func(g *sidecar) { report(g, 0.6, true) }, func(g *sidecar) { report(g, 0.95, false) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen counter
			g := newGateTo(t, map[string]string{"test": newUpstream(t, calling(&seen, "cp a b"))}, nil, withShippedPolicy())
			n := 0
			free := func(session string) {
				t.Helper()
				n++
				if body := <-g.inSession(session, strings.Replace(askPlain, "go", fmt.Sprint("go ", n), 1)); !strings.Contains(body, `"tool_use"`) {
					t.Errorf("session %s: %s", session, body)
				}
			}
			free("s1")
			free("before")
			c.watch(g)
			for _, session := range []string{"s1", "before", "s2", holdgate.SessionDefault} {
				n++
				answered := g.inSession(session, strings.Replace(askPlain, "go", fmt.Sprint("go ", n), 1))
				r := g.pending(1)[0]
				if r.Rule != c.rule {
					t.Errorf("session %s is held by %s", session, r.Rule)
				}
				g.decide(r, holdgate.AnswerDeny, "")
				<-answered
			}
			c.clear(g)
			free("s2")
			g.verified()
		})
	}
}

// A person's later word on one session is for that session.
func TestAPersonCanFreeOneSession(t *testing.T) {
	t.Parallel()
	var seen counter
	g := newGateTo(t, map[string]string{"test": newUpstream(t, calling(&seen, "ls"))}, nil, withShippedPolicy())
	<-g.inSession("s1", askPlain)
	<-g.inSession("s2", askPlain)
	_, err := g.queue.Sessions.SetMode(t.Context(), "", "s1", sessions.Setting{Mode: sessions.ModeManual}, 0, "ann")
	must(t, err)
	s, err := g.queue.Sessions.One(t.Context(), "", "s2")
	must(t, err)
	if s.Mode != sessions.ModeManual {
		t.Errorf("before: %+v", s)
	}
	_, err = g.queue.Sessions.SetMode(t.Context(), "", "s2", sessions.Setting{Mode: sessions.ModeAuto}, 0, "ann")
	must(t, err)
	if body := <-g.inSession("s2", strings.Replace(askPlain, "go", "on", 1)); !strings.Contains(body, `"tool_use"`) {
		t.Errorf("freed: %s", body)
	}
}
