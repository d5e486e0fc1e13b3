package rego

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long files must stay as they are before they are taken up.
	settle = 100 * time.Millisecond
	// poll is how often files are read without any sign of a change: some file
	// systems give none.
	poll = 5 * time.Second
)

// Run watches the policy's files, or fetches its bundles, and swaps in each
// version that loads, until ctx ends. It then returns nil.
func (e *Engine) Run(ctx context.Context) error {
	switch {
	case e.spec.remote != nil:
		e.spec.remote.run(ctx, func(own *sources, err error) { e.fetched(ctx, own, err) })
		return nil
	case e.o.Path == "":
		<-ctx.Done()
		return nil
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		e.o.Logger.Warn("watching the policy by reading it again and again", "every", poll, "err", err)
		w = &fsnotify.Watcher{} // whose channels never say anything
	} else {
		defer w.Close()
	}
	r := reloader{e: e, seen: e.current.Load().state}
	timer := time.NewTimer(0) // what changed since Open
	defer timer.Stop()
	soon := true // a look is due within settle: further events do not put it off
	hurry := func() {
		if !soon {
			soon = true
			timer.Reset(settle)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.Events:
			hurry()
		case err := <-w.Errors:
			e.o.Logger.Warn("watching the policy", "err", err)
			hurry()
		case <-timer.C:
			if w.Events != nil {
				watch(w, e.o.Path)
			}
			soon = !r.look(ctx)
			if soon {
				timer.Reset(settle)
			} else {
				timer.Reset(poll)
			}
		}
	}
}

// watch adds the folders of the policy to the watcher: folders rather than
// files, for editors and Kubernetes replace files by renaming others. What
// cannot be watched is found by polling.
func watch(w *fsnotify.Watcher, root string) {
	_ = w.Add(filepath.Dir(root))
	resolved, err := filepath.EvalSymlinks(root)
	if err != nil {
		return
	}
	_ = filepath.WalkDir(resolved, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		if p != resolved && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		_ = w.Add(p)
		return nil
	})
}

// A reloader compares what the files say with what was last taken up.
type reloader struct {
	e         *Engine
	seen      string // the state that was last taken up, or refused
	candidate string // the state that the last reading showed
}

// look reads the files once, and takes up what is new once two readings agree:
// a file may be half written, or about to be replaced. It reports whether
// there is nothing to confirm.
func (r *reloader) look(ctx context.Context) bool {
	own, err := r.e.spec.read()
	state := ""
	if err != nil {
		state = "unreadable: " + err.Error()
	} else {
		state = own.revision()
	}
	settled := state == r.candidate
	r.candidate = state
	switch {
	case state == r.seen:
		return true
	case !settled:
		return false
	}
	r.seen = state
	r.e.loading.Lock()
	defer r.e.loading.Unlock()
	var p *policy
	if err == nil {
		p, err = build(ctx, r.e.spec, own)
	}
	r.e.take(p, err)
	return true
}

// fetched takes up what bundle servers have sent.
func (e *Engine) fetched(ctx context.Context, own *sources, err error) {
	e.loading.Lock()
	defer e.loading.Unlock()
	if err == nil && own.revision() == e.current.Load().state {
		return
	}
	var p *policy
	if err == nil {
		p, err = build(ctx, e.spec, own)
	}
	e.take(p, err)
}

// take puts a policy in force, or says why it is refused. The engine's loading
// is held.
func (e *Engine) take(p *policy, err error) {
	was := e.current.Load()
	if err != nil {
		e.report(Load{Loaded: was.loaded, Err: err})
		return
	}
	if p.loaded != was.loaded {
		e.current.Store(p)
	}
	e.report(Load{Loaded: p.loaded, Change: compare(was, p)})
}
