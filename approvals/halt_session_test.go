package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tracks"
)

// diagnose asks about a session that does not trust its work.
func (b *bench) diagnose(k string) approvals.Request {
	b.t.Helper()
	score := 0.1
	c := holdgate.Call{Kind: holdgate.KindGate, Gate: &holdgate.Gate{Type: sessions.GateConfidence, Score: &score}}
	return b.ask(b.enter(k), c, hold(func(d *holdgate.Decision) { d.Hold.Gate, d.Hold.Required = sessions.GateDiagnostics, true }))
}

func (b *bench) vote(r approvals.Request, a holdgate.Answer) {
	b.t.Helper()
	v := approvals.Vote{Decision: a, By: "ana", Channel: "cli", Digest: r.Call.Digest}
	if a == holdgate.AnswerSteer {
		v.Instructions = "begin anew"
	}
	if _, err := b.queue.Decide(b.t.Context(), r.ID, v); err != nil {
		b.t.Fatal(err)
	}
}

func TestASessionIsHaltedUntilPeopleAnswer(t *testing.T) {
	t.Parallel()
	agent, session := caller.Agent.ID, caller.Session.ID
	state := func(b *bench) approvals.AgentStatus { s, _ := b.queue.Agents.StatusOf(agent, session); return s }
	for _, c := range []struct {
		name   string
		answer func(*bench, approvals.Request)
		want   agents.State
	}{
		{"approved", func(b *bench, r approvals.Request) { b.vote(r, holdgate.AnswerApprove) }, agents.Running},
		{"steered", func(b *bench, r approvals.Request) { b.vote(r, holdgate.AnswerSteer) }, agents.Running},
		{"denied", func(b *bench, r approvals.Request) { b.vote(r, holdgate.AnswerDeny) }, agents.Stopped},
		{"nobody answers", func(*bench, approvals.Request) {}, agents.Paused},
		{"the agent is resumed", func(b *bench, _ approvals.Request) {
			if _, err := b.queue.Agents.Intervene(b.t.Context(), agent, agents.Intervention{Action: agents.Resume, By: "ana"}); err != nil {
				b.t.Fatal(err)
			}
		}, agents.Running},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			r := b.diagnose("g")
			if s := state(b); s.State != agents.Paused || s.Session != session {
				t.Fatalf("asked about: %+v", s)
			}
			b.reopen()
			if s, _ := b.queue.Agents.StatusOf(agent, "another"); s.State != agents.Paused || s.Session != session {
				t.Errorf("another session: %+v", s)
			}
			if s, _ := b.queue.Agents.StatusOf("another", session); !s.Running() {
				t.Errorf("another agent's: %+v", s)
			}
			if s := state(b); s.State != agents.Paused {
				t.Fatalf("after a restart: %+v", s)
			}
			c.answer(b, r)
			for range 2 {
				if s := state(b); s.State != c.want {
					t.Errorf("%+v, want %s", s, c.want)
				}
				if s, _ := b.queue.Agents.StatusOf(agent, "another"); s.State != c.want {
					t.Errorf("another session: %+v, want %s", s, c.want)
				}
				b.reopen()
			}
		})
	}
}

func TestNoApprovalOfAHaltedSessionIsUsed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("x")
	r := b.ask(x, bash(0, "rm a"), hold())
	b.vote(r, holdgate.AnswerApprove)
	d := b.diagnose("g")
	uses := []approvals.Use{{RequestID: r.ID, Digest: r.Call.Digest}}
	if err := x.Use(t.Context(), uses); !errors.As(err, new(*agents.HaltError)) {
		t.Errorf("halted: %v", err)
	}
	b.vote(d, holdgate.AnswerApprove)
	if err := x.Use(t.Context(), uses); err != nil {
		t.Errorf("goes on: %v", err)
	}
}

