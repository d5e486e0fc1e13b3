package pgtest

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// socketFile is the name of a server's socket in its folder.
const socketFile = ".s.PGSQL.5432"

// A Relay leads from a socket of its own to that of a server. A direction can be
// cut, as by a network that loses every packet: nothing arrives and no connection
// ends, and what was sent arrives late once it is healed, as TCP sends it again.
type Relay struct {
	Socket string // the folder of its socket

	server string
	mu     sync.Mutex
	up     chan struct{} // closed while bytes pass to the server
	down   chan struct{} // closed while bytes pass from it
	cuts   int           // how often it was cut
	whole  bool
}

// NewRelay starts a relay to the server behind a URL of [URL]'s or [Address]'s
// folder. It ends with the test.
func NewRelay(t testing.TB, server string) *Relay {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hgrelay")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ln, err := net.Listen("unix", filepath.Join(dir, socketFile))
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{Socket: dir, server: filepath.Join(server, socketFile), up: make(chan struct{}), down: make(chan struct{}), whole: true}
	close(r.up)
	close(r.down)
	var work sync.WaitGroup
	t.Cleanup(func() {
		r.Heal()
		ln.Close()
		work.Wait()
	})
	work.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			work.Go(func() { r.lead(conn) })
		}
	})
	return r
}

// Cut cuts one direction or both. What is cut stays so until [Relay.Heal].
func (r *Relay) Cut(up, down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if up && isClosed(r.up) {
		r.up = make(chan struct{})
	}
	if down && isClosed(r.down) {
		r.down = make(chan struct{})
	}
	r.cuts++
	r.whole = false
}

// Heal lets all pass again.
func (r *Relay) Heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range []chan struct{}{r.up, r.down} {
		if !isClosed(c) {
			close(c)
		}
	}
	r.whole = true
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// State tells whether all passes, and how often the relay was cut.
func (r *Relay) State() (whole bool, cuts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.whole, r.cuts
}

// passes waits until bytes pass in a direction.
func (r *Relay) passes(direction *chan struct{}) {
	r.mu.Lock()
	c := *direction
	r.mu.Unlock()
	<-c
}

func (r *Relay) lead(conn net.Conn) {
	defer conn.Close()
	r.passes(&r.up)
	server, err := net.Dial("unix", r.server)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { r.copy(server, conn, &r.up) })
	both.Go(func() { r.copy(conn, server, &r.down) })
	both.Wait()
}

// copy copies what comes while it may pass, and ends both once one has.
func (r *Relay) copy(to, from net.Conn, direction *chan struct{}) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		r.passes(direction)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	to.Close()
	from.Close()
}
