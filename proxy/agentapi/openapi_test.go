package agentapi

import (
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
)

type openAPI struct {
	OpenAPI string                               `json:"openapi"`
	Info    struct{ Title string }               `json:"info"`
	Paths   map[string]map[string]map[string]any `json:"paths"`
	Comps   struct {
		Schemas map[string]struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		} `json:"schemas"`
	} `json:"components"`
}

func TestTheDocumentIsOfWhatIsServed(t *testing.T) {
	var d openAPI
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	if d.Info.Title != Title {
		t.Errorf("the title is %q, want %q", d.Info.Title, Title)
	}
	if !strings.HasPrefix(d.OpenAPI, "3.1.") {
		t.Errorf("openapi is %q, want 3.1", d.OpenAPI)
	}
	var want, got []string
	for _, r := range New(nil, nil, nil, nil, slog.New(slog.DiscardHandler)).routes() {
		want = append(want, r.pattern)
	}
	for path, ops := range d.Paths {
		for method := range ops {
			got = append(got, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-served +documented):\n%s", diff)
	}
	types := map[string]any{
		"Ask": GateRequest{}, "Option": Option{}, "Gate": Gate{}, "Outcome": holdgate.Outcome{}, "Report": Report{}, "Verification": sessions.Verification{},
		"Check": sessions.Check{}, "Retries": sessions.Retries{}, "Reported": Reported{}, "Session": Session{}, "Pending": Pending{}, "Mode": Mode{},
		"Note": Note{}, "Message": sessions.Message{}, "Problem": Problem{}, "Planned": Planned{}, "Would": Would{}, "HookVerdict": HookVerdict{},
	}
	for name, schema := range d.Comps.Schemas {
		v, ok := types[name]
		if !ok {
			t.Errorf("schema %s is of no type", name)
			continue
		}
		delete(types, name)
		var want, required, got []string
		for f := range reflect.TypeOf(v).Fields() {
			tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			want = append(want, tag)
			if !strings.Contains(options, "omit") {
				required = append(required, tag)
			}
		}
		for p := range schema.Properties {
			got = append(got, p)
		}
		for _, l := range [][]string{want, required, got, schema.Required} {
			slices.Sort(l)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-type +document):\n%s", name, diff)
		}
		if diff := cmp.Diff(required, schema.Required); diff != "" {
			t.Errorf("%s, required (-type +document):\n%s", name, diff)
		}
	}
	for name := range types {
		t.Errorf("type %s has no schema", name)
	}
}
