package route

import (
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A Format says which model format is spoken where no path tells. What a path
// tells comes first: no Format makes a model API one that is not gated.
type Format struct {
	Host string // with or without port; without one it stands for every port
	Path string // the beginning of paths, by whole segments; empty: every path
	Name string // of the codec: one of [FormatNames]
}

// Covers reports whether the format is spoken at the target.
func (f Format) Covers(t Target) bool {
	host := LowerHost(f.Host)
	if host != LowerHost(t.URL.Hostname()) && host != LowerHost(t.URL.Host) && host != WithPort(t.URL.Scheme, t.URL.Host) {
		return false
	}
	base := strings.TrimSuffix(LaxPath(f.Path), "/") + "/"
	return strings.HasPrefix(LaxPath(t.URL.Path)+"/", base)
}

// spokenAt returns the codec that the configuration names for what is asked
// of the target by a method, or nil.
func (table *Table) spokenAt(method string, t Target) Codec {
	if !wire.Posts(method, "/x", "/x") || harmless(t.URL.Path) {
		return nil
	}
	for _, f := range table.formats {
		if !f.Covers(t) {
			continue
		}
		for _, c := range table.codecs {
			if c.Name() == f.Name {
				return c
			}
		}
	}
	return nil
}

// unknownFormat returns the first name of a format that no codec has, or "".
func (table *Table) unknownFormat() string {
	for _, f := range table.formats {
		known := false
		for _, c := range table.codecs {
			known = known || c.Name() == f.Name
		}
		if !known {
			return f.Name
		}
	}
	return ""
}
