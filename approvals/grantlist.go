package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate/approvals/record"
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
		at := record.Now()
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
		n, err := t.People.MayAnswer(by)
		if err != nil {
			return err
		}
		if g, err = t.grant(id); err != nil {
			return err
		}
		if g.ended(t.Now) {
			return ErrNoGrant
		}
		g.Revoked = cmp.Or(n.Name, by)
		if _, err := t.Append(g.entry(audit.TypeGrant, fmt.Sprintf("revoked by %s; uses: %d", g.Revoked, g.Uses))); err != nil {
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
func (q *Queue) sweepGrant(ctx context.Context, d record.Due) error {
	return q.transact(ctx, func(t *transition) error {
		g, err := t.grant(d.Id)
		if errors.Is(err, ErrNoGrant) {
			return t.Tx.Delete(d.Key)
		}
		if err != nil {
			return err
		}
		if left := g.Expires.Sub(t.Now); left > 0 {
			return errors.Join(t.Tx.Delete(d.Key), t.Schedule(g.Expires, g.ID, record.DueGrant))
		}
		if g.Revoked == "" {
			if _, err := t.Append(g.entry(audit.TypeGrant, fmt.Sprintf("expired; uses: %d", g.Uses))); err != nil {
				return err
			}
		}
		return errors.Join(t.Tx.Delete(d.Key), t.Tx.Delete(grantOf(g.Agent, g.ID)), t.Tx.Delete(prefixGrant+g.ID))
	})
}
