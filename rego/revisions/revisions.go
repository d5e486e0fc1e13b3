// Package revisions keeps the policies that were pushed over the approvers'
// API: each as a whole, with who pushed it and when, so that an earlier one
// can be taken up again.
//
// Which revision is in use is a record of its own. It is changed in the
// transaction that the caller writes the audit entry in: what was acknowledged
// is in use after a restart, and nothing is in use that the log does not know.
// The newest [Keep] revisions are kept, and the one in use.
//
// Keys: "policy/rev/ID", "policy/used".
package revisions

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate/store"
)

// Keep is how many revisions are kept.
const Keep = 50

const (
	prefixRevision = "policy/rev/"
	keyUsed        = "policy/used"
	recordVersion  = 1
)

// ErrNotFound says that no revision has the id.
var ErrNotFound = errors.New("no such revision of the policy")

// Pack is the id of what is in use until a policy is pushed: the shipped pack
// alone. It always exists, and has no files.
const Pack = 0

// A Revision is a policy that was pushed.
type Revision struct {
	ID       uint64            `json:"-"`    // grows by one; never [Pack]
	Name     string            `json:"name"` // as whoever pushed it called it
	By       string            `json:"by"`
	At       time.Time         `json:"at"`
	Revision string            `json:"revision"` // the engine's: a hash of what was compiled
	Files    map[string]string `json:"files"`
}

// Used says which revision is in use, and which was before it.
type Used struct {
	ID     uint64 `json:"id"`
	Before uint64 `json:"before"`
	last   uint64 // the newest id that was ever given
}

// record is what is stored, by its version.
type record struct {
	V        int       `json:"v"`
	Revision *Revision `json:"revision,omitempty"`
	Used     *Used     `json:"used,omitempty"`
	Last     uint64    `json:"last,omitempty"`
}

// Put keeps a new revision, takes it into use, and returns its id.
func Put(tx store.Tx, r Revision) (uint64, error) {
	u, err := InUse(tx)
	if err != nil {
		return 0, err
	}
	u.last++
	if err := write(tx, prefixRevision+store.Seq(u.last), record{Revision: &r}); err != nil {
		return 0, err
	}
	u.Before, u.ID = u.ID, u.last
	return u.ID, errors.Join(writeUsed(tx, u), prune(tx, u))
}

// Use takes the revision of the id into use again.
func Use(tx store.Tx, id uint64) error {
	if _, err := Get(tx, id); err != nil {
		return err
	}
	u, err := InUse(tx)
	if err != nil {
		return err
	}
	u.Before, u.ID = u.ID, id
	return writeUsed(tx, u)
}

// Get returns the revision of the id, or [ErrNotFound].
func Get(tx store.Tx, id uint64) (Revision, error) {
	if id == Pack {
		return Revision{}, nil
	}
	raw, err := tx.Get(prefixRevision + store.Seq(id))
	if errors.Is(err, store.ErrNotFound) {
		return Revision{}, fmt.Errorf("%w: %d", ErrNotFound, id)
	}
	if err != nil {
		return Revision{}, fmt.Errorf("reading revision %d of the policy: %w", id, err)
	}
	return decode(id, raw)
}

// InUse says which revision is in use.
func InUse(tx store.Tx) (Used, error) {
	raw, err := tx.Get(keyUsed)
	if errors.Is(err, store.ErrNotFound) {
		return Used{}, nil
	}
	if err != nil {
		return Used{}, fmt.Errorf("reading which policy is in use: %w", err)
	}
	rec, err := parse(keyUsed, raw)
	if err != nil {
		return Used{}, err
	}
	if rec.Used == nil {
		return Used{}, fmt.Errorf("reading %s: it does not say which", keyUsed)
	}
	rec.Used.last = rec.Last
	return *rec.Used, nil
}

// All lists the revisions that are kept, the oldest first.
func All(tx store.Tx) ([]Revision, error) {
	var list []Revision
	for p, err := range tx.Scan(prefixRevision, "") {
		if err != nil {
			return nil, fmt.Errorf("reading the revisions of the policy: %w", err)
		}
		id, err := store.ParseSeq(strings.TrimPrefix(p.Key, prefixRevision))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", p.Key, err)
		}
		r, err := decode(id, p.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// prune deletes what is older than the newest Keep, but for what is in use or
// was just before.
func prune(tx store.Tx, u Used) error {
	for p, err := range tx.Scan(prefixRevision, "") {
		if err != nil {
			return fmt.Errorf("reading the revisions of the policy: %w", err)
		}
		id, err := store.ParseSeq(strings.TrimPrefix(p.Key, prefixRevision))
		if err != nil {
			return fmt.Errorf("reading %s: %w", p.Key, err)
		}
		if id+Keep > u.last {
			return nil
		}
		if id == u.ID || id == u.Before {
			continue
		}
		if err := tx.Delete(p.Key); err != nil {
			return fmt.Errorf("deleting %s: %w", p.Key, err)
		}
	}
	return nil
}

func decode(id uint64, raw []byte) (Revision, error) {
	rec, err := parse(fmt.Sprintf("revision %d of the policy", id), raw)
	if err != nil {
		return Revision{}, err
	}
	if rec.Revision == nil {
		return Revision{}, fmt.Errorf("reading revision %d of the policy: it is empty", id)
	}
	rec.Revision.ID = id
	return *rec.Revision, nil
}

func parse(what string, raw []byte) (record, error) {
	var rec record
	if err := json.Unmarshal(raw, &rec); err != nil {
		return rec, fmt.Errorf("reading %s: %w", what, err)
	}
	if rec.V != recordVersion {
		return rec, fmt.Errorf("reading %s: version %d of the record is not known here", what, rec.V)
	}
	return rec, nil
}

func writeUsed(tx store.Tx, u Used) error {
	return write(tx, keyUsed, record{Used: &u, Last: u.last})
}

func write(tx store.Tx, key string, rec record) error {
	rec.V = recordVersion
	raw, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", key, err)
	}
	if err := tx.Set(key, raw); err != nil {
		return fmt.Errorf("writing %s: %w", key, err)
	}
	return nil
}
