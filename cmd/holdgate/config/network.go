package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// TLS says how upstream servers prove who they are.
type TLS struct {
	// CAFiles are files with the certificates of CAs in PEM that are trusted
	// besides those of the system. Absolute.
	CAFiles []string `yaml:"ca_files"`
}

// UpstreamProxy says through which proxies Holdgate's own requests to upstreams
// go. Where neither HTTP nor HTTPS is set, HTTP_PROXY, HTTPS_PROXY and NO_PROXY of
// Holdgate's environment say so, unless Environment is false.
type UpstreamProxy struct {
	HTTP    string   `yaml:"http"`     // for http://, as http://, https:// or socks5://HOST:PORT
	HTTPS   string   `yaml:"https"`    // for https://
	NoProxy []string `yaml:"no_proxy"` // hosts, .domains, addresses and ranges that are reached without it
	// CredentialsFile holds USER:PASSWORD for the proxies that are named here; of
	// mode 0600. Absolute.
	CredentialsFile string `yaml:"credentials_file"`
	Environment     bool   `yaml:"environment"`
	Lookup          string `yaml:"lookup"`   // [LookupHere] or [LookupProxy]
	Loopback        bool   `yaml:"loopback"` // loopback upstreams are reached through it too
}

// Who looks up the names of hosts that are reached through a proxy.
const (
	LookupHere  = "here"  // Holdgate does first, and refuses private addresses
	LookupProxy = "proxy" // the proxy alone
)

// PassThrough is a host whose TLS is passed on as it comes.
type PassThrough struct {
	Host string `yaml:"host"` // HOST, HOST:PORT or *.DOMAIN
	// CallsUnseen passes it on even where it serves models or is an MCP server.
	CallsUnseen bool `yaml:"calls_unseen"`
}

// network checks how upstreams are reached, and where connections come from that
// are redirected.
func (f *faults) network(c Config) {
	p := c.UpstreamProxy
	for key, raw := range map[string]string{"upstream_proxy.http": p.HTTP, "upstream_proxy.https": p.HTTPS} {
		if raw == "" {
			continue
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			f.add("%s: want http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT", key)
		} else if u.User != nil {
			f.add("%s: must not hold a user or password: put USER:PASSWORD into upstream_proxy.credentials_file", key)
		}
	}
	if p.CredentialsFile != "" && p.HTTP == "" && p.HTTPS == "" {
		f.add("upstream_proxy.credentials_file: there is no proxy here that it could be for")
	}
	f.oneOf("upstream_proxy.lookup", "upstream_proxy.lookup", p.Lookup)
	for i, t := range c.PassThrough {
		if fault := hostFault(t.Host); fault != "" {
			f.add("pass_through[%d].host: %s", i, fault)
		}
	}
	if c.Listen.Transparent != "" {
		f.transparent(c.Listen)
	}
	f.metrics(c.Listen)
	f.pushContact(c.Listen.PushContact)
	f.extAuthz(c.Listen)
}

// extAuthz checks where filters of Envoy's ask.
func (f *faults) extAuthz(l Listen) {
	if l.ExtAuthz == "" {
		return
	}
	f.address("listen.ext_authz", l.ExtAuthz)
	if !strings.HasSuffix(l.ExtAuthz, ":0") && (l.ExtAuthz == l.Agents || l.ExtAuthz == l.Approvers || l.ExtAuthz == l.Metrics) {
		f.add("listen.ext_authz: %s is another door's address: it has one of its own", l.ExtAuthz)
	}
	if host, _, err := net.SplitHostPort(l.ExtAuthz); err == nil && !isLoopback(host) {
		f.add("listen.ext_authz: %s can be reached from elsewhere, and speaks without TLS: take a loopback address, and run Holdgate beside the gateway", l.ExtAuthz)
	}
}

// pushContact checks whom push services can turn to.
func (f *faults) pushContact(contact string) {
	u, err := url.Parse(contact)
	switch {
	case contact == "":
	case err == nil && u.Scheme == "mailto" && strings.Contains(u.Opaque, "@"), err == nil && u.Scheme == "https" && u.Host != "":
	default:
		f.add("listen.push_contact: %q is neither a mailto nor an https address", contact)
	}
}

// metrics checks where scrapers read metrics, and who may.
func (f *faults) metrics(l Listen) {
	for i, from := range l.MetricsFrom {
		if p, err := netip.ParsePrefix(from); err != nil || p != p.Masked() {
			f.add("listen.metrics_from[%d]: %q is no network, as 10.0.0.0/8", i, from)
		} else if p.Bits() == 0 {
			f.add("listen.metrics_from[%d]: %s is everybody: name the network of your scrapers", i, from)
		}
	}
	if l.Metrics == "" {
		if len(l.MetricsFrom) > 0 {
			f.add("listen.metrics_from: there is no listen.metrics that it could be for")
		}
		return
	}
	f.address("listen.metrics", l.Metrics)
	if !strings.HasSuffix(l.Metrics, ":0") && (l.Metrics == l.Agents || l.Metrics == l.Approvers) {
		f.add("listen.metrics: %s is another door's address: metrics have one of their own", l.Metrics)
	}
	host, _, err := net.SplitHostPort(l.Metrics)
	if err != nil {
		return
	}
	if ip, err := netip.ParseAddr(host); err == nil && !ip.IsLoopback() && len(l.MetricsFrom) == 0 {
		f.add("listen.metrics: %s can be reached from elsewhere, and needs no token: name the networks of your scrapers under listen.metrics_from, or take a loopback address", l.Metrics)
	}
}

// hostFault says what is wrong with HOST, HOST:PORT or *.DOMAIN, or "".
func hostFault(host string) string {
	name := strings.TrimPrefix(host, "*.")
	u, err := url.Parse("https://" + name)
	if err != nil || u.Host != name || u.Hostname() == "" || strings.Contains(name, "*") {
		return fmt.Sprintf("%q is not HOST, HOST:PORT or *.DOMAIN", host)
	}
	return ""
}

// transparent checks where redirected connections are taken. netfilter redirects
// what a host sends itself to its loopback addresses.
func (f *faults) transparent(l Listen) {
	f.address("listen.transparent", l.Transparent)
	host, port, err := net.SplitHostPort(l.Transparent)
	if err != nil {
		return
	}
	if a, err := netip.ParseAddr(host); err == nil && !a.IsLoopback() {
		f.add("listen.transparent: %s is no loopback address: use localhost, which stands for 127.0.0.1 and ::1", host)
	}
	for key, other := range map[string]string{"listen.agents": l.Agents, "listen.approvers": l.Approvers} {
		if _, p, err := net.SplitHostPort(other); err == nil && p == port && p != "0" {
			f.add("listen.transparent: %s is the port of %s", port, key)
		}
	}
}
