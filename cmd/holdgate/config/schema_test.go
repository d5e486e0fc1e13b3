package config

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
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
