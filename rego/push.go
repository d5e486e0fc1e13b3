package rego

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// ErrElsewhere says that the policy comes from files or bundles, and is
// changed there.
var ErrElsewhere = errors.New("the policy comes from files or bundles, and is changed there")

// TestsFailedError says that a policy's own tests do not pass over it.
type TestsFailedError struct{ Report *TestReport }

func (e *TestsFailedError) Error() string {
	var out bytes.Buffer
	if err := e.Report.Write(&out, false); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d of the policy's %d tests failed:\n%s", e.Report.Failed, len(e.Report.Results), out.String())
}

// Pushable reports whether policy is handed over by Replace, rather than read
// from files or bundles.
func (e *Engine) Pushable() bool { return e.spec.path == "" && e.spec.remote == nil }

// errBroken says that the policy which was handed over does not load.
var errBroken = errors.New("the policy that was pushed does not load")

// broken is in place of a policy that was handed over and does not load, as after an
// update of Holdgate that checks more: the pack's tables, and no decision.
func broken(ctx context.Context, s spec, why error) (*policy, error) {
	p, err := build(ctx, spec{}, nil)
	if err != nil {
		return nil, errors.Join(why, err)
	}
	p.loaded = Loaded{Name: s.pushed.Name, Revision: "broken", Modules: p.loaded.Modules, Broken: why.Error()}
	if own, err := s.pushed.sources(); err == nil {
		p.loaded.Revision = own.revision()
	}
	return p, nil
}

// Replace puts another policy in force: the pushed one, or the shipped pack
// alone where p is nil. It is compiled, and its own tests must pass
// ([*TestsFailedError]); then keep is called, which may still refuse it and
// whose error is returned; then it is swapped in. Options.OnLoad is not told:
// keep is. Where the policy comes from
// files or bundles the error is [ErrElsewhere]. One call is served at a time.
func (e *Engine) Replace(ctx context.Context, p *Pushed, keep func(Load) error) (Load, error) {
	if !e.Pushable() {
		return Load{}, ErrElsewhere
	}
	e.loading.Lock()
	defer e.loading.Unlock()
	next, l, _, err := e.propose(ctx, p)
	if err != nil {
		return Load{}, err
	}
	if err := keep(l); err != nil {
		return Load{}, err
	}
	e.current.Store(next)
	e.tell(l)
	return l, nil
}

// A Proposal is a policy that is not in force: what putting it there would change, and
// what judges past calls by it.
type Proposal struct {
	Load  Load
	Tests int // of its own, all of which pass
	Judge *Judge
}

// Propose is [Engine.Replace] without putting anything in force.
func (e *Engine) Propose(ctx context.Context, p *Pushed) (Proposal, error) {
	if !e.Pushable() {
		return Proposal{}, ErrElsewhere
	}
	next, l, tests, err := e.propose(ctx, p)
	if err != nil {
		return Proposal{}, err
	}
	return Proposal{Load: l, Tests: tests, Judge: e.judge(next)}, nil
}

// propose compiles a policy, and runs its own tests, which must pass.
func (e *Engine) propose(ctx context.Context, p *Pushed) (next *policy, l Load, tests int, err error) {
	s := e.spec
	s.pushed = p
	if next, err = load(ctx, s); err != nil {
		return nil, Load{}, 0, err
	}
	if p != nil {
		report, err := test(ctx, s, TestOptions{})
		if err != nil {
			return nil, Load{}, 0, err
		}
		if report.Failed > 0 {
			return nil, Load{}, 0, &TestsFailedError{Report: report}
		}
		tests = len(report.Results)
	}
	l = Load{Loaded: next.loaded, Change: compare(e.current.Load(), next)}
	l.Change.MayLoosen = l.Change.MayLoosen || e.Loaded().Broken != "" // which let nothing through
	return next, l, tests, nil
}
