package approvals_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/holdgate/holdgate/approvals/redact"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

func tool(name, args string) holdgate.Call {
	return holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: name, Arguments: json.RawMessage(args)}}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "line %d\\n", i)
		}
		return b.String()
	}
	tests := []struct {
		name    string
		call    holdgate.Call
		redact  []string
		summary string
		details []string // where not nil
		hidden  int
	}{
		{"a command is the summary", tool("Bash", `{"description":"x","command":"rm -rf build"}`), nil, "Bash: rm -rf build", []string{"command: rm -rf build", "the agent says: description: x"}, 0},
		{"words of a command are joined, and quoted where needed", tool("shell", `{"command":["bash","-lc","rm -rf x"]}`), nil, `shell: bash -lc "rm -rf x"`, nil, 0},
		{"a path is the summary", tool("write_file", `{"content":"K=1\nL=2","path":"/srv/app/.env"}`), nil, "write_file /srv/app/.env", []string{"all that will be in /srv/app/.env:", "  +K=1", "  +L=2", `  \ the new text does not end its last line`}, 0},
		{"anything else is named by its arguments", tool("create_issue", `{"title":"t","labels":["a"]}`), nil, "create_issue (title, labels)", []string{"title: t", "labels:", "  [", `    "a"`, "  ]"}, 0},
		{"a tool without arguments is its name", tool("refresh", `{}`), nil, "refresh", nil, 0},
		{"what is no object is said to be none", holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: "Bash", ArgumentsRaw: "rm"}}, nil, "Bash: the arguments are no JSON object", []string{"rm"}, 0},
		{"numbers stay as they were written", tool("pay", `{"amount":1.000000000000000000001e3}`), nil, "pay (amount)", []string{"amount: 1.000000000000000000001e3"}, 0},
		{"what a screen would hide is named", tool("Bash", `{"command":"echo \u202egnp"}`), nil, "Bash: echo ⟨U+202E⟩gnp", nil, 0},
		{"a summary is one line", tool("Bash", `{"command":"a\r\nb"}`), nil, "Bash: a ⏎ b", []string{"command:", "  a⟨U+000D⟩", "  b"}, 0},
		{"what is redacted is counted", tool("login", `{"user":"u","pass":"hunter2"}`), []string{"/tool/arguments/pass"}, "login (user, pass)", []string{"user: u", "pass: [redacted]"}, 1},
		{"a long line is cut in the middle", tool("say", `{"text":"`+strings.Repeat("a", 600)+`z"}`), nil, "say (text)",
			[]string{"text: " + strings.Repeat("a", 354) + " ⟨147 characters not shown⟩ " + strings.Repeat("a", 99) + "z"}, 147},
		{"a long text is cut in the middle", tool("say", `{"text":"`+lines(200)+`"}`), nil, "say (text)", nil, 10*42 + 42},
		{"a model request names the model", holdgate.Call{Kind: holdgate.KindModelRequest, Model: &holdgate.Model{Provider: "anthropic", Name: "m", ServerTools: []holdgate.ServerTool{{Type: "web_search", Name: "search"}}}},
			nil, "Lets m at anthropic run search by itself, unseen", []string{"runs at the provider: web_search search"}, 0},
		{"tools of a model request can be redacted", holdgate.Call{Kind: holdgate.KindModelRequest, Model: &holdgate.Model{Provider: "p", Name: "m", Tools: []string{"a"}, ServerTools: []holdgate.ServerTool{{Type: "mcp", URL: "https://u"}}}},
			[]string{"/model/tools/0", "/model/server_tools/0/url"}, "Lets m at p run [redacted] by itself, unseen", []string{"runs at the provider: [redacted]", "tools offered: [redacted]"}, 2},
		{"an HTTP request names its target", holdgate.Call{Kind: holdgate.KindHTTPRequest, HTTP: &holdgate.HTTP{Method: "POST", Host: "h", Path: "/p", Query: "t=1"}},
			[]string{"/http/query"}, "POST h/p", []string{"query: [redacted]"}, 1},
		{"an MCP request names server and method", holdgate.Call{Kind: holdgate.KindMCPRequest, MCP: &holdgate.MCP{Server: "files", Method: "resources/read", Name: "file:///x"}}, nil, "Reads the resource file:///x of the server files", nil, 0},
		{"a gate is its kind", holdgate.Call{Kind: holdgate.KindGate}, nil, "gate", nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := approvals.Brief(tt.call, holdgate.Decision{Redact: tt.redact})
			if got.Summary != tt.summary {
				t.Errorf("summary %q, want %q", got.Summary, tt.summary)
			}
			if tt.details != nil {
				if diff := cmp.Diff(tt.details, got.Details); diff != "" {
					t.Errorf("details (-want +got):\n%s", diff)
				}
			}
			if got.Hidden != tt.hidden {
				t.Errorf("hidden %d, want %d", got.Hidden, tt.hidden)
			}
		})
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	const args = `{ "a": {"b/c": [1, {"t~k": "secret"}]},  "n": 1.50 }`
	tests := []struct {
		name     string
		pointers []string
		want     string
	}{
		{"nothing named keeps every byte", nil, args},
		{"pointers elsewhere keep every byte", []string{"/facts/x", "/tool/arguments/z", "/tool/arguments/a/b"}, args},
		{"a value deep inside", []string{"/tool/arguments/a/b~1c/1/t~0k"}, `{ "a": {"b/c": [1, {"t~k": "[redacted]"}]},  "n": 1.50 }`},
		{"an object", []string{"/tool/arguments/a"}, `{ "a": "[redacted]",  "n": 1.50 }`},
		{"two values", []string{"/tool/arguments/n", "/tool/arguments/a/b~1c/0"}, `{ "a": {"b/c": ["[redacted]", {"t~k": "secret"}]},  "n": "[redacted]" }`},
		{"all arguments", []string{"/tool/arguments"}, `"[redacted]"`},
		{"what they are part of", []string{"/tool"}, `"[redacted]"`},
		{"the whole input", []string{""}, `"[redacted]"`},
		{"what is no pointer hides all", []string{"tool.arguments.a"}, `"[redacted]"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(redact.Arguments(tool("x", args), tt.pointers)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := redact.Arguments(tool("x", `{"a":1,"a":2}`), []string{"/tool/arguments/a"}); string(got) != `"[redacted]"` {
		t.Errorf("ambiguous arguments: %s", got)
	}
}

// What policy redacts is in no request, no event, no log, and not on disk.
func TestARedactedValueIsNowhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	defer x.Leave()
	const secret = "correct horse battery staple"
	c := tool("login", `{"user":"u","pass":"`+secret+`"}`)
	r := b.ask(x, c, hold(func(d *holdgate.Decision) { d.Redact = []string{"/tool/arguments/pass"} }))
	if err := x.Keep(t.Context(), approvals.Answer{Status: 200, Body: []byte(secret)}); err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.Call.Tool.Arguments), `{"user":"u","pass":"[redacted]"}`; got != want {
		t.Errorf("arguments %s, want %s", got, want)
	}
	if other := b.ask(x, tool("login", `{"user":"u","pass":"other"}`), hold(func(d *holdgate.Decision) { d.Redact = []string{"/tool/arguments/pass"} })); other.ID == r.ID {
		t.Error("what is hidden does not count for the digest")
	}
	b.eachValue(func(key string, value []byte) {
		if bytes.Contains(value, []byte(secret)) || bytes.Contains(value, []byte("Y29ycmVjdCBob3JzZ")) {
			t.Errorf("the secret is readable under %s", key)
		}
	})
}

func FuzzBrief(f *testing.F) {
	f.Add("Bash", `{"command":"rm -rf x"}`, "/tool/arguments/command")
	f.Add("w", `{"path":"\u202e","content":"a\nb"}`, "")
	f.Add("n", `{"a":[{"b":1}]}`, "/tool/arguments/a/0/b")
	f.Add("x", `["cmd"]`, "x")
	f.Add("y", `{"a":`, "/tool/arguments/a")
	f.Fuzz(func(t *testing.T, name, args, pointer string) {
		c := tool(name, args)
		for _, d := range []holdgate.Decision{{}, {Redact: []string{pointer}}} {
			b := approvals.Brief(c, d)
			for _, s := range append(b.Details, b.Summary) {
				if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("not printable: %q", s)
				}
			}
		}
		if out := redact.Arguments(c, []string{pointer}); json.Valid([]byte(args)) && !json.Valid(out) {
			t.Errorf("redacting %q from %q gives %q", pointer, args, out)
		}
	})
}
