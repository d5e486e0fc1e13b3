package authzen

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The document has each endpoint that is served, and each type as it is written.
func TestTheDocumentIsOfWhatIsServed(t *testing.T) {
	var d struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
				Required   []string
			}
		}
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	var served, said []string
	for _, r := range New(Config{}).routes() {
		served = append(served, r.pattern)
	}
	for path, operations := range d.Paths {
		for method := range operations {
			said = append(said, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(served)
	slices.Sort(said)
	if diff := cmp.Diff(served, said); diff != "" {
		t.Errorf("routes (-served +documented):\n%s", diff)
	}
	for _, v := range []any{Metadata{}, Decision{}, Decisions{}, Context{}, AccessRequest{}, EvaluationErr{}, Approval{}, Tasked{}, Task{}, Display{}, Result{}, Problem{}} {
		typ := reflect.TypeOf(v)
		schema, ok := d.Components.Schemas[typ.Name()]
		if !ok {
			t.Errorf("type %s has no schema", typ.Name())
			continue
		}
		var members, required, said []string
		for f := range typ.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			members = append(members, name)
			if !strings.Contains(options, "omit") {
				required = append(required, name)
			}
		}
		for name := range schema.Properties {
			said = append(said, name)
		}
		for _, list := range [][]string{members, required, said, schema.Required} {
			slices.Sort(list)
		}
		if diff := cmp.Diff(members, said) + cmp.Diff(required, schema.Required); diff != "" {
			t.Errorf("%s (-type +document):\n%s", typ.Name(), diff)
		}
	}
}
