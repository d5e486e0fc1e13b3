package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/plugins"
)

// faults collects what is wrong.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// Validate tells all that is wrong with c, each fault on a line of its own
// that begins with the key.
func (c Config) Validate() error {
	var f faults
	f.address("listen.agents", c.Listen.Agents)
	f.address("listen.approvers", c.Listen.Approvers)
	f.approversTLS(c.Listen)
	if c.Listen.Agents == c.Listen.Approvers && !strings.HasSuffix(c.Listen.Agents, ":0") {
		f.add("listen: agents and approvers have the same address %s: an agent must not reach the approvers' door", c.Listen.Agents)
	}
	if c.StateDir == "" {
		f.add("state_dir: must be set")
	}
	f.store(c.Store)
	f.policy(c.Policy)
	f.oneOf("holds.on_refusal", "holds.on_refusal", c.Holds.OnRefusal)
	if n := c.Holds.Rounds; n < 1 || n > 20 {
		f.add("holds.rounds: %d: want 1 to 20", n)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		key := "upstreams." + name
		f.name(key, name)
		f.url(key+".url", c.Upstreams[name].URL)
		if format := c.Upstreams[name].Format; format != "" {
			f.oneOf("upstreams.*.format", key+".format", format)
		}
	}
	for i, format := range c.Formats {
		f.format(fmt.Sprintf("formats[%d]", i), format)
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		f.mcp("mcp."+name, name, c.MCP[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		f.plugin("plugins."+name, name, c.Plugins[name])
	}
	f.network(c)
	f.routes(c)
	f.limits(c)
	f.prices(c.Prices)
	f.kept(c)
	f.oneOf("holds.mcp_tasks", "holds.mcp_tasks", c.Holds.MCPTasks)
	if c.Holds.Page != "" && c.Holds.Page != PageOff {
		f.page("holds.page", c.Holds.Page)
	}
	f.oneOf("audit.sync", "audit.sync", c.Audit.Sync)
	f.oneOf("audit.inputs", "audit.inputs", c.Audit.Inputs)
	f.oneOf("unsupported", "unsupported", c.Unsupported)
	switch {
	case strings.TrimSpace(c.Approver) == "":
		f.add("approver: must be a name")
	case slices.Contains(reservedNames, c.Approver):
		f.add("approver: %s is the name of what is done without a person", c.Approver)
	}
	f.oidc(c.OIDC)
	f.people(c)
	f.agents(c)
	f.credentials(c)
	f.gates(c)
	if len(f) == 0 {
		return nil
	}
	return errors.New(strings.Join(f, "\n"))
}

// limits checks that what bounds is more than nothing.
func (f *faults) limits(c Config) {
	for _, l := range []struct {
		key   string
		value int64
		shown fmt.Stringer
	}{
		{"limits.body", int64(c.Limits.Body), c.Limits.Body},
		{"limits.call", int64(c.Limits.Call), c.Limits.Call},
		{"limits.redeem", int64(c.Limits.Redeem), c.Limits.Redeem},
		{"limits.grant", int64(c.Limits.Grant), c.Limits.Grant},
		{"limits.pending", int64(c.Limits.Pending), count(c.Limits.Pending)},
		{"limits.held_bytes", int64(c.Limits.HeldBytes), c.Limits.HeldBytes},
		{"limits.decisions_per_second", int64(c.Limits.Decisions), count(c.Limits.Decisions)},
		{"limits.log_bytes_per_hour", int64(c.Limits.LogBytes), c.Limits.LogBytes},
		{"holds.mcp_wait", int64(c.Holds.MCPWait), c.Holds.MCPWait},
		{"undo.max_bytes", int64(c.Undo.MaxBytes), c.Undo.MaxBytes},
		{"undo.all_bytes", int64(c.Undo.AllBytes), c.Undo.AllBytes},
		{"limits.disk_reserve", int64(c.Limits.DiskReserve), c.Limits.DiskReserve},
	} {
		if l.value <= 0 {
			f.add("%s: must be more than 0, not %s", l.key, l.shown)
		}
	}
	if c.Limits.Call > c.Limits.Body {
		f.add("limits.call: %s is more than limits.body, %s", c.Limits.Call, c.Limits.Body)
	}
}

// prices checks that each price is one: a wrong one is worse than none.
func (f *faults) prices(p Prices) {
	if c := p.Currency; c == "" || len(c) > 8 || strings.ContainsFunc(c, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.Sc, r) }) {
		f.add("prices.currency: %q is no short word such as USD", c)
	}
	for _, pattern := range slices.Sorted(maps.Keys(p.Models)) {
		key, m := "prices.models."+pattern, p.Models[pattern]
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			f.add("%s: it is no pattern", key)
		}
		if m.Input == nil || m.Output == nil {
			f.add("%s: want input and output, the prices of a million tokens", key)
		}
		for _, price := range []*float64{m.Input, m.Output, m.CacheRead, m.CacheWrite} {
			if price != nil && !(*price >= 0 && *price <= holdgate.MaxCost) {
				f.add("%s: %v is no price", key, *price)
			}
		}
	}
}

