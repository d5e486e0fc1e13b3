package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
	"github.com/holdgate/holdgate/rego/learn"
)

// Ctrl-C does not throw away what a replay has come to.
func TestAReplayThatIsInterruptedPrintsWhatItKnows(t *testing.T) {
	part := learn.Replay{Revision: "abc", Calls: 7, Same: 4, Changed: 3, Partial: true, Table: []learn.Row{{Was: "allow", Now: "hold", WasRule: "default", NowRule: "team.etc", Calls: 3}}}
	stopped := fmt.Errorf("asking the sidecar: %w", context.Canceled)
	for name, c := range map[string]struct {
		r     learn.Replay
		err   error
		json  bool
		shown string // on standard output
		text  string // of the error
	}{
		"as a table":            {part, stopped, false, "7 calls by policy abc: 4 the same, 3 would change, 0 unknown\nCALLS  WAS    NOW   BY RULE  NOW BY RULE\n3      allow  hold  default  team.etc\n", "interrupted: this is of the first 7 calls, and what follows was not judged"},
		"as JSON":               {part, stopped, true, `"partial": true`, "interrupted: this is of the first 7 calls, and what follows was not judged"},
		"before the first call": {learn.Replay{Partial: true}, stopped, false, "", "interrupted"},
		"not by a person":       {part, errors.New("the log is broken"), false, "", "the log is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, told bytes.Buffer
			e := &env{&command.Env{Stdout: &out, Stderr: &told, Getenv: func(string) string { return "" }}}
			if code := e.Report(e.replayed(c.r, c.err, c.json)); code != command.ExitFailed {
				t.Errorf("it ends with %d", code)
			}
			if got := out.String(); got != c.shown && (!c.json || !strings.Contains(got, c.shown)) {
				t.Errorf("it prints %q", got)
			}
			if got := told.String(); got != "error: "+c.text+"\n" {
				t.Errorf("it tells %q", got)
			}
		})
	}
}
