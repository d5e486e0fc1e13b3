package host

import (
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/plugins/sdk"
)

// What is critical is told first, in quiet hours too; the rest in the order in
// which it came, and in quiet hours when they end.
func TestWhatIsToldNext(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 23, 0, 0, 0, time.UTC)
	night := &Quiet{Hours: Hours{From: 22 * time.Hour, To: 7 * time.Hour, Zone: time.UTC}, Pass: []string{"critical"}}
	b := newBench(t)
	for _, c := range []struct {
		name  string
		quiet *Quiet
		risks []holdgate.Risk // of requests, the oldest first
		want  string          // which is told, or nothing
	}{
		{"the oldest", nil, []holdgate.Risk{"low", "high"}, "0"},
		{"what is critical", nil, []holdgate.Risk{"high", "critical", "critical"}, "1"},
		{"nothing at night", night, []holdgate.Risk{"low", "high"}, ""},
		{"but what is critical", night, []holdgate.Risk{"low", "high", "critical"}, "2"},
	} {
		one := b.puppet("puppet", script{})
		one.Quiet = c.quiet
		h, err := New(Config{Queue: b.queue, Key: key, Channels: []Channel{one}})
		if err != nil {
			t.Fatal(err)
		}
		ch := h.channels[0] // it does not run
		for i, risk := range c.risks {
			at := now.Add(time.Duration(i-10) * time.Minute)
			ch.agenda.note(approvals.Request{ID: string(rune('0' + i)), Status: holdgate.StatusPending, Risk: risk, CreatedAt: at}, record.EventRequested)
		}
		task, _ := ch.next(now)
		if got := task; (got == nil) != (c.want == "") || got != nil && got.request.ID != c.want {
			t.Errorf("%s: told is %+v, want %q", c.name, got, c.want)
		}
	}
}

func TestAnAssuranceThatIsNotKnownIsTheLeast(t *testing.T) {
	t.Parallel()
	for answer, want := range map[sdk.Assurance]sdk.Assurance{0: sdk.Interactive, sdk.Text: sdk.Text, sdk.Local: sdk.Interactive, sdk.Local + 1: sdk.Text, -7: sdk.Text} {
		if got := sure(sdk.Interactive, answer); got != want {
			t.Errorf("an answer that says %v has %v, want %v", answer, got, want)
		}
	}
}
