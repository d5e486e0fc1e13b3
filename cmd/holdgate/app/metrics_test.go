package app_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
)

// startOn starts a sidecar with a door for metrics, and returns the doors' addresses.
func startOn(t *testing.T, from ...string) (s *sidecar, doors map[string]string) {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(upstream.Close)
	c := configuration(t)
	c.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0", Metrics: "127.0.0.1:0", MetricsFrom: from}
	c.Upstreams = map[string]config.Upstream{"tea": {URL: upstream.URL}}
	a, err := app.New(t.Context(), c, app.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	s = &sidecar{t: t, app: a, dir: c.StateDir}
	t.Cleanup(s.stop)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	doors = map[string]string{}
	for _, l := range a.Listeners() {
		if !strings.HasPrefix(l.Addr, "/") {
			doors[l.Name] = l.Addr
		}
	}
	s.url = "http://" + doors["approvers"]
	return s, doors
}

func get(t *testing.T, from string, header ...string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", from, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func TestMetricsTellOfWhatHappened(t *testing.T) {
	s, doors := startOn(t)
	if status, text := get(t, "http://"+doors["agents"]+"/up/tea/x"); status != http.StatusTeapot {
		t.Fatalf("the upstream: %d %s", status, text)
	}
	resp, err := http.Post("http://"+doors["agents"]+"/v1/gates", "application/json", strings.NewReader(`{"type":"custom","message":"May I?"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	var list []struct {
		ID   string
		Call struct{ Digest string }
	}
	if status, text := s.ask("GET", "/v1/approvals?status=pending", nil, &list); len(list) != 1 {
		t.Fatalf("pending: %d %s", status, text)
	}
	_, before := get(t, "http://"+doors["metrics"]+"/metrics")
	if status, text := s.ask("POST", "/v1/approvals/"+list[0].ID+"/decision", map[string]string{"decision": "approve", "digest": list[0].Call.Digest}, nil); status != http.StatusOK {
		t.Fatalf("approving: %d %s", status, text)
	}
	if status, _ := get(t, s.url+"/metrics"); status != http.StatusUnauthorized {
		t.Errorf("the approvers' door gives metrics without a token: %d", status)
	}
	status, after := s.ask("GET", "/metrics", nil, nil)
	if status != http.StatusOK {
		t.Fatalf("metrics: %d %s", status, after)
	}
	for what, want := range map[string][]string{
		before: {"holdgate_requests_pending 1\n", `action="hold",kind="gate"`, `holdgate_upstream_requests_total{result="4xx",upstream="tea"} 1`, `holdgate_decisions_total{action="allow",kind="http_request"`,
			"holdgate_policy_evaluation_seconds_count", "holdgate_store_bytes", "go_goroutines", `holdgate_policy_loads_total{result="ok"} 1`, `holdgate_build_info{version="test"} 1`,
			"holdgate_store_writable 1\n", `holdgate_refused_total{rule="holdgate.quota"} 0`, `holdgate_outcomes_total{channel="none",decision="timeout",status="expired"} 0`},
		after: {"holdgate_requests_pending 0\n", "holdgate_request_oldest_seconds 0\n", `holdgate_outcomes_total{channel="api",decision="approve",status="approved"} 1`,
			`holdgate_time_to_decision_seconds_count{status="approved"} 1`, `holdgate_audit_entries_total{type="vote"} 1`},
	} {
		for _, line := range want {
			if !strings.Contains(what, line) {
				t.Errorf("metrics lack %s:\n%s", line, what)
			}
		}
	}
	if strings.Contains(after, "holdgate_store_sync_seconds_count 0") || strings.Contains(before, "holdgate_request_oldest_seconds 0\n") {
		t.Errorf("no sync was counted, or what waits has no age:\n%s", after)
	}
}

func TestMetricsAreForScrapersAlone(t *testing.T) {
	_, doors := startOn(t, "10.0.0.0/8")
	at := "http://" + doors["metrics"]
	_, port, _ := net.SplitHostPort(doors["metrics"])
	for name, tt := range map[string]struct {
		url    string
		header []string
		want   int
	}{
		"this host":               {at + "/metrics", nil, 200},
		"localhost":               {at + "/metrics", []string{"Host", "localhost:" + port}, 200},
		"a name that a page took": {at + "/metrics", []string{"Host", "evil.example.com"}, 403},
		"another site":            {at + "/metrics", []string{"Origin", "https://evil.example.com"}, 403},
		"another path":            {at + "/v1/approvals", nil, 404},
	} {
		if status, text := get(t, tt.url, tt.header...); status != tt.want {
			t.Errorf("%s: %d %s, want %d", name, status, text, tt.want)
		}
	}
	if status, text := get(t, "http://"+doors["agents"]+"/up/tea/x"); status != http.StatusTeapot {
		t.Fatalf("the upstream: %d %s", status, text)
	}
	proxied := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: doors["agents"]}), DisableKeepAlives: true}}
	resp, err := proxied.Get("http://metrics.localhost:" + port + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("an agent is sent to the metrics: %d", resp.StatusCode)
	}
}

func TestScrapersComeFromNamedNetworks(t *testing.T) {
	h := app.Scrapers([]string{"10.0.0.0/8", "fd00::/8"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for peer, want := range map[string]int{
		"10.1.2.3:5": 200, "[::ffff:10.1.2.3]:5": 200, "[fd00::1]:5": 200, "11.1.2.3:5": 403, "[fe80::1%eth0]:5": 403, "nonsense": 403, "127.0.0.1:5": 403,
	} {
		r := httptest.NewRequestWithContext(context.Background(), "GET", "http://holdgate.example.com/metrics", nil)
		r.RemoteAddr = peer
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s gets %d, want %d", peer, w.Code, want)
		}
	}
}
