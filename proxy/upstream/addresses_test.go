package upstream

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"testing"
)

func TestAddressesThatNobodyIsSentTo(t *testing.T) {
	refused := []string{
		"127.0.0.1", "127.1.2.3", "::1", "0.0.0.0", "::", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "fe80::1", "fe80::1%eth0", "fd00::1", "100.64.0.1", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "198.18.0.1", "192.0.0.192",
		"0.1.2.3", "::127.0.0.1", "::10.0.0.1", "2001:0:7f00:1::1", "::ffff:0:127.0.0.1", "192.88.99.1", "fec0::1", "168.63.129.16",
	}
	for _, s := range refused {
		if Refused(netip.MustParseAddr(s)) == "" {
			t.Errorf("%s would be dialled for an agent", s)
		}
	}
	for _, s := range []string{"1.1.1.1", "160.79.104.10", "172.15.0.1", "172.32.0.1", "2606:4700::1", "100.63.255.255"} {
		if why := Refused(netip.MustParseAddr(s)); why != "" {
			t.Errorf("%s is refused: %s", s, why)
		}
	}
}

func TestControlJudgesTheAddressThatIsDialled(t *testing.T) {
	n := New(Config{})
	n.Own(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7300}, false)
	n.Own(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7301}, true)
	tests := []struct {
		name    string
		guarded bool
		addr    string
		ok      bool
	}{
		{"a public address for an agent", true, "1.1.1.1:443", true},
		{"a loopback address that an agent names", true, "127.0.0.1:9000", false},
		{"a loopback address that the configuration names", false, "127.0.0.1:9000", true},
		{"the agents' door, even where it is named", false, "127.0.0.1:7300", false},
		{"the approvers' door, even where it is named", false, "127.0.0.1:7301", false},
		{"the approvers' door by another loopback address", false, "127.9.9.9:7301", false},
		{"the approvers' door by IPv6", false, "[::1]:7301", false},
		{"the approvers' door as an IPv4-mapped address", false, "[::ffff:127.0.0.1]:7301", false},
		{"the approvers' door by the unspecified address", false, "0.0.0.0:7301", false},
		{"the approvers' door by the unspecified IPv6 address", false, "[::]:7301", false},
		{"the same port on another host", false, "1.1.1.1:7301", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := n.control(tt.guarded)("tcp", tt.addr, socket(3))
			if (err == nil) != tt.ok {
				t.Errorf("got %v, want allowed: %t", err, tt.ok)
			}
		})
	}
}

// A socket is a connection's descriptor, before it is connected.
type socket uintptr

func (s socket) Control(f func(uintptr)) error  { f(uintptr(s)); return nil }
func (s socket) Read(func(uintptr) bool) error  { return nil }
func (s socket) Write(func(uintptr) bool) error { return nil }

// TestOwnAddressIsRefusedUnderAnySpelling dials for real: what counts is what
// the resolver and the kernel make of a name.
func TestOwnAddressIsRefusedUnderAnySpelling(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	n := New(Config{})
	n.Own(ln.Addr(), false)
	tr := n.transport(false)
	defer tr.CloseIdleConnections()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.0.0.2", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "127.1", "2130706433", "0x7f.1", "0177.0.0.1"} {
		t.Run(host, func(t *testing.T) {
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+host+":"+port+"/", nil)
			if err != nil {
				return // not even a URL
			}
			resp, err := tr.RoundTrip(req)
			if err == nil {
				resp.Body.Close()
				t.Fatal("the own listener was reached")
			}
		})
	}
}

func TestOnlyTheApproversDoorDecidesCalls(t *testing.T) {
	n := New(Config{})
	n.Own(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7300}, false)
	n.Own(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7301}, true)
	n.Own(&net.UnixAddr{Name: "/x", Net: "unix"}, true)
	want := []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7301")}
	if got := n.Approvers(); !slices.Equal(got, want) {
		t.Errorf("calls are decided at %v, want %v", got, want)
	}
}

// An address of version 4 is the same in version 6's clothes, in ranges that netip
// has no predicate for too.
func TestMappedAddressesAreJudgedAsWhatTheyAre(t *testing.T) {
	for _, a := range []string{"::ffff:100.64.0.1", "::ffff:168.63.129.16", "::ffff:198.18.0.1", "::ffff:10.0.0.1"} {
		if Refused(netip.MustParseAddr(a)) == "" {
			t.Errorf("%s may be dialled", a)
		}
	}
}

// Own ports are own on every address of this host, not on loopback alone.
func TestEveryAddressOfThisHostIsItsOwn(t *testing.T) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && !IsThisHost(p.Addr().Unmap()) {
			t.Errorf("%s is taken for another host's", p.Addr())
		}
	}
	if IsThisHost(netip.MustParseAddr("203.0.113.1")) {
		t.Error("another host's address is taken for this one's")
	}
}

// net/http never takes a proxy for loopback, so looking is the only proof.
func TestNoProxyOfTheEnvironmentIsAskedFor(t *testing.T) {
	n := New(Config{})
	for _, tr := range []*http.Transport{n.named, n.guarded} {
		if tr.Proxy != nil {
			t.Error("a transport takes proxies from the environment")
		}
	}
}
