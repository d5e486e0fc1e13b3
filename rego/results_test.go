package rego

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
)

// Whether a policy looks at results is known when it is loaded.
func TestWhichPoliciesLookAtResults(t *testing.T) {
	const pass = "package holdgate\n\ndecision := {\"action\": \"allow\", \"rule\": \"x\"}\n"
	for name, c := range map[string]struct {
		files map[string]string
		looks bool
	}{
		"the pack":               {nil, false},
		"a setting":              {map[string]string{"s.yaml": "settings: {results: {secrets: redact}}"}, true},
		"a size":                 {map[string]string{"s.yaml": "settings: {results: {ask_over: 1000}}"}, true},
		"another setting":        {map[string]string{"s.yaml": "settings: {profile: strict}"}, false},
		"rules on calls":         {map[string]string{"a.rego": "package holdgate.custom.a\n\ndecisions contains {\"action\": \"deny\"} if input.kind == \"gate\"\n"}, false},
		"a set on results":       {map[string]string{"a.rego": "package holdgate.custom.a\n\nresults contains {\"action\": \"deny\"} if input.result.is_error\n"}, true},
		"one on results":         {map[string]string{"a.rego": "package holdgate.custom.a\n\nresult := {\"action\": \"deny\"} if input.result.is_error\n"}, true},
		"a whole policy":         {map[string]string{"a.rego": pass}, false},
		"a whole one on results": {map[string]string{"a.rego": pass + "\nresult := {\"action\": \"deny\", \"rule\": \"y\"}\n"}, true},
		"a whole one, settings":  {map[string]string{"a.rego": pass, "s.yaml": "settings: {results: {secrets: redact}}"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var o Options
			for file, text := range c.files {
				if o.Path == "" {
					o.Path = t.TempDir()
				}
				if err := os.WriteFile(filepath.Join(o.Path, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			e, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if e.JudgesResults() != c.looks {
				t.Errorf("looks: %v", e.JudgesResults())
			}
			in := Input{Call: holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "x", Arguments: []byte("{}")}, Result: ReadResult(t.Context(), []byte(`{}`), true)}}
			if d := e.Decide(t.Context(), in); !c.looks && d.Action != holdgate.Allow {
				t.Errorf("nobody looks, and %+v", d)
			}
		})
	}
}

func TestResultsFailClosed(t *testing.T) {
	for name, rule := range map[string]string{
		"undefined": "result := {\"action\": \"allow\"} if input.result.size > 1000\n",
		"no action": "result := object.remove({\"action\": \"allow\"}, [\"action\"])\n",
	} {
		dir := t.TempDir()
		text := "package holdgate\n\ndecision := {\"action\": \"allow\", \"rule\": \"x\"}\n\n" + rule
		if err := os.WriteFile(filepath.Join(dir, "p.rego"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := Open(t.Context(), Options{Path: dir})
		if err != nil {
			t.Fatal(err)
		}
		in := Input{Call: holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "x", Arguments: []byte("{}")}, Result: ReadResult(t.Context(), []byte(`{}`), false)}}
		if d := e.Decide(t.Context(), in); d.Action != holdgate.Deny || d.Rule != holdgate.RulePolicyError {
			t.Errorf("%s: %+v", name, d)
		}
		in.Call.Result = nil
		if d := e.Decide(t.Context(), in); d.Action != holdgate.Allow {
			t.Errorf("%s: the call itself: %+v", name, d)
		}
	}
}

func TestWhatOnlyObservesRedactsNoResult(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("settings: {results: {secrets: redact}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, observe := range []bool{false, true} {
		e, err := Open(t.Context(), Options{Path: dir, Observe: observe})
		if err != nil {
			t.Fatal(err)
		}
		body := `{"t":"AKIA` + `Z7VTQ4NNBWQJ3M2L"}`
		in := Input{Call: holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "x", Arguments: []byte("{}")}, Result: ReadResult(t.Context(), []byte(body), false)}}
		if d := e.Decide(t.Context(), in); (len(d.Redact) == 0) != observe {
			t.Errorf("observe %v: %+v", observe, d)
		}
	}
}

func TestEvalOfResults(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("settings: {results: {ask_over: 10}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), Options{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	d, err := e.Eval(t.Context(), []byte(`{"kind":"tool_call","tool":{"name":"x","arguments":{}},"result":{"text":"","size":11,"is_error":false}}`))
	if err != nil || d.Rule != "results.size" || !strings.Contains(d.Hold.Message, "11 bytes of x") {
		t.Errorf("%+v, %v", d, err)
	}
}
