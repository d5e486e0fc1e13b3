package config

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/holdgate/holdgate/docs"
)

// What the reader takes, the schema takes, and the other way round: both are made
// from the same types, and this holds them together where they decide themselves.
func TestTheSchemaTakesWhatIsRead(t *testing.T) {
	text, err := json.Marshal(Schema())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("holdgate.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("holdgate.json")
	if err != nil {
		t.Fatal(err)
	}
	starter, err := os.ReadFile("../cli/setup/starter/holdgate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		text string
		ok   bool
	}{
		{string(starter), true},
		{"gates: {before_commit: true, after_plan: {enabled: false}}\n", true},
		{"listen:\n", true},
		{"routes: [{match: {risk: [high]}, tell: [slack], then: [{after: 5m, tell: [email]}]}]\n", true},
		{"upstreams: {own: {url: \"https://models.example\"}}\n", true},
		{"polcy: {}\n", false},
		{"routes: [{match: {risk: high}}]\n", false},
		{"routes: {}\n", false},
		{"listen: {agents: [1]}\n", false},
		{"gates: {before_commit: [1]}\n", false},
		{"upstreams: {own: {adress: x}}\n", false},
		{"policy: {mode: enforce, on_error: null}\nsessions: {mode: manual}\n", true},
	}
	for _, tt := range tests {
		var v any
		if err := yaml.Unmarshal([]byte(tt.text), &v); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		v, err = jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		var conf Config
		_, readErr := conf.parse("holdgate.yaml", []byte(tt.text))
		if schemaErr := schema.Validate(v); (schemaErr == nil) != tt.ok || (readErr == nil) != tt.ok {
			t.Errorf("%.60q: the schema says %v, the reader %v; want it taken: %t", tt.text, schemaErr, readErr, tt.ok)
		}
	}
}

// Keys that choose from words have them in the schema, and every key is described.
func TestTheSchemaSaysWhatKeysAre(t *testing.T) {
	keys := 0
	var look func(key string, s map[string]any)
	look = func(key string, s map[string]any) {
		below, _ := s["properties"].(map[string]any)
		for name, p := range below {
			look(join(key, name), p.(map[string]any))
		}
		if more, ok := s["additionalProperties"].(map[string]any); ok {
			look(join(key, "*"), more)
		}
		items, isList := s["items"].(map[string]any)
		if isList {
			look(key+"[]", items)
		}
		if below != nil || strings.HasSuffix(key, "*") || strings.HasSuffix(key, "[]") {
			return
		}
		if s["additionalProperties"] == nil && !(isList && items["properties"] != nil) {
			keys++
			if s["description"] == nil {
				t.Errorf("%s is not described", key)
			}
		}
		if _, chooses := choices[key]; chooses {
			if isList {
				s = items
			}
			if list, _ := s["enum"].([]any); len(list) < 3 {
				t.Errorf("%s has the words %v", key, list)
			}
		}
	}
	look("", Schema())
	if keys < 150 {
		t.Errorf("%d keys were looked at", keys)
	}
	for key := range choices {
		if !strings.Contains(docs.ConfigurationKeys, "| `"+key+"` |") {
			t.Errorf("%s is no key", key)
		}
	}
}
