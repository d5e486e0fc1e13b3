package config

import (
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate/docs"
)

// Schema is the JSON schema of a configuration file, for editors. It is made from
// the types that a file is read into, from the words that keys choose from, and from the
// table of keys in the documentation. What values mean, such as names that must be there,
// only loading the file tells.
func Schema() map[string]any {
	d := describer{}
	for _, row := range keyRow.FindAllStringSubmatch(docs.ConfigurationKeys, -1) {
		d[row[1]] = described(row[2], row[3])
	}
	s := d.schemaOf("", reflect.TypeFor[Config]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "holdgate.yaml"
	return s
}

var (
	// keyRow is a row of the table of keys: the key, its default, and what it says.
	keyRow   = regexp.MustCompile("(?m)^\\| `([a-z0-9_.*\\[\\]]+)` \\| ([^|]*)\\| (.*) \\|$")
	pageLink = regexp.MustCompile(` \(\[[^]]*\]\([^)]*\)\)`)
)

// described is what an editor shows of a key.
func described(standard, says string) string {
	says = pageLink.ReplaceAllString(says, "")
	if standard = strings.TrimSpace(standard); standard != "" {
		says += "; default: " + standard
	}
	return says
}

// describer has what the documentation says of keys.
type describer map[string]string

// schemaOf is the schema of what the reader takes for a type, which a key has.
func (d describer) schemaOf(key string, t reflect.Type) map[string]any {
	s := d.schemaOfType(key, t)
	if says := d[key]; says != "" {
		s["description"] = says
	}
	if words := choices[key]; words != nil {
		of := s
		if items, ok := s["items"].(map[string]any); ok {
			of = items
		}
		of["enum"] = enum(words)
	}
	return s
}

// enum is a schema's list of words. A key without a value counts as missing.
func enum(words []string) []any {
	list := []any{nil}
	for _, w := range words {
		list = append(list, w)
	}
	return list
}

func (d describer) schemaOfType(key string, t reflect.Type) map[string]any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	own := reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]())
	switch {
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[yaml.Node]():
		s := d.schemaOfKeys(key, t)
		if own {
			s["type"] = []string{"object", "boolean", "null"} // a gate that is switched
		}
		return s
	case own && t.Kind() == reflect.String:
		return map[string]any{"type": []string{"string", "null"}}
	case own:
		return map[string]any{"type": []string{"string", "number", "null"}}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": d.schemaOf(join(key, "*"), t.Elem())}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": d.schemaOf(key+"[]", t.Elem())}
	}
	if kind := schemaKind(t.Kind()); kind != "" {
		return map[string]any{"type": []string{kind, "null"}}
	}
	return map[string]any{}
}

// schemaOfKeys is the schema of a struct: its keys, and no others.
func (d describer) schemaOfKeys(key string, t reflect.Type) map[string]any {
	properties := map[string]any{}
	for name, field := range keysOf(t) {
		properties[name] = d.schemaOf(join(key, name), field)
	}
	return map[string]any{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

// schemaKind is what JSON calls a kind of scalar; empty is anything.
func schemaKind(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	}
	return ""
}
