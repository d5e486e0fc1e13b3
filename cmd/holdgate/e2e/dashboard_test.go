package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each query of the dashboard returns data in a real Prometheus, which scrapes a sidecar
// under load: calls that pass, that are approved, and that Holdgate refuses itself.
func TestTheDashboardShowsData(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not with -short")
	}
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("SKIPPED, NOT TESTED: prometheus is not here (apt-get install prometheus)")
	}
	p := newProvider(t)
	p.calls = func(command string) []call { return []call{{id: "toolu_1", command: command}} }
	told := newReceiver(t)
	file := told.config(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil, "--upstream", "anthropic="+p.URL, "--config", write(t, "holdgate.yaml", "listen: {metrics: \"127.0.0.1:0\"}\n"+string(text)))
	metrics := regexp.MustCompile(`(?m)^listens +(\S+) for metrics$`).FindStringSubmatch(s.must("status"))
	if metrics == nil {
		t.Fatalf("the status names no door for metrics: %s", s.must("status"))
	}
	prometheus := startPrometheus(t, program, metrics[1])

	missing := dashboardQueries(t)
	round := 0
	until(t, "data for every query", func() bool {
		round++
		<-turnWithKey(t, s, fmt.Sprintf("echo %d", round))
		held := fmt.Sprintf("rm -rf folder%d", round)
		answer := turnWithKey(t, s, held)
		s.answer(s.held(held).ID, "approve")
		<-answer
		resp, err := http.Post(s.base("anthropic")+"/v1/messages", "application/json", strings.NewReader(`{"model":"m","model":"m"}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		for query := range missing {
			if hasData(t, prometheus, query) {
				delete(missing, query)
			}
		}
		if round%200 == 0 {
			t.Logf("without data after %d rounds: %v", round, missing)
		}
		return len(missing) == 0
	})
}

// startPrometheus has it scrape an address twice a second, and returns where it answers.
func startPrometheus(t *testing.T, program, scraped string) string {
	t.Helper()
	addr := unusedAddr(t)
	dir := t.TempDir()
	config := "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\nscrape_configs:\n  - job_name: holdgate\n    static_configs: [{targets: [" + quoted(scraped) + "]}]\n"
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	until(t, "Prometheus", func() bool {
		resp, err := http.Get("http://" + addr + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return addr
}

// dashboardQueries are the dashboard's queries as Grafana would send them.
func dashboardQueries(t *testing.T) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile("../../../deploy/grafana/holdgate.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	queries := map[string]bool{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			queries[strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$job", "holdgate").Replace(target.Expr)] = true
		}
	}
	if len(queries) < 20 {
		t.Fatalf("the dashboard has %d queries", len(queries))
	}
	return queries
}

// hasData reports whether a query returns a number.
func hasData(t *testing.T, prometheus, query string) bool {
	t.Helper()
	resp, err := http.Get("http://" + prometheus + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Status != "success" {
		t.Fatalf("%s: %v %s", query, err, got.Error)
	}
	for _, r := range got.Data.Result {
		if text, ok := r.Value[1].(string); ok && text != "NaN" {
			return true
		}
	}
	return false
}