// kept checks how long things are kept, and where the log's head goes.
func (f *faults) kept(c Config) {
	f.atLeast("retention.requests", c.Retention.Requests, minRetention)
	f.atLeast("retention.events", c.Retention.Events, minRetention)
	f.atLeast("undo.keep", c.Undo.Keep, minRetention)
	if c.Retention.Audit != 0 {
		f.atLeast("retention.audit", c.Retention.Audit, minRetention)
	}
	if b := c.Retention.AuditBytes; b != 0 && b < minAuditBytes {
		f.add("retention.audit_bytes: must be %s at least, not %s", minAuditBytes, b)
	}
	if c.Audit.Checkpoints.URL != "" {
		f.url("audit.checkpoints.url", c.Audit.Checkpoints.URL)
	}
	f.syslog("audit.checkpoints.syslog", c.Audit.Checkpoints.Syslog)
	if command := c.Audit.Checkpoints.Command; len(command) > 0 && !filepath.IsAbs(command[0]) {
		f.add("audit.checkpoints.command: %q is no absolute path of a program", command[0])
	}
	if e := c.Audit.Checkpoints.Every; e != 0 {
		f.atLeast("audit.checkpoints.every", e, Duration(time.Second))
	}
}

// policy checks where policy comes from. What the rules themselves say is
// checked when they are loaded.
func (f *faults) policy(p Policy) {
	f.oneOf("policy.mode", "policy.mode", p.Mode)
	f.oneOf("policy.on_error", "policy.on_error", p.OnError)
	f.oneOrNone("policy.adapter", "policy.adapter", p.Adapter)
	switch {
	case p.Timeout < minPolicyTimeout || p.Timeout > maxPolicyTimeout:
		f.add("policy.timeout: must be from %s to %s, not %s", minPolicyTimeout, maxPolicyTimeout, p.Timeout)
	case p.Adapter != "" && p.Query == "":
		f.add("policy.query: must name the rule that policy.adapter asks, such as data.agent.call.decision")
	case p.Adapter == "" && p.Query != "":
		f.add("policy.query: is only for policies with a policy.adapter")
	}
	if b := p.Bundle; b.Key == "" && (b.Algorithm != "" || b.Scope != "" || len(b.Exclude) > 0) {
		f.add("policy.bundle.key: must be set where the rest of policy.bundle is")
	}
}

// The bounds of policy.timeout.
const (
	minPolicyTimeout = Duration(time.Millisecond)
	maxPolicyTimeout = Duration(10 * time.Second)
)

// minAuditBytes is the least that the audit log can be bound to.
const minAuditBytes = Size(1 << 20)

// minRetention is the least that is kept of what is over.
const minRetention = Duration(time.Hour)

func (f *faults) atLeast(key string, got, least Duration) {
	if got < least {
		f.add("%s: must be %s at least, not %s", key, least, got)
	}
}

