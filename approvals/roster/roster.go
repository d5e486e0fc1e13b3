// Package roster keeps what people have changed of who may answer while the sidecar
// runs: whom they added, and whom of the configuration they removed.
//
// The configuration's file goes before: somebody whom it names counts as it says, unless
// an entry says that they were removed. Such an entry holds as long as the file names
// them ([Settle]).
//
// # What is stored
//
//	roster/NAME    an entry
package roster

import (
	"context"
	"fmt"
	"time"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

const prefix = "roster/"

// An Entry says of one person what the configuration does not.
type Entry struct {
	record.Header

	Name    string   `json:"name"`
	Removed bool     `json:"removed,omitempty"` // they do not count, though others name them
	Roles   []string `json:"roles,omitempty"`
	// Accounts are their users on channels, each as "channel:user"; of somebody who was
	// removed and whom no configuration names, what the provider calls them.
	Accounts []string  `json:"accounts,omitempty"`
	Token    []byte    `json:"token,omitempty"` // SHA-256 of their token; empty: they have none
	By       string    `json:"by"`              // who wrote it last
	At       time.Time `json:"at"`
}

// Load reads all entries, in the order of names.
func Load(ctx context.Context, st store.Store) (list []Entry, err error) {
	err = st.View(ctx, func(tx store.Tx) error {
		for p, err := range tx.Scan(prefix, "") {
			if err != nil {
				return err
			}
			var e Entry
			if err := record.Decode(p.Key, p.Value, &e); err != nil {
				return err
			}
			list = append(list, e)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading who was added and removed: %w", err)
	}
	return list, nil
}

// Put writes an entry in place of the one of its name.
func Put(tx store.Tx, e Entry) error {
	e.Header = record.Current()
	return record.Write(tx, prefix+e.Name, e)
}

// Delete deletes the entry of a name.
func Delete(tx store.Tx, name string) error { return tx.Delete(prefix + name) }

// Settle parts the entries in those that count beside a configuration and those that
// count no longer: somebody was added whom the configuration names by now, or removed
// whom it names no longer. Somebody of the provider stays removed.
func Settle(list []Entry, named func(name string) bool) (kept, over []Entry) {
	for _, e := range list {
		if named(e.Name) == e.Removed || e.Removed && len(e.Accounts) > 0 {
			kept = append(kept, e)
		} else {
			over = append(over, e)
		}
	}
	return kept, over
}
