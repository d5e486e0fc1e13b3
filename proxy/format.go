package proxy

import (
	"strings"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Format says which model format is spoken where no path tells. What a path
// tells comes first: no Format makes a model API one that is not gated.
type Format struct {
	Host string // with or without port; without one it stands for every port
	Path string // the beginning of paths, by whole segments; empty: every path
	Name string // of the codec: openai, anthropic, responses, gemini, ollama or bedrock
}

// covers reports whether the format is spoken at the target.
func (f Format) covers(t target) bool {
	host := route.LowerHost(f.Host)
	if host != route.LowerHost(t.url.Hostname()) && host != route.LowerHost(t.url.Host) && host != route.WithPort(t.url.Scheme, t.url.Host) {
		return false
	}
	base := strings.TrimSuffix(route.LaxPath(f.Path), "/") + "/"
	return strings.HasPrefix(route.LaxPath(t.url.Path)+"/", base)
}

// spokenAt returns the codec that the configuration names for what is asked
// of the target by a method, or nil.
func (s *Server) spokenAt(method string, t target) Codec {
	if !wire.Posts(method, "/x", "/x") || harmless(t.url.Path) {
		return nil
	}
	for _, f := range s.c.Formats {
		if !f.covers(t) {
			continue
		}
		for _, c := range s.codecs {
			if c.Name() == f.Name {
				return c
			}
		}
	}
	return nil
}

// unknownFormat returns the first name of a format that no codec has, or "".
func (s *Server) unknownFormat() string {
	for _, f := range s.c.Formats {
		known := false
		for _, c := range s.codecs {
			known = known || c.Name() == f.Name
		}
		if !known {
			return f.Name
		}
	}
	return ""
}
