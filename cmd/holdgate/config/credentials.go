package config

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// A Credential is what upstreams know an account by, which Holdgate puts into
// agents' requests on their way out. One of Env, File and Command is set.
type Credential struct {
	// Hosts are where it belongs: HOST or HOST:PORT, by https, or an address as
	// http://127.0.0.1:PORT.
	Hosts  []string `yaml:"hosts"`
	Header string   `yaml:"header"` // Authorization where it is not set
	// Form is how it is written there: "bearer", "basic" or "plain". Bearer in
	// Authorization and plain elsewhere, where it is not set.
	Form string `yaml:"form"`

	Env     string   `yaml:"env"`     // a variable of the sidecar's environment
	File    string   `yaml:"file"`    // of mode 0600
	Command []string `yaml:"command"` // that prints it
	Timeout Duration `yaml:"timeout"` // of the command; 10s where it is not set
	For     Duration `yaml:"for"`     // for which what it printed is used; 5m where it is not set

	// Agents may use it, in which * stands for anything; empty: every agent that
	// proves who it is.
	Agents []string `yaml:"agents"`
	// Placeholder is what agents have in its place: [Placeholder] where it is not set.
	Placeholder string `yaml:"placeholder"`
}

// Placeholder is what agents have in the place of a credential.
const Placeholder = "held-by-holdgate"

// WithDefaults fills in what is not set.
func (c Credential) WithDefaults() Credential {
	if c.Header == "" {
		c.Header = "Authorization"
	}
	if c.Form == "" {
		c.Form = "plain"
		if strings.EqualFold(c.Header, "Authorization") {
			c.Form = "bearer"
		}
	}
	if c.Timeout == 0 {
		c.Timeout = Duration(10 * time.Second)
	}
	if c.For == 0 {
		c.For = Duration(5 * time.Minute)
	}
	if c.Placeholder == "" {
		c.Placeholder = Placeholder
	}
	return c
}

// isFor reports whether an agent of the name may use it.
func (c Credential) isFor(agent string) bool {
	return len(c.Agents) == 0 || slices.ContainsFunc(c.Agents, func(pattern string) bool {
		ok, err := path.Match(pattern, agent)
		return err != nil || ok
	})
}

// URLs are the origins of Hosts.
func (c Credential) URLs() ([]*url.URL, error) {
	var all []*url.URL
	for _, h := range c.Hosts {
		text := h
		if !strings.Contains(h, "://") {
			text = "https://" + h
		}
		u, err := url.Parse(text)
		switch {
		case err != nil, u.Hostname() == "", u.Scheme != "https" && u.Scheme != "http", u.User != nil, u.RawQuery != "", u.Path != "" && u.Path != "/":
			return nil, fmt.Errorf("%q is not HOST, HOST:PORT or https://HOST", h)
		case u.Scheme == "http" && !isLoopback(u.Hostname()):
			return nil, fmt.Errorf("%q: want https: anybody on the way could read it", h)
		}
		all = append(all, u)
	}
	return all, nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Asked checks that a sidecar with this configuration sends requests to where a
// credential belongs: by the scheme by which it reaches that host and port, and of
// this host only to what the configuration names.
func (c Config) Asked(u *url.URL) error {
	reached := map[string]string{} // the URL, by the key that names it
	for name, u := range c.Upstreams {
		reached["upstreams."+name] = u.URL
	}
	for name, m := range c.MCP {
		reached["mcp."+name] = m.URL
	}
	other := ""
	for _, by := range slices.Sorted(maps.Keys(reached)) {
		at, err := url.Parse(reached[by])
		if err != nil || !strings.EqualFold(at.Hostname(), u.Hostname()) || port(at) != port(u) {
			continue
		}
		if at.Scheme == u.Scheme {
			return nil
		}
		if other == "" {
			other = fmt.Sprintf("%s goes to %s", by, origin(at))
		}
	}
	switch {
	case other != "":
		return fmt.Errorf("%s is never asked: %s: write the address that is asked, with its scheme", origin(u), other)
	case isLoopback(u.Hostname()):
		return fmt.Errorf("%s is never asked: of this host only what upstreams and mcp name is reached", origin(u))
	}
	return nil
}

// port is the port that a URL leads to.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "http") {
		return "80"
	}
	return "443"
}

func origin(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

// reservedHeaders are those that say where a request's end or its way is, or who
// asks.
var reservedHeaders = []string{"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect", "holdgate-token"}

// credentials checks what Holdgate holds.
func (f *faults) credentials(c Config) {
	for _, name := range slices.Sorted(maps.Keys(c.Credentials)) {
		key := "credentials." + name
		f.name(key, name)
		if c.Credentials[name] == nil {
			f.add("%s: says nothing: want hosts, and env, file or command", key)
			continue
		}
		k := c.Credentials[name].WithDefaults()
		if len(k.Hosts) == 0 {
			f.add("%s.hosts: must name where it belongs, such as api.example.com", key)
		}
		if _, err := k.URLs(); err != nil {
			f.add("%s.hosts: %v", key, err)
		}
		f.oneOf("credentials.*.form", key+".form", k.Form)
		if !httpguts.ValidHeaderFieldName(k.Header) || slices.Contains(reservedHeaders, strings.ToLower(k.Header)) {
			f.add("%s.header: %q is no header that a credential can be in", key, k.Header)
		}
		sources := 0
		for _, set := range []bool{k.Env != "", k.File != "", len(k.Command) > 0} {
			if set {
				sources++
			}
		}
		if sources != 1 {
			f.add("%s: want one of env, file and command: where is it from?", key)
		}
		if strings.ContainsAny(k.Env, "=\x00") {
			f.add("%s.env: %q is no name of a variable", key, k.Env)
		}
		if k.Timeout < 0 || k.Timeout > Duration(time.Minute) {
			f.add("%s.timeout: must be more than 0 and 1m at most, not %s", key, k.Timeout)
		}
		for _, pattern := range k.Agents {
			if _, err := path.Match(pattern, ""); err != nil {
				f.add("%s.agents: %q cannot be read: %v", key, pattern, err)
			}
		}
		if k.For < 0 {
			f.add("%s.for: must be more than 0, not %s", key, k.For)
		}
	}
}
