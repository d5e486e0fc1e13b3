package app

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/intercept"
	"github.com/holdgate/holdgate/proxy/openfiles"
)

// ProxyEnvironment is what the environment of Holdgate itself says of proxies on
// the way to upstreams: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in lower case where
// both are set. What an agent's says is nothing to Holdgate.
func ProxyEnvironment(env func(string) string) (*httpproxy.Config, error) {
	either := func(name string) (value, from string) {
		if v := env(strings.ToLower(name)); v != "" {
			return v, strings.ToLower(name)
		}
		return env(name), name
	}
	c := &httpproxy.Config{}
	c.NoProxy, _ = either("NO_PROXY")
	for name, into := range map[string]*string{"HTTP_PROXY": &c.HTTPProxy, "HTTPS_PROXY": &c.HTTPSProxy} {
		value, from := either(name)
		if value == "" {
			continue
		}
		u, err := parseProxy(value)
		if err != nil {
			return nil, fmt.Errorf("%s names no proxy: want http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT; unset it, or set upstream_proxy.environment: false", from)
		}
		*into = u.String()
	}
	return c, nil
}

var errNoProxy = errors.New("no address of a proxy")

func parseProxy(raw string) (*url.URL, error) {
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
		return nil, errNoProxy // the value may hold a password
	}
	return u, nil
}

// reach fills in how upstreams are reached.
func (a *App) reach(pc *proxy.Config) (err error) {
	if pc.Network.RootCAs, err = roots(a.c.TLS.CAFiles); err != nil {
		return err
	}
	for _, p := range a.c.PassThrough {
		pc.PassThrough = append(pc.PassThrough, intercept.PassThrough{Host: p.Host, CallsUnseen: p.CallsUnseen})
	}
	pc.Network.ProxyLooksUp = a.c.UpstreamProxy.Lookup == config.LookupProxy
	pc.Network.ProxyFor, err = a.proxyFor()
	return err
}

// roots are the system's CAs and those of the files; nil where there are none.
func roots(files []string) (*x509.CertPool, error) {
	if len(files) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("reading the system's CAs: %w", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("tls.ca_files: %w", err)
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("tls.ca_files: %s holds no certificate in PEM", name)
		}
	}
	return pool, nil
}

// proxyFor returns what finds the proxy for a URL, or nil where there is none.
func (a *App) proxyFor() (func(*url.URL) *url.URL, error) {
	p := a.c.UpstreamProxy
	conf := &httpproxy.Config{HTTPProxy: p.HTTP, HTTPSProxy: p.HTTPS, NoProxy: strings.Join(p.NoProxy, ",")}
	if conf.HTTPProxy == "" && conf.HTTPSProxy == "" {
		if !p.Environment || a.o.Proxies == nil {
			return nil, nil
		}
		conf = a.o.Proxies
		conf.NoProxy = strings.Join(append(p.NoProxy, conf.NoProxy), ",")
	}
	if conf.HTTPProxy == "" && conf.HTTPSProxy == "" {
		return nil, nil
	}
	login, err := proxyLogin(p.CredentialsFile)
	if err != nil {
		return nil, err
	}
	choose := conf.ProxyFunc()
	if p.Loopback {
		choose = always(conf, choose)
	}
	return func(u *url.URL) *url.URL {
		proxy, err := choose(u)
		if err != nil || proxy == nil || login == nil {
			return proxy // it fails for CGI programs alone
		}
		with := *proxy
		with.User = login
		return &with
	}, nil
}

// always takes proxies for loopback addresses too.
func always(conf *httpproxy.Config, choose func(*url.URL) (*url.URL, error)) func(*url.URL) (*url.URL, error) {
	return func(u *url.URL) (*url.URL, error) {
		a, err := netip.ParseAddr(u.Hostname())
		if u.Hostname() != "localhost" && (err != nil || !a.IsLoopback()) {
			return choose(u)
		}
		raw := conf.HTTPProxy
		if u.Scheme == "https" {
			raw = conf.HTTPSProxy
		}
		if raw == "" {
			return nil, nil
		}
		return parseProxy(raw)
	}
}

// proxyLogin reads USER:PASSWORD; nil where there is no file.
func proxyLogin(file string) (*url.Userinfo, error) {
	if file == "" {
		return nil, nil
	}
	text, err := readSecret(file)
	if err != nil {
		return nil, fmt.Errorf("upstream_proxy.credentials_file: %w", err)
	}
	user, password, ok := strings.Cut(text, ":")
	if !ok || strings.ContainsAny(text, "\r\n") {
		return nil, fmt.Errorf("upstream_proxy.credentials_file: %s does not hold USER:PASSWORD on one line", file)
	}
	return url.UserPassword(user, password), nil
}

// listenTransparent listens for connections that are redirected: on the loopback
// addresses of both versions of IP under localhost, as far as this host has them.
func (a *App) listenTransparent() ([]net.Listener, error) {
	if a.c.Listen.Transparent == "" {
		return nil, nil
	}
	host, port, err := net.SplitHostPort(a.c.Listen.Transparent)
	if err != nil {
		return nil, err
	}
	if host != "localhost" {
		ln, err := a.listen("transparent", a.c.Listen.Transparent)
		return []net.Listener{ln}, err
	}
	v4, err := a.listen("transparent", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, err
	}
	same := strconv.Itoa(v4.Addr().(*net.TCPAddr).Port)
	v6, err := a.listen("transparent", net.JoinHostPort("::1", same))
	if err != nil && hasIPv6() {
		return nil, errors.Join(err, v4.Close())
	}
	if err != nil {
		return []net.Listener{v4}, nil
	}
	return []net.Listener{v4, v6}, nil
}

// hasIPv6 reports whether this host has the loopback address of version 6.
func hasIPv6() bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == netip.IPv6Loopback() {
			return true
		}
	}
	return false
}

// serveTransparent serves redirected connections. Names are resolved as
// everywhere on this host: none are made up.
func (a *App) serveTransparent(lns []net.Listener) {
	for _, ln := range lns {
		a.listeners = append(a.listeners, api.Listener{Name: "transparent", Addr: ln.Addr().String()})
		a.goServe("transparent door", func() error { return a.proxy.ServeTransparent(openfiles.Spare(ln), nil) })
	}
}
