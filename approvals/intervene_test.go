package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store/audit"
)

// do intervenes in ana's name.
func (b *bench) do(agent string, a agents.Action) approvals.AgentStatus {
	b.t.Helper()
	s, err := b.queue.Agents.Intervene(b.t.Context(), agent, agents.Intervention{Action: a, Reason: "why not", By: "ana"})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) state(agent string) agents.State {
	s, _ := b.queue.Agents.Status(agent)
	return s.State
}

// resume lets the agent of most tests go on.
func (b *bench) resume(by string) {
	b.t.Helper()
	if _, err := b.queue.Agents.Intervene(b.t.Context(), caller.Agent.ID, agents.Intervention{Action: resume, By: by}); err != nil {
		b.t.Error(err)
	}
}

const (
	pause  = agents.Pause
	resume = agents.Resume
	stop   = agents.Stop
)

func TestInterventionsOutliveARestart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.queue.Agents.Seen(caller)
	b.do("claude", pause)
	b.reopen()
	if got := b.state("claude"); got != agents.Paused {
		t.Errorf("after a restart it is %s", got)
	}
	list, err := b.queue.Agents.List(t.Context())
	if err != nil || len(list) != 1 || list[0].By != "ana" || list[0].Reason != "why not" {
		t.Errorf("agents: %+v, %v", list, err)
	}
	b.do("claude", resume)
	b.reopen()
	if got := b.state("claude"); got != agents.Running {
		t.Errorf("resumed and started anew it is %s", got)
	}
}

func TestAnAgentGoesOnWhereNeitherItNorEverybodyIsHalted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.queue.Agents.Seen(caller)
	for _, step := range []struct {
		agent        string
		action       agents.Action
		claude, next agents.State // next is one that nobody has seen yet
	}{
		{"claude", pause, agents.Paused, agents.Running},
		{agents.Everybody, stop, agents.Stopped, agents.Stopped},
		{"claude", resume, agents.Stopped, agents.Stopped},
		{"claude", stop, agents.Stopped, agents.Stopped},
		{agents.Everybody, resume, agents.Stopped, agents.Running},
		{agents.Everybody, pause, agents.Stopped, agents.Paused},
		{"claude", resume, agents.Paused, agents.Paused},
		{agents.Everybody, resume, agents.Running, agents.Running},
	} {
		_, changed := b.queue.Agents.Status("claude")
		b.do(step.agent, step.action)
		<-changed
		if got := []agents.State{b.state("claude"), b.state("next")}; !cmp.Equal(got, []agents.State{step.claude, step.next}) {
			t.Fatalf("after %s %q: %v, want %s and %s", step.action, step.agent, got, step.claude, step.next)
		}
	}
}

func TestAStopCancelsWhatIsHeldAndLetsNothingNewBeAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.queue.Agents.Seen(caller)
	x := b.enter("k")
	q := approvals.HeldCall{Call: holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte(`{"command":"rm"}`)}}, Decision: holdgate.Decision{Action: holdgate.Hold, Rule: "r"}}
	first, err := x.RequestApproval(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	forget := b.queue.Agents.WhenStopped("claude", func() { told++ })
	defer forget()
	b.do("claude", stop)
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	r, err := b.queue.Request(t.Context(), first.ID)
	if err != nil || r.Status != holdgate.StatusCancelled || r.Outcome.By != "ana" || !strings.Contains(r.Outcome.Reason, "stopped by ana") {
		t.Errorf("the held call is %s, %+v, %v", r.Status, r.Outcome, err)
	}
	_, err = x.RequestApproval(t.Context(), q)
	if h, ok := errors.AsType[*agents.HaltError](err); !ok || !h.Status.Stopped() {
		t.Errorf("asking for a stopped agent: %v", err)
	}
	b.queue.Agents.WhenStopped("claude", func() { told++ })
	if told != 2 {
		t.Error("whoever comes later is not told")
	}
}

func TestNoApprovalIsUsedWhileTheAgentIsHalted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.queue.Agents.Seen(caller)
	x := b.enter("k")
	q := approvals.HeldCall{Call: holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte(`{"command":"rm"}`)}}, Decision: holdgate.Decision{Action: holdgate.Hold, Rule: "r"}}
	r, err := x.RequestApproval(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.queue.Decide(t.Context(), r.ID, approvals.Vote{Decision: holdgate.AnswerApprove, By: "ben", Digest: r.Call.Digest}); err != nil {
		t.Fatal(err)
	}
	use := []approvals.Use{{RequestID: r.ID, Digest: r.Call.Digest}}
	for _, a := range []agents.Action{pause, stop} {
		b.do("claude", a)
		if _, ok := errors.AsType[*agents.HaltError](x.Use(t.Context(), use)); !ok {
			t.Errorf("after %s the approval was used", a)
		}
	}
	b.do("claude", resume)
	if err := x.Use(t.Context(), use); err != nil {
		t.Errorf("resumed, and yet: %v", err)
	}
}

func TestInterventionsThatAreRefusedChangeNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	persons, err := people.New("", []people.Person{
		{Name: "ana", Roles: []string{people.RoleOperate}}, {Name: "carl", Roles: []string{people.RoleApprove}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.queue.SetPeople(t.Context(), persons); err != nil {
		t.Fatal(err)
	}
	b.queue.Agents.Seen(caller)
	b.do("claude", stop)
	for _, tt := range []struct {
		name, agent, by string
		action          agents.Action
		want            error
	}{
		{"by somebody who only approves", "claude", "carl", resume, people.ErrNotEntitled},
		{"by nobody", "claude", "", resume, people.ErrNotEntitled},
		{"of an agent that nobody has seen", "clod", "ana", pause, agents.ErrNoAgent},
		{"unknown", "claude", "ana", "tickle", agents.ErrIntervention},
		{"a pause of a stopped agent", "claude", "ana", pause, agents.ErrStopped},
	} {
		_, err := b.queue.Agents.Intervene(t.Context(), tt.agent, agents.Intervention{Action: tt.action, By: tt.by})
		if !errors.Is(err, tt.want) || b.state("claude") != agents.Stopped {
			t.Errorf("%s: %v, and it is %s", tt.name, err, b.state("claude"))
		}
	}
	log, err := b.log.Query(t.Context(), audit.Query{Type: audit.TypeIntervention})
	if err != nil || len(log) != 1 || log[0].Note != "claude stopped by ana: why not" {
		t.Errorf("the log: %+v, %v", log, err)
	}
}
