package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// long is a call that no page shows whole.
func long() string { return `{"command":"echo ` + strings.Repeat("x", 12000) + `"}` }

func TestAnswers(t *testing.T) {
	s := newSidecar(t)
	medium := s.hold("Edit", edit, risk(holdgate.RiskMedium))
	d := sit(t, s)
	d.slowly("enter")
	d.read()
	d.slowly("y")
	if got := d.status(medium); got != holdgate.StatusApproved {
		t.Errorf("after y the request is %s; the screen:\n%s", got, d.m.screen())
	}
	d.shows("approved: ")
	d.shows("Nothing waits")

	high := s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskHigh))
	d.until("it comes up", func() bool { return len(d.m.inbox.list) == 1 })
	d.slowly("enter")
	d.read()
	d.slowly("y", "y")
	d.slowly("enter")
	d.shows("it was not typed in full")
	d.slowly("y")
	d.write("approve")
	d.slowly("enter")
	if got := d.status(high); got != holdgate.StatusApproved {
		t.Errorf("after the word the request is %s", got)
	}

	denied := s.hold("Bash", `{"command":"rm -rf ./lib"}`, risk(holdgate.RiskHigh))
	d.until("it comes up", func() bool { return len(d.m.inbox.list) == 1 })
	d.slowly("enter", "n")
	d.write("lib is needed")
	d.slowly("enter")
	if got := d.status(denied); got != holdgate.StatusDenied {
		t.Errorf("after n the request is %s", got)
	}

	steered := s.hold("Bash", `{"command":"rm -rf ./bin"}`, risk(holdgate.RiskHigh))
	d.until("it comes up", func() bool { return len(d.m.inbox.list) == 1 })
	d.slowly("enter", "s", "enter")
	if got := d.status(steered); got != holdgate.StatusPending {
		t.Errorf("after no instructions the request is %s", got)
	}
	d.slowly("s")
	d.update(tea.PasteMsg{Content: "move it\nto old/"})
	d.slowly("enter")
	now, err := s.queue.Request(t.Context(), steered.ID)
	s.check(err)
	if now.Status != holdgate.StatusSteered || now.Outcome.Instructions != "move it\nto old/" {
		t.Errorf("after s the request is %s: %+v", now.Status, now.Outcome)
	}
}

func TestCriticalWantsItsTarget(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskCritical))
	d := sit(t, s)
	d.slowly("enter")
	d.read()
	for _, wrong := range []string{"approve", "approve Bash", "yes"} {
		d.slowly("y")
		d.write(wrong)
		d.slowly("enter")
		if got := d.status(r); got != holdgate.StatusPending {
			t.Fatalf("after %q the request is %s", wrong, got)
		}
	}
	d.slowly("y")
	d.write("approve ./src")
	d.slowly("enter")
	if got := d.status(r); got != holdgate.StatusApproved {
		t.Errorf("after its target the request is %s", got)
	}
}

func TestKeysWaitForAScreenThatStands(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", `{"command":"touch a"}`, risk(holdgate.RiskLow))
	d := sit(t, s)
	d.update(tea.WindowSizeMsg{Width: 80, Height: 60})
	d.press("enter", "y")
	d.pass(minShown - 1)
	d.press("y")
	if got := d.status(r); got != holdgate.StatusPending {
		t.Fatalf("a key that came too early decided: %s", got)
	}
	d.pass(1)
	d.update(tea.WindowSizeMsg{Width: 79, Height: 60})
	d.press("y")
	if got := d.status(r); got != holdgate.StatusPending {
		t.Fatalf("a key on a screen that was just laid out anew decided: %s", got)
	}
	d.clock = d.clock.Add(slept + 1) // stopped, and typed at blindly
	d.press("y")
	if got := d.status(r); got != holdgate.StatusPending {
		t.Fatalf("a key that was typed while the program stood decided: %s", got)
	}
	d.pass(minShown)
	d.press("y")
	if got := d.status(r); got != holdgate.StatusApproved {
		t.Errorf("a key on a screen that stood did not decide: %s", got)
	}
}

func TestAnEarlyLineEndSendsNothing(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskHigh))
	d := sit(t, s)
	d.slowly("enter")
	d.read()
	d.slowly("y")
	d.write("approve")
	now, err := s.queue.Claim(t.Context(), r.ID, "ada") // the request is another one now
	s.check(err)
	d.until("the claim is seen", func() bool { return d.m.ask.r.Claim != nil })
	if d.m.prompt != nil {
		t.Error("what was typed for the request as it was is kept")
	}
	d.shows("This request has changed")
	d.slowly("enter")
	if got := d.status(now); got != holdgate.StatusPending {
		t.Errorf("the request is %s", got)
	}
}

