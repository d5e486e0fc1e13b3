// Package audit is the log of what was asked, decided, voted, used and sent:
// entries in a row, each bound to the one before by its hash, kept in the same
// store and written in the same transactions as the state that they record.
//
// # Form
//
// An entry is one JSON object, stored under "audit/" and its number, and
// exported as one line. Its hash is the hex SHA-256 of its canonical form
// ([holdgate.Canonical]) without the hash; prev_hash is part of that. The head,
// under "audit-head", is the newest entry's number and hash with an
// HMAC-SHA-256 over both.
//
// The entries' hashes are the leaves of a Merkle tree besides (tree.go). A
// [Checkpoint] is its root, signed; an [Inclusion] proves one entry against it,
// and a [Consistency] that a later log begins with an earlier one.
//
// # What tampering shows
//
// A changed, missing, swapped or inserted entry breaks the chain, and [Verify]
// names the first that does, from an export alone. Entries cut from the end, or
// a chain rewritten from some entry on, are whole chains in themselves: they
// show against a head that was noted elsewhere ([VerifyOptions], "seq:hash" or
// a checkpoint), and in the store itself against the keyed head. Whoever can read the key and
// write the store can rewrite both; then only a head noted elsewhere shows it.
//
// # What retention drops
//
// [Log.Drop] drops what the oldest entries say, in whole tiles, and says so in
// an entry of its own; their hashes stay, in the tree's tiles, and in an export
// as lines of hashes. All proofs stay as they were.
//
// The log neither redacts nor shortens: that is for whoever appends.
package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdgate/holdgate/store"
)

const (
	keyPrefix = "audit/"
	keyHead   = "audit-head"
)

// A Log is an audit log in a store. It is safe for concurrent use.
type Log struct {
	st       store.Store
	seal     sealer
	readOnly bool

	mu      sync.Mutex
	written map[string]uint64 // bytes, by agent
	sealed  []byte            // a head as it was sealed last
	newest  Head              // that head
	broken  error             // why nothing is appended any more; nil: it is

	edgeMu sync.Mutex
	edge   edge

	follow func(Entry)
	member string
}

