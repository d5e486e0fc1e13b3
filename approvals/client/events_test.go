package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/client"
)

// TestEventsAreReadAsTheyCome reads a stream with comments, names, an event that is
// longer than a buffer, and one that the end cuts short.
func TestEventsAreReadAsTheyCome(t *testing.T) {
	dir := stateDir(t)
	s, _ := sidecar(t)
	note := strings.Repeat("x", 100<<10)
	var last string
	stream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/events" {
			s.ServeHTTP(w, r)
			return
		}
		last = r.Header.Get("Last-Event-ID")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": holdgate\n\nid: 8\nevent: config.changed\ndata: {\"seq\":8,\"note\":\""+note+"\"}\n\n: \n\n"+
			"id: 9\r\nevent: finding\r\ndata: {\"seq\":9,\"new_in_a_later_version\":1}\r\n\r\nid: 10\ndata: {\"seq\":10}\n")
	})
	serve(t, listen(t, "unix", filepath.Join(dir, client.SocketName)), stream)
	c := open(t, client.Options{StateDir: dir})
	var got []uint64
	err := c.Events(t.Context(), 7, func(e approvals.Event) error {
		got = append(got, e.Seq)
		if e.Seq == 8 && e.Note != note {
			t.Errorf("a long event was cut to %d characters", len(e.Note))
		}
		return nil
	})
	if !errors.Is(err, io.EOF) {
		t.Errorf("the end of the stream is %v", err)
	}
	if diff := cmp.Diff([]uint64{8, 9}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if last != "7" {
		t.Errorf("asked for what comes after %q, want 7", last)
	}
}

func TestEventsEndWithTheirReader(t *testing.T) {
	dir := stateDir(t)
	s, _ := sidecar(t)
	serve(t, listen(t, "unix", filepath.Join(dir, client.SocketName)), s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := open(t, client.Options{StateDir: dir}).Events(ctx, 0, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("events of a reader that has gone: %v", err)
	}
}
