package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/store"
)

// Prefix begins the keys of records.
const Prefix = "session/"

const version = 1

// MaxStored is how many records of one agent are kept. A session's name is the
// agent's own word.
const MaxStored = 1000

// A session that has been silent for silentFor is over, unless something of it
// holds: see [Record.Over]. Where there are too many, room for that many is made at
// a time.
const (
	silentFor     = time.Hour
	evictedAtOnce = 50
)

// ErrTooMany says that an agent has named as many sessions as it may.
var ErrTooMany = fmt.Errorf("this agent has used %d sessions already, and no more are kept: silent ones make room after an hour, unless people have set a mode for them, or they wait for people or a gate", MaxStored)

func agentKey(agent string) string { return url.PathEscape(agent) + "/" }

func key(agent, id string) string { return Prefix + agentKey(agent) + url.PathEscape(id) }

// Load reads a record. It returns [store.ErrNotFound] where there is none.
func Load(tx store.Tx, agent, id string) (*Record, error) {
	raw, err := tx.Get(key(agent, id))
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	return decode(raw)
}

// LoadKey is Load by the record's key. The agent and the session are those of the key.
func LoadKey(tx store.Tx, key string) (agent, id string, r *Record, err error) {
	a, s, ok := strings.Cut(strings.TrimPrefix(key, Prefix), "/")
	agent, err = url.PathUnescape(a)
	if err == nil {
		id, err = url.PathUnescape(s)
	}
	if err != nil || !ok {
		return "", "", nil, fmt.Errorf("%q is the key of no session", key)
	}
	r, err = Load(tx, agent, id)
	return agent, id, r, err
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
		for _, err := range tx.Scan(Prefix+agentKey(r.Agent), "") {
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

// Over reports whether a session has been silent for an hour, and nothing of it
// holds the agent back: no halt, no gate that it still has to pass, no mode that a
// person has set.
func (r *Record) Over(now time.Time) bool {
	return now.Sub(r.Last) > silentFor && now.Sub(r.TaintedAt) > taintLasts && r.Halt == nil && len(r.Needed) == 0 && r.Set.Mode == ""
}

// EvictOver forgets sessions of an agent that are over and have no message waiting,
// those that have been silent for longest first. It returns their names.
func EvictOver(tx store.Tx, agent string, now time.Time) (forgotten []string, err error) {
	var over []*Record
	for p, err := range tx.Scan(Prefix+agentKey(agent), "") {
		if err != nil {
			return nil, err
		}
		r, err := decode(p.Value)
		if err != nil {
			return nil, err
		}
		if r.Over(now) {
			over = append(over, r)
		}
	}
	slices.SortFunc(over, func(a, b *Record) int { return a.Last.Compare(b.Last) })
	for _, r := range over {
		if len(forgotten) == evictedAtOnce {
			break
		}
		waits, err := anyWaits(tx, agent, r.ID)
		if err != nil {
			return nil, err
		}
		if waits {
			continue
		}
		if err := Forget(tx, agent, r.ID); err != nil {
			return nil, err
		}
		forgotten = append(forgotten, r.ID)
	}
	return forgotten, nil
}

func anyWaits(tx store.Tx, agent, id string) (bool, error) {
	all, err := Messages(tx, agent, id, 0)
	return slices.ContainsFunc(all, Message.Waits), err
}

// Each calls fn for each record, by agent and name.
func Each(tx store.Tx, fn func(*Record) error) error {
	for p, err := range tx.Scan(Prefix, "") {
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
