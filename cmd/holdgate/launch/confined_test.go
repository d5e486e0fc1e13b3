package launch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
)

// needs skips a test where this machine cannot confine so.
func needs(t *testing.T, kind string) {
	t.Helper()
	if kind == confine.Unconfined {
		return
	}
	if err := confine.Check(kind, []string{binary, confine.Command}); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: %s confinement: %v", kind, err)
	}
}

// inFolder has the agent work in a folder that does not hold the state.
func (r *run) inFolder() *run {
	r.t.Helper()
	r.cmd.Dir = filepath.Join(r.cmd.Dir, "work")
	if err := os.Mkdir(r.cmd.Dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// A confined agent has a terminal of its own like any other, and is known to be
// the one that run started.
func TestAConfinedAgentIsAskedAbout(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{confine.Strong, confine.Weak} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			needs(t, kind)
			tm := attach(newRunWith(t, "--confine="+kind, "ask", "rm -rf data").inFolder())
			page := tm.sees(asks) + tm.sees("(typed in full)")
			if strings.Contains(page, "UNCONFINED") {
				t.Errorf("the page says UNCONFINED: %q", page)
			}
			r := tm.pending(1)[0]
			if r.Agent.Confinement != kind || r.Agent.Proven != (kind == confine.Strong) {
				t.Errorf("the request is by %+v", r.Agent)
			}
			tm.answers("approve")
			tm.sees(" <rm -rf data>")
			r, err := tm.client().Request(t.Context(), r.ID)
			if err != nil || r.Outcome.Decision != holdgate.AnswerApprove {
				t.Errorf("outcome %+v, %v", r.Outcome, err)
			}
			tm.types("bye\r")
			tm.sees("heard: bye")
			tm.ended(0)
		})
	}
}
