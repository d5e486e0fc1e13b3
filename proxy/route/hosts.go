package route

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate"
)

// WithPort returns host:port in lower case, with the scheme's own port where
// the host names none, be it that a colon stands there (RFC 3986 section 3.2.3).
func WithPort(scheme, host string) string {
	h, p, err := net.SplitHostPort(host)
	if err != nil {
		h = trimBrackets(host)
	}
	if p == "" {
		p = "80"
		if scheme == "https" {
			p = "443"
		}
	}
	if n, err := strconv.ParseUint(p, 10, 16); err == nil {
		p = strconv.FormatUint(n, 10)
	}
	return net.JoinHostPort(LowerHost(h), p)
}

// HostOnly is the host of HOST:PORT, or of HOST.
func HostOnly(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		return h
	}
	return trimBrackets(hostport)
}

func trimBrackets(h string) string {
	return strings.TrimSuffix(strings.TrimPrefix(h, "["), "]")
}

// LowerHost folds a host name for comparison: case, and the root's dot.
func LowerHost(h string) string { return strings.TrimSuffix(strings.ToLower(h), ".") }

// TrimDefaultPort is host without the scheme's own port, however that is
// written; other ports are written in one way.
func TrimDefaultPort(scheme, host string) string {
	h, _, err := net.SplitHostPort(host)
	if err != nil {
		return host
	}
	_, p, err := net.SplitHostPort(WithPort(scheme, host))
	if err != nil || (scheme == "http" && p != "80") || (scheme == "https" && p != "443") {
		return net.JoinHostPort(h, p)
	}
	if strings.Contains(h, ":") {
		return "[" + h + "]"
	}
	return h
}

// OddHost says why a host is refused by its letters alone, or "". What is not
// ASCII is some other name by the time it is dialled (a full stop may be
// written as an ideographic one), and policy would have seen the first. What no
// host's name has ends one for some programs. A zone (RFC 4007, section 11.2) is of
// link-local addresses, and on others it is dialled past: it is no name to be known by.
func OddHost(host string) string {
	if strings.ContainsFunc(host, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return "the host " + holdgate.Visible(host) + " is refused because two programs could take it for two hosts: write it in ASCII (xn--...)"
	}
	name := HostOnly(host)
	if a, err := netip.ParseAddr(name); err == nil && a.Zone() != "" && !a.IsLinkLocalUnicast() {
		return "the host " + host + " is refused because its address has no zone: leave away what stands behind the %"
	} else if err != nil && strings.ContainsFunc(name, notOfNames) {
		return "the host " + host + " is refused because two programs could take it for two hosts: names are made of letters, digits, dots, hyphens and underscores"
	}
	if strings.HasPrefix(host, ".") || strings.Contains(host, "..") {
		return "the host " + host + " is refused because a label of it is empty, which some programs read over"
	}
	return ""
}

// notOfNames reports whether a character is of no host's name (RFC 952, RFC 1123, section 2.1;
// underscores are in use).
func notOfNames(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_')
}

// LaxPath is a decoded path as the most lenient server would read it, in lower
// case: without parameters (;x), blanks and a .json at the end of a segment,
// with backslashes as slashes, cleaned. Two paths that some server takes for
// one have one such form.
func LaxPath(p string) string {
	segments := strings.Split(strings.ToLower(strings.ReplaceAll(p, "\\", "/")), "/")
	for i, s := range segments {
		s, _, _ = strings.Cut(s, ";")
		s = strings.TrimFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || c == 0xa0 })
		segments[i] = strings.TrimSuffix(s, ".json")
	}
	return path.Clean("/" + strings.Join(segments, "/"))
}

// arnEndpoint is an endpoint of Amazon Bedrock with the name of a resource for a model's
// id. The slash in such a name is written %2F, which all of its clients do.
var arnEndpoint = regexp.MustCompile(`^/model/arn(?:%3a|[a-z0-9._:-])*%2f[a-z0-9](?:%3a|[a-z0-9._:-])*/(?:converse|converse-stream|invoke|invoke-with-response-stream|count-tokens)$`)

// Join appends an escaped path to a base URL.
func Join(base *url.URL, sub, query string) (*url.URL, error) {
	if rest, ok := strings.CutPrefix(sub, "//openai/"); ok { // Azure's clients write it so behind a base that ends in a slash
		sub = "/openai/" + rest
	}
	low := strings.ToLower(sub)
	if arnEndpoint.MatchString(low) {
		low = strings.Replace(low, "%2f", "", 1)
	}
	for _, bad := range []string{"//", "\\", "%2f", "%5c", "/../", "/./", "%2e"} {
		if strings.Contains(low, bad) {
			return nil, fmt.Errorf("the path contains %q, which is refused because two servers could read it differently", bad)
		}
	}
	if strings.HasSuffix(low, "/..") || strings.HasSuffix(low, "/.") {
		return nil, fmt.Errorf("the path ends in a dot segment, which is refused")
	}
	u := *base
	p, err := url.PathUnescape(sub)
	if err != nil {
		return nil, fmt.Errorf("reading the path: %w", err)
	}
	u.Path = strings.TrimSuffix(base.Path, "/") + p
	u.RawPath = strings.TrimSuffix(base.EscapedPath(), "/") + sub
	if u.Path == "" {
		u.Path, u.RawPath = "/", "/"
	}
	u.RawQuery = query
	return &u, nil
}

// SameOrigin reports whether two URLs are of one scheme, host and port.
func SameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && WithPort(a.Scheme, LowerHost(a.Host)) == WithPort(b.Scheme, LowerHost(b.Host))
}

// HasSuffixOf reports whether one of the suffixes ends s.
func HasSuffixOf(s string, suffixes []string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(s, suffix) })
}

func HasPrefixOf(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}
