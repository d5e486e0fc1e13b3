package proxy

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// recognised is what a request is by its method, host, path and headers. What
// its body says comes later; see [exchange.look].
type recognised struct {
	codec  Codec  // of the format that is spoken; nil where none is
	models bool   // the host serves models
	why    string // the answer could carry calls that nobody would see, and why; else empty
	file   bool   // it is for a file that may be what has come of a batch
}

// recognise says what a request is. What a path tells comes first, then the
// configuration, then the table of roads that no codec reads: the first that
// fits.
func (s *Server) recognise(r *http.Request, t target) recognised {
	is := recognised{models: s.servesModels(t)}
	methods, paths := []string{method(r)}, clean(t.url.Path)
	if is.codec = s.codecAt(methods[0], paths, t, is.models); is.codec != nil {
		return is
	}
	override, unresolved := twoReadings(r.Method, t.url, r.Header)
	if override != "" { // some servers go by it
		methods = append(methods, override)
		if is.codec = s.codecAt(override, paths, t, is.models); is.codec != nil {
			return is
		}
	}
	for i := range roadTable {
		if row := &roadTable[i]; row.fits(methods, paths, t, is.models) {
			is.file, is.why = row.is == aFile, row.says(t.url.Path)
			break
		}
	}
	twice := func(why string) bool { return why == holdgate.UnresolvedURL || why == holdgate.UnresolvedMethod }
	switch {
	case is.models && slices.ContainsFunc(unresolved, twice):
		is.file, is.why = false, "headers let the request to a host that serves models be taken for another one, whose calls would go unseen: leave them away"
	case upgrades(r) && (is.models || isSocket(paths)):
		is.file, is.why = false, "upgraded connections to a model API are not gated, so they are refused: use plain HTTP"
	case is.models && is.why == "" && slices.ContainsFunc(r.Header.Values("Content-Type"), isUnreadable):
		is.file, is.why = false, ungated(t.url.Path)
	}
	return is
}

// codecAt picks the codec by the path, also as the most lenient server would
// read it, by whether the host serves models, and by the configuration.
func (s *Server) codecAt(method string, paths []string, t target, models bool) Codec {
	for _, p := range paths {
		for _, c := range s.codecs {
			if c.Match(method, p) {
				return c
			}
			if h, ok := c.(HostMatcher); ok && models && h.MatchHost(method, p) {
				return c
			}
		}
	}
	return s.spokenAt(method, t)
}

// clean are a path's forms without dot segments: as it is, and as the most
// lenient server would read it.
func clean(p string) []string {
	return slices.Compact([]string{path.Clean("/" + p), route.LaxPath(p)})
}

// upgrades reports whether the client wants to speak another protocol.
func upgrades(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

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

// servesModels reports whether the target is a host that serves models: one
// that the configuration names as an upstream or names a format for, or a
// provider that is known.
func (s *Server) servesModels(t target) bool {
	if slices.ContainsFunc(s.c.Formats, func(f Format) bool { return f.covers(t) }) {
		return true
	}
	if t.door == doorBaseURL || isModelHost(t.url.Hostname()) {
		return true
	}
	return s.serving[route.WithPort(t.url.Scheme, t.url.Host)]
}

func isModelHost(host string) bool {
	host = route.LowerHost(host)
	google := strings.HasSuffix(host, ".googleapis.com")
	for label := range strings.SplitSeq(host, ".") { // an endpoint of a region or a network of its own has more of them
		if route.HasPrefixOf(label, bedrockHosts) || google && slices.ContainsFunc(googleHosts, func(part string) bool { return strings.Contains(label, part) }) {
			return true
		}
	}
	return route.HasSuffixOf(host, modelHosts)
}

// harmless reports whether a path, written plainly, is one of a model API whose
// answers hold no calls.
func harmless(path string) bool {
	return route.HasSuffixOf(path, harmlessPaths) && !strings.ContainsFunc(path, unplain)
}

// completes reports whether a path, written plainly, is one that completes a
// prompt with text, which holds no calls. Some providers answer a request with
// messages there too.
func completes(path string) bool {
	ends := route.HasSuffixOf(path, []string{"/v1/completions", "/beta/completions"}) ||
		strings.Contains(path, "/deployments/") && strings.HasSuffix(path, "/completions") && !strings.HasSuffix(path, "/chat/completions")
	return ends && !strings.ContainsFunc(path, unplain)
}

// unplain reports whether a character could make two servers read a path
// differently.
func unplain(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/-_.:", c))
}
