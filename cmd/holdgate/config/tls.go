package config

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// approversTLS checks that nobody's token or cookie crosses a network in the clear,
// and that a certificate is for somebody.
func (f *faults) approversTLS(l Listen) {
	const key = "listen.approvers_tls"
	host, _, err := net.SplitHostPort(l.Approvers)
	if err != nil {
		return // told already
	}
	ip, err := netip.ParseAddr(host)
	apart := err == nil && !ip.IsLoopback()
	t := l.ApproversTLS
	switch {
	case !t.On() && apart:
		f.add("listen.approvers: %s can be reached from elsewhere, where tokens and cookies would be read on their way: set %s, as {own_ca: true, names: [HOST]} or {cert: FILE, key: FILE}, or take a loopback address", l.Approvers, key)
	case !t.On() && len(t.Names) > 0:
		f.add("%s.names: there is no certificate that they could be of: set own_ca, or cert and key", key)
	case t.OwnCA && (t.Cert != "" || t.Key != ""):
		f.add("%s: own_ca makes the certificate: leave it out, or cert and key", key)
	case !t.OwnCA && t.On() && (t.Cert == "" || t.Key == ""):
		f.add("%s: cert and key belong together", key)
	case t.OwnCA && len(t.Names) == 0 && apart && ip.IsUnspecified():
		f.add("%s.names: name the hosts or addresses under which browsers come to %s", key, l.Approvers)
	}
	for i, name := range t.Names {
		f.hostName(fmt.Sprintf("%s.names[%d]", key, i), name)
	}
}

// hostName checks a host or an address without a port.
func (f *faults) hostName(key, name string) {
	if _, err := netip.ParseAddr(name); err == nil {
		return
	}
	if strings.ContainsAny(name, ":*") || hostFault(name) != "" {
		f.add("%s: %q is no host and no address, without a port", key, name)
	}
}
