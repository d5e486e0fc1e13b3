package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parse reads YAML over c, and returns its nodes; nil where there is nothing. name is
// the file's name in errors.
func (c *Config) parse(name string, text []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil // an empty file
		}
		return nil, explain(name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("configuration %s holds more than one document", name)
	}
	err := doc.Decode(c)
	if _, typed := errors.AsType[*yaml.TypeError](err); err != nil && !typed {
		return nil, explain(name, err)
	}
	r := reader{file: name}
	r.read(doc.Content[0], reflect.TypeFor[Config](), "")
	if len(r.faults) > 0 {
		return nil, inOrder(r.faults)
	}
	if err != nil {
		return nil, explain(name, err)
	}
	return doc.Content[0], nil
}

// A reader holds nodes against the types that they are for, and collects what is
// wrong: the decoder knows no keys, and its errors show values, which may be secrets.
type reader struct {
	file   string
	faults []faultAt
	inside []*yaml.Node // aliases that are being read
}

func (r *reader) fault(n *yaml.Node, key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if key != "" {
		text = key + ": " + text
	}
	r.faults = append(r.faults, faultAt{n.Line, fmt.Sprintf("%s:%d: %s", r.file, n.Line, text)})
}

// A faultAt is what is wrong with a line of the file; 0 is none of its lines.
type faultAt struct {
	line int
	text string
}

// inOrder is an error of the faults as they stand in the file, and behind them those that
// stand elsewhere.
func inOrder(list []faultAt) error {
	slices.SortStableFunc(list, func(a, b faultAt) int { return cmp.Compare(cmp.Or(a.line, math.MaxInt), cmp.Or(b.line, math.MaxInt)) })
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = f.text
	}
	return errors.New(strings.Join(texts, "\n"))
}

// read holds a node against a type.
func (r *reader) read(n *yaml.Node, t reflect.Type, key string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.Kind == yaml.AliasNode {
		if slices.Contains(r.inside, n.Alias) {
			r.fault(n, key, "it holds itself")
			return
		}
		r.inside = append(r.inside, n.Alias)
		r.read(n.Alias, t, key)
		r.inside = r.inside[:len(r.inside)-1]
		return
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return // as if the key were missing
	}
	switch own := reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()); {
	case t.Kind() == reflect.Struct && own && n.Kind == yaml.ScalarNode:
		r.scalar(n, reflect.TypeFor[bool](), key) // a gate that is switched
	case t.Kind() == reflect.Struct:
		r.object(n, t, key)
	case own:
		r.scalar(n, t, key)
	case t.Kind() == reflect.Map:
		r.names(n, t, key)
	case t.Kind() == reflect.Slice && n.Kind != yaml.SequenceNode:
		r.fault(n, key, "want a list, this is %s", kindOf(n))
	case t.Kind() == reflect.Slice:
		for i, item := range n.Content {
			r.read(item, t.Elem(), fmt.Sprintf("%s[%d]", key, i))
		}
	case t.Kind() != reflect.Interface:
		r.scalar(n, t, key)
	}
}

// object reads keys that a struct has.
func (r *reader) object(n *yaml.Node, t reflect.Type, key string) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, key, "want keys with values, this is %s", kindOf(n))
		return
	}
	known := keysOf(t)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		switch field, ok := known[name.Value]; {
		case ok:
			r.read(value, field, join(key, name.Value))
		case name.ShortTag() == "!!merge":
			r.merged(value, t, key)
		default:
			r.fault(name, key, "unknown key %q%s", name.Value, hint(name.Value, slices.Sorted(maps.Keys(known))))
		}
	}
}

// merged reads what << lays under the keys of a mapping: one mapping, or several.
func (r *reader) merged(n *yaml.Node, t reflect.Type, key string) {
	if n.Kind != yaml.SequenceNode {
		r.read(n, t, key)
		return
	}
	for _, one := range n.Content {
		r.read(one, t, key)
	}
}

