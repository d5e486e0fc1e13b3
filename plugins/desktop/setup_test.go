package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

const patience = 3 * time.Minute

// A rig is a channel that asks at a desk, and what it was answered.
type rig struct {
	*desk
	bus     *bus
	channel *Channel
	answers chan sdk.Answer
	refuse  chan error // what Holdgate says to the next answers; nil: they count
	status  string
	stop    func()
}

func config(b *bus, edit ...func(*Config)) []byte {
	c := Config{Bus: b.address(), User: "ada", Approve: always, Page: "http://127.0.0.1:7301/r/{id}", Buttons: 8, Lines: 12}
	for _, e := range edit {
		e(&c)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return raw
}

// sit starts a bus, a desktop and a channel. All are ended with the test.
func sit(t *testing.T, can []string, edit ...func(*Config)) *rig {
	t.Helper()
	b := newBus(t)
	r := &rig{bus: b, desk: newDesk(b, can...), answers: make(chan sdk.Answer, 100), refuse: make(chan error, 10), status: "approved"}
	r.start(edit...)
	return r
}

// start starts the channel, after the one before has ended.
func (r *rig) start(edit ...func(*Config)) {
	r.t.Helper()
	c := New(slog.New(slog.DiscardHandler))
	c.minShown, c.pause, c.maxPause = 0, 5*time.Millisecond, 50*time.Millisecond
	if err := c.Configure(r.t.Context(), config(r.bus, edit...)); err != nil {
		r.t.Fatal(err)
	}
	r.channel = c
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Answers(ctx, r.take) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				r.t.Errorf("Answers = %v", err)
			}
		case <-time.After(patience):
			r.t.Error("Answers goes on after its context has ended")
		}
	})
	r.t.Cleanup(r.stop)
}

func (r *rig) take(_ context.Context, a sdk.Answer) (string, error) {
	r.answers <- a
	select {
	case err := <-r.refuse:
		return sdk.StatusPending, err
	default:
		return r.status, nil
	}
}

func (r *rig) tell(n sdk.Notice) {
	r.t.Helper()
	if err := r.channel.Notify(r.t.Context(), n); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) update(n sdk.Notice) {
	r.t.Helper()
	if err := r.channel.Update(r.t.Context(), n); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) answered() sdk.Answer {
	r.t.Helper()
	select {
	case a := <-r.answers:
		return a
	case <-time.After(patience):
		r.t.Fatalf("nothing was answered\n%s", r.screen())
		return sdk.Answer{}
	}
}

// undecided fails the test where something has been answered by the time that
// all that was done at the desktop has been heard: a button of a request of its
// own comes after it.
func (r *rig) undecided() {
	r.t.Helper()
	n := sdktest.Notice("the-last")
	n.Nonce, n.Summary = "last", "this is the last"
	r.tell(n)
	r.press(r.shows(n.Summary), "Deny")
	if a := r.answered(); a.ID != n.ID {
		r.t.Errorf("answered %+v", a)
	}
}

func asking(id string, edit ...func(*sdk.Notice)) sdk.Notice {
	n := sdktest.Notice(id)
	n.Summary = "Deletes ./build of " + id
	n.Agent.Confinement = "strong"
	for _, e := range edit {
		e(&n)
	}
	return n
}
