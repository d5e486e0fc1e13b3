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

func TestWhatAnAddressRefusedIsNotCalledAllowed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	write := func(e audit.Entry) {
		t.Helper()
		e.Call = &audit.Call{Kind: holdgate.KindHTTPRequest, Agent: caller.Agent.ID, Session: "s1", HTTP: e.Note}
		if _, err := b.log.Write(t.Context(), e, true); err != nil {
			t.Fatal(err)
		}
	}
	decided := func(what string) {
		write(audit.Entry{Type: audit.TypeDecision, Note: what, Decision: &audit.Decision{Action: holdgate.Allow}})
	}
	refused := func(what, rule string) {
		write(audit.Entry{Type: audit.TypeRefused, Note: what, Decision: &audit.Decision{Rule: rule}})
	}
	decided("GET a.example/x")
	decided("GET b.example/x")
	decided("GET b.example/x")
	refused("GET b.example/x", holdgate.RuleAddress)
	refused("GET c.example/x", holdgate.RuleAddress)
	refused("GET a.example/x", holdgate.RuleMalformed)
	want := []string{"allowed: GET a.example/x", "allowed: GET b.example/x", "refused, for where it leads: GET b.example/x", "refused, for where it leads: GET c.example/x"}
	if diff := cmp.Diff(want, before(b.ask(x, bash(0, "make"), hold()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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
