package approvals_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store/audit"
)

// decided logs what policy said of a call without holding it.
func (b *bench) decided(session, command string, a holdgate.Action) {
	b.t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.log.Write(b.t.Context(), audit.Entry{
		Type:     audit.TypeDecision,
		Call:     &audit.Call{Kind: holdgate.KindToolCall, Agent: caller.Agent.ID, Session: session, Tool: &audit.Tool{Name: "Bash"}},
		Decision: &audit.Decision{Action: a}, Input: args,
	}, true); err != nil {
		b.t.Fatal(err)
	}
}

func before(r approvals.Request) []string {
	for _, s := range r.Briefing.Sections {
		if s.Kind == "before" {
			return s.Lines
		}
	}
	return nil
}

func TestABriefingNamesTheGatesBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	gate := holdgate.Call{Kind: holdgate.KindGate, Gate: &holdgate.Gate{Type: "before_commit"}}
	asked := b.ask(x, gate, hold())
	b.decide(asked, approve(asked, "ana"))
	next := b.ask(x, bash(1, "make"), hold())
	if diff := cmp.Diff([]string{"approve by ana: the gate before_commit"}, before(next)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestABriefingShowsWhatCameBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	first := b.ask(x, bash(0, "make"), hold())
	if got := before(first); got != nil {
		t.Errorf("before the first call there is %q", got)
	}
	b.decide(first, approve(first, "ana"))
	b.decided("another", "elsewhere", holdgate.Allow)
	b.decided("s1", "ls \u202e\n -l", holdgate.Allow)
	b.decided("s1", "rm -rf /", holdgate.Deny)
	second := b.ask(x, bash(1, "make install"), hold())
	want := []string{"approve by ana: Bash: make", "allowed: Bash: ls ⟨U+202E⟩ -l", "refused by policy: Bash: rm -rf /"}
	if diff := cmp.Diff(want, before(second)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.reopen()
	if diff := cmp.Diff(want, before(b.request(second.ID))); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
	for i := range 7 {
		b.decided("s1", fmt.Sprint("step ", i), holdgate.Allow)
	}
	y := b.enter("l")
	defer y.Leave()
	if got := before(b.ask(y, bash(0, "x"), hold())); len(got) != 5 || got[4] != "allowed: Bash: step 6" {
		t.Errorf("of many it shows %q", got)
	}
}

func TestWhatIsRedactedDoesNotComeBackAsWhatCameBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	b.ask(x, bash(0, "curl -H secret"), hold(func(d *holdgate.Decision) { d.Redact = []string{"/tool/arguments/command"} }))
	if diff := cmp.Diff([]string{"waits: Bash: [redacted]"}, before(b.ask(x, bash(1, "make"), hold()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
