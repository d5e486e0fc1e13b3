package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store/audit"
)

// do intervenes in ana's name.
func (b *bench) do(agent string, a approvals.InterventionAction) approvals.Standing {
	b.t.Helper()
	s, err := b.queue.Intervene(b.t.Context(), agent, approvals.Intervention{Action: a, Reason: "why not", By: "ana"})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) standing(agent string) approvals.AgentState {
	s, _ := b.queue.Standing(agent)
	return s.State
}

// resume lets the agent of most tests go on.
func (b *bench) resume(by string) {
	b.t.Helper()
	if _, err := b.queue.Intervene(b.t.Context(), caller.Agent.ID, approvals.Intervention{Action: resume, By: by}); err != nil {
		b.t.Error(err)
	}
}

const (
	pause  = approvals.InterventionPause
	resume = approvals.InterventionResume
	stop   = approvals.InterventionStop
)

func TestInterventionsOutliveARestart(t *testing.T) {
	b := newBench(t)
	b.queue.Seen(caller)
	b.do("claude", pause)
	b.reopen()
	if got := b.standing("claude"); got != approvals.AgentPaused {
		t.Errorf("after a restart it is %s", got)
	}
	list, err := b.queue.Agents(t.Context())
	if err != nil || len(list) != 1 || list[0].By != "ana" || list[0].Reason != "why not" {
		t.Errorf("agents: %+v, %v", list, err)
	}
	b.do("claude", resume)
	b.reopen()
	if got := b.standing("claude"); got != approvals.AgentRunning {
		t.Errorf("resumed and started anew it is %s", got)
	}
}

func TestAnAgentGoesOnWhereNeitherItNorEverybodyIsHalted(t *testing.T) {
	b := newBench(t)
	b.queue.Seen(caller)
	for _, step := range []struct {
		agent        string
		action       approvals.InterventionAction
		claude, next approvals.AgentState // next is one that nobody has seen yet
	}{
		{"claude", pause, approvals.AgentPaused, approvals.AgentRunning},
		{approvals.Everybody, stop, approvals.AgentStopped, approvals.AgentStopped},
		{"claude", resume, approvals.AgentStopped, approvals.AgentStopped},
		{"claude", stop, approvals.AgentStopped, approvals.AgentStopped},
		{approvals.Everybody, resume, approvals.AgentStopped, approvals.AgentRunning},
		{approvals.Everybody, pause, approvals.AgentStopped, approvals.AgentPaused},
		{"claude", resume, approvals.AgentPaused, approvals.AgentPaused},
		{approvals.Everybody, resume, approvals.AgentRunning, approvals.AgentRunning},
	} {
		_, changed := b.queue.Standing("claude")
		b.do(step.agent, step.action)
		<-changed
		if got := []approvals.AgentState{b.standing("claude"), b.standing("next")}; !cmp.Equal(got, []approvals.AgentState{step.claude, step.next}) {
			t.Fatalf("after %s %q: %v, want %s and %s", step.action, step.agent, got, step.claude, step.next)
		}
	}
}

func TestAStopCancelsWhatIsHeldAndLetsNothingNewBeAsked(t *testing.T) {
	b := newBench(t)
	b.queue.Seen(caller)
	x := b.enter("k")
	q := approvals.Question{Call: holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte(`{"command":"rm"}`)}}, Decision: holdgate.Decision{Action: holdgate.Hold, Rule: "r"}}
	first, err := x.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	forget := b.queue.WhenStopped("claude", func() { told++ })
	defer forget()
	b.do("claude", stop)
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	r, err := b.queue.Request(t.Context(), first.ID)
	if err != nil || r.Status != holdgate.StatusCancelled || r.Outcome.By != "ana" || !strings.Contains(r.Outcome.Reason, "stopped by ana") {
		t.Errorf("the held call is %s, %+v, %v", r.Status, r.Outcome, err)
	}
	_, err = x.Ask(t.Context(), q)
	if h, ok := errors.AsType[*approvals.HaltError](err); !ok || !h.Standing.Stopped() {
		t.Errorf("asking for a stopped agent: %v", err)
	}
	b.queue.WhenStopped("claude", func() { told++ })
	if told != 2 {
		t.Error("whoever comes later is not told")
	}
}

func TestNoApprovalIsUsedWhileTheAgentIsHalted(t *testing.T) {
	b := newBench(t)
	b.queue.Seen(caller)
	x := b.enter("k")
	q := approvals.Question{Call: holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte(`{"command":"rm"}`)}}, Decision: holdgate.Decision{Action: holdgate.Hold, Rule: "r"}}
	r, err := x.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.queue.Decide(t.Context(), r.ID, approvals.Vote{Decision: holdgate.AnswerApprove, By: "ben", Digest: r.Call.Digest}); err != nil {
		t.Fatal(err)
	}
	use := []approvals.Use{{RequestID: r.ID, Digest: r.Call.Digest}}
	for _, a := range []approvals.InterventionAction{pause, stop} {
		b.do("claude", a)
		if _, ok := errors.AsType[*approvals.HaltError](x.Use(t.Context(), use)); !ok {
			t.Errorf("after %s the approval was used", a)
		}
	}
	b.do("claude", resume)
	if err := x.Use(t.Context(), use); err != nil {
		t.Errorf("resumed, and yet: %v", err)
	}
}

func TestInterventionsThatAreRefusedChangeNothing(t *testing.T) {
	b := newBench(t)
	persons, err := people.New("", []people.Person{
		{Name: "ana", Roles: []string{people.RoleOperate}}, {Name: "carl", Roles: []string{people.RoleApprove}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.queue.SetPeople(t.Context(), persons); err != nil {
		t.Fatal(err)
	}
	b.queue.Seen(caller)
	b.do("claude", stop)
	for _, tt := range []struct {
		name, agent, by string
		action          approvals.InterventionAction
		want            error
	}{
		{"by somebody who only approves", "claude", "carl", resume, people.ErrNotEntitled},
		{"by nobody", "claude", "", resume, people.ErrNotEntitled},
		{"of an agent that nobody has seen", "clod", "ana", pause, approvals.ErrNoAgent},
		{"unknown", "claude", "ana", "tickle", approvals.ErrIntervention},
		{"a pause of a stopped agent", "claude", "ana", pause, approvals.ErrStopped},
	} {
		_, err := b.queue.Intervene(t.Context(), tt.agent, approvals.Intervention{Action: tt.action, By: tt.by})
		if !errors.Is(err, tt.want) || b.standing("claude") != approvals.AgentStopped {
			t.Errorf("%s: %v, and it is %s", tt.name, err, b.standing("claude"))
		}
	}
	log, err := b.log.Query(t.Context(), audit.Query{Type: audit.TypeIntervention})
	if err != nil || len(log) != 1 || log[0].Note != "claude stopped by ana: why not" {
		t.Errorf("the log: %+v, %v", log, err)
	}
}
