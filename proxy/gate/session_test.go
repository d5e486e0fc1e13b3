package gate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/proxy/proxytest"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy"
)

func TestAManualSessionIsAskedAboutEachCall(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.NewTo(t, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "ls"))}, nil, proxytest.WithShippedPolicy())
	if body := <-g.InSession("s1", proxytest.AskPlain); !strings.Contains(body, `"tool_use"`) {
		t.Fatalf("in mode auto: %s", body)
	}
	_, err := g.Queue.Sessions.SetMode(t.Context(), "", "s1", sessions.Setting{Mode: sessions.ModeManual}, 0, "ann")
	proxytest.Must(t, err)
	answered := g.InSession("s1", proxytest.AskPlain)
	r := g.Pending(1)[0]
	if r.Rule != "mode.manual" {
		t.Errorf("held by %s", r.Rule)
	}
	g.Decide(r, holdgate.AnswerApprove, "")
	if body := <-answered; !strings.Contains(body, `"tool_use"`) {
		t.Errorf("approved: %s", body)
	}
	g.Verified()
}

func TestASessionInModeConfidenceThreshold(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.NewTo(t, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "ls"))}, nil, proxytest.WithShippedPolicy(), func(c *proxy.Config) { c.Confidence.Enabled = true })
	<-g.InSession("s1", proxytest.AskPlain)
	_, err := g.Queue.Sessions.SetMode(t.Context(), "", "s1", sessions.Setting{Mode: sessions.ModeThreshold, Threshold: 0.7}, 0, "ann")
	proxytest.Must(t, err)
	answered := g.InSession("s1", proxytest.AskPlain)
	r := g.Pending(1)[0]
	if r.Rule != "confidence.threshold" {
		t.Errorf("without a score it is held by %s", r.Rule)
	}
	g.Decide(r, holdgate.AnswerDeny, "")
	<-answered
	who := approvals.Caller{Agent: holdgate.Agent{ID: holdgate.AgentDefault}, Session: holdgate.Session{ID: "s1"}}
	for _, score := range []float64{0.7, 0.69} {
		_, err = g.Queue.Sessions.Report(t.Context(), who, sessions.Report{Score: score, Source: sessions.SourceAgent}, false)
		proxytest.Must(t, err)
		answered = g.InSession("s1", proxytest.AskPlain)
		if score == 0.7 {
			if body := <-answered; !strings.Contains(body, `"tool_use"`) {
				t.Errorf("sure enough: %s", body)
			}
			continue
		}
		g.Decide(g.Pending(1)[0], holdgate.AnswerDeny, "")
		<-answered
	}
}

// The session's first changes wait for one gate: who lets one of them pass it
// lets all, and each is decided anew.
func TestAGateIsPassedOnceForTheSession(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	p := proxytest.WithGates(map[string]sessions.Gate{sessions.GateIntent: {Sessions: []string{"work-*"}}})
	g := proxytest.NewWith(t, p, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "cp a b"))}, nil, proxytest.WithShippedPolicy())
	if body := <-g.InSession("play", proxytest.AskPlain); !strings.Contains(body, `"tool_use"`) {
		t.Fatalf("a session that is not bound: %s", body)
	}
	first := g.InSession("work-1", proxytest.AskPlain)
	a := g.Pending(1)[0]
	second := g.InSession("work-1", strings.Replace(proxytest.AskPlain, "go", "go on", 1))
	g.Pending(2)
	if a.Gate != sessions.GateIntent || a.Rule != "session.gate" {
		t.Errorf("held under %q by %s", a.Gate, a.Rule)
	}
	g.Decide(a, holdgate.AnswerApprove, "")
	for _, answered := range []<-chan string{first, second} {
		if body := <-answered; !strings.Contains(body, `"tool_use"`) {
			t.Errorf("the gate is passed: %s", body)
		}
	}
	if body := <-g.InSession("work-1", strings.Replace(proxytest.AskPlain, "go", "more", 1)); !strings.Contains(body, `"tool_use"`) {
		t.Errorf("later: %s", body)
	}
	s, err := g.Queue.Sessions.One(t.Context(), "", "work-1")
	proxytest.Must(t, err)
	if len(s.Passed) != 1 || s.Passed[0].Gate != sessions.GateIntent || s.Passed[0].By != "ann" || len(s.Needed) != 0 {
		t.Errorf("the session: %+v", s)
	}
	g.Verified()
}

