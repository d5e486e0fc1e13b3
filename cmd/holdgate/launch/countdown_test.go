package launch

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate/approvals"
)

// A showing door knows one request, and counts how often it was said to be shown.
type showing struct {
	Door

	r     approvals.Request
	shown int
}

func (d *showing) Shown(context.Context, string) (approvals.Request, error) {
	d.shown++
	return d.r, nil
}

func (d *showing) Request(context.Context, string) (approvals.Request, error) { return d.r, nil }

// A question that silence approves counts down on the screen, and says that it is on
// one; what the person has typed stays.
func TestAQuestionThatSilenceApprovesCountsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := request("low")
		r.OnTimeout, r.ExpiresAt = "approve", time.Now().Add(9*time.Second+100*time.Millisecond)
		var out bytes.Buffer
		door := &showing{r: r}
		d := &dialogue{s: &session{o: Options{Door: door}, screen: newScreen(&out, false)}, q: question{r: r, page: lines("a\n")}}
		d.q.fit(24, 80)
		d.show()
		if !strings.Contains(out.String(), "HOLDGATE ASKS - APPROVED by itself in 9s\r\n") {
			t.Errorf("it begins with %q", out.String())
		}
		out.Reset()
		door.r.ExpiresAt = door.r.ExpiresAt.Add(-2 * time.Second)
		if over := d.refresh(t.Context()); over || door.shown != 1 {
			t.Errorf("over: %v, shown %d times", over, door.shown)
		}
		if want := "\x1b7\x1b[1H\x1b[2KHOLDGATE ASKS - APPROVED by itself in 7s\x1b8"; out.String() != want {
			t.Errorf("then comes %q, want %q", out.String(), want)
		}
		out.Reset()
		door.r.OnTimeout = "deny" // nobody else could approve it any more
		d.refresh(t.Context())
		d.refresh(t.Context())
		if strings.Contains(out.String(), "APPROVED by itself in") || door.shown != 2 {
			t.Errorf("an ordinary question: %q, shown %d times", out.String(), door.shown)
		}
	})
}
