package intercept

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/holdgate/holdgate/proxy/route"
)

// Names answers DNS inside a network that is redirected to the transparent
// door. Every name gets an address of its own from ranges that lead nowhere
// (198.18.0.0/15, RFC 2544; 2001:2::/48, RFC 5180), so that the door knows which
// name a connection means. Nothing is asked of a real server: the door resolves
// a name once policy has allowed what goes there. Where more names are asked for
// than there are addresses, the ones given out first are given out anew.
//
// The zero value is ready. It may be used by several goroutines.
type Names struct {
	mu     sync.Mutex
	byName map[string]uint32 // index of the address
	byIdx  map[uint32]string
	next   uint32
}

var (
	namesV4 = netip.MustParsePrefix("198.18.0.0/15")
	namesV6 = netip.MustParsePrefix("2001:2::/48")
)

const (
	firstIndex = 16      // the addresses before it may be those of name servers
	lastIndex  = 1 << 16 // bounds what an agent's questions take of memory
	namesTTL   = 60      // seconds
)

// nameOf is the name for which an address was given out, or "" where it is none
// of ours.
func (n *Names) nameOf(a netip.Addr) (string, error) {
	var index uint32
	switch {
	case namesV4.Contains(a):
		b := a.As4()
		base := namesV4.Addr().As4()
		index = binary.BigEndian.Uint32(b[:]) - binary.BigEndian.Uint32(base[:])
	case namesV6.Contains(a):
		b := a.As16()
		index = binary.BigEndian.Uint32(b[12:])
	default:
		return "", nil
	}
	if n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		if name, ok := n.byIdx[index]; ok {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s is no address of a name that was asked for", a)
}

// index gives out an address for a name.
func (n *Names) index(name string) uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i, ok := n.byName[name]; ok {
		return i
	}
	if n.byName == nil {
		n.byName, n.byIdx, n.next = map[string]uint32{}, map[uint32]string{}, firstIndex
	}
	if n.next > lastIndex {
		n.next = firstIndex
	}
	i := n.next
	n.next++
	delete(n.byName, n.byIdx[i])
	n.byName[name], n.byIdx[i] = i, name
	return i
}

// Given returns the addresses that were given out, as numbers, and the number of the
// next one: for another process that goes on with them. Of very many it returns those
// that were given out last, as far as their names have most bytes together.
func (n *Names) Given(most int) (given map[string]uint32, next uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	given, next = map[string]uint32{}, n.next
	for i, left := next, lastIndex; left > 0; left-- {
		if i--; i < firstIndex || i > lastIndex {
			i = lastIndex
		}
		name, ok := n.byIdx[i]
		if !ok {
			continue
		}
		if most -= len(name); most < 0 {
			break
		}
		given[name] = i
	}
	return given, next
}

// NamesGiven are names that go on from what [Names.Given] returned.
func NamesGiven(given map[string]uint32, next uint32) *Names {
	n := &Names{}
	for name, i := range given {
		if n.byName == nil {
			n.byName, n.byIdx, n.next = map[string]uint32{}, map[uint32]string{}, max(next, firstIndex)
		}
		n.byName[name], n.byIdx[i] = i, name
	}
	return n
}

func indexV4(i uint32) [4]byte {
	a := namesV4.Addr().As4()
	binary.BigEndian.PutUint32(a[:], binary.BigEndian.Uint32(a[:])+i)
	return a
}

func indexV6(i uint32) [16]byte {
	a := namesV6.Addr().As16()
	binary.BigEndian.PutUint32(a[12:], i)
	return a
}

// Serve answers questions that come to pc until ctx ends, and closes pc.
func (n *Names) Serve(ctx context.Context, pc net.PacketConn) error {
	defer context.AfterFunc(ctx, func() { _ = pc.Close() })()
	defer pc.Close()
	buf := make([]byte, 4096)
	for {
		size, from, err := pc.ReadFrom(buf)
		switch {
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("reading questions for names: %w", err)
		}
		if answer := n.answer(buf[:size]); answer != nil {
			_, _ = pc.WriteTo(answer, from) // who has gone needs no answer
		}
	}
}

// answer answers one question, or none: what is no question gets no answer.
func (n *Names) answer(question []byte) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(question)
	if err != nil || h.Response {
		return nil
	}
	reply := dnsmessage.Header{ID: h.ID, Response: true, OpCode: h.OpCode, RecursionDesired: h.RecursionDesired, RecursionAvailable: true}
	q, err := p.Question()
	switch {
	case err != nil:
		reply.RCode = dnsmessage.RCodeFormatError
		b := dnsmessage.NewBuilder(nil, reply)
		out, _ := b.Finish() // a header alone cannot fail
		return out
	case h.OpCode != 0:
		reply.RCode = dnsmessage.RCodeNotImplemented
	}
	b := dnsmessage.NewBuilder(nil, reply)
	b.EnableCompression()
	if err := errors.Join(b.StartQuestions(), b.Question(q), b.StartAnswers()); err != nil {
		return nil
	}
	if name, ok := hostName(q.Name); ok && reply.RCode == dnsmessage.RCodeSuccess && q.Class == dnsmessage.ClassINET {
		rh := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: namesTTL}
		switch q.Type {
		case dnsmessage.TypeA:
			err = b.AResource(rh, dnsmessage.AResource{A: indexV4(n.index(name))})
		case dnsmessage.TypeAAAA:
			err = b.AAAAResource(rh, dnsmessage.AAAAResource{AAAA: indexV6(n.index(name))})
		}
	}
	if err != nil {
		return nil
	}
	out, err := b.Finish()
	if err != nil {
		return nil
	}
	return out
}

// hostName is a question's name as a host's, where it is one.
func hostName(n dnsmessage.Name) (string, bool) {
	name := route.LowerHost(n.String())
	if name == "" || len(name) > 253 {
		return "", false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return "", false
		}
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return "", false // a name that reads as an address would be dialled as one
	}
	return name, true
}
