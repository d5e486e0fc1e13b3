package app

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy/proxytest"
	"github.com/holdgate/holdgate/store"
)

// probe asks for a path until its status is want, and what it says is as it must be: on a
// busy machine another loop can be late for a moment.
func probe(t *testing.T, url string, want int, is func(detail string) bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); ; <-tick.C {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Detail string }
		err = json.NewDecoder(resp.Body).Decode(&said)
		resp.Body.Close()
		if resp.StatusCode == want && err == nil && is(said.Detail) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %s, %q (%v), want %d", url, resp.Status, said.Detail, err, want)
		}
	}
}

func anything(string) bool { return true }

// writable waits until a scrape says that the store takes writes, or that it does not.
func writable(t *testing.T, a *App, want bool) {
	t.Helper()
	line := map[bool]string{true: "\nholdgate_store_writable 1\n", false: "\nholdgate_store_writable 0\n"}[want]
	proxytest.Await(t, "a store that takes writes or not", func() (bool, any) {
		w := httptest.NewRecorder()
		a.metrics.Handler(a.log).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		return strings.Contains(w.Body.String(), line), w.Body
	})
}

// A sidecar one of whose loops stands still is not alive, and says which; it is alive
// again when the loop moves.
func TestALoopThatStandsStillIsNamed(t *testing.T) {
	t.Parallel()
	c := config.Default(filepath.Join(t.TempDir(), "state"), "ada")
	c.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0"}
	a, err := New(t.Context(), c, Options{Version: "test", Patience: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	url := "http://" + a.approversAddr()
	probe(t, url+"/readyz", http.StatusOK, anything)

	// The store's writer, and all that waits for it.
	release, written := make(chan struct{}), make(chan error)
	go func() {
		written <- a.store.Update(context.WithoutCancel(t.Context()), func(store.Tx) error { <-release; return nil })
	}()
	for _, path := range []string{"/healthz", "/readyz"} {
		probe(t, url+path, http.StatusServiceUnavailable, func(detail string) bool { // and the timers have nothing to do
			return strings.Contains(detail, "queue: ") && strings.Contains(detail, "audit: ") && !strings.Contains(detail, "timers: ")
		})
	}
	writable(t, a, false)
	close(release)
	if err := <-written; err != nil {
		t.Error(err)
	}
	probe(t, url+"/healthz", http.StatusOK, anything)
	writable(t, a, true)

	// The timers.
	if err := a.queue.Close(); err != nil {
		t.Fatal(err)
	}
	probe(t, url+"/healthz", http.StatusServiceUnavailable, func(detail string) bool { return detail == "timers: the timers of the queue stand still" })
}
