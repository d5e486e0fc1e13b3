//go:build !linux

package undo

import (
	"errors"
	"os"
	"time"

	"github.com/holdgate/holdgate"
)

var errNone = errors.New("Holdgate keeps what agents change on Linux only")

// A Store keeps nothing on this system.
type Store struct{}

// A Run is none on this system.
type Run struct{ Entry }

// Open says that nothing is kept.
func Open(string, Options) (*Store, error) { return nil, errNone }

// Begin says that nothing is kept.
func (*Store) Begin(string, string) (*Run, error) { return nil, errNone }

// Entries are none.
func (*Store) Entries() ([]Entry, error) { return nil, errNone }

// Plan says that nothing is kept.
func (*Store) Plan(string, Selection) ([]Change, error) { return nil, errNone }

// Undo says that nothing is kept.
func (*Store) Undo(string, Selection) (Report, error) { return Report{}, errNone }

// Expire does nothing.
func (*Store) Expire(time.Time, int64) error { return errNone }

// Changed is false.
func (*Run) Changed() bool { return false }

// Finish does nothing.
func (*Run) Finish() error { return nil }

// A Broker is none on this system.
type Broker struct{}

// Serve says that nothing is kept.
func (*Run) Serve(*os.File, int, Terms) (*Broker, error) { return nil, errNone }

// Let does nothing.
func (*Broker) Let(string, holdgate.Later) {}

// Ended does nothing.
func (*Broker) Ended(string) {}

// Close does nothing.
func (*Broker) Close() error { return nil }
