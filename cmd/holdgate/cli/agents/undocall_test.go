package agents

import (
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/undo"
	"github.com/holdgate/holdgate/store/audit"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// logged is what a log of calls says, in the order of its lines: "MINUTE TYPE ID DIGEST AGENT".
func logged(t *testing.T, lines ...string) (all ranCalls) {
	t.Helper()
	for _, line := range lines {
		f := strings.Fields(line)
		after, err := time.ParseDuration(f[0])
		if err != nil {
			t.Fatal(err)
		}
		n := audit.Entry{Time: noon.Add(after), Type: audit.TypeDecision, Decision: &audit.Decision{Action: holdgate.Allow}, Call: &audit.Call{
			Kind: holdgate.KindToolCall, ID: f[2], Digest: holdgate.Digest(f[3]), Agent: f[4], Session: "s", Tool: &audit.Tool{Name: "Bash"},
		}}
		switch f[1] {
		case "held":
			n.Decision.Action, n.RequestID = holdgate.Hold, "req-"+f[2]
		case "used":
			n.Type, n.Decision, n.RequestID = audit.TypeUsed, nil, "req-"+f[2]
		}
		all.add(n)
	}
	return all
}

func TestACallIsAStretchOfTime(t *testing.T) {
	all := logged(t, "1m allow a A x", "2m allow b B x", "3m allow a A x", "4m allow c C y", "5m held d D x", "6m used d D x", "7m used d D x", "8m allow a E x")
	for i, want := range []struct {
		name     string
		from, to time.Duration
	}{{"a", 1, 6}, {"b", 2, 3}, {"c", 4, 0}, {"req-d", 6, 8}, {"a", 8, 0}} {
		r := all.list[i]
		to := noon.Add(want.to * time.Minute)
		if want.to == 0 {
			to = time.Time{}
		}
		if got := strings.Join(r.names, " "); !strings.Contains(got, want.name) || !r.from.Equal(noon.Add(want.from*time.Minute)) || !r.to.Equal(to) {
			t.Errorf("call %d is %s from %v to %v, want %+v", i, got, r.from, r.to, want)
		}
	}
}

func TestACallIsOfTheRunThatWentOnThen(t *testing.T) {
	minute := func(n time.Duration) time.Time { return noon.Add(n * time.Minute) }
	runs := []undo.Entry{ // the latest first
		{ID: "undoing", Agent: "x", Began: minute(9), Ended: minute(10), Undoes: "second"},
		{ID: "second", Agent: "x", Began: minute(5), Ended: minute(7)},
		{ID: "another", Agent: "y", Began: minute(1), Running: true},
		{ID: "first", Agent: "x", Began: minute(0), Ended: minute(3)},
	}
	all := logged(t, "1m allow early A x", "4m allow between B x", "6m allow late C x", "6m allow running D y",
		"8m allow outside E x", "2m allow twice F x", "6m allow twice G x", "2m allow once H x", "4m allow once I x")
	for name, want := range map[string]string{"early": "first", "late": "second", "running": "another", "once": "first", "none": ""} {
		call, run, err := all.named(name, runs)
		if err != nil || (run == nil) != (want == "") || run != nil && (run.ID != want || call == nil) {
			t.Errorf("%s ran in %+v, %v", name, run, err)
		}
	}
	for name, want := range map[string]string{
		"between": "no run in which between ran is kept", "outside": "no run in which outside ran is kept",
		"twice": "twice names several calls: Bash of x at ",
	} {
		if _, run, err := all.named(name, runs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s ran in %+v, %v", name, run, err)
		}
	}
}