func TestWhatAnotherDecidesIsShown(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", `{"command":"rm -rf ./src"}`)
	d := sit(t, s)
	d.slowly("enter", "n")
	other(s, r, approvals.Vote{Decision: holdgate.AnswerDeny, Reason: "no"})
	d.until("the end is seen", func() bool { return d.m.ask.r.Status.Final() })
	d.shows("denied by ada")
	d.hides("n deny")
	d.slowly("y", "n", "s")
	if d.m.prompt != nil {
		t.Error("a request that has ended is asked about")
	}
	d.press("q")
	d.shows("Nothing waits")
}

func TestTheChosenRowStaysChosen(t *testing.T) {
	s := newSidecar(t)
	first := s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskHigh))
	s.hold("Edit", edit, risk(holdgate.RiskMedium))
	d := sit(t, s)
	d.press("j")
	s.hold("Bash", `{"command":"cd infra && terraform apply"}`, risk(holdgate.RiskCritical))
	d.until("it comes up", func() bool { return len(d.m.inbox.list) == 3 })
	if got := d.m.inbox.chosen().Call.Tool.Name; got != "Edit" {
		t.Errorf("a new row moved the choice to %s", got)
	}
	d.press("k")
	other(s, first, approvals.Vote{Decision: holdgate.AnswerDeny})
	d.until("it goes", func() bool { return len(d.m.inbox.list) == 2 })
	d.press("enter")
	if d.m.ask != nil {
		t.Error("a neighbour that took the place of what was chosen was opened at once")
	}
	d.slowly("enter")
	if d.m.ask == nil {
		t.Error("the neighbour is not opened")
	}
}

func TestASidecarThatComesBackIsFollowedAgain(t *testing.T) {
	s := newSidecar(t)
	s.hold("Bash", `{"command":"rm -rf ./src"}`)
	d := sit(t, s)
	s.stop()
	d.until("the loss is seen", func() bool { return d.m.lost != "" })
	d.shows("Not connected: what you see may be old")
	s.start()
	d.until("it is reached again", func() bool { return d.m.lost == "" })
	s.hold("Edit", edit)
	d.until("what came since is seen", func() bool { return len(d.m.inbox.list) == 2 })
}

func TestClaimAndPutOff(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", `{"command":"rm -rf ./src"}`)
	d := sit(t, s)
	d.slowly("enter", "c")
	d.shows("is looking at it")
	d.slowly("c")
	d.hides("is looking at it")
	d.slowly("z")
	d.write("soon")
	d.slowly("enter")
	d.shows(`not put off: "soon" is no length of time`)
	d.press("ctrl+u")
	d.write("20m")
	d.slowly("enter")
	d.shows("0 waiting, 1 put off by you")
	d.golden("inbox-put-off")
	if got := d.status(r); got != holdgate.StatusPending {
		t.Errorf("what was put off is %s", got)
	}
	d.pass(21 * time.Minute)
	d.update(beatMsg{})
	d.shows("1 waiting")
	d.shows("Deletes ./src")
}

func TestWhatIsNewRings(t *testing.T) {
	s := newSidecar(t)
	s.hold("Bash", `{"command":"rm -rf ./src"}`)
	d := sit(t, s)
	if len(d.raw) > 0 {
		t.Errorf("what waited before rang: %q", d.raw)
	}
	s.hold("Bash", `{"command":"rm -rf ./lib"}`)
	d.until("it comes up", func() bool { return len(d.m.inbox.list) == 2 })
	s.hold("Bash", `{"command":"rm -rf ./bin"}`)
	d.until("it comes up", func() bool { return len(d.m.inbox.list) == 3 })
	if diff := cmp.Diff([]any{"\a\x1b]9;Holdgate: 2 waiting\a"}, d.raw); diff != "" {
		t.Errorf("rings (-want +got):\n%s", diff)
	}
	d.pass(ringEvery)
	d.m.silent = true
	s.hold("Bash", `{"command":"rm -rf ./obj"}`)
	d.until("it comes up", func() bool { return len(d.m.inbox.list) == 4 })
	if len(d.raw) != 1 {
		t.Errorf("a silent inbox rang: %q", d.raw)
	}
}
