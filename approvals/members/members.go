// Package members is the part of the queue that knows which members work on its
// store: several sidecars may share one.
//
// A member has a life from when its queue opens, under "member/NAME/ID". Where it
// is taken for gone, that key says so first, and is removed once all that the life
// held has been settled. Each change of state reads the key of its own life. So
// whoever was taken for gone by mistake changes nothing more, whatever its clock
// says.
package members

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

const prefix = "member/"

// What the key of a life says.
const (
	works = "works"
	gone  = "gone"
)

// ErrGone says that the others have taken this member for gone, and what it held
// up. Its queue has to be opened anew.
var ErrGone = errors.New("this member was taken for gone by the others: nothing is released any more")

// A Life is that of one member, from when its queue opens.
type Life struct {
	name string
	key  string
	id   string
}

// Begin begins a life of the member.
func Begin(ctx context.Context, st store.Store, name string) (*Life, error) {
	id := name + "/" + record.NewID()
	l := &Life{name: name, key: prefix + id, id: id}
	if err := st.Update(ctx, func(tx store.Tx) error { return tx.Set(l.key, []byte(works)) }); err != nil {
		return nil, fmt.Errorf("entering %s among the members: %w", name, err)
	}
	return l, nil
}

// ID names the life, and no other.
func (l *Life) ID() string { return l.id }

// NameOf is the name of the member whose life it is.
func NameOf(life string) string { return life[:max(strings.LastIndexByte(life, '/'), 0)] }

// Goes returns ErrGone where this life has been taken for gone.
func (l *Life) Goes(tx store.Tx) error {
	ok, err := working(tx, l.id)
	if err == nil && !ok {
		err = ErrGone
	}
	return err
}

// Other reports whether it is the life of another member that works.
func (l *Life) Other(tx store.Tx, life string) (bool, error) {
	if life == "" || life == l.id {
		return false, nil
	}
	return working(tx, life)
}

func working(tx store.Tx, life string) (bool, error) {
	b, err := tx.Get(prefix + life)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return string(b) == works, err
}

// Bury takes for gone each life that is not this one, unless there reports its
// member to be there; an earlier life of this member is gone in any case. It has
// settle settle what each held, and then forgets it.
func (l *Life) Bury(ctx context.Context, st store.Store, there func(member string) (bool, error), settle func(life string) error) error {
	var lives []string
	err := st.View(ctx, func(tx store.Tx) error {
		for p, err := range tx.Scan(prefix, "") {
			if err != nil {
				return err
			}
			if p.Key != l.key {
				lives = append(lives, strings.TrimPrefix(p.Key, prefix))
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the members: %w", err)
	}
	for _, life := range lives {
		if name := NameOf(life); name != l.name {
			if ok, err := there(name); ok || err != nil {
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := l.bury(ctx, st, life, settle); err != nil {
			return fmt.Errorf("taking up what %s held: %w", NameOf(life), err)
		}
	}
	return nil
}

func (l *Life) bury(ctx context.Context, st store.Store, life string, settle func(life string) error) error {
	mark := func(tx store.Tx) error { return errors.Join(l.Goes(tx), tx.Set(prefix+life, []byte(gone))) }
	if err := st.Update(ctx, mark); err != nil {
		return err
	}
	if err := settle(life); err != nil {
		return err
	}
	return st.Update(ctx, func(tx store.Tx) error { return tx.Delete(prefix + life) })
}
