package intercept

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/holdgate/holdgate/proxy/route"
)

// ask is a question as a resolver sends it.
func ask(t testing.TB, name string, typ dnsmessage.Type) []byte {
	t.Helper()
	n, err := dnsmessage.NewName(name)
	must(t, err)
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: n, Type: typ, Class: dnsmessage.ClassINET}}}
	b, err := m.Pack()
	must(t, err)
	return b
}

func TestNamesGetAddressesOfTheirOwn(t *testing.T) {
	n := &Names{}
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Serve(ctx, pc) }()
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
	got := map[string]string{}
	for _, name := range []string{"a.example.", "b.example.", "A.example."} {
		addrs, err := r.LookupNetIP(ctx, "ip", name)
		must(t, err)
		if len(addrs) != 2 {
			t.Fatalf("%s: %v", name, addrs)
		}
		for _, a := range addrs {
			of, err := n.nameOf(a.Unmap())
			if err != nil || of != route.LowerHost(name) {
				t.Errorf("%s has %s, which is %q (%v)", name, a, of, err)
			}
		}
		got[name] = fmt.Sprint(addrs)
	}
	if got["a.example."] != got["A.example."] || got["a.example."] == got["b.example."] {
		t.Errorf("addresses: %v", got)
	}
	if txt, err := r.LookupTXT(ctx, "a.example."); err == nil {
		t.Errorf("a TXT record was made up: %q", txt)
	}
	cancel()
	must(t, <-done)
}

func TestNamesAreBounded(t *testing.T) {
	n := &Names{}
	first := n.index("first.example")
	for i := range 2 * lastIndex {
		n.index(fmt.Sprintf("n%d.example", i))
	}
	if len(n.byName) > lastIndex || len(n.byIdx) > lastIndex {
		t.Errorf("%d names, %d addresses", len(n.byName), len(n.byIdx))
	}
	if name, err := n.nameOf(netip.AddrFrom4(indexV4(first))); err != nil || name == "first.example" {
		t.Errorf("the first address is %q's (%v)", name, err)
	}
}

// Another process goes on with the names, and gives the next one another address.
func TestNamesGoOn(t *testing.T) {
	n := &Names{}
	if given, next := n.Given(100); len(given) != 0 || NamesGiven(given, next).index("a") != firstIndex {
		t.Errorf("of none there are %v", given)
	}
	old := map[string]uint32{}
	for _, name := range []string{"a.example", "b.example", "c.example"} {
		old[name] = n.index(name)
	}
	next := NamesGiven(n.Given(100))
	for name, i := range old {
		if got := next.index(name); got != i {
			t.Errorf("%s has %d, and had %d", name, got, i)
		}
	}
	if got := next.index("d.example"); got != n.index("d.example") {
		t.Errorf("the next name gets %d", got)
	}
	if given, _ := n.Given(len("c.example" + "d.example")); len(given) != 2 || given["d.example"] == 0 || given["c.example"] == 0 {
		t.Errorf("of many the last are %v", given)
	}
}

func TestWhatIsNoHostGetsNoAddress(t *testing.T) {
	for _, name := range []string{"127.0.0.1.", "a b.example.", `x\.example.`, ".", "a/b."} {
		n := &Names{}
		answer := n.answer(ask(t, name, dnsmessage.TypeA))
		var m dnsmessage.Message
		must(t, m.Unpack(answer))
		if len(m.Answers) != 0 {
			t.Errorf("%q: %v", name, m.Answers)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add(ask(f, "a.example.", dnsmessage.TypeA))
	f.Add(ask(f, "a.example.", dnsmessage.TypeAAAA))
	f.Add(ask(f, ".", dnsmessage.TypeSOA))
	f.Add([]byte{0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12})
	f.Fuzz(func(t *testing.T, question []byte) {
		n := &Names{}
		answer := n.answer(question)
		if answer == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(answer); err != nil || !m.Response {
			t.Fatalf("answer %x: %v", answer, err)
		}
		for name := range n.byName {
			if _, err := netip.ParseAddr(name); err == nil {
				t.Fatalf("%q got an address", name)
			}
		}
	})
}
