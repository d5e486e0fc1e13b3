package web

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A form's fields are as the schema of the tool has them, where there is one.
func TestFieldsAreThoseOfTheSchema(t *testing.T) {
	call := []field{{Name: "path", Value: "/x", Text: true}, {Name: "mode", Value: "append", Text: true}, {Name: "sync", Value: "true"}, {Name: "n", Value: "1"}, {Name: "level", Value: "odd", Text: true}}
	got := describe(call, json.RawMessage(`{"properties":{
		"path":{"type":"string","description":"where"}, "mode":{"type":"string","enum":["append","replace"]}, "sync":{"type":"boolean"},
		"level":{"enum":["low","high"]}, "more":{"type":"string"}, "count":{"type":"integer"}}}`))
	want := []field{
		{Name: "path", Value: "/x", Text: true, Help: "where"}, {Name: "mode", Value: "append", Text: true, Options: []string{"append", "replace"}},
		{Name: "sync", Value: "true", Options: []string{"true", "false"}}, {Name: "n", Value: "1"}, {Name: "level", Value: "odd", Text: true},
		{Name: "count", Absent: true}, {Name: "more", Absent: true, Text: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, odd := range []string{"", "null", `{"properties":[]}`, `{"properties":{"path":true}}`, `[1]`} {
		if got := describe([]field{{Name: "path"}}, json.RawMessage(odd)); len(got) != 1 || got[0].Help != "" {
			t.Errorf("by %s: %+v", odd, got)
		}
	}
}