func TestAReportIsKeptWithTheSessionAndInTheLog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rep, err := b.queue.Sessions.Report(t.Context(), caller, sessions.Report{Score: 0.6, Source: "agent", Task: "t1", Reasons: []string{"unclear"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	b.reopen()
	s, err := b.queue.Sessions.One(t.Context(), "", caller.Session.ID)
	if err != nil {
		t.Fatal(err)
	}
	if s.Confidence == nil || s.Confidence.ID != rep.ID || s.Confidence.Score != 0.6 || len(s.Needed) != 1 || s.Counts.Reports != 1 {
		t.Errorf("the session: %+v", s)
	}
	if _, err := b.queue.Sessions.Report(t.Context(), caller, sessions.Report{Score: 0.95, Source: "agent"}, false); err != nil {
		t.Fatal(err)
	}
	if s, err = b.queue.Sessions.One(t.Context(), "", caller.Session.ID); err != nil || len(s.Needed) != 0 {
		t.Errorf("a report above the line: %+v, %v", s, err)
	}
}

func TestSetModeSeesWhatThePersonSaw(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ask(b.enter("x"), bash(0, "rm a"), hold())
	s, err := b.queue.Sessions.SetMode(t.Context(), "", caller.Session.ID, sessions.Setting{Mode: sessions.ModeManual}, 0, "ana")
	if err != nil {
		t.Fatal(err)
	}
	auto := sessions.Setting{Mode: sessions.ModeAuto}
	if _, err := b.queue.Sessions.SetMode(t.Context(), "", s.ID, auto, s.Revision-1, "ana"); !errors.Is(err, tracks.ErrRevision) {
		t.Errorf("an older revision: %v", err)
	}
	if _, err := b.queue.Sessions.SetMode(t.Context(), "", s.ID, auto, s.Revision, "ana"); err != nil {
		t.Errorf("the revision that was seen: %v", err)
	}
}

// What holds one session of an agent back holds its others, says so, and holds them no
// longer once a person lets it stand alone.
func TestASessionThatStandsAloneHoldsNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	agent := caller.Agent.ID
	d := b.diagnose("g")
	if why := strings.Join(d.Briefing.Why, "\n"); !strings.Contains(why, "every session of the agent is paused") || !strings.Contains(why, "--alone") {
		t.Errorf("people are not told whom it holds: %s", why)
	}
	other, _ := b.queue.Agents.StatusOf(agent, "another")
	if text := other.String(); !strings.Contains(text, "with session "+caller.Session.ID+" of the agent") {
		t.Errorf("the other session is %s", text)
	}
	alone := func(yes bool) {
		t.Helper()
		s, err := b.queue.Sessions.Change(t.Context(), "", caller.Session.ID, tracks.SessionChange{Alone: &yes}, "ana")
		if err != nil || s.Alone != yes || s.State != tracks.SessionPaused {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	state := func(want agents.State) {
		t.Helper()
		for range 2 {
			if s, _ := b.queue.Agents.StatusOf(agent, "another"); s.State != want {
				t.Errorf("the other session is %s, want %s", s, want)
			}
			if s, _ := b.queue.Agents.StatusOf(agent, caller.Session.ID); s.State != agents.Paused {
				t.Errorf("the session itself is %s", s)
			}
			b.reopen()
		}
	}
	alone(true)
	state(agents.Running)
	alone(false)
	state(agents.Paused)
}

// A question that another session's mode raises names that one, and how it ends.
func TestAQuestionNamesTheSessionWhoseModeItHas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	agent, manual := caller.Agent.ID, sessions.Setting{Mode: sessions.ModeManual}
	set := func(c tracks.SessionChange) {
		t.Helper()
		if _, err := b.queue.Sessions.Change(t.Context(), agent, "first", c, "ana"); err != nil {
			t.Fatal(err)
		}
	}
	why := func(command string) string {
		t.Helper()
		return strings.Join(b.ask(b.enter(command), call("Bash", args{"command": command}), hold()).Briefing.Why, "\n")
	}
	if text := why("before"); strings.Contains(text, "first") {
		t.Errorf("people are told of a session that is not there: %s", text)
	}
	set(tracks.SessionChange{Setting: &manual})
	if text := why("a"); !strings.Contains(text, "its session is in mode manual with session first of the agent") || !strings.Contains(text, "holdgate sessions set first --agent "+agent+" --alone") {
		t.Errorf("people are not told by which session: %s", text)
	}
	if s, err := b.queue.Sessions.One(t.Context(), agent, caller.Session.ID); err != nil || s.Mode != sessions.ModeManual || s.ModeWith != "first" || s.SetBy != "ana" {
		t.Errorf("the session is %+v, %v", s, err)
	}
	yes := true
	set(tracks.SessionChange{Alone: &yes})
	if text := why("b"); strings.Contains(text, "first") {
		t.Errorf("people are told of a session that stands alone: %s", text)
	}
	if s, err := b.queue.Sessions.One(t.Context(), agent, caller.Session.ID); err != nil || s.Mode != sessions.ModeAuto || s.ModeWith != "" {
		t.Errorf("the session is %+v, %v", s, err)
	}
}

func TestAModeOfASessionToCome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	manual := sessions.Setting{Mode: sessions.ModeManual}
	if _, err := b.queue.Sessions.SetMode(t.Context(), "", "to-come", manual, 0, "ana"); !errors.Is(err, tracks.ErrNoSession) {
		t.Errorf("of nobody: %v", err)
	}
	if _, err := b.queue.Sessions.SetMode(t.Context(), "builder", "to-come", manual, 0, "ana"); !errors.Is(err, agents.ErrNoAgent) {
		t.Errorf("of an agent that is not known: %v", err)
	}
	b.queue.Agents.Expect(holdgate.Agent{ID: "builder", Proven: true}) // one that is configured
	if s, err := b.queue.Sessions.SetMode(t.Context(), "builder", "to-come", manual, 0, "ana"); err != nil || s.Mode != sessions.ModeManual || s.Agent != "builder" {
		t.Errorf("%+v, %v", s, err)
	}
	b.reopen()
	track, err := b.queue.Sessions.Track(t.Context(), "builder", "to-come")
	if err != nil || track.Setting().Mode != sessions.ModeManual {
		t.Errorf("its first request is in mode %s, %v", track.Setting().Mode, err)
	}
}

// What a person does to a session of a proven agent takes nothing away that it has
// earned as one.
func TestAPersonsWordKeepsWhatAProvenSessionHasPassed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	proven := caller
	proven.Agent.Proven = true
	b.queue.Agents.Seen(proven)
	yes := holdgate.Outcome{Decision: holdgate.AnswerApprove}
	if _, err := b.queue.Sessions.GateDecided(t.Context(), proven, "intent_approval", yes, true); err != nil {
		t.Fatal(err)
	}
	if _, err := b.queue.Sessions.SetMode(t.Context(), "", proven.Session.ID, sessions.Setting{Mode: sessions.ModeManual}, 0, "ana"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.queue.Sessions.Tell(t.Context(), sessions.Message{Agent: proven.Agent.ID, Session: proven.Session.ID, Type: sessions.MessageGuidance, Content: "mind the edges", From: "ana"}); err != nil {
		t.Fatal(err)
	}
	s, err := b.queue.Sessions.Track(t.Context(), proven.Agent.ID, proven.Session.ID)
	if err != nil || !s.Record().For(true).HasPassed("intent_approval") {
		t.Errorf("what it has passed: %+v, %v", s.Record(), err)
	}
}
