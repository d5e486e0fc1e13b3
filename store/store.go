// Package store is the seam between what Holdgate must not lose and where it
// is kept: keys in order, values as bytes, transactions, and watches. It knows
// nothing of approvals. Package badger fills it; package storetest proves any
// implementation.
//
// Keys are strings that sort bytewise; their parts are joined by "/", and
// numbers in them are written by [Seq] so that they sort as numbers.
package store

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strconv"
)

// Errors that every implementation returns, wrapped or not.
var (
	ErrNotFound = errors.New("key not found")
	ErrClosed   = errors.New("store is closed")
	// ErrUnavailable says that the store can't be reached for now. Nothing was
	// written, but where the error says that nobody knows. It can be again: a
	// caller that waits may try again.
	ErrUnavailable = errors.New("the store cannot be reached")
	// ErrUnknown says that an update was under way when its store failed, or when its
	// caller stopped waiting. Nobody can say whether it is kept until the store is asked
	// again, where it has failed once it is opened anew.
	ErrUnknown = errors.New("whether this is kept is not known: look again once the store works")
	// ErrFailed says that the store could not write or sync, or found damage, and takes
	// no more writes until it is opened anew. Nothing of this update was written, but
	// where the error wraps ErrUnknown too.
	ErrFailed = errors.New("the store has failed, and takes no more writes until it is opened anew")
	// ErrNoRoom says that the store's disk has too little room for further writes. It
	// goes by itself once there is room.
	ErrNoRoom = errors.New("the disk is nearly full")
	// ErrTooLarge says that a function wrote more than one transaction takes:
	// 2 MiB or 20,000 keys. A value over 256 KiB counts as a few bytes, so
	// that values of any size can be set; one that is replaced or deleted
	// counts as a key for each 256 KiB.
	ErrTooLarge = errors.New("too much for one transaction")
)

// A Store keeps key-value pairs durably. It is safe for concurrent use.
type Store interface {
	// View runs fn on a consistent snapshot: all that was answered before it
	// began, and nothing that still waits for its sync. Writing in it is an
	// error.
	View(ctx context.Context, fn func(Tx) error) error

	// Update runs fn in a transaction that sees the writes of every
	// transaction that committed before it and of none that did not. When
	// Update returns nil the writes are synced to stable storage; when it
	// returns an error none of them will ever be seen, unless ctx ended while
	// the commit was under way, or the store failed: then they may be. fn may
	// be called more than once, must have no effect but through its Tx, and
	// must not call Update, UpdateSoon or Close. Where it panics, so does
	// Update. Where ctx ends before fn begins, fn never runs. Concurrent calls
	// share one sync.
	//
	// A store that could not write or sync has failed: that Update, those that
	// were under way with it, and every later one return ErrFailed and the cause. No View of
	// the failed store sees what they wrote. What those under way wrote may be
	// there, each whole or not at all, once the store is opened anew: their error
	// wraps ErrUnknown too. Ask the store before doing anything again. What Update
	// acknowledged is there.
	Update(ctx context.Context, fn func(Tx) error) error

	// UpdateSoon is Update, except that it returns once the writes survive
	// the death of this process; they are synced within 100 ms. They are
	// ordered with those of Update: what was written earlier is never lost
	// while something later is kept.
	UpdateSoon(ctx context.Context, fn func(Tx) error) error

	// Watch starts to collect the keys under prefix that committed
	// transactions set or delete from now on. A key is handed over once a View
	// sees its change. The Watcher lives until ctx
	// ends or the store is closed.
	Watch(ctx context.Context, prefix string) Watcher

	// Close waits for running transactions, syncs, and releases the store.
	Close() error
}

// A Disk is what a Store on a disk can also tell.
type Disk interface {
	// Free returns how many bytes can still be written before updates are
	// refused.
	Free() (int64, error)
}

// A Reclaimer is a Store that keeps what was deleted until it is asked to give it back.
type Reclaimer interface {
	// Reclaim gives back to the disk what was deleted: all but the latest, which a crash
	// may still need. It costs as much as what was deleted and is stored beside it, goes
	// on beside updates, and Close waits for it.
	Reclaim() error
}

// A Tx reads and writes within one transaction. It is for one goroutine, and
// ends with the function that it was given to. Slices returned are the
// caller's; slices passed in must not be changed before Update returns.
// Keys have 1 byte to 32 KiB.
type Tx interface {
	Get(key string) ([]byte, error) // ErrNotFound where there is none
	Set(key string, value []byte) error
	Delete(key string) error // no error where there is none
	// Scan yields the pairs under prefix whose key is at least from ("" for
	// the first), in key order, as they are when it begins: what it yields may
	// be deleted as it goes. It ends after an error.
	Scan(prefix, from string) iter.Seq2[Pair, error]
}

// A Pair is a key and its value.
type Pair struct {
	Key   string
	Value []byte
}

// A Watcher hands over changed keys.
type Watcher interface {
	// Next waits until a key has changed and returns all that changed since
	// the last call, each once, in no order. It ends with ctx's error, with
	// that of the context given to Watch, or with ErrClosed.
	Next(ctx context.Context) ([]string, error)
}

// Seq writes n so that it sorts bytewise as it does by number.
func Seq(n uint64) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, n))
}

// ParseSeq is the inverse of [Seq].
func ParseSeq(s string) (uint64, error) {
	if len(s) != 16 {
		return 0, fmt.Errorf("sequence number %q has %d characters, want 16", s, len(s))
	}
	return strconv.ParseUint(s, 16, 64)
}
