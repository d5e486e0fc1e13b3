package config

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Schema is the JSON schema of a configuration file, for editors. It is made from
// the types that a file is read into, and knows keys and kinds of values; what
// values mean, such as names that must be there, only loading the file tells.
func Schema() map[string]any {
	s := schemaOf(reflect.TypeFor[Config]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "holdgate.yaml"
	return s
}

// schemaOf is the schema of what the reader takes for a type.
func schemaOf(t reflect.Type) map[string]any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	own := reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]())
	switch {
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[yaml.Node]():
		s := schemaOfKeys(t)
		if own {
			s["type"] = []string{"object", "boolean", "null"} // a gate that is switched
		}
		return s
	case own && t.Kind() == reflect.String:
		return map[string]any{"type": []string{"string", "null"}}
	case own:
		return map[string]any{"type": []string{"string", "number", "null"}}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": schemaOf(t.Elem())}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": schemaOf(t.Elem())}
	}
	if kind := schemaKind(t.Kind()); kind != "" {
		return map[string]any{"type": []string{kind, "null"}}
	}
	return map[string]any{}
}

// schemaOfKeys is the schema of a struct: its keys, and no others.
func schemaOfKeys(t reflect.Type) map[string]any {
	properties := map[string]any{}
	for name, field := range keysOf(t) {
		properties[name] = schemaOf(field)
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
