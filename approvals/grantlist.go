package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// Grants returns the grants that cover something now, the newest first; of
// one agent where it is named.
func (q *Queue) Grants(ctx context.Context, agent string) ([]Grant, error) {
	prefix := prefixGrantOf
	if agent != "" {
		prefix = grantsOf(agent)
	}
	list := []Grant{}
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		at := now()
		return eachGrant(tx, prefix, func(g *storedGrant) {
			if !g.ended(at) {
				list = append(list, g.view())
			}
		})
	})
	if err != nil {
		return nil, fmt.Errorf("listing grants: %w", err)
	}
	slices.SortFunc(list, func(a, b Grant) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Revoke ends a grant: once it has returned, the grant is used no more. It
// returns ErrNoGrant where there is none that covers anything, or
// ErrNotEntitled: whoever may say no to a request may revoke.
func (q *Queue) Revoke(ctx context.Context, id, by string) (Grant, error) {
	var g *storedGrant
	err := q.transact(ctx, func(t *transition) error {
		n, err := t.in.People.MayAnswer(by)
		if err != nil {
			return err
		}
		if g, err = t.grant(id); err != nil {
			return err
		}
		if g.ended(t.now) {
			return ErrNoGrant
		}
		g.Revoked = cmp.Or(n.Name, by)
		if _, err := t.log(g.entry(audit.TypeGrant, fmt.Sprintf("revoked by %s; uses: %d", g.Revoked, g.Uses))); err != nil {
			return err
		}
		if err := t.writeGrant(g); err != nil || g.Learned == nil {
			return err
		}
		return t.unlearn(g.Likeness.Like, g.Revoked, "grant "+g.ID+" was revoked")
	})
	if err != nil {
		return Grant{}, err
	}
	return g.view(), nil
}

// sweepGrant deletes a grant whose time is over. A revoked one is kept until
// then, so that nothing but the state of the record ends it.
func (q *Queue) sweepGrant(ctx context.Context, d due) error {
	return q.transact(ctx, func(t *transition) error {
		g, err := t.grant(d.id)
		if errors.Is(err, ErrNoGrant) {
			return t.tx.Delete(d.key)
		}
		if err != nil {
			return err
		}
		if left := g.Expires.Sub(t.now); left > 0 {
			return errors.Join(t.tx.Delete(d.key), t.schedule(g.Expires, g.ID, dueGrant))
		}
		if g.Revoked == "" {
			if _, err := t.log(g.entry(audit.TypeGrant, fmt.Sprintf("expired; uses: %d", g.Uses))); err != nil {
				return err
			}
		}
		return errors.Join(t.tx.Delete(d.key), t.tx.Delete(grantOf(g.Agent, g.ID)), t.tx.Delete(prefixGrant+g.ID))
	})
}
