package mcp

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestWithArgumentsChangesNothingElse(t *testing.T) {
	const other = `{"path":"b","n":1.50}`
	tests := []struct {
		name, body, want string
		arguments        [][]byte
	}{
		{"a call", ` {"jsonrpc":"2.0", "params" : {"name":"f","arguments":{"a":1} ,"_meta":{"progressToken":7}},"id":1.0,"method":"tools\/call"} ` + "\n",
			` {"jsonrpc":"2.0", "params" : {"name":"f","arguments":` + other + ` ,"_meta":{"progressToken":7}},"id":1.0,"method":"tools\/call"} ` + "\n", [][]byte{[]byte(other)}},
		{"a call without arguments", `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"f"}}`,
			`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"f","arguments":` + other + `}}`, [][]byte{[]byte(other)}},
		{"one of a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"arguments":{},"name":"f"}} ]`,
			`[{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"arguments":` + other + `,"name":"f"}} ]`, [][]byte{nil, []byte(other)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			msgs, batch, err := Parse([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			got := WithArguments([]byte(tt.body), batch, tt.arguments)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			again, _, err := Parse(got)
			if err != nil || len(again) != len(msgs) {
				t.Fatalf("it reads as %d messages, %v", len(again), err)
			}
			for i, m := range again {
				c, _, err := m.Call("s")
				if tt.arguments[i] != nil && (err != nil || string(c.Tool.Arguments) != other) {
					t.Errorf("message %d has arguments %s, %v", i, c.Tool.Arguments, err)
				}
			}
		})
	}
}

func TestHeadersThatMirrorArgumentsAreKeptInStep(t *testing.T) {
	tests := []struct {
		name, before, after string
		said, want          string // "" where the header goes
		fails               bool
	}{
		{"a text", `{"region":"us","q":1}`, `{"region":"eu","q":1}`, "us", "eu", false},
		{"what was not edited", `{"region":"us","q":1}`, `{"region":"us","q":2}`, "us", "us", false},
		{"a text that fits into no header", `{"region":"us"}`, `{"region":"zürich"}`, "us", "=?base64?esO8cmljaA==?=", false},
		{"a text that did not fit", `{"region":"zürich"}`, `{"region":"us"}`, "=?base64?esO8cmljaA==?=", "us", false},
		{"a text with blanks around it", `{"region":"us"}`, `{"region":" us"}`, "us", "=?base64?IHVz?=", false},
		{"a text that looks encoded", `{"region":"us"}`, `{"region":"=?base64?eA==?="}`, "us", "=?base64?PT9iYXNlNjQ/ZUE9PT89?=", false},
		{"a line's end, which would end the header", `{"region":"us"}`, `{"region":"eu\r\nX-Evil: 1"}`, "us", "=?base64?ZXUNClgtRXZpbDogMQ==?=", false},
		{"a number", `{"n":42}`, `{"n":43}`, "42", "43", false},
		{"a number in other digits", `{"n":42.0}`, `{"n":43}`, "42", "43", false},
		{"a truth value", `{"force":true}`, `{"force":false}`, "true", "false", false},
		{"an argument that has gone", `{"region":"us","q":1}`, `{"q":1}`, "us", "", false},
		{"an argument that is null", `{"region":"us"}`, `{"region":null}`, "us", "", false},
		{"an argument inside another one", `{"to":{"region":"us"},"x":[{"r":"us"}]}`, `{"to":{"region":"eu"},"x":[]}`, "us", "eu", false},
		{"two arguments with one value, both edited alike", `{"a":"us","b":"us"}`, `{"a":"eu","b":"eu"}`, "us", "eu", false},
		{"two arguments with one value, one edited", `{"a":"us","b":"us"}`, `{"a":"eu","b":"us"}`, "us", "", true},
		{"one of them has gone", `{"a":"us","b":"us"}`, `{"a":"us"}`, "us", "", true},
		{"an argument that became a list", `{"region":"us"}`, `{"region":["eu"]}`, "us", "", true},
		{"what mirrors no argument is left to the server", `{"region":"us"}`, `{"region":"eu"}`, "asia", "asia", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{"Mcp-Param-Where": {tt.said}, "Mcp-Name": {"us"}}
			err := MirrorArguments(h, []byte(tt.before), []byte(tt.after))
			if (err != nil) != tt.fails {
				t.Fatalf("error %v", err)
			}
			if got := h.Get("Mcp-Param-Where"); !tt.fails && got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if h.Get("Mcp-Name") != "us" {
				t.Error("another header was changed")
			}
		})
	}
}

func TestNotesGoAlongInTheResult(t *testing.T) {
	const meta = `"_meta":{"io.github.holdgate/approval":{"message":"mind \"this\""}}`
	tests := []struct{ name, body, want string }{
		{"a result", `{"jsonrpc":"2.0", "id":1,"result":{"content":[] } }`, `{"jsonrpc":"2.0", "id":1,"result":{"content":[] ,` + meta + `} }`},
		{"a result with metadata", `{"id":1,"result":{"_meta":{"a":1},"content":[]}}`, `{"id":1,"result":{"_meta":{"a":1,"io.github.holdgate/approval":{"message":"mind \"this\""}},"content":[]}}`},
		{"a result with null metadata", `{"id":1,"result":{"_meta":null}}`, `{"id":1,"result":{` + meta + `}}`},
		{"another request's result", `{"id":2,"result":{}}`, `{"id":2,"result":{}}`},
		{"an id of the same digits that is text", `{"id":"1","result":{}}`, `{"id":"1","result":{}}`},
		{"an error", ` {"id":1,"error":{"code":1}} `, ` {"id":1,"error":{"code":1}} `},
		{"a request of the server's own", `{"id":1,"method":"roots/list"}`, `{"id":1,"method":"roots/list"}`},
		{"a batch", `[{"id":2,"result":{}}, {"id":1,"result":{}}]`, `[{"id":2,"result":{}}, {"id":1,"result":{` + meta + `}}]`},
		{"what is not strict", `{"id":1,"id":1,"result":{}}`, `{"id":1,"id":1,"result":{}}`},
		{"no JSON", `oops`, `oops`},
	}
	n := Notes{}
	n.Add(Message{ID: []byte("1")}, `mind "this"`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := string(n.Annotate([]byte(tt.body)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnnotatedEventsKeepTheirID(t *testing.T) {
	n := Notes{}
	n.Add(Message{ID: []byte(`"\u0061"`)}, "go")
	tests := []struct{ name, event, want string }{
		{"one line", "id: 7\nevent: message\ndata: {\"id\":\"a\",\"result\":{}}\nretry: 5\n\n",
			"id: 7\nevent: message\ndata: {\"id\":\"a\",\"result\":{\"_meta\":{\"io.github.holdgate/approval\":{\"message\":\"go\"}}}}\nretry: 5\n\n"},
		{"several lines", "data: {\"id\":\"a\",\r\ndata:\"result\":{}}\r\n\r\n",
			"data: {\"id\":\"a\",\ndata: \"result\":{\"_meta\":{\"io.github.holdgate/approval\":{\"message\":\"go\"}}}}\n\r\n"},
		{"a comment", ": x\n\n", ": x\n\n"},
		{"progress", "data: {\"method\":\"notifications/progress\"}\r\n\r\n", "data: {\"method\":\"notifications/progress\"}\r\n\r\n"},
		{"an event without data", "id: 8\ndata:\n\n", "id: 8\ndata:\n\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var events wire.EventScanner
			events.Push([]byte(tt.event))
			events.End()
			ev, ok, err := events.Next()
			if err != nil || !ok {
				t.Fatalf("no event: %v", err)
			}
			if diff := cmp.Diff(tt.want, string(WithData(ev, n.Annotate(ev.Data)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzEdited(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","arguments":{"a":[1,{"b":null}],"c":"x"}}}`), "x")
	f.Add([]byte(`[{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"f"}},{"jsonrpc":"2.0","id":2,"result":{}}]`), "=?base64?eA==?=")
	f.Fuzz(func(t *testing.T, body []byte, said string) {
		if wire.Strict(body) != nil {
			return
		}
		msgs, batch, err := Parse(body)
		if err != nil {
			return
		}
		const other = `{"edited":["x"],"a":"y"}`
		arguments := make([][]byte, len(msgs))
		notes := Notes{}
		for i, m := range msgs {
			notes.Add(m, "note")
			if c, ok, err := m.Call("s"); err == nil && ok && c.Tool != nil {
				arguments[i] = []byte(other)
				h := http.Header{"Mcp-Param-X": {said}}
				if c.Tool.Arguments != nil && MirrorArguments(h, c.Tool.Arguments, []byte(other)) == nil && len(h.Values("Mcp-Param-X")) > 1 {
					t.Errorf("several headers: %v", h)
				}
			}
		}
		if string(WithArguments(body, batch, make([][]byte, len(msgs)))) != string(body) {
			t.Fatal("nothing was edited, and something changed")
		}
		got, _, err := Parse(WithArguments(body, batch, arguments))
		if err != nil || len(got) != len(msgs) {
			t.Fatalf("%d messages of %d, %v", len(got), len(msgs), err)
		}
		for i, m := range got {
			if m.Method != msgs[i].Method || string(m.ID) != string(msgs[i].ID) {
				t.Errorf("message %d is another one", i)
			}
			if c, ok, err := m.Call("s"); arguments[i] != nil && (err != nil || !ok || string(c.Tool.Arguments) != other) {
				t.Errorf("message %d: %v", i, err)
			}
		}
		if out := notes.Annotate(body); wire.Strict(out) != nil {
			t.Errorf("annotated: %s", out)
		}
	})
}
