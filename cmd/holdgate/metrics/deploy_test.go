package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/metrics"
	"github.com/holdgate/holdgate/store/audit"
)

const deploy = "../../../deploy"

// queries are those of the dashboard.
func queries(t *testing.T) (list []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(deploy, "grafana", "holdgate.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			list = append(list, target.Expr)
		}
	}
	return list
}

// furnished is what a scraper gets of a sidecar that has done a little of everything.
func furnished(t *testing.T) string {
	t.Helper()
	m := metrics.New(metrics.Names{Upstreams: []string{"a"}, Channels: []string{"slack"}, Rungs: []string{"line"}}, sources())
	m.Entry(decision("r", holdgate.KindToolCall, holdgate.Hold))
	m.Entry(audit.Entry{Type: audit.TypeVote})
	m.Refused("holdgate.quota")
	m.Ended(time.Second, holdgate.StatusApproved, holdgate.AnswerApprove, "slack")
	m.Told("slack", nil)
	m.Answered("a", time.Second, 200, "")
	return scrape(t, m)
}

// What alerts, the dashboard and the docs ask for is there.
func TestDeployAsksForMetricsThatThereAre(t *testing.T) {
	got := furnished(t)
	texts := strings.Join(queries(t), "\n")
	for _, file := range []string{filepath.Join(deploy, "prometheus", "holdgate.rules.yaml"), "../../../docs/operations.md"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts += string(raw)
	}
	for _, name := range regexp.MustCompile(`holdgate_[a-z_]+`).FindAllString(texts, -1) {
		if !strings.Contains(got, "\n"+name+"{") && !strings.Contains(got, "\n"+name+" ") && !strings.Contains(got, "# TYPE "+name+" ") {
			t.Errorf("there is no metric %s", name)
		}
	}
	for _, name := range regexp.MustCompile(`# TYPE (holdgate_\S+)`).FindAllStringSubmatch(got, -1) {
		if !strings.Contains(texts, name[1]) {
			t.Errorf("nobody asks for %s, and docs/operations.md does not name it", name[1])
		}
	}
}

// The alert rules fire where they should, and every query of the dashboard is PromQL,
// as Prometheus's own tool sees it.
func TestPromtoolTakesAlertsAndDashboard(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED: promtool is not here (apt-get install prometheus)")
	}
	asked := "groups: [{name: dashboard, rules: ["
	for i, q := range queries(t) {
		q = strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$job", "holdgate").Replace(q)
		quoted, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		asked += fmt.Sprintf("{record: q%d, expr: %s},", i, quoted)
	}
	dashboard := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(dashboard, []byte(asked+"]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "rules", "holdgate.rules.yaml"}, {"test", "rules", "holdgate.test.yaml"}, {"check", "rules", dashboard},
	} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = filepath.Join(deploy, "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	scraped := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	scraped.Stdin = strings.NewReader(furnished(t))
	if out, err := scraped.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
