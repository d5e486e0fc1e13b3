package desktop

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

func TestTheBusGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	first, second := asking("r1"), asking("r2")
	r.tell(first)
	r.shows("r1")
	r.bus.stop()
	if err := r.channel.Notify(t.Context(), second); err == nil || !strings.Contains(err.Error(), "bus") {
		t.Errorf("Notify = %v while the bus is down", err)
	}
	if err := r.channel.Health(t.Context()); err == nil {
		t.Error("Health = nil while the bus is down")
	}
	r.update(sdktest.Ended(asking("r3"))) // of what it never heard of
	r.bus.start()
	r.desk = newDesk(r.bus)
	r.shows("r1") // by itself
	for range 2 { // as Holdgate does until it has arrived, and once more
		r.tell(second)
	}
	r.shows("r2")
	if len(r.past) != 2 {
		t.Errorf("%d were shown:\n%s", len(r.past), r.screen())
	}
	if err := r.channel.Health(t.Context()); err != nil {
		t.Errorf("Health = %v", err)
	}
	r.press(r.shows("r2"), "Approve")
	if a := r.answered(); a.ID != "r2" {
		t.Errorf("answered %+v", a)
	}
}

func TestWhatEndsWhileTheBusIsDownIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	n := asking("r1")
	r.tell(n)
	r.bus.stop()
	r.update(sdktest.Ended(n))
	r.bus.start()
	r.desk = newDesk(r.bus)
	r.undecided()
	r.empty("r1")
}

func TestAnotherProgramShowsNotificationsNow(t *testing.T) {
	t.Parallel()
	r := sit(t, typing)
	r.tell(asking("r1"))
	n := r.shows("r1")
	old := r.desk
	if err := old.conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.channel.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing shows notifications") {
		// it may be found out by a call to the one that is gone
		if err == nil || !strings.Contains(err.Error(), "dbus") && !strings.Contains(err.Error(), "name") {
			t.Errorf("Health = %v", err)
		}
	}
	r.desk = newDesk(r.bus, "actions", "body") // and can do less
	again := r.shows("r1")
	if again.key("Do something else") != "" || n.key("Do something else") == "" {
		t.Errorf("buttons %q, before %q", again.labels, n.labels)
	}
	r.press(again, "Approve")
	r.answered()
}

func TestADesktopThatHangsCostsItsTimeAlone(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	r.tell(asking("r0"))
	hang := make(chan struct{})
	r.mu.Lock()
	r.hang = hang
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := r.channel.Notify(ctx, asking("r1")); err == nil || !strings.Contains(err.Error(), "showing a notification") {
		t.Errorf("Notify = %v", err)
	}
	r.change(func() { r.hang = nil })
	close(hang)
	r.tell(asking("r1"))
	r.press(r.shows("r0"), "Deny")
	if a := r.answered(); a.ID != "r0" {
		t.Errorf("answered %+v", a)
	}
}

// A bus that takes connections and says nothing keeps nobody waiting.
func TestABusThatHangsIsAnErrorInTime(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("unix", filepath.Join(sockettest.Folder(t), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	c := New(slog.New(slog.DiscardHandler))
	if err := c.Configure(t.Context(), []byte(`{"bus": "unix:path=`+ln.Addr().String()+`"}`)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := c.Notify(ctx, asking("r1")); err == nil || !strings.Contains(err.Error(), "greeting the session's bus") {
		t.Errorf("Notify = %v", err)
	}
}

func TestARestartBetweenQuestionAndAnswer(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	n := asking("r1")
	r.tell(n)
	before := r.shows("r1")
	r.stop()
	r.empty("r1") // it leaves nothing that does nothing
	r.start()
	r.tell(n) // as Holdgate does when it has started
	r.shows("r1")
	r.emit("ActionInvoked", before.id, before.key("Approve")) // of one that was left by a crash
	if a := r.answered(); a.Decision != sdk.Approve || a.Nonce != n.Nonce {
		t.Errorf("answered %+v", a)
	}
	r.undecided()
}

func TestManyAtOnceEachHasItsOwn(t *testing.T) {
	t.Parallel()
	r := sit(t, nil)
	var shown []note
	for _, id := range []string{"r1", "r2", "r3", "r4"} {
		r.tell(asking(id))
		shown = append(shown, r.shows(id))
	}
	r.update(sdktest.Ended(asking("r2")))
	for i, want := range map[int]string{3: "r4", 0: "r1", 2: "r3"} {
		r.press(shown[i], "Deny")
		if a := r.answered(); a.ID != want || a.Nonce != "nonce-of-"+want {
			t.Errorf("answered %+v, want %s", a, want)
		}
	}
	r.shows("DENIED")
}
