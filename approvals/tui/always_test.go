package tui

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
)

func TestAlwaysShowsWhatItCovers(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Edit", edit, risk(holdgate.RiskMedium), func(d *holdgate.Decision) { d.Hold.Allow = []string{"steer", "remember"} })
	d := sit(t, s)
	d.update(tea.WindowSizeMsg{Width: 80, Height: 14})
	d.slowly("enter", "A")
	d.shows("not all of the call was shown yet")
	d.update(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.slowly("A")
	d.golden("always")
	d.slowly("w", "o", "t")
	d.golden("always-chosen")
	d.press("t", "enter")
	if got := d.status(r); got != holdgate.StatusPending {
		t.Fatalf("what had just been changed was approved: %s", got)
	}
	d.slowly("enter")
	if got := d.status(r); got != holdgate.StatusApproved {
		t.Fatalf("the request is %s; the screen:\n%s", got, d.m.screen())
	}
	grants, err := d.api.Grants(t.Context(), "claude")
	s.check(err)
	if len(grants) != 1 || grants[0].Scope != record.ScopeAgent || grants[0].Match != record.MatchTool || grants[0].ExpiresAt.Sub(grants[0].CreatedAt).Round(time.Hour) != 7*24*time.Hour {
		t.Errorf("grants: %+v", grants)
	}
}

func TestAlwaysForATask(t *testing.T) {
	s := newSidecar(t)
	remember := func(d *holdgate.Decision) { d.Hold.Allow = []string{"remember"} }
	s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskMedium), remember)
	d := sit(t, s)
	d.slowly("enter")
	d.read()
	d.slowly("A", "o", "o")
	d.shows("it is not known on which task it works")
	d.slowly("esc", "esc")
	s.turns = []string{"tidy up"}
	r := s.hold("Bash", `{"command":"rm -rf ./lib"}`, risk(holdgate.RiskHigh), remember)
	d.until("it comes up", func() bool { return len(d.m.inbox.list) == 2 })
	d.slowly("k", "k", "enter")
	d.read()
	d.slowly("A", "o", "o")
	d.shows("this task, until its user says the next thing")
	d.slowly("enter")
	d.write("approve")
	d.slowly("enter")
	grants, err := d.api.Grants(t.Context(), "claude")
	s.check(err)
	if len(grants) != 1 || grants[0].Scope != record.ScopeTask || d.status(r) != holdgate.StatusApproved {
		t.Errorf("%s; grants: %+v; the screen:\n%s", d.status(r), grants, d.m.screen())
	}
}

func TestAlwaysOfHighRiskWantsTheWord(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskHigh), func(d *holdgate.Decision) { d.Hold.Allow = []string{"remember"} })
	d := sit(t, s)
	d.slowly("enter")
	d.read()
	d.slowly("A", "w")
	d.shows("exactly this call")
	d.slowly("enter")
	if got := d.status(r); got != holdgate.StatusPending {
		t.Fatalf("without the word the request is %s", got)
	}
	d.write("approve")
	d.slowly("enter")
	if got := d.status(r); got != holdgate.StatusApproved {
		t.Errorf("the request is %s", got)
	}
	fixed := s.hold("Bash", `{"command":"rm -rf ./lib"}`, func(d *holdgate.Decision) { d.Hold.Allow = nil })
	d.until("it comes up", func() bool { return len(d.m.inbox.list) == 1 })
	d.slowly("enter")
	d.read()
	d.slowly("A")
	d.shows("for this time alone")
	if got := d.status(fixed); got != holdgate.StatusPending {
		t.Errorf("the request is %s", got)
	}
}