// Who lets one commit go on has not seen the next.
func TestACommitIsAtItsGateEachTime(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	yes := true
	p := proxytest.WithGates(map[string]sessions.Gate{"before_commit": {Enabled: &yes}})
	g := proxytest.NewWith(t, p, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "git commit -m x"))}, nil, proxytest.WithShippedPolicy())
	for i := range 2 {
		answered := g.InSession("s1", strings.Replace(proxytest.AskPlain, "go", fmt.Sprint("go ", i), 1))
		r := g.Pending(1)[0]
		if r.Gate != "before_commit" || r.Rule != "session.checkpoint" {
			t.Errorf("held under %q by %s", r.Gate, r.Rule)
		}
		g.Decide(r, holdgate.AnswerApprove, "")
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
			var seen proxytest.Counter
			c.gate.Enabled = &yes
			p := proxytest.WithGates(map[string]sessions.Gate{"before_commit": c.gate})
			g := proxytest.NewWith(t, p, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "git commit -m x"))}, nil, proxytest.WithShippedPolicy())
			answered := g.InSession("s1", proxytest.AskPlain)
			r := g.Pending(1)[0]
			if r.Gate != "before_commit" || !c.want(r) {
				t.Errorf("people are asked %+v", r)
			}
			v := approvals.Vote{Decision: holdgate.AnswerApprove, By: "ann", Channel: "cli", Digest: r.Call.Digest}
			if r.Kind == holdgate.RequestChoice {
				v.Decision, v.Choice = holdgate.AnswerChoose, "main"
			}
			_, err := g.Queue.Decide(t.Context(), r.ID, v)
			proxytest.Must(t, err)
			if body := <-answered; !strings.Contains(body, `"tool_use"`) {
				t.Errorf("approved: %s", body)
			}
			g.Verified()
		})
	}
}

// An attack: an agent that is watched more closely begins a session of another
// name, or goes on in one that it began before.
func TestAnotherNameOfASessionLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	who := approvals.Caller{Agent: holdgate.Agent{ID: holdgate.AgentDefault}, Session: holdgate.Session{ID: "s1"}}
	mode := func(g *proxytest.Sidecar, session string, m sessions.Mode) {
		_, err := g.Queue.Sessions.SetMode(g.T.Context(), "", session, sessions.Setting{Mode: m}, 0, "ann")
		proxytest.Must(g.T, err)
	}
	report := func(g *proxytest.Sidecar, score float64, need bool) {
		_, err := g.Queue.Sessions.Report(g.T.Context(), who, sessions.Report{Score: score, Source: sessions.SourceAgent}, need)
		proxytest.Must(g.T, err)
	}
	for _, c := range []struct {
		name, rule string
		watch      func(*proxytest.Sidecar)
		clear      func(*proxytest.Sidecar)
	}{
		{"the mode", "mode.manual", func(g *proxytest.Sidecar) { mode(g, "s1", sessions.ModeManual) }, func(g *proxytest.Sidecar) { mode(g, "s1", sessions.ModeAuto) }},
		{"a gate that is needed", "session.gate", func(g *proxytest.Sidecar) { report(g, 0.6, true) }, func(g *proxytest.Sidecar) { report(g, 0.95, false) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen proxytest.Counter
			g := proxytest.NewTo(t, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "cp a b"))}, nil, proxytest.WithShippedPolicy())
			n := 0
			free := func(session string) {
				t.Helper()
				n++
				if body := <-g.InSession(session, strings.Replace(proxytest.AskPlain, "go", fmt.Sprint("go ", n), 1)); !strings.Contains(body, `"tool_use"`) {
					t.Errorf("session %s: %s", session, body)
				}
			}
			free("s1")
			free("before")
			c.watch(g)
			for _, session := range []string{"s1", "before", "s2", holdgate.SessionDefault} {
				n++
				answered := g.InSession(session, strings.Replace(proxytest.AskPlain, "go", fmt.Sprint("go ", n), 1))
				r := g.Pending(1)[0]
				if r.Rule != c.rule {
					t.Errorf("session %s is held by %s", session, r.Rule)
				}
				g.Decide(r, holdgate.AnswerDeny, "")
				<-answered
			}
			c.clear(g)
			free("s2")
			g.Verified()
		})
	}
}

// A person's later word on one session is for that session.
func TestAPersonCanFreeOneSession(t *testing.T) {
	t.Parallel()
	var seen proxytest.Counter
	g := proxytest.NewTo(t, map[string]string{"test": proxytest.NewUpstream(t, proxytest.Calling(&seen, "ls"))}, nil, proxytest.WithShippedPolicy())
	<-g.InSession("s1", proxytest.AskPlain)
	<-g.InSession("s2", proxytest.AskPlain)
	_, err := g.Queue.Sessions.SetMode(t.Context(), "", "s1", sessions.Setting{Mode: sessions.ModeManual}, 0, "ann")
	proxytest.Must(t, err)
	s, err := g.Queue.Sessions.One(t.Context(), "", "s2")
	proxytest.Must(t, err)
	if s.Mode != sessions.ModeManual {
		t.Errorf("before: %+v", s)
	}
	_, err = g.Queue.Sessions.SetMode(t.Context(), "", "s2", sessions.Setting{Mode: sessions.ModeAuto}, 0, "ann")
	proxytest.Must(t, err)
	if body := <-g.InSession("s2", strings.Replace(proxytest.AskPlain, "go", "on", 1)); !strings.Contains(body, `"tool_use"`) {
		t.Errorf("freed: %s", body)
	}
}
