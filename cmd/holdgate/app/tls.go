package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate/approvals/web"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy/drain"
	"github.com/holdgate/holdgate/proxy/intercept"
)

// A certificate is what the approvers' port shows. It is safe for concurrent use.
type certificate struct {
	names []string // under which browsers come; the first one stands in links
	load  func() (*tls.Certificate, error)
	// fresh reports whether what was loaded need not be loaded again.
	fresh func() bool
	log   *slog.Logger

	mu  sync.Mutex
	now *tls.Certificate
}

// approversTLS makes the certificate of the approvers' port, nil where it speaks
// plain HTTP. A CA of the folder's that is for the page alone signs where the
// configuration says so; page is the page's own host.
func approversTLS(l config.Listen, folder, page string, log *slog.Logger) (*certificate, error) {
	t := l.ApproversTLS
	if !t.On() {
		return nil, nil //nolint:nilnil // plain HTTP
	}
	c := &certificate{names: t.Names, log: log}
	if t.OwnCA {
		if err := c.signed(folder, l.Approvers, page); err != nil {
			return nil, err
		}
	} else {
		c.files(t.Cert, t.Key)
	}
	var err error
	if c.now, err = c.load(); err != nil {
		return nil, fmt.Errorf("listen.approvers_tls: %w", err)
	}
	if len(c.names) == 0 {
		c.names = namesOf(c.now)
	}
	for _, name := range c.names {
		if err := c.now.Leaf.VerifyHostname(name); err != nil {
			return nil, fmt.Errorf("listen.approvers_tls.names: the certificate is not for %s: %w", name, err)
		}
	}
	if len(c.names) == 0 {
		return nil, errors.New("listen.approvers_tls.names: the certificate names no host by itself: name one")
	}
	return c, nil
}

// pageCA is the name of the CA that signs the page's certificate. It is not the one of
// intercepted hosts: a phone that trusts it trusts it for the page's names alone.
const pageCA = "page-ca"

// signed has the page's CA sign a certificate of the names, and of this machine's own.
func (c *certificate) signed(folder, listen, page string) error {
	if len(c.names) == 0 {
		c.names = []string{page}
		if at, err := netip.ParseAddrPort(listen); err == nil && !at.Addr().IsLoopback() {
			c.names = []string{at.Addr().String()}
		}
	}
	all := slices.Concat(c.names, []string{"localhost", "127.0.0.1", "::1"})
	slices.Sort(all)
	all = slices.Compact(all)
	ca, err := intercept.OpenCAFor(folder, pageCA, all)
	if err != nil {
		return fmt.Errorf("listen.approvers_tls: %w", err)
	}
	var made time.Time
	c.load = func() (*tls.Certificate, error) {
		made = time.Now()
		return intercept.SignLeaf(ca, made, all...)
	}
	c.fresh = func() bool { return time.Since(made) < 12*time.Hour } // it is good for a day
	return nil
}

// files reads the certificate, and again when a file has changed: certificates are
// renewed while the sidecar runs.
func (c *certificate) files(cert, key string) {
	var seen [2]time.Time
	changed := func() (at [2]time.Time) {
		for i, file := range []string{cert, key} {
			if info, err := os.Stat(file); err == nil {
				at[i] = info.ModTime()
			}
		}
		return at
	}
	c.load = func() (*tls.Certificate, error) {
		seen = changed()
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, err
	}
	c.fresh = func() bool { return changed() == seen }
}

// namesOf are the hosts and addresses that a certificate names.
func namesOf(c *tls.Certificate) (names []string) {
	for _, n := range c.Leaf.DNSNames {
		if !strings.Contains(n, "*") {
			names = append(names, n)
		}
	}
	for _, ip := range c.Leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// get is what [tls.Config.GetCertificate] wants. A renewed certificate that cannot be
// read leaves the one before in place.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh() {
		return c.now, nil
	}
	n, err := c.load()
	if err != nil {
		c.log.Error("reading the certificate of the approvers' port again; the one before stays in use", "error", err)
		return c.now, nil
	}
	c.now = n
	return n, nil
}

// isFor reports whether host, with or without a port, is one of the names.
func (c *certificate) isFor(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return slices.ContainsFunc(c.names, func(n string) bool { return strings.EqualFold(n, host) })
}

// setTLS makes what the approvers' port shows. The page's host is known from here on.
func (a *App) setTLS() (err error) {
	a.tls, err = approversTLS(a.c.Listen, a.c.StateDir, web.Name(a.state.key(purposePage))+".localhost", a.log)
	return err
}

// tlsNames are the names of the page where it is served over TLS.
func (a *App) tlsNames() []string {
	if a.tls == nil {
		return nil
	}
	return a.tls.names
}

// ownHost reports whether the approvers' port has a name besides those of loopback.
func (a *App) ownHost(host string) bool { return a.tls != nil && a.tls.isFor(host) }

// serveApprovers serves the approvers' port.
func (a *App) serveApprovers(ln net.Listener) error { return a.tls.serve(a.approver, ln) }

// serve serves over TLS; over plain HTTP where there is no certificate.
func (c *certificate) serve(s *drain.Server, ln net.Listener) error {
	if c == nil {
		return s.Serve(ln)
	}
	s.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
	return s.ServeTLS(ln)
}
