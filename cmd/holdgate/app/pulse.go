package app

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/postgres"
)

const (
	// patience is how long a loop may stand still before /healthz says so. A disk
	// or a database that is slow for so long stops every call.
	patience = time.Minute
	// probeWaits is how long a probe waits for a database, as Kubernetes waits for the probe.
	probeWaits = time.Second
	// pulseEvery is how often loops are tried that only work when they are asked to.
	pulseEvery = 5 * time.Second
)

// A beat is the latest trial of a loop: what it was asked to do, it has done.
type beat struct {
	mu  sync.Mutex
	at  time.Time // when the trial that is under way began; zero: none is
	err error     // of the last that ended
}

// keep tries the loop again and again, until ctx ends.
func (b *beat) keep(ctx context.Context, every time.Duration, try func(context.Context) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		b.set(time.Now(), nil, false)
		err := try(ctx)
		if ctx.Err() != nil {
			return nil
		}
		b.set(time.Time{}, err, true)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (b *beat) set(at time.Time, err error, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at = at; ended {
		b.err = err
	}
}

// look returns for how long the trial has been under way, and how the last one ended.
func (b *beat) look() (time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at.IsZero() {
		return 0, b.err
	}
	return time.Since(b.at), b.err
}

// startPulse begins to try the queue and the audit log, each by a change that changes
// nothing and goes the way of those that do: through its locks and the store's writer.
func (a *App) startPulse(ctx context.Context) {
	every := cmp.Or(a.o.Patience/4, pulseEvery)
	a.goServe("pulse of the queue", func() error { return a.queueBeat.keep(ctx, every, a.queue.Try) })
	a.goServe("pulse of the audit log", func() error { return a.auditBeat.keep(ctx, every, a.audit.Try) })
}

// stalled are the loops that stand still.
func (a *App) stalled() (list []api.Trouble) {
	allowed := cmp.Or(a.o.Patience, patience)
	add := func(name, what string, still time.Duration) {
		if still > allowed {
			list = append(list, api.Trouble{Name: name, Why: fmt.Sprintf("%s stand still: for %s", what, still.Round(time.Second))})
		}
	}
	queue, _ := a.queueBeat.look()
	log, _ := a.auditBeat.look()
	add("timers", "the timers of the queue", a.queue.Overdue())
	add("queue", "changes of the queue", queue)
	add("audit", "writes of the audit log", log)
	return list
}

// writable reports whether the changes that are tried all the time are done, in good time.
func (a *App) writable() bool {
	for _, b := range []*beat{&a.queueBeat, &a.auditBeat} {
		if still, err := b.look(); err != nil || still > cmp.Or(a.o.Patience, patience) {
			return false
		}
	}
	return true
}

// readable returns why the store cannot be read now, at once: probes do not wait for a
// database that is away.
func (a *App) readable(ctx context.Context) error {
	if shared, ok := a.store.(*postgres.Store); ok {
		if shared.Away() {
			return store.ErrUnavailable
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, probeWaits, store.ErrUnavailable)
		defer cancel()
	}
	if _, err := a.queue.Page(ctx, approvals.Filter{Limit: 1}); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// troubles are why no call can be decided now; none where calls can be.
func (a *App) troubles(ctx context.Context) (list []api.Trouble) {
	if l := a.engine.Loaded(); l.Broken != "" {
		list = append(list, api.Trouble{Name: "policy", Why: "the policy that was pushed does not load, and no call is let through: " + l.Broken})
	}
	if err := a.readable(ctx); err != nil {
		list = append(list, api.Trouble{Name: "store", Why: "the store cannot be read: " + err.Error()})
	} else if _, err := a.queueBeat.look(); err != nil {
		list = append(list, api.Trouble{Name: "store", Why: "the store cannot be written: " + err.Error()})
	} else if _, err := a.auditBeat.look(); err != nil {
		list = append(list, api.Trouble{Name: "audit", Why: "the audit log cannot be written: " + err.Error()})
	}
	if err := a.queue.Strained(); err != nil {
		list = append(list, api.Trouble{Name: "disk", Why: "the disk of the store is nearly full: " + err.Error()})
	}
	return append(list, a.stalled()...)
}