// names reads a map, whose keys are names.
func (r *reader) names(n *yaml.Node, t reflect.Type, key string) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, key, "want names with values, this is %s", kindOf(n))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.ShortTag() == "!!merge" {
			r.merged(value, t, key)
			continue
		}
		r.read(name, t.Key(), key)
		r.read(value, t.Elem(), join(key, name.Value))
	}
}

// scalar reads one value.
func (r *reader) scalar(n *yaml.Node, t reflect.Type, key string) {
	err := n.Decode(reflect.New(t).Interface())
	if err == nil {
		return
	}
	text := "want " + wanted(t) + ", this is " + kindOf(n)
	if reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()) {
		text = lineFault.ReplaceAllString(strings.Join(typeErrors(err), "; "), "$2")
	}
	r.fault(n, key, "%s", text)
}

// wanted is what a type is written as.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// kindOf is what a node is. Its value may be a secret.
func kindOf(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode {
		return kindOf(n.Alias)
	}
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a mapping (keys with values)"
	}
	switch n.ShortTag() {
	case "!!bool":
		return "true or false"
	case "!!int", "!!float":
		return "a number"
	case "!!null":
		return "nothing"
	}
	return "a text"
}

// keysOf are the keys that a struct has in YAML, those of embedded ones included.
func keysOf(t reflect.Type) map[string]reflect.Type {
	keys := map[string]reflect.Type{}
	for f := range t.Fields() {
		switch name, how, _ := strings.Cut(f.Tag.Get("yaml"), ","); {
		case how == "inline":
			maps.Copy(keys, keysOf(f.Type))
		case name != "-" && name != "":
			keys[name] = f.Type
		}
	}
	return keys
}

func join(key, name string) string { return strings.TrimPrefix(key+"."+name, ".") }

// hint ends an error about a key that is not known.
func hint(word string, known []string) string {
	if g := guess(word, known); g != "" {
		return g
	}
	return ": want one of " + strings.Join(known, ", ")
}

var lineFault = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)

// typeErrors are the faults that the decoder found.
func typeErrors(err error) []string {
	if e, ok := errors.AsType[*yaml.TypeError](err); ok {
		return e.Errors
	}
	return []string{err.Error()}
}

// explain says where the decoder found what is wrong with a file.
func explain(name string, err error) error {
	var faults []string
	for _, t := range typeErrors(err) {
		where := name
		if m := lineFault.FindStringSubmatch(t); m != nil {
			where, t = name+":"+m[1], m[2]
		}
		faults = append(faults, where+": "+t)
	}
	return errors.New(strings.Join(faults, "\n"))
}

// located puts the file and line before the faults of what the file says: each begins
// with its key. What the environment or the command line says has no line.
func located(file string, doc *yaml.Node, err error) error {
	if err == nil || doc == nil {
		return err
	}
	var list []faultAt
	for text := range strings.SplitSeq(err.Error(), "\n") {
		key, _, _ := strings.Cut(text, ": ")
		at := lineOf(doc, key)
		if at > 0 {
			text = fmt.Sprintf("%s:%d: %s", file, at, text)
		}
		list = append(list, faultAt{at, text})
	}
	return inOrder(list)
}

// lineOf is the line of a key such as routes[0].tell, or of what it would stand in
// where it is missing; 0 where that is missing too.
func lineOf(n *yaml.Node, key string) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for i, value := range n.Content {
		name, line := fmt.Sprintf("[%d]", i), value.Line
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			name, line = n.Content[i-1].Value, n.Content[i-1].Line
		}
		rest, ok := strings.CutPrefix(key, name)
		switch {
		case !ok || rest != "" && rest[0] != '.' && rest[0] != '[':
			continue
		case rest == "":
			return line
		}
		if inside := lineOf(value, strings.TrimPrefix(rest, ".")); inside > 0 {
			return inside
		}
		if !strings.ContainsAny(strings.TrimPrefix(rest, "."), ".[") {
			return line // where it is missing
		}
	}
	return 0
}
