package metrics_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/metrics"
	"github.com/holdgate/holdgate/store/audit"
)

func sources() metrics.Sources {
	return metrics.Sources{
		Standby:  func() bool { return false },
		Pending:  func() (int, time.Time, bool) { return 1, time.Now(), true },
		Policy:   func() (string, bool) { return "abc", false },
		Store:    func() (int64, int64, error) { return 1, 2, nil },
		Writable: func() bool { return true },
		Head:     func() (uint64, error) { return 7, nil },
		Channels: func() []metrics.Channel { return []metrics.Channel{{Name: "slack", Up: true, Restarts: 2}} },
	}
}

func scrape(t testing.TB, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("scrape: %d %v\n%s", w.Code, err, body)
	}
	return string(body)
}

func decision(rule string, kind holdgate.Kind, a holdgate.Action) audit.Entry {
	return audit.Entry{Type: audit.TypeDecision, Time: time.Now(), Call: &audit.Call{Agent: "coder", Kind: kind}, Decision: &audit.Decision{Action: a, Rule: rule}}
}

func TestWhatIsCounted(t *testing.T) {
	m := metrics.New(metrics.Names{Version: "1.2.3", Upstreams: []string{"anthropic"}, Channels: []string{"slack"}}, sources())
	m.Entry(decision("files.delete", holdgate.KindToolCall, holdgate.Hold))
	m.Entry(decision("holdgate.policy_error", holdgate.KindToolCall, holdgate.Deny))
	m.Entry(audit.Entry{Type: audit.TypeRefused, Decision: &audit.Decision{Rule: "holdgate.malformed"}}) // its gate has told of it
	m.Refused("holdgate.malformed")
	m.Ended(40*time.Second, holdgate.StatusApproved, holdgate.AnswerApprove, "slack")
	m.Ended(time.Hour, holdgate.StatusExpired, holdgate.AnswerTimeout, "")
	m.Evaluated(time.Millisecond, true, "")
	m.Loaded(nil)
	m.Synced(time.Millisecond, errors.New("disk"))
	m.Told("slack", errors.New("down"))
	m.Answered("anthropic", time.Second, 529, "")
	m.Answered("anthropic", time.Second, 0, "")
	m.Answered("evil.example.com", time.Second, 200, "")
	got := scrape(t, m)
	for _, want := range []string{
		`holdgate_build_info{version="1.2.3"} 1`,
		`holdgate_decisions_total{action="hold",kind="tool_call",rule="files.delete"} 1`,
		`holdgate_refused_total{rule="holdgate.policy_error"} 1`,
		`holdgate_refused_total{rule="holdgate.malformed"} 1`,
		`holdgate_audit_entries_total{type="refused"} 1`,
		`holdgate_outcomes_total{channel="slack",decision="approve",status="approved"} 1`,
		`holdgate_outcomes_total{channel="none",decision="timeout",status="expired"} 1`,
		`holdgate_time_to_decision_seconds_bucket{status="approved",le="60"} 1`,
		`holdgate_policy_errors_total 1`,
		`holdgate_policy_loads_total{result="ok"} 1`,
		`holdgate_policy_info{revision="abc"} 1`,
		`holdgate_store_sync_errors_total 1`,
		`holdgate_store_free_bytes 2`,
		`holdgate_audit_head 7`,
		`holdgate_channel_deliveries_total{channel="slack",result="error"} 1`,
		`holdgate_channel_restarts_total{channel="slack"} 2`,
		`holdgate_upstream_requests_total{result="5xx",upstream="anthropic"} 1`,
		`holdgate_upstream_requests_total{result="error",upstream="anthropic"} 1`,
		`holdgate_upstream_requests_total{result="2xx",upstream="other"} 1`,
		`holdgate_requests_pending 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("missing: %s", want)
		}
	}
	problems, err := promlint.New(strings.NewReader(got)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

// Whatever a hostile agent brings into rules, kinds, channels, servers and statuses,
// there are no more series than the bounds allow, and a scrape succeeds.
func TestNoAgentCanMakeSeries(t *testing.T) {
	m := metrics.New(metrics.Names{Upstreams: []string{"anthropic"}, Channels: []string{"slack"}}, sources())
	for i := range 5000 {
		for _, word := range []string{fmt.Sprintf("w%d", i), fmt.Sprintf("bad\xff%d", i), fmt.Sprintf("a\"b\n%d", i), strings.Repeat("x", 100+i), ""} {
			m.Entry(decision(word, holdgate.Kind(word), holdgate.Action(i%256)))
			m.Entry(audit.Entry{Type: audit.Type(word)})
			m.Refused(word)
			m.Ended(time.Duration(i), holdgate.Status(word), holdgate.Answer(word), word)
			m.Told(word, nil)
			m.Answered(word, time.Second, i, "")
		}
	}
	m.Told("slack", nil)
	m.Answered("anthropic", time.Second, 200, "")
	got := scrape(t, m)
	values := map[string]map[string]bool{}
	for _, found := range regexp.MustCompile(`(?:\{|,)([a-z]+)="((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(got, -1) {
		if values[found[1]] == nil {
			values[found[1]] = map[string]bool{}
		}
		values[found[1]][found[2]] = true
	}
	for label, most := range map[string]int{"rule": 301, "kind": 1, "channel": 23, "upstream": 2, "decision": 3, "status": 3, "type": 2, "action": 4} {
		if n := len(values[label]); n == 0 || n > most {
			t.Errorf("label %s has %d values, want 1 to %d", label, n, most)
		}
	}
	for _, want := range []string{`{channel="slack",result="ok"} 1`, `{result="2xx",upstream="anthropic"} 1`} {
		if !strings.Contains(got, want) {
			t.Errorf("what the configuration names has lost its series: %s", want)
		}
	}
}

func BenchmarkEntry(b *testing.B) {
	m := metrics.New(metrics.Names{}, sources())
	e := decision("default", holdgate.KindToolCall, holdgate.Allow)
	b.ReportAllocs()
	for b.Loop() {
		m.Entry(e)
		m.Evaluated(time.Millisecond, false, "")
		m.Answered("anthropic", time.Second, 200, "")
	}
}
