package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/wire"
)

// The targets of this file hold one property: what goes on is what was
// evaluated. The reader behind Holdgate is played by encoding/json, which is as
// lax as they come: of keys that differ in case it takes any, of several the
// last.

type laxMessage struct {
	ID, Method, Params, Result json.RawMessage
}

func (m laxMessage) method() string { return laxText(m.Method) }

// tool is what a call would run.
func (m laxMessage) tool() (name string, arguments []byte) {
	var p struct{ Name, Arguments json.RawMessage }
	_ = json.Unmarshal(m.Params, &p)
	return laxText(p.Name), p.Arguments
}

func laxText(v []byte) string {
	var s string
	_ = json.Unmarshal(v, &s)
	return s
}

// laxly reads a message, or a batch of them.
func laxly(data []byte) []laxMessage {
	var all []laxMessage
	if json.Unmarshal(data, &all) == nil {
		return all
	}
	var one laxMessage
	if json.Unmarshal(data, &one) == nil {
		return []laxMessage{one}
	}
	return nil
}

var bodies = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","arguments":{"a":[1,{"b":null}]}}}`,
	`[{"jsonrpc":"2.0","id":"a","method":"ping"},[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"f"}}]]`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"f"}}`,
	`{"jsonrpc":"2.0","id":1e400,"method":"tools/call","method":"ping","params":{"name":"f","Name":"g"}}`,
	`{"jsonrpc":"2.0","id":"\ud800","method":"tools/call","params":{"name":"f","arguments":"{}"}}`,
	`{"jsonrpc":"2.0","id":null,"m\u0065thod":"tools\/call","params":{"name":"\u0066"}}`,
	`{"jsonrpc":"2.0","id":true,"method":"tools/call","params":["f"]}`,
	"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
}

func FuzzClientsMessagesAreWhatWasEvaluated(f *testing.F) {
	for _, s := range bodies {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if wire.Strict(body) != nil {
			return // refused
		}
		msgs, batch, err := Parse(body)
		if err != nil {
			return // refused
		}
		read := laxly(body)
		if len(read) != len(msgs) {
			t.Fatalf("%d messages were evaluated, and the server reads %d", len(msgs), len(read))
		}
		for i, m := range msgs {
			c, ok, err := m.Call("s")
			if err != nil {
				return // refused
			}
			method := read[i].method()
			name, arguments := read[i].tool()
			switch {
			case ok != (method != ""), ok && c.MCP != nil && c.MCP.Method != method, ok && c.Tool != nil && method != "tools/call":
				t.Fatalf("%+v was evaluated, and the server reads %s", c, method)
			case ok && c.Tool != nil && c.Tool.Name != name:
				t.Fatalf("tool %q was evaluated, and the server reads %q", c.Tool.Name, name)
			case ok && c.Tool != nil && arguments != nil && !bytes.Equal(arguments, slices.Concat(c.Tool.Arguments, []byte(c.Tool.ArgumentsRaw))):
				t.Fatalf("arguments %s were evaluated, and the server reads %s", c.Tool.Arguments, arguments)
			}
		}
		if got := Replace(body, batch, map[int][]byte{len(msgs) - 1: msgs[len(msgs)-1].Raw}); !bytes.Equal(bytes.TrimSpace(got), bytes.TrimSpace(body)) {
			t.Fatalf("nothing was replaced, and it became %s", got)
		}
	})
}

var sent = append([]string{
	`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}`,
	`{"jsonrpc":"2.0","id":7,"Method":"sampling/createMessage"}`,
	`{"jsonrpc":"2.0","id":1,"result":{"inputRequests":{"a":{"method":"elicitation/create","params":{}}}}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"INPUTREQUESTS":{"a":{"method":"elicitation/create"}}},"result":{}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"a":1,"A":2,"a":{"method":"x"}}}`,
}, bodies...)

// asksOf is what data of a server's ask of the client, as a lax client sees it.
func asksOf(data []byte) []string {
	var asks []string
	var merged struct { // by a reader that puts several results together
		Result struct {
			InputRequests map[string]struct{ Method string }
		}
	}
	_ = json.Unmarshal(data, &merged)
	for _, r := range merged.Result.InputRequests {
		asks = append(asks, r.Method)
	}
	for _, m := range laxly(data) {
		if m.method() != "" && m.ID != nil && string(m.ID) != "null" {
			asks = append(asks, m.method())
		}
		var result struct {
			InputRequests map[string]struct{ Method string }
		}
		_ = json.Unmarshal(m.Result, &result)
		for _, r := range result.InputRequests {
			asks = append(asks, r.Method)
		}
	}
	return asks
}

func judgedIn(msgs []ServerMessage) []string {
	var asks []string
	for _, m := range msgs {
		for _, a := range m.Asks {
			asks = append(asks, a.Method)
		}
	}
	return asks
}

func FuzzServersMessagesAreWhatWasEvaluated(f *testing.F) {
	for _, s := range sent {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msgs, batch, err := ParseServer(data)
		if err != nil {
			return // refused
		}
		judged := judgedIn(msgs)
		for _, method := range asksOf(data) {
			if !slices.Contains(judged, method) {
				t.Fatalf("%q were evaluated, and the client reads %q in %s", judged, method, data)
			}
		}
		instead := map[int][]byte{}
		for i, m := range msgs {
			if len(m.Asks) > 0 {
				instead[i] = nil
			}
		}
		if len(instead) > 0 {
			if left := asksOf(Replace(data, batch, instead)); len(left) > 0 {
				t.Fatalf("everything was refused, and the client reads %q", left)
			}
		}
	})
}

func FuzzServersEventsAreWhatWasEvaluated(f *testing.F) {
	for _, s := range sent {
		f.Add([]byte("id: 1\ndata: \n\nevent: message\ndata: "+s+"\n\n"), 7)
		f.Add([]byte("data: {\r\ndata: \"method\":\"x\",\rdata:\"id\":1}\r\n\r\n: "+s+"\n\ndata:"+s), 1)
	}
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		var events wire.EventScanner
		var out []byte
		var judged []string
		pass := func() bool {
			for {
				ev, ok, err := events.Next()
				if err != nil {
					return false // the stream ends here
				}
				if !ok {
					return true
				}
				msgs, _, err := ParseServer(ev.Data)
				if err != nil {
					return false
				}
				judged = append(judged, judgedIn(msgs)...)
				out = append(out, WithData(ev, ev.Data)...)
			}
		}
		cut = min(max(cut, 0), len(stream))
		events.Push(stream[:cut])
		whole := pass()
		if whole {
			events.Push(stream[cut:])
			events.End()
			whole = pass()
		}
		if !bytes.HasPrefix(stream, out) || whole && len(out) != len(stream) {
			t.Fatalf("%q became %q", stream, out)
		}
		for _, data := range dataOf(string(out)) {
			for _, method := range asksOf([]byte(data)) {
				if !slices.Contains(judged, method) {
					t.Fatalf("%q were evaluated, and the client reads %q in %q", judged, method, out)
				}
			}
		}
	})
}

// dataOf reads events as the standard says (WHATWG HTML, section 9.2.6), but
// for the last one, which needs no blank line.
func dataOf(stream string) []string {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	var all, data []string
	for line := range strings.SplitSeq(stream+"\n\n", "\n") {
		if line == "" {
			if len(data) > 0 {
				all = append(all, strings.Join(data, "\n"))
			}
			data = nil
			continue
		}
		if name, value, _ := strings.Cut(line, ":"); name == "data" {
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return all
}
