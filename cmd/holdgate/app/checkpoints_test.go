package app_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/store/audit"
)

// A words is a log that can be read while it is written.
type words struct {
	mu sync.Mutex
	b  strings.Builder
}

func (w *words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// run starts a sidecar, calls fn while it runs, and stops it.
func run(t *testing.T, c config.Config, fn func()) string {
	t.Helper()
	var said words
	a, err := app.New(t.Context(), c, app.Options{Version: "test", Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	fn()
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	return said.String()
}

// Checkpoints go to the file and the URL, the last one when the sidecar stops;
// and a log that is not the one of the file is not signed for.
func TestCheckpointsGoOutside(t *testing.T) {
	posted := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		posted <- string(b)
	}))
	defer hook.Close()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "checkpoints")
	c := config.Default(dir, "ada")
	c.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0"}
	c.Audit.Checkpoints = config.Checkpoints{File: file, URL: hook.URL}

	var first string
	run(t, c, func() { first = <-posted })
	said := run(t, c, func() { <-posted })
	if strings.Contains(said, "did not get out") {
		t.Error(said)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := app.AuditSigner(dir)
	if err != nil {
		t.Fatal(err)
	}
	key, err := note.NewVerifier(s.Public())
	if err != nil {
		t.Fatal(err)
	}
	list, err := audit.OpenCheckpoints(string(b), key)
	if err != nil || len(list) < 2 || list[0].Text != first {
		t.Fatalf("the file has %d checkpoints, %v, the first posted was\n%s", len(list), err, first)
	}

	// The database is taken back to nothing, as by who would hide something.
	if err := os.RemoveAll(filepath.Join(dir, "db")); err != nil {
		t.Fatal(err)
	}
	said = run(t, c, func() { <-posted })
	if !strings.Contains(said, "IS NOT THE ONE OF THE LAST CHECKPOINT") {
		t.Errorf("a new log under the same key was taken for the old one: %s", said)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(b) {
		t.Errorf("the file was added to: %v", err)
	}
}
