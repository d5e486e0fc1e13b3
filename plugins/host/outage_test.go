package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/badger"
)

// A place is a channel whose place cannot be reached until a time.
type place struct {
	until time.Time

	mu           sync.Mutex
	tries        int
	told, update []string // "ID NONCE", and "ID STATUS"
}

func (p *place) Info() sdk.Info                          { return sdk.Info{Name: "place", Assurance: sdk.Interactive} }
func (p *place) Configure(context.Context, []byte) error { return nil }
func (p *place) Health(context.Context) error            { return nil }
func (p *place) Notify(_ context.Context, n sdk.Notice) error {
	return p.take(&p.told, n.ID+" "+n.Nonce)
}
func (p *place) Update(_ context.Context, n sdk.Notice) error {
	return p.take(&p.update, n.ID+" "+n.Status)
}
func (p *place) Answers(c context.Context, _ sdk.Answerer) error { <-c.Done(); return c.Err() }

func (p *place) take(into *[]string, what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries++
	if time.Now().Before(p.until) {
		return errors.New("the place is down")
	}
	*into = append(*into, what)
	return nil
}

// What is asked while a place is down for ten minutes is told when it is back,
// once, with the nonce of the first try; what has ended by then is not told. The
// minutes are those of a bubble, the queue and the wire are real.
func TestAPlaceIsDownForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, err := badger.Open(t.TempDir(), slog.New(slog.DiscardHandler), badger.WithoutCompaction())
		if err != nil {
			t.Fatal(err)
		}
		log, err := audit.Open(t.Context(), st, key)
		if err != nil {
			t.Fatal(err)
		}
		d, err := holdgate.NewDigester(key)
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{t: t, store: st}
		if b.queue, err = approvals.Open(t.Context(), approvals.Config{Store: st, Log: log, Digester: d, SealKey: key}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := errors.Join(b.queue.Close(), st.Close()); err != nil {
				t.Error(err)
			}
		}()
		told := map[string]int{} // by the one goroutine that tells
		h, err := New(Config{Queue: b.queue, Key: key, Channels: []Channel{{Name: "place", Command: []string{"/bin/true"}}}, Logger: slog.New(slog.DiscardHandler),
			OnTold: func(channel string, err error) { told[fmt.Sprintf("%s failed: %v", channel, err != nil)]++ }})
		if err != nil {
			t.Fatal(err)
		}
		pl := &place{until: time.Now().Add(10 * time.Minute)}
		c, p := h.channels[0], &process{remote: sdktest.Dial(t, pl), info: pl.Info()}
		ctx, cancel := context.WithCancel(t.Context())
		g, running := errgroup.WithContext(ctx)
		if err := c.fill(running, false); err != nil {
			t.Fatal(err)
		}
		g.Go(func() error { return c.listen(running) })
		g.Go(func() error { return c.tellAll(running, p) })

		var want []string
		for i := range 3 {
			r := b.ask(fmt.Sprintf("rm -rf %d", i))
			want = append(want, r.ID+" "+c.nonces.of("place", r.ID, r.Call.Digest))
		}
		gone := b.ask("rm -rf gone")
		pass(t, time.Minute)
		if _, err := b.queue.Decide(t.Context(), gone.ID, approvals.Vote{Decision: holdgate.AnswerDeny, By: "cli:bob", Channel: "cli", Assurance: "local", Digest: gone.Call.Digest}); err != nil {
			t.Fatal(err)
		}
		pass(t, 8*time.Minute)
		if pl.mu.Lock(); len(pl.told) > 0 || pl.tries < 9 || pl.tries > 40 {
			t.Errorf("told %v after %d tries", pl.told, pl.tries)
		}
		pl.mu.Unlock()
		if s := h.channels[0].now(); s.State != StateUnreachable || time.Since(s.Due) != 9*time.Minute {
			t.Errorf("the channel is %+v, and %v behind", s, time.Since(s.Due))
		}
		pass(t, 3*time.Minute)
		pl.mu.Lock()
		slices.Sort(want)
		slices.Sort(pl.told)
		if !slices.Equal(pl.told, want) {
			t.Errorf("told %v, want %v", pl.told, want)
		}
		pl.mu.Unlock()
		if s := h.channels[0].now(); s.State != StateRunning || s.Waiting != 0 || !s.Due.IsZero() {
			t.Errorf("the channel is %+v", s)
		}
		cancel()
		if err := g.Wait(); !errors.Is(err, context.Canceled) {
			t.Errorf("it ended by %v", err)
		}
		if told["place failed: false"] < len(want) || told["place failed: true"] < 9 || len(told) != 2 {
			t.Errorf("the host says that it told %v", told)
		}
	})
}

// pass lets time pass in a bubble.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	<-time.After(d)
	synctest.Wait()
}
