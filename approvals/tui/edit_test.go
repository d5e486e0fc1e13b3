package tui

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// edits has the person's editor be a command.
func (d *desk) edits(command string) {
	d.m.editor = command
	d.m.runs = func(cmd *exec.Cmd, done tea.ExecCallback) tea.Cmd {
		return func() tea.Msg { return done(cmd.Run()) }
	}
}

func TestEditShowsTheChangeBeforeItGoes(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	s := newSidecar(t)
	may := func(d *holdgate.Decision) { d.Hold.Allow = []string{"edit"} }
	r := s.hold("Bash", `{"command":"rm -rf ./src","description":"clean\u202eup"}`, risk(holdgate.RiskHigh), may)
	d := sit(t, s)
	d.slowly("enter")
	d.edits("false")
	d.slowly("e")
	d.shows("this screen does not show the whole call")
	d.slowly("f")
	d.read()
	d.edits("sed -i s/src/gen/")
	d.slowly("e")
	d.golden("edit")
	d.read()
	d.slowly("y")
	d.write("approve")
	d.slowly("enter")
	now, err := s.queue.Request(t.Context(), r.ID)
	s.check(err)
	if now.Status != holdgate.StatusApproved || now.Outcome.Decision != holdgate.AnswerEdit || !strings.Contains(string(now.Outcome.Arguments), "./gen") || !strings.Contains(string(now.Outcome.Arguments), "clean\u202eup") {
		t.Errorf("the request is %s: %+v", now.Status, now.Outcome)
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the editor's files are left: %v, %v", left, err)
	}
}

func TestWhatAnEditorLeavesIsChecked(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskMedium), func(d *holdgate.Decision) { d.Hold.Allow = []string{"edit"} })
	d := sit(t, s)
	d.slowly("enter")
	for _, c := range []struct{ editor, want string }{
		{"true", "nothing was changed"},
		{"false", "not edited: exit status 1"},
		{"echo '[1]' >", "not edited; e opens your text again: they must be one JSON object"},
		{`printf '{"command":"a","command":"b"}' >`, "again: duplicate object member"},
		{"head -c 2000000 /dev/zero >", "reading what was edited"},
	} {
		d.edits(c.editor)
		d.slowly("e")
		d.shows(c.want)
		d.read()
	}
	if d.m.edit != nil {
		t.Error("an edit is shown that cannot be sent")
	}
	d.edits(`f() { grep -q '^{"x' "$1" && echo '{"command":"late"}' >"$1"; }; f`) // it gets the text that was left
	d.m.ask.left.Text = []byte(`{"x`)
	d.slowly("e")
	d.shows(`+  "command": "late"`)
	d.edits("echo '[2]' >")
	d.slowly("e") // on the change: it stays, for it is good
	d.shows("your last text is not used; e opens your text again: ")
	d.shows(`+  "command": "late"`)
	d.slowly("esc")
	d.edits("sed -i s/src/gen/")
	d.slowly("e", "esc")
	if got := d.status(r); got != holdgate.StatusPending {
		t.Errorf("Esc left the request %s", got)
	}
	fixed := s.hold("Bash", `{"command":"rm -rf ./lib"}`, func(d *holdgate.Decision) { d.Hold.Allow = nil })
	d.press("q")
	d.until("it comes up", func() bool { return len(d.m.inbox.list) == 2 })
	d.m.inbox.at = fixed.ID
	d.slowly("enter")
	d.read()
	d.slowly("e")
	d.shows("policy does not let this call be edited")
}

// What policy refuses is not sent, and what was typed is kept.
func TestAnEditThatPolicyRefusesIsKept(t *testing.T) {
	s := newSidecar(t)
	r := s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskMedium), func(d *holdgate.Decision) { d.Hold.Allow = []string{"edit"} })
	d := sit(t, s)
	d.slowly("enter")
	d.read()
	d.edits("sed -i s/src/ledger/")
	d.slowly("e")
	d.shows("REFUSES the edited call")
	d.slowly("y")
	d.until("it is told", func() bool { return strings.Contains(d.m.note, "policy refuses the edited call") })
	d.golden("refused-edit")
	if got := d.status(r); got != holdgate.StatusPending {
		t.Errorf("the request is %s", got)
	}
	d.edits("sed -i s/ledger/gen/") // it gets the text that was left
	d.slowly("e")
	d.shows("./gen")
	d.slowly("y")
	d.shows(`type "approve"`) // policy asks about it as of high risk
	d.write("approve")
	d.slowly("enter")
	if got := d.status(r); got != holdgate.StatusApproved {
		t.Errorf("after another edit the request is %s", got)
	}
}

// An edit that comes too late is not sent, and stays on the screen.
func TestAnEditThatComesTooLateIsShown(t *testing.T) {
	for name, late := range map[string]func(d *desk, elsewhere func()){
		"while it is typed": func(d *desk, elsewhere func()) {
			d.m.runs = func(cmd *exec.Cmd, done tea.ExecCallback) tea.Cmd {
				return func() tea.Msg {
					elsewhere()
					return done(cmd.Run())
				}
			}
			d.slowly("e")
		},
		"while it is looked at": func(d *desk, elsewhere func()) {
			d.slowly("e")
			d.shows("what you change")
			elsewhere()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSidecar(t)
			r := s.hold("Bash", `{"command":"rm -rf ./src"}`, risk(holdgate.RiskMedium), func(d *holdgate.Decision) { d.Hold.Allow = []string{"edit"} })
			d := sit(t, s)
			d.slowly("enter")
			d.read()
			d.edits("sed -i s/src/mine/")
			late(d, func() { other(s, r, approvals.Vote{Decision: holdgate.AnswerDeny, Digest: r.Call.Digest}) })
			d.until("it is told", func() bool {
				return strings.Contains(d.m.note, "your edit was not sent: this request is denied already, by ")
			})
			d.shows("./mine")
			d.slowly("y")
			d.shows("./mine")
			d.slowly("esc")
			if d.m.edit != nil {
				t.Error("Esc does not leave it")
			}
		})
	}
}
