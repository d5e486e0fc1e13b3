package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/revisions"
	"github.com/holdgate/holdgate/rego/verdict"
	"github.com/holdgate/holdgate/store"
)

// pushed is the policy that was last pushed; nil where there is none.
func (a *App) pushed(ctx context.Context) (*rego.Pushed, error) {
	var r revisions.Revision
	err := a.store.View(ctx, func(tx store.Tx) error {
		u, err := revisions.InUse(tx)
		if err != nil {
			return err
		}
		r, err = revisions.Get(tx, u.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return asPushed(r), nil
}

// asPushed is a revision as the engine takes it; nil is the shipped pack.
func asPushed(r revisions.Revision) *rego.Pushed {
	if r.ID == revisions.Pack {
		return nil
	}
	return &rego.Pushed{Name: r.Name, Files: r.Files}
}

// policies are what the approvers' API asks of the policy.
type policies struct{ a *App }

var _ api.Policies = policies{}

// State implements [api.Policies].
func (p policies) State(ctx context.Context, rule string) (api.PolicyState, error) {
	l := p.a.engine.Loaded()
	s := api.PolicyState{
		Revision: l.Revision, Name: l.Name, Path: l.Path, Whole: l.Whole, Mode: p.a.c.Policy.Mode,
		Pushable: p.a.engine.Pushable(), Modules: l.Modules, Rules: []api.PolicyRule{}, Revisions: []api.PolicyRevision{},
	}
	for _, r := range p.a.engine.Rules() {
		switch {
		case rule == "":
			r.Text = ""
		case !slices.Contains(r.IDs, rule):
			continue
		}
		s.Rules = append(s.Rules, api.PolicyRule(r))
	}
	err := p.a.store.View(ctx, func(tx store.Tx) error {
		u, err := revisions.InUse(tx)
		if err != nil {
			return err
		}
		all, err := revisions.All(tx)
		for _, r := range all {
			s.Revisions = append(s.Revisions, api.PolicyRevision{
				ID: r.ID, Name: r.Name, By: r.By, At: r.At, Revision: r.Revision, InUse: s.Pushable && r.ID == u.ID,
			})
		}
		return err
	})
	return s, err
}

// Pushable implements [api.Policies].
func (p policies) Pushable() bool { return p.a.engine.Pushable() }

// maxPolicyName bounds the name of a pushed policy, in bytes.
const maxPolicyName = 100

// Push implements [api.Policies].
func (p policies) Push(ctx context.Context, by string, in api.PolicyPush) (api.PolicyPushed, error) {
	now := time.Now().UTC()
	files, err := p.with(ctx, in)
	if err != nil {
		return api.PolicyPushed{}, err
	}
	r := revisions.Revision{Name: cmp.Or(in.Name, now.Format(time.RFC3339)), By: by, At: now, Files: files}
	if len(r.Name) > maxPolicyName {
		return api.PolicyPushed{}, &api.PolicyRefusedError{Text: fmt.Sprintf("the name has more than %d bytes", maxPolicyName)}
	}
	var id uint64
	l, err := p.replace(ctx, &rego.Pushed{Name: r.Name, Files: r.Files}, by, func(tx store.Tx, l rego.Load) (err error) {
		r.Revision = l.Loaded.Revision
		if in.Reviewed != "" && in.Reviewed != r.Revision {
			return &api.PolicyRefusedError{Text: "the policy has changed since this was reviewed: review it again"}
		}
		id, err = revisions.Put(tx, r)
		return err
	})
	return pushedAnswer(id, l), err
}

// RollBack implements [api.Policies].
func (p policies) RollBack(ctx context.Context, by string, id *uint64) (api.PolicyPushed, error) {
	var r revisions.Revision
	err := p.a.store.View(ctx, func(tx store.Tx) error {
		u, err := revisions.InUse(tx)
		if err != nil {
			return err
		}
		if id == nil {
			id = &u.Before
		}
		r, err = revisions.Get(tx, *id)
		return err
	})
	if errors.Is(err, revisions.ErrNotFound) {
		return api.PolicyPushed{}, fmt.Errorf("%w: %w", api.ErrPolicyRevision, err)
	}
	if err != nil {
		return api.PolicyPushed{}, err
	}
	l, err := p.replace(ctx, asPushed(r), by, func(tx store.Tx, _ rego.Load) error { return revisions.Use(tx, r.ID) })
	return pushedAnswer(r.ID, l), err
}

// replace puts a policy in force once keep has written it, the audit log knows,
// and people are told, all in one transaction.
func (p policies) replace(ctx context.Context, pushed *rego.Pushed, by string, keep func(store.Tx, rego.Load) error) (rego.Load, error) {
	var keepErr error
	l, err := p.a.engine.Replace(ctx, pushed, func(l rego.Load) error {
		e := policyEntry(l)
		e.Note = by + " changed the policy: " + e.Note
		keepErr = p.a.queue.Announce(ctx, record.EventPolicy, e, func(tx store.Tx) error { return keep(tx, l) })
		return keepErr
	})
	if err == nil || keepErr != nil {
		return l, err
	}
	return l, &api.PolicyRefusedError{Text: err.Error()}
}

func pushedAnswer(id uint64, l rego.Load) api.PolicyPushed {
	return api.PolicyPushed{ID: id, Name: l.Loaded.Name, Revision: l.Loaded.Revision, Change: l.Change.String(), MayLoosen: l.Change.MayLoosen}
}

// Facts implements [api.Policies].
func (p policies) Facts(ctx context.Context, input []byte) (json.RawMessage, error) {
	f, err := p.a.engine.Facts(ctx, input)
	if err != nil {
		return nil, &api.PolicyRefusedError{Text: err.Error()}
	}
	return f, nil
}

// Eval implements [api.Policies].
func (p policies) Eval(ctx context.Context, input []byte) (json.RawMessage, error) {
	d, err := p.a.engine.Eval(ctx, input)
	if err != nil {
		return nil, &api.PolicyRefusedError{Text: err.Error()}
	}
	doc, err := json.Marshal(verdict.Document(d))
	if err != nil {
		return nil, fmt.Errorf("writing the decision: %w", err)
	}
	return doc, nil
}
