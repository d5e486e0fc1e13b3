package app

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/store"
)

// probe asks for a path until its status is want, and returns what it says.
func probe(t *testing.T, url string, want int) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Detail string }
		err = json.NewDecoder(resp.Body).Decode(&said)
		resp.Body.Close()
		if resp.StatusCode == want && err == nil {
			return said.Detail
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %s (%v), want %d", url, resp.Status, err, want)
		}
	}
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
	probe(t, url+"/readyz", http.StatusOK)

	// The store's writer, and all that waits for it.
	release, written := make(chan struct{}), make(chan error)
	go func() {
		written <- a.store.Update(context.WithoutCancel(t.Context()), func(store.Tx) error { <-release; return nil })
	}()
	probe(t, url+"/healthz", http.StatusServiceUnavailable)
	for _, path := range []string{"/healthz", "/readyz"} {
		var got string
		for deadline := time.Now().Add(time.Minute); !strings.Contains(got, "queue: ") || !strings.Contains(got, "audit: "); {
			if got = probe(t, url+path, http.StatusServiceUnavailable); time.Now().After(deadline) {
				t.Fatalf("%s says %q while the store takes no change", path, got)
			}
		}
		if strings.Contains(got, "timers: ") {
			t.Errorf("%s says %q, and the timers have nothing to do", path, got)
		}
	}
	close(release)
	if err := <-written; err != nil {
		t.Error(err)
	}
	probe(t, url+"/healthz", http.StatusOK)

	// The timers.
	if err := a.queue.Close(); err != nil {
		t.Fatal(err)
	}
	if got := probe(t, url+"/healthz", http.StatusServiceUnavailable); got != "timers: the timers of the queue stand still" {
		t.Errorf("/healthz says %q", got)
	}
}
