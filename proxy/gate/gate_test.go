package gate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/rego"
)

func TestPolicyDecidesByItself(t *testing.T) {
	for _, tt := range []struct {
		name     string
		policy   policy
		released bool
		log      string
		synced   int // of its entries, how many are on the disk before it takes effect
	}{{"allow", allow, true, "allow test.allow", 0}, {"deny", deny, false, "deny test.deny", 1}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSetup(t, tt.policy)
			x, e := s.begin()
			must(t, x.Pass(t.Context(), e, inLine))
			if e.Released() != tt.released || e.Undecided() {
				t.Errorf("released %v, open %v", e.Released(), e.Undecided())
			}
			if v := e.Verdict(); !v.Release && !strings.Contains(v.Notice, "(log entry 1): denied by policy (test.deny: no)") {
				t.Errorf("the notice says %q", v.Notice)
			}
			if got := s.decisions(); !slices.Equal(got, []string{tt.log}) {
				t.Errorf("the log has %q", got)
			}
			if s.st.now != tt.synced || s.st.soon != 1-tt.synced {
				t.Errorf("%d entries are synced and %d are soon: want %d synced", s.st.now, s.st.soon, tt.synced)
			}
			if x.Held() != nil || s.q.entered != 0 {
				t.Error("a call that nobody is asked about is in the queue")
			}
		})
	}
}

// Nothing is used, and nothing goes on, before every question is answered; then all
// answers are used at once.
func TestPeopleAnswerEachQuestionBeforeACallGoesOn(t *testing.T) {
	s := newSetup(t, asks("one", "two"))
	x, e := s.begin()
	var next []string
	x.OnAsk = func(e *gate.Evaluation) { next = append(next, e.Request().ID) }
	passed := make(chan error, 1)
	go func() { passed <- x.Pass(t.Context(), e, inLine) }()
	for _, rule := range []string{"one", "two"} {
		if q := s.asked(); q.Decision.Rule != rule {
			t.Fatalf("people are asked %q, want %q", q.Decision.Rule, rule)
		}
		if len(s.q.used) > 0 {
			t.Error("an approval was used before all were there")
		}
		s.q.approves(rule)
	}
	must(t, <-passed)
	if !e.Released() || len(s.q.used) != 2 || s.q.used[0].RequestID != "one" || s.q.used[1].RequestID != "two" || s.q.used[0].Digest != e.Digest() {
		t.Errorf("released %v, used %+v", e.Released(), s.q.used)
	}
	if !slices.Equal(next, []string{"two"}) {
		t.Errorf("was told of %q", next)
	}
	if got := s.decisions(); !slices.Equal(got, []string{"allow test.allow"}) {
		t.Errorf("the log has %q", got)
	}
}

func TestANoRefuses(t *testing.T) {
	s := newSetup(t, asks("one"))
	x, e := s.begin()
	must(t, x.Pass(t.Context(), e, gate.Later))
	s.q.answers("one", holdgate.StatusDenied, holdgate.Outcome{Decision: holdgate.AnswerDeny, By: "ann", Reason: "not today"})
	must(t, x.Wait(t.Context(), e))
	must(t, x.Use(t.Context(), e))
	if v := e.Verdict(); v.Release || !strings.Contains(v.Notice, "denied by the approver (ann): not today") || len(s.q.used) > 0 {
		t.Errorf("%+v, used %v", v, s.q.used)
	}
}

// An agent that does not wait finds what people have answered when it asks again.
func TestAskedAgainLater(t *testing.T) {
	s := newSetup(t, asks("one", "two"))
	x, e := s.begin()
	must(t, x.Pass(t.Context(), e, gate.Later))
	if !e.Undecided() || e.Request().ID != "one" || x.WaitsFor([]*gate.Evaluation{e}) != "it waits for a person to decide request one" {
		t.Fatalf("open %v, asked %q", e.Undecided(), e.Request().ID)
	}
	for _, rule := range []string{"one", "two"} {
		s.q.approves(rule)
		again, call := s.begin()
		e = call
		must(t, again.Pass(t.Context(), e, gate.Later))
	}
	if !e.Released() || len(s.q.used) != 2 {
		t.Errorf("released %v, used %+v", e.Released(), s.q.used)
	}
}

func TestAnEditIsJudgedAsAnotherCall(t *testing.T) {
	s := newSetup(t, func(in rego.Input) holdgate.Decision {
		switch {
		case !in.Edited:
			return asks("zero", "one")(in)
		case string(in.Call.Tool.Arguments) == `{"n":2}` && len(in.Answers) == 1: // the editor's own
			return allow(in)
		}
		return deny(in)
	})
	s.q.edited = []byte(`{"n":2}`)
	x, e := s.begin()
	must(t, x.Decide(t.Context(), e))
	waited := make(chan error, 1)
	go func() { waited <- x.Wait(t.Context(), e) }()
	s.asked()
	s.q.approves("zero")
	s.asked()
	s.q.answers("one", holdgate.StatusApproved, holdgate.Outcome{Decision: holdgate.AnswerEdit, By: "ann"})
	must(t, <-waited)
	must(t, x.Use(t.Context(), e))
	v := e.Verdict()
	if !v.Release || string(v.Arguments) != `{"n":2}` || !strings.Contains(v.Note, "with other arguments than you gave") {
		t.Errorf("%+v", v)
	}
	if len(s.q.used) != 1 || s.q.used[0].Digest != `of {"n":2}` {
		t.Errorf("used %+v", s.q.used)
	}
}

