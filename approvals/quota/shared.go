package quota

import (
	"errors"
	"maps"
	"strings"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

// Prefix begins the keys of the accounts, where several members share the store. A limit
// is checked in the transaction that charges; what is in memory is for [Ledger.Pending].
const Prefix = "quota/"

// storedAccount is an account as stored.
type storedAccount struct {
	record.Header

	Pending int   `json:"pending,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
}

// read reads an account; one that is not there has nothing.
func read(tx store.Tx, name string) (account, error) {
	var s storedAccount
	err := record.Read(tx, Prefix+name, &s)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return account{s.Pending, s.Bytes}, err
}

func write(tx store.Tx, name string, a account) error {
	if a == (account{}) {
		return tx.Delete(Prefix + name)
	}
	return record.Write(tx, Prefix+name, storedAccount{record.Current(), a.pending, a.bytes})
}

// store changes an account in the store, unless that would exceed a limit.
func (l *Ledger) store(tx store.Tx, c charge) error {
	names := c.accounts()
	have := make([]account, len(names))
	for i, name := range names {
		var err error
		if have[i], err = read(tx, name); err != nil {
			return err
		}
	}
	if err := l.limits().check(c, have[0], have[len(have)-1]); err != nil {
		return err
	}
	for i, name := range names {
		if err := write(tx, name, have[i].plus(c.account)); err != nil {
			return err
		}
	}
	return nil
}

// Share has the accounts in the store from now on, and counts them anew from what waits:
// members that did not keep them may have worked before.
func (l *Ledger) Share(tx store.Tx) error {
	l.shared = true
	counted := New(l.limits)
	err := record.EachOpen(tx, func(_ string, x record.StoredOpen) error { counted.AddOpen(x); return nil })
	if err == nil {
		err = record.EachAsked(tx, counted.AddAsked)
	}
	if err != nil {
		return err
	}
	for p, err := range tx.Scan(Prefix, "") {
		if err != nil {
			return err
		}
		if _, there := counted.accounts[strings.TrimPrefix(p.Key, Prefix)]; !there {
			if err := tx.Delete(p.Key); err != nil {
				return err
			}
		}
	}
	for name, a := range counted.accounts {
		if err := write(tx, name, a); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accounts = maps.Clone(counted.accounts)
	return nil
}

// See takes accounts that have changed into memory.
func (l *Ledger) See(tx store.Tx, keys []string) error {
	for _, key := range keys {
		name := strings.TrimPrefix(key, Prefix)
		a, err := read(tx, name)
		if err != nil {
			return err
		}
		l.mu.Lock()
		if l.accounts[name] = a; a == (account{}) {
			delete(l.accounts, name)
		}
		l.mu.Unlock()
	}
	return nil
}
