// Package move takes all that one store holds to another, such that it can be
// opened at one place alone: the target says that it is not whole until all is
// there and compared, and whoever opens a store asks [Check] first.
package move

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/store"
)

// What the target says of a move. None of this is moved itself.
const (
	prefix        = "move/"
	keyUnfinished = prefix + "unfinished" // there until the move has ended
	keyOf         = prefix + "of"         // the move by which all came
)

// How much goes into one transaction.
const (
	maxPairs = 500
	maxBytes = 1 << 20
)

var (
	// ErrUnfinished says that not all has come to a store.
	ErrUnfinished = errors.New("this store is the target of a copy that has not ended")
	// ErrOccupied says that a target holds something else.
	ErrOccupied = errors.New("the target holds a state already: it has to be empty")
	// ErrElsewhere says that a move may have ended in another store.
	ErrElsewhere = errors.New("the copy was about to end in another database, and may have ended there: name that one in store.postgres, or an approval could be used twice")
)

// progress is what the target knows of a move that has not ended.
type progress struct {
	ID    string `json:"id"`
	After []byte `json:"after"` // the last key that has come
	Pairs uint64 `json:"pairs"`
	// Target tells this target from others where a copy of the same id has begun.
	Target string `json:"target,omitempty"`
}

// Check refuses a store to which not all has come. It belongs into the first
// transaction of whoever opens it to work.
func Check(tx store.Tx) error {
	_, err := tx.Get(keyUnfinished)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err == nil:
		return ErrUnfinished
	}
	return err
}

// Copy copies all pairs, or those that a copy of the same id has left, and then
// compares the stores. Nobody else may write to either meanwhile. The target
// stays unfinished until [Finish]. It returns how many pairs there are, and
// tells copied of each transaction's.
func Copy(ctx context.Context, from, to store.Store, id string, copied func(pairs uint64)) (uint64, error) {
	p, done, err := begin(ctx, to, id)
	if err != nil || done {
		return p.Pairs, err
	}
	err = from.View(ctx, func(tx store.Tx) error {
		for {
			list, err := next(tx, p)
			if err != nil || len(list) == 0 {
				return err
			}
			p.After = []byte(list[len(list)-1].Key)
			p.Pairs += uint64(len(list))
			if err := put(ctx, to, p, list); err != nil {
				return err
			}
			copied(uint64(len(list)))
		}
	})
	if err != nil {
		return p.Pairs, fmt.Errorf("copying: %w", err)
	}
	return p.Pairs, compare(ctx, from, to)
}

// CheckTarget refuses a target that a copy of an id could not begin in, or go on in.
func CheckTarget(ctx context.Context, to store.Store, id string) error {
	return to.View(ctx, func(tx store.Tx) error {
		_, _, _, err := found(tx, id)
		return err
	})
}

// begin takes the target for this move. It reports whether the move has ended.
func begin(ctx context.Context, to store.Store, id string) (p progress, done bool, err error) {
	err = to.Update(ctx, func(tx store.Tx) (err error) {
		var begun bool
		if p, begun, done, err = found(tx, id); err == nil && !begun {
			err = set(tx, p)
		}
		return err
	})
	return p, done, err
}

// found is how far the move of an id is in a target. The copy of another, or anything else,
// is an error.
func found(tx store.Tx, id string) (p progress, begun, done bool, err error) {
	text, err := tx.Get(keyUnfinished)
	if err == nil {
		if err := json.Unmarshal(text, &p); err != nil || p.ID != id {
			return p, false, false, fmt.Errorf("%w: the copy of another state has begun there", ErrOccupied)
		}
		return p, true, false, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return p, false, false, err
	}
	if p, err = ended(tx); err != nil || p.ID == id {
		return p, err == nil, err == nil, err
	}
	for _, err := range tx.Scan("", "") {
		if err == nil {
			err = ErrOccupied
		}
		return p, false, false, err
	}
	return progress{ID: id}, false, false, nil
}

// ended is the move by which all has come, zero where none did.
func ended(tx store.Tx) (p progress, err error) {
	text, err := tx.Get(keyOf)
	if errors.Is(err, store.ErrNotFound) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	return p, err
}

func set(tx store.Tx, p progress) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return tx.Set(keyUnfinished, text)
}

// next returns the pairs that come after what was copied, as many as share a
// transaction.
func next(tx store.Tx, p progress) (list []store.Pair, err error) {
	size := 0
	for pair, err := range tx.Scan("", string(p.After)) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(pair.Key, prefix) || pair.Key == string(p.After) {
			continue
		}
		list = append(list, pair)
		if size += len(pair.Key) + len(pair.Value); size >= maxBytes || len(list) == maxPairs {
			break
		}
	}
	return list, nil
}

