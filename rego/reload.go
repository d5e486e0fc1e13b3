package rego

import (
	"context"

	"github.com/holdgate/holdgate/rego/watch"
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
	r := reloader{e: e}
	watch.Files{Path: e.o.Path, What: "the policy", Seen: e.current.Load().state, Read: r.read, Take: r.load, Logger: e.o.Logger}.Run(ctx)
	return nil
}

// A reloader takes up what the files say.
type reloader struct {
	e   *Engine
	own *sources // as they were read last
	err error
}

func (r *reloader) read() string {
	if r.own, r.err = r.e.spec.read(); r.err != nil {
		return "unreadable: " + r.err.Error()
	}
	return r.own.revision()
}

func (r *reloader) load(ctx context.Context) {
	r.e.loading.Lock()
	defer r.e.loading.Unlock()
	var p *policy
	err := r.err
	if err == nil {
		p, err = build(ctx, r.e.spec, r.own)
	}
	r.e.install(p, err)
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
	e.install(p, err)
}

// install puts a policy in force, or says why it is refused. The engine's loading
// is held.
func (e *Engine) install(p *policy, err error) {
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
