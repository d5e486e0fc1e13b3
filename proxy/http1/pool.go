package http1

import (
	"sync"
	"time"
)

// Bounds of what is kept.
const (
	maxIdle    = 512 // connections
	maxIdleAt  = 128 // that lead to one place
	maxPlaces  = 512 // that are known to speak HTTP/2
	idleTime   = 90 * time.Second
	sweepEvery = 15 * time.Second
)

// A pool keeps connections that nobody uses. Its zero value is ready, and it is
// safe for concurrent use.
type pool struct {
	mu     sync.Mutex
	conns  map[place][]*conn // the one used last is the last
	n      int               // of them all
	http2  map[place]struct{}
	timer  *time.Timer // of the next sweep, while there are any
	closed bool
}

// get returns the connection to a place that was used last, or nil.
func (p *pool) get(at place) *conn {
	for {
		c := p.takeIdle(at)
		if c == nil || c.isWaiting() {
			return c
		}
		c.close()
	}
}

func (p *pool) takeIdle(at place) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := p.conns[at]
	if len(conns) == 0 {
		return nil
	}
	c := conns[len(conns)-1]
	conns[len(conns)-1] = nil
	p.keep(at, conns[:len(conns)-1])
	p.n--
	return c
}

// keep replaces what is kept for a place.
func (p *pool) keep(at place, conns []*conn) {
	if len(conns) == 0 {
		delete(p.conns, at)
		return
	}
	p.conns[at] = conns
}

// put keeps a connection, or closes it where there are enough.
func (p *pool) put(c *conn) {
	c.used, c.since = true, time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.n >= maxIdle || len(p.conns[c.at]) >= maxIdleAt {
		c.close()
		return
	}
	if p.conns == nil {
		p.conns = make(map[place][]*conn)
	}
	p.conns[c.at] = append(p.conns[c.at], c)
	p.n++
	if p.timer == nil {
		p.timer = time.AfterFunc(sweepEvery, p.sweep)
	}
}

// sweep closes what has been idle for too long, and what its server has closed.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, conns := range p.conns {
		kept := conns[:0]
		for _, c := range conns {
			if time.Since(c.since) < idleTime && c.isWaiting() {
				kept = append(kept, c)
				continue
			}
			c.close()
			p.n--
		}
		clear(conns[len(kept):])
		p.keep(at, kept)
	}
	p.timer = nil
	if p.n > 0 {
		p.timer = time.AfterFunc(sweepEvery, p.sweep)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	for _, conns := range p.conns {
		for _, c := range conns {
			c.close()
		}
	}
	p.conns, p.n = nil, 0
}

// speaksHTTP2 reports whether a server has been found to speak HTTP/2.
func (p *pool) speaksHTTP2(at place) bool {
	if at.scheme != "https" {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.http2[at]
	return ok
}

func (p *pool) setHTTP2(at place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.http2 == nil || len(p.http2) >= maxPlaces { // to find out again costs a handshake
		p.http2 = make(map[place]struct{})
	}
	p.http2[at] = struct{}{}
}
