package proxytest

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// A NameServer answers for names as a test says. It is a resolver of the test's
// own, by real packets.
type NameServer struct {
	Answer func(name string, asked int) []netip.Addr

	mu    sync.Mutex
	asked map[string]int
}

// Resolver returns a resolver that asks the server.
func (n *NameServer) Resolver(t testing.TB) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	Must(t, err)
	var done sync.WaitGroup
	done.Go(func() {
		buf := make([]byte, 1500)
		for {
			k, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			if b := n.Reply(buf[:k]); b != nil {
				_, _ = pc.WriteTo(b, from)
			}
		}
	})
	t.Cleanup(func() { _ = pc.Close(); done.Wait() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// Reply answers a query.
func (n *NameServer) Reply(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	r := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
	if q.Type == dnsmessage.TypeA {
		name := strings.TrimSuffix(q.Name.String(), ".")
		n.mu.Lock()
		if n.asked == nil {
			n.asked = map[string]int{}
		}
		addrs := n.Answer(name, n.asked[name])
		n.asked[name]++
		n.mu.Unlock()
		if addrs == nil {
			r.RCode = dnsmessage.RCodeNameError
		}
		for _, a := range addrs {
			r.Answers = append(r.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: a.As4()},
			})
		}
	}
	b, err := r.Pack()
	if err != nil {
		return nil
	}
	return b
}

// Times says how often a name was asked for.
func (n *NameServer) Times(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[name]
}
