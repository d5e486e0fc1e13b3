package rego

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
)

// FuzzEval gives the shipped pack input of any shape: the answer is an error,
// or a decision that names its policy, and a call of a tool that is not
// understood is never let through.
func FuzzEval(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"tool_call","tool":{"name":"Bash","arguments":{"command":"rm -rf x"}}}`,
		`{"kind":"tool_call","tool":{"name":"frobnicate","arguments":{"a":1e400}}}`,
		`{"kind":"tool_call","tool":{"name":"Bash","arguments":[]}}`,
		`{"kind":"tool_call","tool":"Bash"}`,
		`{"kind":"model_request","model":{"name":"m","server_tools":[{"type":"web_search"}]}}`,
		`{"kind":"mcp_request","mcp":{"server":"files","method":"tools/list"}}`,
		`{"kind":"gate","answers":[{"rule":"gate","decision":"approve"}]}`,
		`{"kind":7}`, `{}`, `[]`, `{"kind":"a","kind":"b"}`,
	} {
		f.Add([]byte(seed))
	}
	e, err := Open(f.Context(), Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		d, err := e.Eval(t.Context(), input)
		if err != nil {
			return
		}
		if d.Revision == "" || d.Rule == "" || d.Reason == "" {
			t.Errorf("got %+v, want a revision, a rule and a reason", d)
		}
		if !strings.Contains(string(input), `"kind"`) && !strings.Contains(string(input), `\`) && d.Action == holdgate.Allow {
			t.Error("a call of no kind was let through")
		}
	})
}
