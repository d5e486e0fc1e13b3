package email

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// How long a request is kept: after its end, so that a link to it says what
// became of it, and at all.
const (
	keepEnded = 7 * 24 * time.Hour
	keepAny   = 90 * 24 * time.Hour
)

// A record is one request, and what was done about it. Maps are by address.
type record struct {
	Notice sdk.Notice
	Sent   map[string]string // the digest of the call that the address was asked about
	Done   map[string]string // the decision of the address that counted
	Owed   map[string]time.Time
	// Replies are the replies that were taken, as sums of their Message-IDs.
	Replies []string
	Changed time.Time
}

func (r record) clone() record {
	r.Sent, r.Done, r.Owed, r.Replies = maps.Clone(r.Sent), maps.Clone(r.Done), maps.Clone(r.Owed), slices.Clone(r.Replies)
	return r
}

// A mailState is what is known besides requests.
type mailState struct {
	Validity, Next uint32            // of the mailbox: the first UID that has not been read
	Steps          map[string]uint64 // the last time step of a one-time password, by address
	News           []string          // told already, oldest first
}

// A ticket is what a token stands for.
type ticket struct{ use, id, digest, address string }

// A store keeps records in a folder. It is safe for concurrent use.
type store struct {
	dir   string
	keys  keys
	clock func() time.Time

	mu      sync.Mutex
	records map[string]record
	state   mailState
	tickets map[[sha256.Size]byte]ticket // by the sum of the token
}

const stateName = "state"

func openStore(dir string, k keys, now time.Time) (*store, error) {
	s := &store{
		dir: dir, keys: k, clock: time.Now, records: make(map[string]record), tickets: make(map[[sha256.Size]byte]ticket),
		state: mailState{Steps: make(map[string]uint64)},
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("folder: %s must be a folder of mode 0700", dir)
	}
	if err := s.read(stateName, &s.state); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.request"))
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	for _, name := range names {
		if err := s.load(filepath.Base(name), now); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// load reads one record, and deletes it where it is of no use any more.
func (s *store) load(name string, now time.Time) error {
	var r record
	if err := s.read(name, &r); err != nil {
		return err
	}
	keep := keepAny
	if r.Notice.Ended() && len(r.Owed) == 0 {
		keep = keepEnded
	}
	if now.Sub(r.Changed) > keep {
		return os.Remove(filepath.Join(s.dir, name))
	}
	s.hold(r)
	return nil
}

// hold takes a record into memory, with its tickets.
func (s *store) hold(r record) {
	s.records[r.Notice.ID] = r
	for address, digest := range r.Sent {
		for _, use := range []string{forLink, forReply} {
			token := s.keys.token(use, r.Notice.ID, digest, address)
			s.tickets[sha256.Sum256([]byte(token))] = ticket{use: use, id: r.Notice.ID, digest: digest, address: address}
		}
	}
}

// find returns what a token is good for.
func (s *store) find(use, token string) (ticket, record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tickets[sha256.Sum256([]byte(token))]
	if !ok || t.use != use || !isToken(token) {
		return ticket{}, record{}, false
	}
	r, ok := s.records[t.id]
	return t, r.clone(), ok
}

func (s *store) record(id string) (record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	return r.clone(), ok
}

func (s *store) all() (all []record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.records)) {
		all = append(all, s.records[id].clone())
	}
	return all
}

// change changes a record that may be new, on disk first.
func (s *store) change(id string, edit func(*record)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[id].clone()
	if r.Sent == nil {
		r.Notice.ID, r.Sent = id, make(map[string]string)
	}
	if r.Done == nil {
		r.Done = make(map[string]string)
	}
	if r.Owed == nil {
		r.Owed = make(map[string]time.Time)
	}
	edit(&r)
	r.Changed = s.clock()
	if err := s.write(fileOf(id), r); err != nil {
		return err
	}
	s.hold(r)
	return nil
}

// changeState changes what is known besides requests, on disk first. Where edit
// returns false nothing is changed.
func (s *store) changeState(edit func(*mailState) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.state
	next.Steps, next.News = maps.Clone(s.state.Steps), slices.Clone(s.state.News)
	if !edit(&next) {
		return nil
	}
	if err := s.write(stateName, next); err != nil {
		return err
	}
	s.state = next
	return nil
}

func (s *store) known() mailState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func fileOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16]) + ".request"
}

func (s *store) read(name string, into any) error {
	sealed, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return fmt.Errorf("reading what was asked: %w", err)
	}
	plain, err := s.keys.unseal(name, sealed)
	if err == nil {
		err = json.Unmarshal(plain, into)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w; delete the folder to forget what was asked", filepath.Join(s.dir, name), err)
	}
	return nil
}

// write replaces a file in one step.
func (s *store) write(name string, what any) (err error) {
	plain, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("keeping what was asked: %w", err)
	}
	f, err := os.CreateTemp(s.dir, "."+strings.TrimSuffix(name, ".request")+"-*")
	if err != nil {
		return fmt.Errorf("keeping what was asked: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("keeping what was asked: %w", err)
		}
	}()
	_, err = f.Write(s.keys.sealed(name, plain))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(s.dir, name))
}
