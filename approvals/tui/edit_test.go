package tui

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/holdgate/holdgate"
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
		{"echo '[1]' >", "not usable: they must be one JSON object"},
		{`printf '{"command":"a","command":"b"}' >`, "not usable: duplicate object member"},
		{"head -c 2000000 /dev/zero >", "more than 1048576"},
	} {
		d.edits(c.editor)
		d.slowly("e")
		d.shows(c.want)
		d.read()
	}
	if d.m.edit != nil {
		t.Error("an edit is shown that cannot be sent")
	}
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
