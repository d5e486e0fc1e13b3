package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/holdgate/holdgate/store"
)

const (
	prefixSession = "session/"
	version       = 1
)

// MaxStored is how many records of one agent are kept. A session's name is the
// agent's own word.
const MaxStored = 1000

// ErrTooMany says that an agent has named as many sessions as it may.
var ErrTooMany = fmt.Errorf("this agent has used %d sessions already, and no more are kept: older ones go with time (retention.requests)", MaxStored)

func agentKey(agent string) string { return url.PathEscape(agent) + "/" }

func key(agent, id string) string { return prefixSession + agentKey(agent) + url.PathEscape(id) }

// Load reads a record. It returns [store.ErrNotFound] where there is none.
func Load(tx store.Tx, agent, id string) (*Record, error) {
	raw, err := tx.Get(key(agent, id))
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	return decode(raw)
}

func decode(raw []byte) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("reading a session: %w", err)
	}
	if r.V != version {
		return nil, fmt.Errorf("reading session %s: version %d of the record is not known here", r.ID, r.V)
	}
	return r, nil
}

// Save writes a record, and gives it its next revision. It returns [ErrTooMany]
// for a new one where there are enough.
func Save(tx store.Tx, r *Record) error {
	if r.Revision == 0 {
		n := 0
		for _, err := range tx.Scan(prefixSession+agentKey(r.Agent), "") {
			if err != nil {
				return fmt.Errorf("counting sessions of %s: %w", r.Agent, err)
			}
			if n++; n >= MaxStored {
				return ErrTooMany
			}
		}
	}
	r.Revision++
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("writing session %s: %w", r.ID, err)
	}
	if err := tx.Set(key(r.Agent, r.ID), raw); err != nil {
		return fmt.Errorf("writing session %s: %w", r.ID, err)
	}
	return nil
}

// Each calls fn for each record, by agent and name.
func Each(tx store.Tx, fn func(*Record) error) error {
	for p, err := range tx.Scan(prefixSession, "") {
		if err != nil {
			return err
		}
		r, err := decode(p.Value)
		if err != nil {
			return err
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

// Forget deletes a record with its messages.
func Forget(tx store.Tx, agent, id string) error {
	keys := []string{key(agent, id)}
	for p, err := range tx.Scan(messagesOf(agent, id), "") {
		if err != nil {
			return err
		}
		keys = append(keys, p.Key)
	}
	var errs []error
	for _, k := range keys {
		errs = append(errs, tx.Delete(k))
	}
	return errors.Join(errs...)
}

// visible is a name that is safe in a line.
func visible(s string) string { return strings.Join(strings.Fields(s), " ") }
