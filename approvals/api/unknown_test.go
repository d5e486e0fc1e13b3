package api_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/store"
)

func TestAVoteThatIsNotKeptSaysWhatTheStoreSays(t *testing.T) {
	for want, c := range map[string]struct {
		cause error
		says  string
	}{
		// It may count: that is not told as a failure.
		api.ProblemUnknown: {store.ErrUnknown, "look again"},
		api.ProblemStore:   {store.ErrFailed, "start the sidecar anew"},
	} {
		t.Run(want, func(t *testing.T) {
			d := newDoor(t)
			r := d.hold(holdgate.HoldSpec{})
			d.failing.Store(&c.cause)
			status, body := d.ask("POST", "/v1/approvals/"+r.ID+"/decision", `{"decision":"deny","reason":"no"}`)
			d.failing.Store(nil)
			if status != 503 || word(t, body) != want || !strings.Contains(body, c.says) {
				t.Errorf("got %d %s, want 503 %s, with %q", status, body, want, c.says)
			}
		})
	}
}
