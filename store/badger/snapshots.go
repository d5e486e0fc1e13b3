package badger

import (
	"sync"

	"github.com/holdgate/holdgate/store"
)

// snapshots says which version readers see, and knows which versions are being
// read, so that Badger may drop the others. The zero value is ready.
type snapshots struct {
	mu      sync.Mutex
	version uint64
	readers map[uint64]int // how many read at each version
	closed  bool
	idle    sync.WaitGroup
}

// publish lets readers see everything up to version.
func (s *snapshots) publish(version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// enter begins to read at the version returned; leave must be called.
func (s *snapshots) enter() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, store.ErrClosed
	}
	if s.readers == nil {
		s.readers = make(map[uint64]int)
	}
	s.readers[s.version]++
	s.idle.Add(1)
	return s.version, nil
}

func (s *snapshots) leave(version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers[version]--; s.readers[version] == 0 {
		delete(s.readers, version)
	}
	s.idle.Done()
}

// oldest returns the oldest version that somebody may read.
func (s *snapshots) oldest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.version
	for r := range s.readers {
		v = min(v, r)
	}
	return v
}

// close refuses new readers and waits for those that read.
func (s *snapshots) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.idle.Wait()
}
