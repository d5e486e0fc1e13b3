package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdgate/holdgate/store"
)

const (
	// maxHead is how much of a key is in the index.
	maxHead = 1 << 10
	// firstPage is how many pairs of a scan are fetched first, for many scans want
	// the first alone; each further page has four times as many, up to maxPage.
	firstPage = 4
	maxPage   = 256
	// maxInline is the size of the largest value that a page holds; larger
	// ones are fetched by themselves.
	maxInline = 64 << 10
)

// split returns the parts of a key as the table has them.
func split(key string) (head, hash, tail []byte) {
	if len(key) <= maxHead {
		return []byte(key), []byte{}, []byte{}
	}
	sum := sha256.Sum256([]byte(key[maxHead:]))
	return []byte(key[:maxHead]), sum[:], []byte(key[maxHead:])
}

// reader reads in one transaction. It remembers an error of the server: after
// one, nothing that was read in that transaction counts.
type reader struct {
	ctx context.Context
	tx  pgx.Tx
	err error
}

func (r *reader) fail(doing string, err error) error {
	err = fmt.Errorf("%s: %w", doing, err)
	if r.err == nil {
		r.err = err
	}
	return err
}

// Get returns the value of a key, or [store.ErrNotFound].
func (r *reader) Get(key string) ([]byte, error) {
	head, hash, _ := split(key)
	var value []byte
	err := r.tx.QueryRow(r.ctx, `SELECT value FROM holdgate_pairs WHERE head = $1 AND hash = $2`, head, hash).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, store.ErrNotFound
	}
	if err != nil {
		return nil, r.fail(fmt.Sprintf("reading %q", key), err)
	}
	return value, nil
}

// Scan yields the pairs under prefix from the given key on, in order, a page at
// a time.
func (r *reader) Scan(prefix, from string) iter.Seq2[store.Pair, error] {
	return func(yield func(store.Pair, error) bool) {
		after := false
		for size := firstPage; ; size = min(4*size, maxPage) {
			list, err := r.page(prefix, max(prefix, from), after, size)
			if err != nil {
				yield(store.Pair{}, err)
				return
			}
			for _, p := range list {
				if !strings.HasPrefix(p.Key, prefix) {
					return
				}
				if p.Value == nil {
					if p.Value, err = r.Get(p.Key); err != nil {
						yield(p, err)
						return
					}
				}
				if !yield(p, nil) {
					return
				}
			}
			if len(list) < size {
				return
			}
			from, after = list[len(list)-1].Key, true
		}
	}
}

// The statements of a scan. The first condition of each is for the index.
const (
	scanColumns = `SELECT head, tail, CASE WHEN octet_length(value) <= $3 THEN value END FROM holdgate_pairs WHERE head >= $1 AND `
	scanOrder   = ` ORDER BY head, tail LIMIT $4`

	scanFrom       = scanColumns + `(head, tail) >= ($1, $2)` + scanOrder
	scanAfter      = scanColumns + `(head, tail) > ($1, $2)` + scanOrder
	scanFromBelow  = scanColumns + `(head, tail) >= ($1, $2) AND head < $5` + scanOrder
	scanAfterBelow = scanColumns + `(head, tail) > ($1, $2) AND head < $5` + scanOrder
)

// page fetches so many pairs from, or after, a key on. The value of a large one is nil.
func (r *reader) page(prefix, from string, after bool, size int) ([]store.Pair, error) {
	head, _, tail := split(from)
	args := []any{head, tail, maxInline, size}
	statement := scanFrom
	if after {
		statement = scanAfter
	}
	if end := successor(prefix[:min(len(prefix), maxHead)]); end != nil {
		args = append(args, end)
		statement = scanFromBelow
		if after {
			statement = scanAfterBelow
		}
	}
	rows, err := r.tx.Query(r.ctx, statement, args...)
	if err != nil {
		return nil, r.fail(fmt.Sprintf("reading what is under %q", prefix), err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p store.Pair, err error) {
		var head, tail []byte
		err = row.Scan(&head, &tail, &p.Value)
		p.Key = string(head) + string(tail)
		return p, err
	})
	if err != nil {
		return nil, r.fail(fmt.Sprintf("reading what is under %q", prefix), err)
	}
	return list, nil
}

// successor returns the first bytes that no string with the prefix begins with
// or comes before, and nil where all do.
func successor(prefix string) []byte {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return b[:i+1]
		}
	}
	return nil
}
