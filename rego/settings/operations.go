package settings

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// A service is an HTTP API whose requests have names, as data.settings.operations
// lists it.
type service struct {
	name      string         // "github"; {x} stands for a label of the host
	hosts     [][]string     // patterns, by label; a port is the last part of the last one
	actions   bool           // requests name their operation themselves
	endpoints []httpEndpoint // the most specific first
}

// A httpRoad is a method and a pattern of paths, and how what it matches is
// called.
type httpEndpoint struct {
	method string
	parts  []string // literal, "{}" or "{name}" for one segment, "**" for the rest
	query  string   // a parameter that must be there; empty: none must
	name   string
}

// unresolvedOperation ends the name of what a service could take for two
// different requests.
const unresolvedOperation = "unresolved"

// Services are HTTP APIs.
type Services []service

// ReadServices reads data.settings.operations. What has another form is an
// error: rules rely on the names.
func ReadServices(data object) (Services, error) {
	settings, _ := data["settings"].(object)
	table, _ := settings["operations"].(object)
	var list Services
	for key, v := range table {
		s, err := readService(v)
		if err != nil {
			return nil, fmt.Errorf("reading data.settings.operations.%s: %w", key, err)
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b service) int { return cmp.Compare(a.name, b.name) })
	return list, nil
}

func readService(v any) (s service, err error) {
	o, ok := v.(object)
	if !ok {
		return s, fmt.Errorf("want {name, hosts, requests or actions}")
	}
	s.name, _ = o["name"].(string)
	s.actions, _ = o["actions"].(bool)
	hosts, _ := o["hosts"].([]any)
	for _, h := range hosts {
		host, ok := h.(string)
		if !ok {
			return s, fmt.Errorf("want names of hosts")
		}
		s.hosts = append(s.hosts, strings.Split(strings.ToLower(host), "."))
	}
	for key, name := range readTexts(o["requests"]) {
		method, target, ok := strings.Cut(key, " ")
		if !ok || !strings.HasPrefix(target, "/") {
			return s, fmt.Errorf("%q: want METHOD /PATH", key)
		}
		path, query, _ := strings.Cut(target, "?")
		s.endpoints = append(s.endpoints, httpEndpoint{method: method, parts: segments(path), query: query, name: name})
	}
	if s.name == "" || len(s.hosts) == 0 || len(s.endpoints) == 0 && !s.actions {
		return s, fmt.Errorf("want a name, hosts, and requests or actions")
	}
	slices.SortFunc(s.endpoints, moreSpecific)
	return s, nil
}

// moreSpecific orders roads so that the first one that matches is the nearest:
// what is written out goes before what stands for anything.
func moreSpecific(a, b httpEndpoint) int {
	for i := range min(len(a.parts), len(b.parts)) {
		if c := cmp.Compare(openness(a.parts[i]), openness(b.parts[i])); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(b.parts), len(a.parts)), cmp.Compare(b.query, a.query), cmp.Compare(strings.Join(a.parts, "/"), strings.Join(b.parts, "/")), cmp.Compare(a.method, b.method))
}

func openness(part string) int {
	switch {
	case part == "**":
		return 2
	case strings.HasPrefix(part, "{"):
		return 1
	}
	return 0
}

// segments are the parts of a path between slashes, without an empty one at its
// end.
func segments(path string) []string {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// Operation names what a request asks its service to do; "" where the service
// or the request is in no table. A request that the service could take for
// another one ends in ".unresolved".
func (list Services) Operation(h *holdgate.HTTP) string {
	for _, s := range list {
		captured, ok := s.serves(h.Host)
		if !ok {
			continue
		}
		if name := s.operation(h); name != "" {
			return expand(s.name+"."+name, captured)
		}
	}
	return ""
}

// serves reports whether a host is one of the service's, and what the parts in
// braces of its name stand for.
func (s *service) serves(host string) (captured map[string]string, ok bool) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	for _, pattern := range s.hosts {
		labels := strings.Split(name, ".")
		if last := pattern[len(pattern)-1]; strings.Contains(last, ":") {
			labels[len(labels)-1] += ":" + port
			if strings.HasPrefix(last, "**:") {
				if strings.TrimPrefix(last, "**") == ":"+port {
					return nil, true
				}
				continue
			}
		}
		if captured, ok := matchParts(pattern, labels); ok {
			return captured, true
		}
	}
	return nil, false
}

// Operation names a request without the service's own name.
func (s *service) operation(h *holdgate.HTTP) string {
	twofold := len(h.Unresolved) > 0 || h.MethodOverride != ""
	if s.actions {
		return s.action(h, twofold)
	}
	if twofold {
		return unresolvedOperation
	}
	method := h.Method
	if method == "HEAD" {
		method = "GET"
	}
	parts := segments(h.Path)
	query, err := url.ParseQuery(h.Query)
	if err != nil {
		return unresolvedOperation
	}
	near := false // some road would take it, were its letters large or small otherwise
	for _, r := range s.endpoints {
		if r.method != method || r.query != "" && !query.Has(r.query) {
			continue
		}
		if captured, ok := matchParts(r.parts, parts); ok {
			return expand(r.name, captured)
		}
		_, ok := matchParts(inLower(r.parts), inLower(parts))
		near = near || ok
	}
	if near {
		return unresolvedOperation
	}
	return ""
}

// action is the operation that a request names itself.
func (s *service) action(h *holdgate.HTTP, twofold bool) string {
	name := h.Action[strings.LastIndexByte(h.Action, '.')+1:]
	switch {
	case h.Action == "" && (h.Method != "POST" || len(segments(h.Path)) > 0):
		return "" // a request that its path names
	case twofold, !isPlainName(name), strings.Contains(h.Action, ","):
		return unresolvedOperation
	}
	return name
}

// matchParts matches a path or host with a pattern, part by part.
func matchParts(pattern, parts []string) (captured map[string]string, ok bool) {
	for i, p := range pattern {
		if p == "**" {
			return captured, len(parts) > i
		}
		if i >= len(parts) {
			return nil, false
		}
		switch {
		case p == "*", p == "{}":
		case strings.HasPrefix(p, "{"):
			if captured == nil {
				captured = map[string]string{}
			}
			captured[p] = parts[i]
		case p != parts[i]:
			return nil, false
		}
	}
	return captured, len(pattern) == len(parts)
}

// expand writes what was captured into a name. What is no plain name there is
// not resolved.
func expand(name string, captured map[string]string) string {
	for k, v := range captured {
		if strings.Contains(name, k) {
			if !isPlainName(v) {
				v = unresolvedOperation
			}
			name = strings.ReplaceAll(name, k, v)
		}
	}
	return name
}

// isPlainName reports whether a text can be part of a name: letters, digits,
// hyphens and underscores.
func isPlainName(s string) bool {
	return s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	})
}

func inLower(parts []string) []string {
	low := make([]string, len(parts))
	for i, p := range parts {
		low[i] = strings.ToLower(p)
	}
	return low
}
