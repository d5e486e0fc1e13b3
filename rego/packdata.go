package rego

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"go.yaml.in/yaml/v3"
)

// The pack's data has tables that stand for several programs at once, by YAML's aliases.
// Read as opa reads it, each alias becomes a copy: half a megabyte, and most of the time
// that a sidecar takes to start. So the pack is read by readShared, where what an alias
// names is there once. Nothing changes data once it is read.

// readShared reads a YAML document into the values that util.Unmarshal would make of it.
func readShared(body []byte) (any, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(body, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return sharedNodes{}.value(doc.Content[0])
}

// sharedNodes are what the nodes that have an anchor were read as.
type sharedNodes map[*yaml.Node]any

func (s sharedNodes) value(n *yaml.Node) (v any, err error) {
	if n.Kind == yaml.AliasNode {
		return s.value(n.Alias)
	}
	if n.Anchor != "" {
		if v, ok := s[n]; ok {
			return v, nil
		}
		defer func() { s[n] = v }()
	}
	switch n.Kind {
	case yaml.MappingNode:
		return s.object(n)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			if list[i], err = s.value(c); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.ScalarNode:
		return scalar(n)
	}
	return nil, fmt.Errorf("line %d: not a value", n.Line)
}

// object reads a mapping. Its own keys come before those that it merges.
func (s sharedNodes) object(n *yaml.Node) (object, error) {
	o := make(object, len(n.Content)/2)
	var merged object
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		v, err := s.value(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		if key.ShortTag() != "!!merge" {
			o[key.Value] = v
			continue
		}
		var ok bool
		if merged, ok = v.(object); !ok {
			return nil, fmt.Errorf("line %d: what is merged is no single object", key.Line)
		}
	}
	for k, v := range merged {
		if _, own := o[k]; !own {
			o[k] = v
		}
	}
	return o, nil
}

func scalar(n *yaml.Node) (any, error) {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		return b, n.Decode(&b)
	case "!!int", "!!float":
		number := json.Number(n.Value)
		if _, err := json.Marshal(number); err != nil {
			return nil, fmt.Errorf("line %d: write the number %s as JSON has it", n.Line, n.Value)
		}
		return number, nil
	default:
		return nil, fmt.Errorf("line %d: a value of the type %s", n.Line, tag)
	}
}

// astObject is data as a policy reads it. What is in data twice is made once.
func astObject(data object) (ast.Object, error) {
	v, err := sharedTerms{}.value(data)
	if err != nil {
		return nil, err
	}
	return v.(ast.Object), nil
}

// sharedTerms are what objects were made into, by their addresses.
type sharedTerms map[uintptr]ast.Value

func (s sharedTerms) value(v any) (ast.Value, error) {
	switch v := v.(type) {
	case object:
		at := reflect.ValueOf(v).Pointer()
		if made, ok := s[at]; ok {
			return made, nil
		}
		pairs := make([][2]*ast.Term, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			made, err := s.value(v[k])
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, [2]*ast.Term{ast.InternedTerm(k), ast.NewTerm(made)})
		}
		o := ast.NewObject(pairs...)
		s[at] = o
		return o, nil
	case []any:
		list := make([]*ast.Term, len(v))
		for i, e := range v {
			made, err := s.value(e)
			if err != nil {
				return nil, err
			}
			list[i] = ast.NewTerm(made)
		}
		return ast.NewArray(list...), nil
	}
	return ast.InterfaceToValue(v)
}