// syslog is where messages of RFC 5424 go; empty is nowhere.
func (f *faults) syslog(key, to string) {
	u, err := url.Parse(to)
	switch {
	case to == "":
	case err == nil && (u.Scheme == "udp" || u.Scheme == "tcp") && u.Port() != "" && u.Path == "" && u.User == nil:
	case err == nil && u.Scheme == "unix" && u.Host == "" && len(u.Path) > 1:
	default:
		f.add("%s: %q: want udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH", key, to)
	}
}

// count is a number that prints as one.
type count int

func (n count) String() string { return strconv.Itoa(int(n)) }

// address checks a "HOST:PORT" to listen at: an IP address or localhost.
func (f *faults) address(key, addr string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		f.add("%s: %q is not HOST:PORT", key, addr)
		return
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "localhost" {
		f.add("%s: %q is neither an IP address nor localhost", key, host)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		f.add("%s: %q is not a port", key, port)
	}
}

// noneOf is the fault of a word that is none of some.
func (f *faults) noneOf(key, got string, want []string) {
	f.add("%s: %q is none of %s%s", key, got, strings.Join(want, ", "), guess(got, want))
}

// guess names the word that was probably meant.
func guess(word string, known []string) string {
	if near := holdgate.Closest(word, known); near != "" && word != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}

// url checks an upstream's address. Credentials don't belong in it: addresses
// are logged.
func (f *faults) url(key, raw string) {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		f.add("%s: must be set", key)
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		f.add("%s: want http://HOST or https://HOST", key)
	case u.User != nil:
		f.add("%s: must not hold a user or password", key)
	case u.RawQuery != "" || u.Fragment != "":
		f.add("%s: must not hold a query or fragment", key)
	}
}

// format checks what is said of a host.
func (f *faults) format(key string, format Format) {
	u, err := url.Parse("https://" + format.Host)
	if err != nil || u.Host != format.Host || u.Hostname() == "" {
		f.add("%s.host: %q is not HOST or HOST:PORT", key, format.Host)
	}
	if format.Path != "" && !strings.HasPrefix(format.Path, "/") {
		f.add("%s.path: %q does not begin with /", key, format.Path)
	}
	f.oneOf("formats[].format", key+".format", format.Format)
}

var goodName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)

// name checks a name that becomes part of a path.
func (f *faults) name(key, name string) {
	if !goodName.MatchString(name) {
		f.add("%s: the name must be of a-z, 0-9, '-', '_' and '.', at most 63 characters, and begin with a letter or digit", key)
	}
}

// mcp checks one MCP server.
func (f *faults) mcp(key, name string, m MCP) {
	f.name(key, name)
	if len(m.Command) == 0 {
		f.url(key+".url", m.URL)
		if len(m.Env) > 0 || m.Dir != "" || m.Processes != 0 {
			f.add("%s: env, dir and processes are of a command, and there is none", key)
		}
		return
	}
	switch {
	case m.URL != "":
		f.add("%s: want a url or a command, not both", key)
	case m.Command[0] == "":
		f.add("%s.command: the program is empty", key)
	case m.Processes < 0 || m.Processes > 1000:
		f.add("%s.processes: %d: want 1 to 1000", key, m.Processes)
	}
	for variable := range m.Env {
		if variable == "" || strings.ContainsAny(variable, "=\x00") {
			f.add("%s.env: %q is no name of a variable", key, variable)
		}
	}
}

// plugin checks one channel.
func (f *faults) plugin(key, name string, p Plugin) {
	f.name(key, name)
	if built := plugins.Names(); len(p.Command) == 0 && !slices.Contains(built, name) {
		f.add("%s: no channel of this name is built in (%s), and it has no command to start%s", key, strings.Join(built, ", "), guess(name, built))
	}
	if len(p.Command) > 0 && p.Command[0] == "" {
		f.add("%s.command: the program is empty", key)
	}
	if sum, err := hex.DecodeString(p.SHA256); p.SHA256 != "" && (err != nil || len(sum) != 32) {
		f.add("%s.sha256: want 64 hex digits", key)
	}
	if p.SHA256 != "" && len(p.Command) == 0 {
		f.add("%s.sha256: there is no command to check", key)
	}
}
