package route

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Table knows where models and MCP servers are, and what is spoken there.
type Table struct {
	codecs  []Codec
	formats []Format
	models  map[string]bool // the hosts that the configuration names as upstreams
	servers map[string]*url.URL
}

// NewTable returns a table of the formats, upstreams and MCP servers that the
// configuration names.
func NewTable(codecs []Codec, formats []Format, upstreams, servers map[string]*url.URL) (*Table, error) {
	t := &Table{codecs: codecs, formats: formats, models: make(map[string]bool, len(upstreams)), servers: servers}
	for _, u := range upstreams {
		t.models[WithPort(u.Scheme, u.Host)] = true
	}
	if name := t.unknownFormat(); name != "" {
		return nil, fmt.Errorf("no format is called %q", name)
	}
	return t, nil
}

// Recognise says what a request is. What a path tells comes first, then the
// configuration, then the table of endpoints that no codec reads: the first that
// fits.
func (table *Table) Recognise(r *http.Request, t Target) Recognised {
	is := Recognised{models: table.servesModels(t), Known: table.MayServeModels(t) || isBelow(LowerHost(t.URL.Hostname()), subscriptionHosts)}
	methods, paths := []string{Method(r)}, clean(t.URL.Path)
	if is.Codec = table.codecAt(methods[0], paths, t, is.models); is.Codec != nil {
		return is
	}
	override, unresolved := TwoReadings(r.Method, t.URL, r.Header)
	if override != "" { // some servers go by it
		methods = append(methods, override)
		if is.Codec = table.codecAt(override, paths, t, is.models); is.Codec != nil {
			return is
		}
	}
	if is.Codec = table.talkerAt(r, paths, override, unresolved, is.models); is.Codec != nil {
		is.Socket = true
		return is
	}
	for i := range endpointTable {
		if row := &endpointTable[i]; row.fits(methods, paths, t, is.models) {
			is.File, is.Why = row.is == aFile, row.says(t.URL.Path)
			break
		}
	}
	twice := func(why string) bool { return why == holdgate.UnresolvedURL || why == holdgate.UnresolvedMethod }
	switch {
	case is.models && slices.ContainsFunc(unresolved, twice):
		is.File, is.Why = false, "headers let the request to a host that serves models be taken for another one, whose calls would go unseen: leave them away"
	case Upgrades(r) && (is.models || isSocket(paths)):
		is.File, is.Why = false, "upgraded connections to a model API are not gated, so they are refused: use plain HTTP"
	case is.models && is.Why == "" && slices.ContainsFunc(r.Header.Values("Content-Type"), isUnreadable):
		is.File, is.Why = false, Ungated(t.URL.Path)
	}
	return is
}

// codecAt picks the codec by the path, also as the most lenient server would
// read it, by whether the host serves models, and by the configuration.
func (table *Table) codecAt(method string, paths []string, t Target, models bool) Codec {
	for _, p := range paths {
		for _, c := range table.codecs {
			if c.Match(method, p) {
				return c
			}
			if h, ok := c.(HostMatcher); ok && models && h.MatchHost(method, p) {
				return c
			}
		}
	}
	return table.spokenAt(method, t)
}

// clean are a path's forms without dot segments: as it is, and as the most
// lenient server would read it.
func clean(p string) []string {
	return slices.Compact([]string{path.Clean("/" + p), LaxPath(p)})
}

// Upgrades reports whether the client wants to speak another protocol.
func Upgrades(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

func isSocket(paths []string) bool {
	return slices.ContainsFunc(socketPaths, func(suffix string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return wire.Gets(http.MethodGet, p, suffix) })
	})
}

// isUnreadable reports whether a body of this type can carry a request to a
// model in which nobody looks here.
func isUnreadable(contentType string) bool {
	contentType = strings.ToLower(contentType)
	return slices.ContainsFunc(unreadableTypes, func(part string) bool { return strings.Contains(contentType, part) })
}

// MayServeModels reports whether models may be asked at the target's host, whatever
// the path.
func (table *Table) MayServeModels(t Target) bool {
	spoken := slices.ContainsFunc(table.formats, func(f Format) bool {
		f.Path = ""
		return f.Covers(t)
	})
	return spoken || table.servesModels(t)
}

// servesModels reports whether the target is a host that serves models: one
// that the configuration names as an upstream or names a format for, or a
// provider that is known.
func (table *Table) servesModels(t Target) bool {
	if slices.ContainsFunc(table.formats, func(f Format) bool { return f.Covers(t) }) {
		return true
	}
	if t.Door == DoorBaseURL || IsProvider(t.URL.Hostname()) {
		return true
	}
	return table.models[WithPort(t.URL.Scheme, t.URL.Host)]
}

// IsProvider reports whether a host is one that is known to serve models.
func IsProvider(host string) bool {
	host = LowerHost(host)
	google := isBelow(host, []string{"googleapis.com"})
	amazon := isBelow(host, amazonDomains)
	for label := range strings.SplitSeq(host, ".") { // an endpoint of a region or a network of its own has more of them
		if amazon && HasPrefixOf(label, bedrockHosts) || google && slices.ContainsFunc(googleHosts, func(part string) bool { return strings.Contains(label, part) }) {
			return true
		}
	}
	return isBelow(host, modelHosts)
}

// isBelow reports whether a host is one of the domains or below one. An address is below
// none, whatever its zone is called.
func isBelow(host string, domains []string) bool {
	return !strings.Contains(host, ":") && slices.ContainsFunc(domains, func(d string) bool { return host == d || strings.HasSuffix(host, "."+d) })
}

// harmless reports whether a path, written plainly, is one of a model API whose
// answers hold no calls.
func harmless(path string) bool {
	return HasSuffixOf(path, harmlessPaths) && !strings.ContainsFunc(path, unplain)
}

// completes reports whether a path, written plainly, is one that completes a
// prompt with text, which holds no calls. Some providers answer a request with
// messages there too.
func completes(path string) bool {
	ends := HasSuffixOf(path, []string{"/v1/completions", "/beta/completions"}) ||
		strings.Contains(path, "/deployments/") && strings.HasSuffix(path, "/completions") && !strings.HasSuffix(path, "/chat/completions")
	return ends && !strings.ContainsFunc(path, unplain)
}

// unplain reports whether a character could make two servers read a path
// differently.
func unplain(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/-_.:", c))
}

// MCPServer finds the configured MCP server that a URL leads to, whichever door
// it came by: the one whose path is the longest beginning of the URL's.
func (table *Table) MCPServer(u *url.URL) (name string, ok bool) {
	at, longest := LaxPath(u.Path)+"/", -1
	for n, c := range table.servers {
		if WithPort(c.Scheme, c.Host) != WithPort(u.Scheme, u.Host) {
			continue
		}
		base := strings.TrimSuffix(LaxPath(c.Path), "/") + "/"
		if strings.HasPrefix(at, base) && (len(base) > longest || len(base) == longest && n < name) {
			name, longest = n, len(base)
		}
	}
	return name, longest >= 0
}
