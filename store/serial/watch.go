package serial

import (
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/store"
)

// Watchers are those who want to hear of changed keys. The zero value is
// ready.
type Watchers struct {
	mu     sync.Mutex
	all    map[*watcher]struct{}
	closed bool
}

// watcher collects the changed keys under its prefix. Keys that change again
// before they are fetched are kept once, so it never holds more than there are
// keys.
type watcher struct {
	ctx    context.Context // the one given to Watch
	prefix string
	wake   chan struct{} // has an element where keys has one
	closed chan struct{}

	mu   sync.Mutex
	keys map[string]struct{}
}

// Add implements Watch of [store.Store].
func (w *Watchers) Add(ctx context.Context, prefix string) store.Watcher {
	one := &watcher{
		ctx:    ctx,
		prefix: prefix,
		wake:   make(chan struct{}, 1),
		closed: make(chan struct{}),
		keys:   make(map[string]struct{}),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		close(one.closed)
		return one
	}
	if w.all == nil {
		w.all = make(map[*watcher]struct{})
	}
	w.all[one] = struct{}{}
	return one
}

// Notify hands the keys of committed changes to whom they concern, and forgets
// watchers whose context has ended.
func (w *Watchers) Notify(keys iter.Seq[string]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		if one.ctx.Err() != nil {
			delete(w.all, one)
			continue
		}
		one.add(keys)
	}
}

// Close ends all watches with [store.ErrClosed].
func (w *Watchers) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for one := range w.all {
		close(one.closed)
	}
	w.all = nil
}

func (w *watcher) add(keys iter.Seq[string]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range keys {
		if strings.HasPrefix(key, w.prefix) {
			w.keys[key] = struct{}{}
		}
	}
	if len(w.keys) > 0 {
		Signal(w.wake)
	}
}

// Next implements [store.Watcher]. Keys that changed before the store was
// closed are handed over first.
func (w *watcher) Next(ctx context.Context) ([]string, error) {
	for {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		if keys := w.take(); len(keys) > 0 {
			return keys, nil
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.ctx.Done():
			return nil, w.ctx.Err()
		case <-w.closed:
			if keys := w.take(); len(keys) > 0 {
				return keys, nil
			}
			return nil, store.ErrClosed
		}
	}
}

func (w *watcher) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.keys) == 0 {
		return nil
	}
	keys := make([]string, 0, len(w.keys))
	for key := range w.keys {
		keys = append(keys, key)
	}
	clear(w.keys)
	return keys
}
