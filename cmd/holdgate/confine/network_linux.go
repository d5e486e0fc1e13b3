package confine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// passedFiles are the files that go out, and what they are.
type passedFiles struct {
	files []*os.File
	names []string

	shared string // why what was to be private is not
}

func (m *passedFiles) add(name string, f *os.File) {
	m.files, m.names = append(m.files, f), append(m.names, name)
}

// setUpNamespaces makes the inside of the namespaces that this process is in.
func setUpNamespaces(m *passedFiles, s Spec) error {
	if err := setUpNetwork(m, s.Loopback); err != nil {
		return &MissingError{Part: partNetwork, Err: err, Hint: "the kernel needs nf_tables with NAT (modules nft_nat, nft_redir, nft_chain_nat)"}
	}
	if err := setUpMounts(m, s); err != nil {
		if _, ok := errors.AsType[*MissingError](err); ok {
			return err
		}
		return &MissingError{Part: partMounts, Err: err, Hint: "a container must not hide parts of /proc"}
	}
	return nil
}

// setUpNetwork makes every address a local one, and redirects what is sent.
func setUpNetwork(m *passedFiles, loopback []uint16) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding the loopback device: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("starting the loopback device: %w", err)
	}
	v6 := hasIPv6()
	everywhere := []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}}
	if v6 {
		everywhere = append(everywhere, &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)})
	}
	for _, dst := range everywhere {
		r := &netlink.Route{LinkIndex: lo.Attrs().Index, Dst: dst, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Scope: netlink.SCOPE_HOST}
		if err := netlink.RouteAdd(r); err != nil {
			return fmt.Errorf("routing %s: %w", dst, err)
		}
	}
	if err := redirect(loopback); err != nil {
		return fmt.Errorf("redirecting: %w", err)
	}
	return listen(m, v6)
}

func hasIPv6() bool {
	_, err := os.Stat("/proc/sys/net/ipv6")
	return err == nil
}

// listen opens what the sidecar serves.
func listen(m *passedFiles, v6 bool) error {
	hosts := []string{"127.0.0.1"}
	if v6 {
		hosts = append(hosts, "::1")
	}
	if err := listenTCP(m, fileAgents, hosts[0], PortAgents); err != nil {
		return err
	}
	for _, host := range hosts {
		if err := listenTCP(m, fileRedirected, host, PortTransparent); err != nil {
			return err
		}
		pc, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp", net.JoinHostPort(host, strconv.Itoa(PortNames)))
		if err != nil {
			return err
		}
		f, err := pc.(*net.UDPConn).File()
		if err := errors.Join(err, pc.Close()); err != nil {
			return err
		}
		m.add(fileNames, f)
	}
	return nil
}

func listenTCP(m *passedFiles, name, host string, port int) error {
	lc := &net.ListenConfig{}
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	f, err := ln.(*net.TCPListener).File()
	if err := errors.Join(err, ln.Close()); err != nil {
		return err
	}
	m.add(name, f)
	return nil
}

// redirect sets the rules:
//
//	udp dport 53                      -> :15053
//	tcp to 127.0.0.1, ::1 dport NAMED -> :15001
//	tcp to 127.0.0.0/8, ::1           accept
//	tcp                               -> :15001
func redirect(loopback []uint16) error {
	c, err := nftables.New()
	if err != nil {
		return err
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: "holdgate"})
	chain := c.AddChain(&nftables.Chain{Name: "output", Table: table, Type: nftables.ChainTypeNAT, Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityNATDest})
	rule := func(parts ...[]expr.Any) {
		var all []expr.Any
		for _, p := range parts {
			all = append(all, p...)
		}
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: all})
	}
	rule(protocol(unix.IPPROTO_UDP), port(53), to(PortNames))
	for _, p := range loopback {
		rule(loopback4(32), protocol(unix.IPPROTO_TCP), port(p), to(PortTransparent))
		rule(loopback6(), protocol(unix.IPPROTO_TCP), port(p), to(PortTransparent))
	}
	accept := []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}
	rule(loopback4(8), protocol(unix.IPPROTO_TCP), accept)
	rule(loopback6(), protocol(unix.IPPROTO_TCP), accept)
	rule(protocol(unix.IPPROTO_TCP), to(PortTransparent))
	return c.Flush()
}

// equals compares register 1.
func equals(b []byte) expr.Any { return &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: b} }

func protocol(p byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, equals([]byte{p})}
}

// port matches the destination, which TCP and UDP have at the same place.
func port(p uint16) []expr.Any {
	return []expr.Any{&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2}, equals(binaryutil.BigEndian.PutUint16(p))}
}

// loopback4 matches what goes to 127.0.0.1/bits.
func loopback4(bits int) []expr.Any {
	mask := net.CIDRMask(bits, 32)
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1}, equals([]byte{unix.NFPROTO_IPV4}),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 16, Len: 4},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: mask, Xor: make([]byte, 4)},
		equals(net.IPv4(127, 0, 0, 1).Mask(mask).To4()),
	}
}

func loopback6() []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1}, equals([]byte{unix.NFPROTO_IPV6}),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 24, Len: 16},
		equals(net.IPv6loopback),
	}
}

func to(p uint16) []expr.Any {
	return []expr.Any{&expr.Immediate{Register: 1, Data: binaryutil.BigEndian.PutUint16(p)}, &expr.Redir{RegisterProtoMin: 1}}
}
