package rego

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/schema"
)

// checkSettings holds data.settings against the pack's schema, so that a slip in it
// is an error and not a rule that says nothing. The files are those of the user.
func checkSettings(files []source, settings any) error {
	s, err := schema.Settings()
	if err != nil {
		return err
	}
	f := schema.Fitting{}
	f.Check(settings, s, nil)
	list := make([]error, len(f.Found))
	for i, m := range f.Found {
		list[i] = fmt.Errorf("%s%s: %s", placeOf(files, append([]string{rootSettings}, m.At...), m.Key), m.Where(rootSettings), m.Text)
	}
	return errors.Join(list...)
}

// checkMisplaced finds settings that do not stand below settings, where nobody would
// look at them. A rule of the user's may look there for something of its own.
func checkMisplaced(files []source, modules map[string]*ast.Module) error {
	s, err := schema.Settings()
	if err != nil {
		return err
	}
	var list []error
	for _, f := range files {
		data, err := readData([]source{f})
		if err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(data)) {
			_, setting := s.Properties[key]
			switch {
			case key == rootSettings || readsData(modules, key):
			case setting:
				list = append(list, fmt.Errorf("%s%q is one of the settings: put it under %s: in the file", placeOf([]source{f}, []string{key}, true), key, rootSettings))
			case holdgate.Closest(key, []string{rootSettings}) != "":
				list = append(list, fmt.Errorf("%sunknown key %q: did you mean %q?", placeOf([]source{f}, []string{key}, true), key, rootSettings))
			}
		}
	}
	return errors.Join(list...)
}

// readsData reports whether some rule can see what is below data under a name.
func readsData(modules map[string]*ast.Module, name string) (found bool) {
	for _, m := range modules {
		ast.WalkRefs(m, func(r ast.Ref) bool {
			if len(r) > 1 && r[0].Equal(ast.DefaultRootDocument) {
				key, written := r[1].Value.(ast.String)
				found = found || !written || string(key) == name
			}
			return found
		})
	}
	return found
}

// placeOf is the file and line of what is at a place below data, with a colon and a
// blank behind it; that of what it would stand in where it is missing. Empty: no file
// says anything of it.
func placeOf(files []source, at []string, key bool) string {
	place, deepest := "", 0
	for _, f := range files {
		var n yaml.Node
		if len(at) < len(f.dir) || !slices.Equal(at[:len(f.dir)], f.dir) || yaml.Unmarshal(f.body, &n) != nil || len(n.Content) == 0 {
			continue
		}
		line, depth := lineOf(n.Content[0], at[len(f.dir):], key)
		if depth += len(f.dir); depth > deepest {
			place, deepest = fmt.Sprintf("%s:%d: ", f.name, line), depth
		}
	}
	return place
}

// lineOf is the line of what is at a place in a document, or of the last thing on the
// way there, and how much of the way there is.
func lineOf(n *yaml.Node, at []string, key bool) (line, depth int) {
	line = n.Line
	for depth < len(at) {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		name, value := n, (*yaml.Node)(nil)
		if i, err := strconv.Atoi(strings.Trim(at[depth], "[]")); n.Kind == yaml.SequenceNode && err == nil && i < len(n.Content) {
			name, value = n.Content[i], n.Content[i]
		}
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == at[depth] {
				name, value = n.Content[i], n.Content[i+1]
			}
		}
		if value == nil {
			return line, depth
		}
		depth++
		n, line = value, value.Line
		if depth == len(at) && key || n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
			line = name.Line
		}
	}
	return line, depth
}
