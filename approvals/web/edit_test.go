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

// A browser is named as people call it, and one that is not known by what it says.
func TestBrowsersAreNamed(t *testing.T) {
	for agent, want := range map[string]string{
		"": "a browser",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36":                                   "Chrome on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36 Edg/156.0.0.0":           "Edge on Windows",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1": "Safari on an iPhone",
		"Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36":                            "Chrome on Android",
		"curl/8.9 \u202ex": "curl/8.9 ⟨U+202E⟩x",
	} {
		if got := browser(agent); got != want {
			t.Errorf("%s: %q, want %q", agent, got, want)
		}
	}
}
