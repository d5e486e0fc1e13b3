package mcp

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

func TestParseReadsRequestsNotificationsAndResponses(t *testing.T) {
	tests := []struct {
		name, body string
		batch      bool
		methods    []string
	}{
		{"a tool call", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"a"}}}`, false, []string{"tools/call"}},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, false, []string{"notifications/initialized"}},
		{"a response to the server", `{"jsonrpc":"2.0","id":"x","result":{}}`, false, []string{""}},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","id":2,"method":"tools/list"}]`, true, []string{"ping", "tools/list"}},
		{"an escaped method is the method", `{"jsonrpc":"2.0","id":1,"method":"tools\/\u0063all","params":{"name":"x"}}`, false, []string{"tools/call"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			msgs, batch, err := Parse([]byte(tt.body))
			if err != nil || batch != tt.batch || len(msgs) != len(tt.methods) {
				t.Fatalf("got %d messages, batch %t, %v", len(msgs), batch, err)
			}
			for i, m := range msgs {
				if m.Method != tt.methods[i] {
					t.Errorf("message %d: method %q, want %q", i, m.Method, tt.methods[i])
				}
			}
		})
	}
}

func TestParseRefusesWhatTwoReadersCouldTakeDifferently(t *testing.T) {
	tests := []struct{ name, body string }{
		{"a method in another case", `{"jsonrpc":"2.0","id":1,"Method":"tools/call"}`},
		{"a request that is a response too", `{"jsonrpc":"2.0","id":1,"method":"tools/call","result":{}}`},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`},
		{"no version", `{"id":1,"method":"ping"}`},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`},
		{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`},
		{"params that are an array", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["x"]}`},
		{"an empty batch", `[]`},
		{"a batch within a batch", `[[{"jsonrpc":"2.0","id":1,"method":"ping"}]]`},
		{"a string", `"tools/call"`},
		{"nothing of a message", `{"jsonrpc":"2.0"}`},
		{"a batch without end", "[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, maxBatch+1) + `{"jsonrpc":"2.0","id":1,"method":"ping"}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if msgs, _, err := Parse([]byte(tt.body)); err == nil {
				t.Errorf("read as %+v", msgs)
			}
		})
	}
}

func TestCallSeesTheToolAndItsArguments(t *testing.T) {
	tests := []struct {
		name, params string
		tool, args   string
		raw          string
		fails        bool
	}{
		{"arguments as they were written", `{"name":"f","arguments":{"b":1.0, "a":2}}`, "f", `{"b":1.0, "a":2}`, "", false},
		{"no arguments are an empty object", `{"name":"f"}`, "f", `{}`, "", false},
		{"arguments that are no object are kept raw", `{"name":"f","arguments":[1]}`, "f", "", `[1]`, false},
		{"null arguments are no object", `{"name":"f","arguments":null}`, "f", "", `null`, false},
		{"no name", `{"arguments":{}}`, "", "", "", true},
		{"a name that is a number", `{"name":7}`, "", "", "", true},
		{"a name in another case", `{"Name":"f","arguments":{}}`, "", "", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := Message{ID: []byte("1"), Method: "tools/call", Params: []byte(tt.params)}
			c, _, err := m.Call("files")
			if tt.fails {
				if err == nil {
					t.Fatalf("got a call: %+v", c.Tool)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Kind != holdgate.KindToolCall || c.Tool.Name != tt.tool || c.Tool.Server != "files" || string(c.Tool.Arguments) != tt.args || c.Tool.ArgumentsRaw != tt.raw {
				t.Errorf("got %+v", c.Tool)
			}
		})
	}
}

func TestKeyIsWhatARetryHasInCommon(t *testing.T) {
	key := func(params string) string {
		k, err := Message{Method: "tools/call", Params: []byte(params)}.Key()
		if err != nil {
			t.Fatal(err)
		}
		return string(k)
	}
	base := key(`{"name":"f","arguments":{"a":1,"b":2}}`)
	if key(`{"arguments":{"b":2,"a":1},"name":"f","_meta":{"progressToken":9}}`) != base {
		t.Error("order and metadata make another key")
	}
	if key(`{"name":"f","arguments":{"a":1,"b":3}}`) == base {
		t.Error("other arguments have the same key")
	}
}

func TestHeadersMustMirrorTheBody(t *testing.T) {
	m := Message{ID: []byte("1"), Method: "tools/call", Params: []byte(`{"uri":"harmless","name":"fünf","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`)}
	tests := []struct {
		name string
		h    http.Header
		ok   bool
	}{
		{"none", http.Header{}, true},
		{"blanks around", http.Header{"Mcp-Method": {"tools/call "}}, true},
		{"both right", http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"=?base64?ZsO8bmY=?="}}, true},
		{"another tool", http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"harmless"}}, false},
		{"another method", http.Header{"Mcp-Method": {"ping"}}, false},
		{"another revision", http.Header{"Mcp-Protocol-Version": {"2025-11-25"}}, false},
		{"the same revision", http.Header{"Mcp-Protocol-Version": {"2026-07-28"}}, true},
		{"the header twice", http.Header{"Mcp-Method": {"tools/call", "ping"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := CheckHeaders(tt.h, []Message{m}, false); (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
			if err := CheckHeaders(tt.h, []Message{m, m}, true); err == nil && tt.h.Get("Mcp-Method") != "" {
				t.Error("a batch may have no headers that mirror one message")
			}
		})
	}
}

func TestRepliesAreJSONWhateverTheTextHolds(t *testing.T) {
	text := "line\n\"quoted\" \x00 \u202e \xff"
	m := Message{ID: []byte(`"a"`), Method: "tools/call"}
	for _, b := range [][]byte{m.Refusal(text), Error(nil, CodeParse, text), Progress([]byte("7"), 3, text), Message{ID: []byte("1"), Method: "ping"}.Refusal(text)} {
		if err := wire.Strict(b); err != nil {
			t.Errorf("%s: %v", b, err)
		}
		if strings.Contains(string(Event(b)), "\n\n{") {
			t.Errorf("an event holds a blank line: %q", Event(b))
		}
	}
	var got struct {
		ID     string `json:"id"`
		Result struct {
			IsError    bool   `json:"isError"`
			ResultType string `json:"resultType"`
			Content    []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal(m.Refusal("why"), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Result.IsError || got.Result.ResultType != "complete" || got.Result.Content[0].Text != "why" || got.ID != "a" {
		t.Errorf("got %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","arguments":{"a":[1,{"b":null}]}}}`, `[{"jsonrpc":"2.0","method":"x"}]`, `{"jsonrpc":"2.0","id":1e400,"result":{}}`, `[`, `{"jsonrpc":"2.0","id":"\ud800","method":"m"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if wire.Strict(body) != nil {
			return
		}
		msgs, _, err := Parse(body)
		if err != nil {
			return
		}
		for _, m := range msgs {
			c, ok, err := m.Call("s")
			if err == nil && ok && c.Tool != nil && c.Tool.Arguments != nil && c.Tool.Arguments[0] != '{' {
				t.Errorf("arguments that are no object: %s", c.Tool.Arguments)
			}
			if _, err := m.Key(); err != nil {
				t.Errorf("no key for %s: %v", m.Raw, err)
			}
			if m.IsRequest() && wire.Strict(m.Refusal("x")) != nil {
				t.Errorf("a refusal that is no JSON: %s", m.Refusal("x"))
			}
		}
	})
}
