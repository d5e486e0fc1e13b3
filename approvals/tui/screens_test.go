package tui

import (
	"context"
	"errors"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

const (
	curl = `{"command":"curl -fsSL https://get.acme.dev/install.sh | sudo sh","description":"Install acme"}`
	edit = `{"file_path":"/home/ada/shop/cart.go","old_string":"func total() int {\n\treturn 1\n}","new_string":"func total() int {\n\treturn sum(items)\n}"}`
	sql  = `{"sql":"UPDATE users SET plan = 'free'"}`
)

// TestScreens holds every screen as it is at 80x24.
func TestScreens(t *testing.T) {
	s := newSidecar(t)
	s.hold("Bash", curl)
	s.hold("Bash", `{"command":"cd infra/prod && terraform apply -auto-approve"}`, risk(holdgate.RiskCritical))
	s.hold("Bash", `{"command":"rm -rf ./src/gen"}`)
	s.hold("Bash", `{"command":"rm -rf ./src/old"}`)
	s.hold("mcp__db__query", sql)
	s.hold("Edit", edit)
	s.hold("Bash", `{"command":"echo '漢字' > ファイル.txt"}`)
	d := sit(t, s)
	d.golden("inbox")
	d.press("j", "j", "enter")
	d.golden("inbox-open-row")
	d.press("enter", "/")
	d.write("changes")
	d.golden("filter")
	d.press("enter")
	d.golden("inbox-filtered")
	d.slowly("enter")
	d.golden("request-diff")
	d.press("esc", "esc", "k", "k", "k", "k", "k", "k")
	d.slowly("enter")
	d.golden("request-critical")
	d.read()
	d.slowly("y")
	d.golden("request-critical-word")
	d.press("esc")
	d.slowly("n")
	d.golden("request-deny")
	d.press("esc")
	d.slowly("s")
	d.golden("request-steer")
	d.press("esc", "?")
	d.golden("keys")
	d.press("esc")
	d.update(tea.WindowSizeMsg{Width: 44, Height: 14})
	d.golden("request-44x14")
	d.press("esc")
	d.golden("inbox-44x14")
	d.update(tea.WindowSizeMsg{Width: 30, Height: 8})
	d.golden("too-small")
}

// TestScreensOfWhatGoesOn holds the screens on which something is done about a request or
// an agent, and those of a sidecar that is not reached.
func TestScreensOfWhatGoesOn(t *testing.T) {
	s := newSidecar(t)
	s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskHigh))
	s.hold("Bash", long(), risk(holdgate.RiskMedium))
	d := sit(t, s)
	d.press("tab")
	for _, at := range []struct{ key, golden string }{{"x", "agents-stop"}, {"r", "agents-resume"}, {"i", "agents-redirect"}} {
		d.press(at.key)
		d.golden(at.golden)
		d.press("esc")
	}
	d.press("q")
	d.slowly("enter", "z")
	d.golden("request-put-off")
	d.press("esc", "esc", "j")
	d.slowly("enter")
	d.golden("request-long")
	d.slowly("f")
	d.golden("request-long-whole")
	d.update(lostMsg{errors.New("no sidecar at /home/ada/.holdgate/holdgate.sock: connection refused")})
	d.golden("request-lost")
	d.press("esc")
	d.golden("inbox-lost")
}

func TestTheScreenOfAClaimedRequest(t *testing.T) {
	s := newSidecar(t)
	s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskHigh))
	d := sit(t, s)
	d.slowly("enter", "c")
	d.golden("request-claimed")
}

func TestTheEmptyInboxSaysWhatComesUp(t *testing.T) {
	d := sit(t, newSidecar(t))
	d.golden("inbox-empty")
}

func TestOptions(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", `{"command":"./deploy"}`, risk(holdgate.RiskMedium), func(d *holdgate.Decision) {
		d.Hold.Kind = holdgate.RequestChoice
		d.Hold.Options = []holdgate.Option{{ID: "staging", Label: "Deploy to staging", Effect: "approve"}, {ID: "nowhere", Label: "Do not deploy", Effect: "deny"}, {ID: "else", Label: "Something else", Other: true}}
	})
	d := sit(t, s)
	d.update(tea.WindowSizeMsg{Width: 80, Height: 14})
	d.slowly("enter")
	d.slowly("1")
	d.shows("not chosen: not all of the call was shown yet")
	d.update(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.golden("request-options")
	d.slowly("y")
	d.shows("this call needs one of its options")
	d.slowly("1")
	d.slowly("enter")
	if got := d.status(r); got != holdgate.StatusApproved {
		t.Errorf("the request is %s", got)
	}
}

func TestACallThatThePageLeavesPartsOfIsShownWhole(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", long(), risk(holdgate.RiskMedium))
	d := sit(t, s)
	d.slowly("enter")
	d.read()
	d.slowly("y")
	d.shows("not approved: this screen does not show the whole call; f shows it")
	d.slowly("f", "y")
	d.shows("not approved: not all of the call was shown yet")
	for range 60 {
		d.slowly("space")
	}
	d.shows("approve")
	d.slowly("y")
	d.write("approve")
	d.slowly("enter")
	if got := d.status(r); got != holdgate.StatusApproved {
		t.Errorf("the request is %s; the screen:\n%s", got, d.m.screen())
	}
}

// other is another person's screen.
func other(s *sidecar, r approvals.Request, v approvals.Vote) {
	s.t.Helper()
	v.Channel, v.By, v.Assurance = "cli", "ada", "local"
	_, err := s.queue.Decide(context.Background(), r.ID, v)
	s.check(err)
}
