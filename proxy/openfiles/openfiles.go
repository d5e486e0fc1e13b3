// Package openfiles keeps some of the process's file descriptors for people and for the
// disk. Agents can hold as many connections as they like, and a process without
// descriptors could neither hear its approvers nor write its database.
//
// The kernel gives out the lowest number that is free. So a descriptor's number says how
// many are in use at least, and nothing has to be counted.
package openfiles

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// most is how many descriptors are kept at the most.
const most = 256

// wait is how often it is looked whether descriptors are free again.
const wait = 20 * time.Millisecond

// kept is how many of so many descriptors are kept for people and for the disk.
func kept(limit int) int { return min(limit/4, most) }

// ErrUsedUp says that no more descriptors are for agents.
var ErrUsedUp = errors.New("too many connections are open for the descriptors that this process may have (ulimit -n)")

// Spare has a listener of agents accept no connection while more than half of what agents
// may have is in use: the other half is for what their requests need, connections to
// upstreams above all. Connections wait in the kernel meanwhile, and none is lost.
func Spare(ln net.Listener) net.Listener {
	return &listener{Listener: ln, line: func() int { n := limit(); return (n - kept(n)) / 2 }, closed: make(chan struct{})}
}

// SpareLess is Spare for a door of people that agents can reach too: it accepts until half
// of what is kept is in use.
func SpareLess(ln net.Listener) net.Listener {
	return &listener{Listener: ln, line: func() int { n := limit(); return n - kept(n)/2 }, closed: make(chan struct{})}
}

// May returns an error that wraps [ErrUsedUp] where the socket, which is about to be
// connected for an agent, takes one of the descriptors that are kept.
func May(c syscall.RawConn) error {
	n := limit()
	if fd := number(c); fd >= n-kept(n) {
		return fmt.Errorf("%w: %d of %d are in use", ErrUsedUp, fd, n)
	}
	return nil
}

// A listener accepts while numbers below line are free.
type listener struct {
	net.Listener
	line func() int

	close  sync.Once
	closed chan struct{}
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if sc, ok := c.(syscall.Conn); ok {
		raw, err := sc.SyscallConn()
		if err == nil && number(raw) >= l.line() {
			l.await()
		}
	}
	return c, nil
}

// await returns once a descriptor below the line is free, or the listener closed.
func (l *listener) await() {
	tick := time.NewTicker(wait)
	defer tick.Stop()
	for next() >= l.line() {
		select {
		case <-tick.C:
		case <-l.closed:
			return
		}
	}
}

// Close implements [net.Listener].
func (l *listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// number is that of a connection's descriptor.
func number(c syscall.RawConn) int {
	n := -1
	if err := c.Control(func(fd uintptr) { n = int(fd) }); err != nil {
		return -1 // it was closed
	}
	return n
}
