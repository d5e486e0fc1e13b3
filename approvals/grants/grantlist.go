package grants

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

// List returns the grants that cover something now, the newest first; of
// one agent where it is named.
func (k *Keeper) List(ctx context.Context, agent string) ([]Grant, error) {
	prefix := prefixGrantOf
	if agent != "" {
		prefix = grantsOf(agent)
	}
	list := []Grant{}
	err := k.b.Store.View(ctx, func(tx store.Tx) error {
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
func (k *Keeper) Revoke(ctx context.Context, id, by string) (Grant, error) {
	var g *storedGrant
	err := k.b.Change(ctx, func(c *record.Change) error {
		n, err := c.People.MayAnswer(by)
		if err != nil {
			return err
		}
		if g, err = k.find(c, id); err != nil {
			return err
		}
		if g.ended(c.Now) {
			return ErrNoGrant
		}
		g.Revoked = cmp.Or(n.Name, by)
		if _, err := c.Append(g.entry(audit.TypeGrant, fmt.Sprintf("revoked by %s; uses: %d", g.Revoked, g.Uses))); err != nil {
			return err
		}
		if err := k.write(c, g); err != nil || g.Learned == nil {
			return err
		}
		return k.unlearn(c, g.Similarity.Like, g.Revoked, "grant "+g.ID+" was revoked")
	})
	if err != nil {
		return Grant{}, err
	}
	return g.view(), nil
}

// Sweep deletes a grant whose time is over. A revoked one is kept until
// then, so that nothing but the state of the record ends it.
func (k *Keeper) Sweep(ctx context.Context, d record.Due) error {
	return k.b.Change(ctx, func(c *record.Change) error {
		g, err := k.find(c, d.ID)
		if errors.Is(err, ErrNoGrant) {
			return c.Tx.Delete(d.Key)
		}
		if err != nil {
			return err
		}
		if left := g.Expires.Sub(c.Now); left > 0 {
			return errors.Join(c.Tx.Delete(d.Key), c.Schedule(g.Expires, g.ID, record.DueGrant))
		}
		if g.Revoked == "" && !g.Over {
			if _, err := c.Append(g.entry(audit.TypeGrant, fmt.Sprintf("expired; uses: %d", g.Uses))); err != nil {
				return err
			}
		}
		return errors.Join(c.Tx.Delete(d.Key), c.Tx.Delete(grantOf(g.Agent, g.ID)), c.Tx.Delete(prefixGrant+g.ID))
	})
}