// Open takes up the log in st. key (32 bytes) authenticates its head. A log
// whose end does not agree with its head is an error that wraps a [*Fault];
// [OpenReadOnly] opens that too.
func Open(ctx context.Context, st store.Store, key []byte) (*Log, error) {
	l, err := newLog(st, key)
	if err != nil {
		return nil, err
	}
	err = st.View(ctx, func(tx store.Tx) error { return cmp.Or(l.checkEnd(tx), checkMissing(tx)) })
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	for more := true; more; {
		err := st.Update(ctx, func(tx store.Tx) (err error) {
			more, err = l.plant(tx)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("making the audit log's tree: %w", err)
		}
	}
	return l, nil
}

// OpenReadOnly takes up the log in st without looking at it, to read and to
// verify. Appending to it is an error.
func OpenReadOnly(st store.Store, key []byte) (*Log, error) {
	l, err := newLog(st, key)
	if err != nil {
		return nil, err
	}
	l.readOnly = true
	return l, nil
}

func newLog(st store.Store, key []byte) (*Log, error) {
	s, err := newSealer(key)
	if err != nil {
		return nil, err
	}
	return &Log{st: st, seal: s, written: make(map[string]uint64)}, nil
}

// checkEnd compares the head with the last entry.
func (l *Log) checkEnd(tx store.Tx) error {
	head, err := l.head(tx)
	if err != nil {
		return err
	}
	for p, err := range tx.Scan(keyPrefix, keyPrefix+store.Seq(head.Seq+1)) {
		if err != nil {
			return err
		}
		return &Fault{Seq: head.Seq + 1, What: fmt.Sprintf("%s stands after the head, which is at %d", p.Key, head.Seq)}
	}
	if head.Seq == 0 {
		return nil
	}
	line, err := tx.Get(keyPrefix + store.Seq(head.Seq))
	if errors.Is(err, store.ErrNotFound) {
		return &Fault{Seq: head.Seq, What: "missing, though the head names it"}
	}
	if err != nil {
		return err
	}
	last, fault := parseLine(line)
	switch {
	case fault != "":
		return &Fault{Seq: head.Seq, What: fault}
	case last.seq != head.Seq || last.hash != head.Hash:
		return &Fault{Seq: head.Seq, What: "not the entry that the head names"}
	}
	return nil
}

// Follow has fn told of each entry once it is written, however it was: by
// [Log.Write], [Log.Drop], or by whoever appends and says so ([Log.Wrote]). fn is
// called by several goroutines, must be quick, and is set before the log is used.
func (l *Log) Follow(fn func(Entry)) { l.follow = fn }

// As has the entries that are appended from now on name the member that writes
// them. It is called before the log is used.
func (l *Log) As(member string) { l.member = member }

// Wrote tells whoever follows the log of entries that [Log.Append] returned, now that
// their transactions have come to pass.
func (l *Log) Wrote(entries ...Entry) {
	if l.follow == nil {
		return
	}
	for _, e := range entries {
		l.follow(e)
	}
}

// Append adds an entry within tx, so that it stands or falls with the state
// change that it records. It returns the entry as stored, its input in
// canonical form. Where the function
// of tx is run again, so is Append, and the last time counts.
func (l *Log) Append(tx store.Tx, e Entry) (Entry, error) {
	if err := e.canonicalized(); err != nil {
		return Entry{}, fmt.Errorf("appending to the audit log: %w", err)
	}
	return l.append(tx, e)
}

// append is Append for an entry whose input is in canonical form.
func (l *Log) append(tx store.Tx, e Entry) (Entry, error) {
	if l.readOnly {
		return Entry{}, errors.New("appending to an audit log that was opened to be read")
	}
	head, err := l.head(tx)
	if err := cmp.Or(err, l.failed()); err != nil {
		return Entry{}, fmt.Errorf("appending to the audit log: %w", err)
	}
	e.Seq = head.Seq + 1
	e.Time = time.Now().UTC()
	e.PrevHash = head.Hash
	e.Member = l.member
	line, hash, err := encode(e)
	if err != nil {
		return Entry{}, fmt.Errorf("appending to the audit log: %w", err)
	}
	e.Hash = hash
	if err := tx.Set(keyPrefix+store.Seq(e.Seq), line); err != nil {
		return Entry{}, fmt.Errorf("appending to the audit log: %w", err)
	}
	before := head
	head = Head{e.Seq, e.Hash}
	if err := l.grow(tx, before, head); err != nil {
		return Entry{}, fmt.Errorf("appending to the audit log: %w", err)
	}
	sealed := l.seal.seal(head)
	if err := tx.Set(keyHead, sealed); err != nil {
		return Entry{}, fmt.Errorf("appending to the audit log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sealed, l.newest = sealed, head
	if e.Call != nil {
		l.written[e.Call.Agent] += uint64(len(line))
	}
	return e, nil
}

// failed is why nothing is appended any more, or nil.
func (l *Log) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Written is how many bytes were appended about an agent's calls since the log
// was opened, those of transactions that failed included.
func (l *Log) Written(agent string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written[agent]
}

// Write adds an entry in a transaction of its own: synced on return where
// durable, else written on return and synced within 100 ms.
func (l *Log) Write(ctx context.Context, e Entry, durable bool) (Entry, error) {
	update := l.st.UpdateSoon
	if durable {
		update = l.st.Update
	}
	// Transactions wait for each other: what can be done before is.
	if err := e.canonicalized(); err != nil {
		return Entry{}, fmt.Errorf("appending to the audit log: %w", err)
	}
	var stored Entry
	err := update(ctx, func(tx store.Tx) (err error) {
		stored, err = l.append(tx, e)
		return err
	})
	if err != nil {
		return Entry{}, err
	}
	l.Wrote(stored)
	return stored, nil
}

// Try writes nothing, in the way in which entries are written: it returns once those
// before it have been written, and their error where none can be.
func (l *Log) Try(ctx context.Context) error {
	return l.st.Update(ctx, func(tx store.Tx) error {
		_, err := l.head(tx)
		return cmp.Or(err, l.failed())
	})
}

// Head returns the newest entry's number and hash. It is zero in an empty log.
func (l *Log) Head(ctx context.Context) (head Head, err error) {
	err = l.st.View(ctx, func(tx store.Tx) error {
		head, err = l.head(tx)
		return err
	})
	return head, err
}

// HeadIn is Head as tx sees it.
func (l *Log) HeadIn(tx store.Tx) (Head, error) { return l.head(tx) }

// head reads the head, and checks that it was written with the key: by what it
// is where this log sealed it last, else by its signature.
func (l *Log) head(tx store.Tx) (Head, error) {
	b, err := tx.Get(keyHead)
	if errors.Is(err, store.ErrNotFound) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, err
	}
	l.mu.Lock()
	sealed, newest := l.sealed, l.newest
	l.mu.Unlock()
	if sealed != nil && bytes.Equal(b, sealed) {
		return newest, nil
	}
	return l.seal.unseal(b)
}