func TestAGrantAnswersAndIsNotUsed(t *testing.T) {
	s := newSetup(t, asks("one"))
	s.q.grant = &approvals.Grant{By: []string{"ann"}}
	x, e := s.begin()
	must(t, x.Pass(t.Context(), e, inLine))
	if !e.Released() || len(s.q.used) != 0 || len(s.q.asked) != 0 {
		t.Errorf("released %v, used %v, %d asked", e.Released(), s.q.used, len(s.q.asked))
	}
}

func TestAPolicyThatNeverStopsAskingIsRefused(t *testing.T) {
	s := newSetup(t, func(rego.Input) holdgate.Decision { return holdgate.Decision{Action: holdgate.Hold, Rule: "one"} })
	s.q.grant = &approvals.Grant{By: []string{"ann"}}
	x, e := s.begin()
	must(t, x.Decide(t.Context(), e))
	if e.Undecided() || e.Released() || !slices.Equal(s.decisions(), []string{"deny " + holdgate.RulePolicyError}) {
		t.Errorf("open %v, released %v, log %q", e.Undecided(), e.Released(), s.decisions())
	}
}

func TestNobodyIsAskedWhereTheyCannotBe(t *testing.T) {
	s := newSetup(t, asks("one"))
	x, e := s.begin()
	e.Unheld = "People are not asked about this."
	must(t, x.Pass(t.Context(), e, inLine))
	if e.Undecided() || e.Released() || len(s.q.asked) != 0 || !strings.Contains(e.Verdict().Notice, e.Unheld) {
		t.Errorf("open %v, %+v", e.Undecided(), e.Verdict())
	}
}

// What cannot be stored, used, or answered in time never goes on.
func TestTheGateFailsClosed(t *testing.T) {
	t.Run("the queue is down", func(t *testing.T) {
		s := newSetup(t, asks("one"))
		s.q.err = errDown
		x, e := s.begin()
		if err := x.Pass(t.Context(), e, inLine); !errors.Is(err, errDown) || e.Released() {
			t.Errorf("%v, released %v", err, e.Released())
		}
	})
	t.Run("nothing names the request", func(t *testing.T) {
		s := newSetup(t, asks("one"))
		_, e := s.begin()
		for _, key := range []gate.Key{nil, func() (holdgate.Digest, error) { return "", errDown }} {
			if err := s.g.Begin(s.from, key).Pass(t.Context(), e, inLine); err == nil || e.Released() {
				t.Errorf("%v, released %v", err, e.Released())
			}
		}
	})
	t.Run("the log is down", func(t *testing.T) {
		s := newSetup(t, allow)
		must(t, s.st.Close())
		x, e := s.begin()
		if err := x.Pass(t.Context(), e, inLine); err == nil || e.Released() {
			t.Errorf("%v, released %v", err, e.Released())
		}
	})
	t.Run("the approval cannot be used", func(t *testing.T) {
		s := newSetup(t, asks("one"))
		s.q.useErr = approvals.ErrUsed
		x, e := s.begin()
		must(t, x.Pass(t.Context(), e, gate.Later))
		s.q.approves("one")
		must(t, x.Wait(t.Context(), e))
		if err := x.Use(t.Context(), e); !errors.Is(err, approvals.ErrUsed) {
			t.Errorf("%v", err)
		}
	})
	t.Run("nobody answers in time", func(t *testing.T) {
		s := newSetup(t, asks("one"))
		x, e := s.begin()
		err := x.Pass(t.Context(), e, func(ctx context.Context) (context.Context, func(), error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel, nil
		})
		if w, ok := errors.AsType[*gate.WaitError](err); !ok || !w.Over || !e.Undecided() || e.Verdict().Release {
			t.Errorf("%v, open %v", err, e.Undecided())
		}
	})
}

func TestAPausedAgentWaitsAndAStoppedOneIsRefused(t *testing.T) {
	for then, released := range map[agents.State]bool{agents.Running: true, agents.Stopped: false} {
		t.Run("paused, then "+string(then), func(t *testing.T) {
			s := newSetup(t, allow)
			s.q.stands(agents.Paused)
			x, e := s.begin()
			begun, passed := make(chan struct{}), make(chan error, 1)
			go func() {
				passed <- x.Pass(t.Context(), e, func(ctx context.Context) (context.Context, func(), error) {
					close(begun)
					return ctx, func() {}, nil
				})
			}()
			<-begun
			s.q.stands(then)
			if err := <-passed; err != nil || e.Released() != released {
				t.Errorf("%v, released %v", err, e.Released())
			}
		})
	}
	t.Run("stopped while it waits", func(t *testing.T) {
		s := newSetup(t, asks("one"))
		x, e := s.begin()
		passed := make(chan error, 1)
		go func() { passed <- x.Pass(t.Context(), e, inLine) }()
		s.asked()
		s.q.stands(agents.Stopped)
		s.q.approves("one")
		if err := <-passed; err != nil || e.Released() || len(s.q.used) > 0 || !strings.Contains(e.Verdict().Notice, "this agent was stopped by ann") {
			t.Errorf("%v, %+v", err, e.Verdict())
		}
	})
}
