package keepalive

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// A person may take hours: the stream stays, and so does the connection after
// it.
func TestAConnectionOutlivesTheDeadlinesOfItsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		out := New(t.Context(), w, slog.New(slog.DiscardHandler), func() []byte { return []byte(".") }, 10*time.Second)
		out.Start(200, http.Header{})
		time.Sleep(3*time.Hour + time.Second)
		out.Exclusively(func() {}) // what the timer wrote happened before
		if n := w.Body.Len(); n != 3*360 {
			t.Errorf("%d signs of life in three hours, want one each 10 s", n)
		}
		if left := time.Until(w.deadline); left < time.Minute {
			t.Errorf("the deadline is %v away while the client waits", left)
		}
		out.Close()
		if !w.deadline.IsZero() {
			t.Errorf("the next answer on the connection has the deadline %v", w.deadline)
		}
		time.Sleep(time.Hour)
		if n := w.Body.Len(); n != 3*360 {
			t.Error("a sign of life came after the end")
		}
	})
}

type deadlines struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error { d.deadline = t; return nil }

func TestASignOfLifeThatPanicsCostsOneStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := New(t.Context(), httptest.NewRecorder(), slog.New(slog.DiscardHandler), func() []byte { panic("a codec's mistake") }, time.Second)
		failed := make(chan struct{})
		out.OnFail(func() { close(failed) })
		out.Start(200, http.Header{})
		<-failed
		if out.Failed() == nil {
			t.Error("nobody is told")
		}
		out.Close()
	})
}
