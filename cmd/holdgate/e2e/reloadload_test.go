package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"
)

// While a configuration is saved again and again, and the sidecar told to read it, clients lose neither a request nor
// their connection, and a call that is held stays held until a person answers it. The metrics, which two scrapers get all
// the while, are whole each time, and no count goes back.
func TestReloadsUnderLoadDropNothing(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "fine "+r.URL.Query().Get("n")) }))
	t.Cleanup(upstream.Close)
	s := serveConfigured(t, teamConfig, "--upstream", "x="+upstream.URL, "--upstream", "anthropic="+newProvider(t).URL)
	held := make(chan string, 1)
	go func() {
		resp, err := http.Post(s.base("anthropic")+"/v1/messages", "application/json", strings.NewReader(`{"model":"claude-x","max_tokens":99,"stream":true,"tools":[{"name":"Bash","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"run: rm -rf kept"}]}`))
		if err != nil {
			held <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		held <- fmt.Sprint(string(text), err)
	}()
	id := s.held("rm -rf kept").ID

	const clients, least = 4, 100 // requests of each client
	var saved atomic.Bool
	var work, scraping errgroup.Group
	over := make(chan struct{})
	scrapers := []*scraper{{s: s.sidecar}, {s: s.sidecar}}
	for _, c := range scrapers {
		scraping.Go(func() error { return c.during(over) })
	}
	for range clients {
		client := &http.Client{Transport: &http.Transport{}}
		work.Go(func() error {
			defer client.CloseIdleConnections()
			opened := 0
			counted := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
				if !c.Reused {
					opened++
				}
			}}
			for n := 0; n < least || !saved.Load(); n++ {
				req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), counted), "GET", fmt.Sprintf("%s/?n=%d", s.base("x"), n), nil)
				if err != nil {
					return err
				}
				resp, err := client.Do(req)
				if err != nil {
					return fmt.Errorf("request %d: %w", n, err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if want := fmt.Sprint("fine ", n); err != nil || resp.StatusCode != http.StatusOK || string(text) != want {
					return fmt.Errorf("request %d: %s %q %w", n, resp.Status, text, err)
				}
			}
			if opened != 1 {
				return fmt.Errorf("a client needed %d connections", opened)
			}
			return nil
		})
	}
	for _, text := range []string{teamConfig + "# 1\n", teamConfig + "# 2\n", strings.Replace(teamConfig, "approve, admin", "approve, admin, operate", 1), "approver: ada\npeople:\n  ada: {roles: [approve, admin]}\n"} {
		digest := s.save(text)
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Error(err)
		}
		until(t, "the file read", func() bool {
			c := s.config()
			return c.Digest == digest || c.Waiting != nil && c.Waiting.Digest == digest
		})
	}
	saved.Store(true)
	if err := work.Wait(); err != nil {
		t.Error(err)
	}
	close(over)
	if err := scraping.Wait(); err != nil {
		t.Error(err)
	}
	for _, c := range scrapers {
		c.atLeast(t, clients*least, "holdgate_upstream_seconds{upstream=x}")
	}
	select {
	case text := <-held:
		t.Fatalf("the held call ended: %s", text)
	default:
	}
	s.answer(id, "approve", "--yes")
	if text := <-held; !strings.Contains(text, "toolu_rm_rf_kept") || !strings.HasSuffix(text, "<nil>") {
		t.Errorf("the held call: %s", text)
	}
}

// The level of the log is an admin's to change: at debug it says more of what agents do.
func TestTheLogsLevelIsForAdmins(t *testing.T) {
	t.Parallel()
	s := serveConfigured(t, teamConfig)
	for _, c := range []struct {
		token, level string
		status       int
	}{{bobsToken, "debug", http.StatusForbidden}, {evesToken, "debug", http.StatusUnauthorized}} {
		resp := s.as(c.token, "PUT", "/v1/log", `{"level":"`+c.level+`"}`)
		if text := body(t, resp); resp.StatusCode != c.status {
			t.Errorf("%d: %s", resp.StatusCode, text)
		}
	}
	for level, status := range map[string]int{"error": http.StatusOK, "loud": http.StatusUnprocessableEntity} {
		resp, err := s.api("PUT", "/v1/log", `{"level":"`+level+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		if text := body(t, resp); resp.StatusCode != status {
			t.Errorf("an admin sets %s: %d: %s", level, resp.StatusCode, text)
		}
	}
	resp := s.as(bobsToken, "GET", "/v1/log", "")
	if text := body(t, resp); resp.StatusCode == http.StatusOK && !strings.Contains(text, `"error"`) {
		t.Errorf("the level is %s", text)
	}
}