// put writes pairs with word of how far the copy is.
func put(ctx context.Context, to store.Store, p progress, list []store.Pair) error {
	return to.Update(ctx, func(tx store.Tx) error {
		for _, pair := range list {
			if err := tx.Set(pair.Key, pair.Value); err != nil {
				return err
			}
		}
		return set(tx, p)
	})
}

// compare holds what the two stores have against each other.
func compare(ctx context.Context, from, to store.Store) error {
	was, err := sum(ctx, from)
	if err != nil {
		return fmt.Errorf("reading the source again: %w", err)
	}
	is, err := sum(ctx, to)
	if err != nil {
		return fmt.Errorf("reading the target: %w", err)
	}
	if !bytes.Equal(was, is) {
		return errors.New("the target does not hold what the source does: somebody wrote to one of them meanwhile; cancel the copy and begin again")
	}
	return nil
}

// sum is the SHA-256 of all pairs.
func sum(ctx context.Context, st store.Store) ([]byte, error) {
	h := sha256.New()
	err := st.View(ctx, func(tx store.Tx) error {
		for p, err := range tx.Scan("", "") {
			if err != nil {
				return err
			}
			if strings.HasPrefix(p.Key, prefix) {
				continue
			}
			var lengths [16]byte
			binary.BigEndian.PutUint64(lengths[:8], uint64(len(p.Key)))
			binary.BigEndian.PutUint64(lengths[8:], uint64(len(p.Value)))
			h.Write(lengths[:])
			h.Write([]byte(p.Key))
			h.Write(p.Value)
		}
		return ctx.Err()
	})
	return h.Sum(nil), err
}

// Target returns what tells this target of a move from any other, once [Copy] has ended
// without an error. Whoever moves keeps it before [Finish].
func Target(ctx context.Context, to store.Store, id string) (target string, err error) {
	err = to.Update(ctx, func(tx store.Tx) error {
		p, err := of(tx, id)
		if err != nil {
			return err
		}
		if target = p.Target; target != "" {
			return nil
		}
		if done, err := ended(tx); err != nil || done.ID == id {
			return err // it ended here, and nowhere else
		}
		target = rand.Text()
		p.Target = target
		return set(tx, p)
	})
	return target, err
}

// Is refuses a store other than the [Target] of a move.
func Is(ctx context.Context, to store.Store, id, target string) error {
	return to.View(ctx, func(tx store.Tx) error {
		p, err := of(tx, id)
		if err == nil && p.Target != target {
			err = ErrElsewhere
		}
		return err
	})
}

// of is what a target says of a move, ended or not.
func of(tx store.Tx, id string) (p progress, err error) {
	text, err := tx.Get(keyUnfinished)
	if err == nil {
		err = json.Unmarshal(text, &p)
	} else if errors.Is(err, store.ErrNotFound) {
		p, err = ended(tx)
	}
	if err == nil && p.ID != id {
		err = ErrElsewhere
	}
	return p, err
}

// Finish lets the target be opened, once [Copy] has ended without an error.
func Finish(ctx context.Context, to store.Store) error {
	return to.Update(ctx, func(tx store.Tx) error {
		text, err := tx.Get(keyUnfinished)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err == nil {
			err = errors.Join(tx.Set(keyOf, text), tx.Delete(keyUnfinished))
		}
		return err
	})
}

// Cancel empties the target of a move that has not ended. One that has ended is
// an error: the target may have worked since.
func Cancel(ctx context.Context, to store.Store, id string) error {
	for more := true; more; {
		err := to.Update(ctx, func(tx store.Tx) (err error) {
			more, err = undo(tx, id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// undo deletes some of what has come, and what the target says of the move at
// last.
func undo(tx store.Tx, id string) (more bool, err error) {
	if of, err := ended(tx); err != nil || of.ID == id {
		return false, errors.Join(err, errors.New("the copy has ended: the state is at the target now"))
	}
	text, err := tx.Get(keyUnfinished)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // nothing of this move has come
	}
	var p progress
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || p.ID != id { // another's
		return false, err
	}
	n := 0
	for pair, err := range tx.Scan("", "") {
		switch {
		case err != nil:
			return false, err
		case strings.HasPrefix(pair.Key, prefix):
			continue
		case n == maxPairs:
			return true, nil
		}
		if err := tx.Delete(pair.Key); err != nil {
			return false, err
		}
		n++
	}
	return false, tx.Delete(keyUnfinished)
}
