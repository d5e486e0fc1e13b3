package openai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/openai"
	"github.com/holdgate/holdgate/proxy/wire"
)

// sse makes a stream of events with these data.
func sse(data ...string) []byte {
	var b []byte
	for _, d := range data {
		b = wire.AppendEvent(b, "", []byte(d))
	}
	return b
}

// delta makes a chunk with these members in its delta.
func delta(members string) string {
	return `{"id":"x","choices":[{"index":0,"delta":{` + members + `}}]}`
}

// element makes a delta with an element of tool_calls.
func element(members string) string { return delta(`"tool_calls":[{` + members + `}]`) }

const (
	begun    = `{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls","arguments":"{\"a\":"}}]}}]}`
	whole    = `{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls","arguments":"{\"a\":1}"}}]}}]}`
	finished = `{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
)

func TestStreamsThatClientsCouldReadOtherwiseAreRefused(t *testing.T) {
	tests := []struct {
		name   string
		stream []byte
		want   string // in the error
	}{
		{"no JSON", sse(`{"choices":`), "ends too early"},
		{"no object", sse(`[1]`), "{ was expected"},
		{"two values in an event", sse(`{}{}`), "something follows"},
		{"a duplicate key", sse(`{"choices":[],"choices":[]}`), "occurs twice"},
		{"tool_calls twice in a delta", sse(delta(`"tool_calls":[],"tool_calls":[]`)), "occurs twice"},
		{"a name in two cases", sse(element(`"index":0,"id":"a","function":{"name":"ls","Name":"rm"}`)), "differ only in case"},
		{"choices in another case", sse(`{"Choices":[]}`), "another case"},
		{"delta in another case", sse(`{"choices":[{"Delta":{}}]}`), "another case"},
		{"finish_reason in another case", sse(`{"choices":[{"FINISH_REASON":"stop"}]}`), "another case"},
		{"tool_calls in another case", sse(delta(`"Tool_Calls":[]`)), "another case"},
		{"tool_calls with a long s", sse(delta(`"tool_callſ":[]`)), "another case"},
		{"tool_calls with an escape", sse(delta(`"\u0054ool_calls":[]`)), "another case"},
		{"a function in another case", sse(element(`"index":0,"Function":{"name":"ls"}`)), "another case"},
		{"a name in another case", sse(element(`"index":0,"function":{"NAME":"ls"}`)), "another case"},
		{"arguments in another case", sse(element(`"index":0,"id":"a","function":{"name":"ls","Arguments":"{}"}`)), "another case"},
		{"an id in another case", sse(element(`"index":0,"ID":"ls"`)), "another case"},
		{"a call under an unknown name", sse(delta(`"mcp_calls":[{"name":"x"}]`)), "looks like a call"},
		{"a call in camel case", sse(delta(`"toolCalls":[{"name":"x"}]`)), "looks like a call"},
		{"a call beside the delta", sse(`{"choices":[{"delta":{},"tool_calls":[{}]}]}`), "looks like a call"},
		{"a call beside the choices", sse(`{"choices":[],"function_call":{"name":"x"}}`), "looks like a call"},
		{"a call in a message", sse(`{"choices":[{"message":{"tool_calls":[{"id":"a"}]}}]}`), "may or may not see"},
		{"a call of an unknown type", sse(element(`"index":0,"type":"computer"`)), "not understood"},
		{"a call that is function and custom", sse(element(`"index":0,"function":{"name":"a"},"custom":{"name":"b"}`)), "both function and custom"},
		{"a function that becomes custom", sse(begun, element(`"index":0,"custom":{"input":"x"}`)), "both function and custom"},
		{"a name that changes", sse(begun, element(`"index":0,"function":{"name":"rm"}`)), `"ls" becomes one of "rm"`},
		{"a call without a name", sse(element(`"index":0,"id":"a","function":{"arguments":"{}"}`), finished), "no name"},
		{"fragments without a call", sse(element(`"function":{"arguments":"{}"}`)), "before any call"},
		{"arguments after the end", sse(whole, finished, element(`"index":0,"function":{"arguments":"x"}`)), "after they were complete"},
		{"arguments after the next call began", sse(whole, element(`"index":1,"id":"c2","function":{"name":"ls"}`),
			element(`"index":0,"function":{"arguments":"{}"}`)), "after they were complete"},
		{"an object after text", sse(begun, element(`"index":0,"function":{"arguments":{}}`)), "after they were complete"},
		{"text after an object", sse(element(`"index":0,"function":{"name":"a","arguments":{}}`), element(`"index":0,"function":{"arguments":"x"}`)), "after they were complete"},
		{"an id that takes over unfinished arguments", sse(begun, element(`"index":0,"id":"c2","function":{"name":"rm","arguments":"1}"}`), finished), "taken for one"},
		{"a name for the arguments of another", sse(whole, element(`"index":0,"id":"c2","function":{"name":"rm"}`), finished), "taken for one"},
		{"an index and none", sse(whole, element(`"id":"c2","function":{"name":"rm"}`), finished), "taken for one"},
		{"tool_calls that are no list", sse(delta(`"tool_calls":{"index":0}`)), "[ was expected"},
		{"a call that is no object", sse(delta(`"tool_calls":["x"]`)), "{ was expected"},
		{"an id that is no text", sse(element(`"index":0,"id":1`)), "a string was expected"},
		{"a name with half a surrogate pair", sse(element(`"index":0,"function":{"name":"a\ud83d"}`)), "half of a surrogate pair"},
		{"arguments that are a list", sse(element(`"index":0,"id":"c1","function":{"name":"f","arguments":["{}"]}`)), "the arguments of a call are an array"},
		{"an index that is no number", sse(element(`"index":"0"`)), "not a number from 0"},
		{"a negative index", sse(element(`"index":-1`)), "not a number from 0"},
		{"an index beyond all bounds", sse(element(`"index":1e9`)), "not a number from 0"},
		{"a stream that ends inside a call", sse(begun), "ends inside a call"},
		{"data in another case", []byte("Data: {}\n\n"), "clients read differently"},
		{"a call behind a lone CR", []byte("data: \r" + whole + "\n\n"), "clients read differently"},
		{"a call in a comment with a line end of Unicode", []byte(": x\u2028data: " + whole + "\n\n"), "clients read differently"},
		{"a call in a comment with a VT", []byte(": x\vdata: " + whole + "\n\n"), "clients read differently"},
		{"a call behind a control character", []byte("\x1cdata: " + whole + "\n\n"), "clients read differently"},
		{"a call behind a NUL", []byte("\x00data: " + whole + "\n\n"), "clients read differently"},
		{"a call in an unknown field", []byte("call: " + whole + "\n\n"), "clients read differently"},
		{"a call in a line without a field", []byte(whole + "\n\n"), "clients read differently"},
		{"a call in a data line of its own", []byte("data: {\"choices\":[],\"x\":[\ndata: " + whole + "\ndata: ]}\n\n"), "clients read differently"},
		{"a line end of Unicode before a field in a text", []byte("data: " + delta(`"content":"x`+"\u2028"+`data: {"`) + "\n\n"), "clients read differently"},
		{"data that are a line end of Unicode", []byte("data: \u2028\n\n"), "a value was expected"},
		{"a list of chunks", sse("[" + whole + "]"), "{ was expected"},
		{"a list of texts", sse("[" + delta(`"content":"a"`) + "]"), "{ was expected"},
		{"two chunks in two data lines", []byte("data: " + delta(`"content":"a"`) + "\ndata: " + whole + "\n\n"), "clients read differently"},
		{"a chunk after [DONE] in the same event", []byte("data: [DONE]\ndata: " + whole + "\n\n"), "clients read differently"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, _, err := run(all, tt.stream)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
			if strings.Contains(string(out), "rm") {
				t.Errorf("it sent %s", out)
			}
			text := sse(delta(`"content":"a"`), delta(`"content":"b"`))
			if _, _, err := run(all, append(text, tt.stream...)); err == nil {
				t.Error("it is let through after text")
			}
		})
	}
}

func TestStreamsThatOnlyLookOdd(t *testing.T) {
	tests := []struct {
		name   string
		stream []byte
		calls  string
	}{
		{"nulls everywhere", sse(`{"id":null,"choices":[{"index":null,"delta":{"content":null,"tool_calls":null,"function_call":null,"tool_call_id":null},"finish_reason":null}]}`), ""},
		{"an empty element", sse(element(`"index":0,"id":"","type":"function","function":{"name":"","arguments":""}`)), ""},
		{"a message without calls beside the delta", sse(`{"choices":[{"delta":{"content":"a"},"message":{"content":"a","tool_calls":[]}}]}`), ""},
		{"no bytes", nil, ""},
		{"data without anything", []byte("data:\n\ndata: [DONE]\n\n"), ""},
		{"blanks after the end", sse(whole, finished, element(`"index":0,"function":{"arguments":" \n"}`), "[DONE]"), "ls \"c1\" object {\"a\":1}\n"},
		{"CRLF and several data lines", []byte("data: {\"choices\":\r\ndata: []}\r\n\r\ndata: [DONE]\r\n\r\n"), ""},
		{"an event that nothing ends", []byte("data: " + whole + "\n\ndata: " + finished), "ls \"c1\" object {\"a\":1}\n"},
		{"calls after [DONE]", sse("[DONE]", whole, finished), "ls \"c1\" object {\"a\":1}\n"},
		{"the id comes late", sse(element(`"index":0,"function":{"name":"ls","arguments":"{"}`), element(`"index":0,"id":"c1","function":{"arguments":"}"}`), finished), "ls \"c1\" object {}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, calls, err := run(all, tt.stream)
			if err != nil || string(out) != string(tt.stream) || describe(calls) != tt.calls {
				t.Errorf("got %v, calls %q, want %q; sent %s", err, describe(calls), tt.calls, out)
			}
			out, _, err = run(none, tt.stream)
			if err != nil || strings.Contains(string(out), `"ls"`) {
				t.Errorf("refused: %v, but it sent %s", err, out)
			}
		})
	}
}

func TestCallsInChunksThatLookLikeText(t *testing.T) {
	for name, call := range map[string]string{
		"beside the content":  `{"id":"x","choices":[{"index":0,"delta":{"content":"b","tool_calls":[{"index":0,"id":"c","function":{"name":"ls"}}]}}]}`,
		"behind an escape":    `{"id":"x","choices":[{"index":0,"delta":{"content":"b","tool_\u0063alls":[{"id":"c","function":{"name":"ls"}}]}}]}`,
		"as function_call":    `{"id":"x","choices":[{"index":0,"delta":{"content":"b","function_call":{"name":"ls","arguments":"{}"}}}]}`,
		"in the next choice":  `{"id":"x","choices":[{"index":0,"delta":{"content":"b"}},{"index":1,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls"}}]}}]}`,
		"in a choice without": `{"id":"x","choices":[{"index":0,"delta":{"content":"b"}},{"delta":{"tool_calls":[{"id":"c","function":{"name":"ls"}}]}}]}`,
	} {
		stream := sse(delta(`"content":"a"`), call, "[DONE]")
		out, calls, err := run(none, stream)
		if err != nil || len(calls) != 1 || strings.Contains(string(out), `"ls"`) {
			t.Errorf("%s: %v, calls %q, sent\n%s", name, err, describe(calls), out)
		}
	}
	stream := sse(delta(`"content":"a"`), delta(`"content":"b","TOOL_cALLS":[{"id":"c"}]`))
	if out, _, err := run(all, stream); err == nil {
		t.Errorf("another case was let through: %s", out)
	}
}

func TestArgumentsHaveALimit(t *testing.T) {
	st := (&openai.Codec{}).Stream()
	if _, err := st.Push(sse(begun)); err != nil {
		t.Fatal(err)
	}
	fragment := sse(element(`"index":0,"function":{"arguments":"` + strings.Repeat("x", 1<<20) + `"}`))
	for range 9 {
		if _, err := st.Push(fragment); err != nil {
			if !errors.Is(err, wire.ErrTooLarge) {
				t.Errorf("got %v, want ErrTooLarge", err)
			}
			if _, again := st.Push(nil); again == nil {
				t.Error("the stream goes on after an error")
			}
			return
		}
	}
	t.Error("9 MiB of arguments were taken")
}

func TestWhatHoldgateSaysByItself(t *testing.T) {
	st := (&openai.Codec{}).Stream()
	if got, want := string(st.Idle()), ": holdgate\n\n"; got != want {
		t.Errorf("idle before anything came: got %q, want %q", got, want)
	}
	chunk := `{"id":"chatcmpl-7","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":2,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls"}}]}}]}`
	if _, err := st.Push(sse(chunk)); err != nil {
		t.Fatal(err)
	}
	head := `data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":2,"delta":{"content":`
	if got, want := string(st.Idle()), head+"\"\"},\"finish_reason\":null}]}\n\n"; got != want {
		t.Errorf("idle: got %s, want %s", got, want)
	}
	notice := st.(interface{ Notice(string) []byte }).Notice("who\nknows")
	if got, want := string(notice), head+"\"who\\nknows\"},\"finish_reason\":null}]}\n\n"; got != want {
		t.Errorf("notice: got %s, want %s", got, want)
	}
	if got, want := string(st.Fail("it \"broke\"")), "data: {\"error\":{\"message\":\"it \\\"broke\\\"\",\"type\":\"server_error\",\"param\":null,\"code\":\"holdgate\"}}\n\n"; got != want {
		t.Errorf("fail: got %s, want %s", got, want)
	}
}

// TestJoinedFragmentsMakeNoLine has fragments that are harmless alone; they are
// joined where the call before theirs was refused.
func TestJoinedFragmentsMakeNoLine(t *testing.T) {
	stream := sse(whole,
		element(`"index":1,"id":"c2","function":{"name":"cat","arguments":"{\"p\":\"x`+"\u2028"+`"}`),
		element(`"index":1,"function":{"arguments":"data: {\"}"}`), finished)
	second := func(n int) holdgate.Verdict { return holdgate.Verdict{Release: n == 1, Notice: "no"} }
	out, calls, err := run(second, stream)
	if err != nil || len(calls) != 2 {
		t.Fatalf("%v, calls %q", err, describe(calls))
	}
	if strings.Contains(string(out), "\u2028data:") {
		t.Errorf("a client that ends lines at U+2028 reads a field in %s", out)
	}
	_, again, err := run(all, out)
	if err != nil || describe(again) != describe(calls[1:]) {
		t.Errorf("%v, calls %q, want %q", err, describe(again), describe(calls[1:]))
	}
}

// TestEveryFormOfCallIsSeen has the forms beside the usual one.
func TestEveryFormOfCallIsSeen(t *testing.T) {
	legacy := delta(`"function_call":{"name":"ls","arguments":"{}"}`)
	custom := element(`"index":0,"id":"c1","type":"custom","custom":{"name":"ls","input":"x"}`)
	second := `{"id":"x","choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls","arguments":"{}"}}]}}]}`
	for name, stream := range map[string][]byte{
		"in the second of two choices":       sse(second, "[DONE]"),
		"in both of two choices":             sse(begun, second, element(`"index":0,"function":{"arguments":"1}"}`), "[DONE]"),
		"as a function_call":                 sse(legacy, finished),
		"as a custom tool":                   sse(custom, finished),
		"as a custom tool after [DONE]":      sse("[DONE]", custom, finished),
		"as a function_call after [DONE]":    sse("[DONE]", "[DONE]", legacy, "[DONE]"),
		"after a finish_reason":              sse(delta(`"content":"a"`), `{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, legacy, finished),
		"in an answer that begins anew":      sse(delta(`"role":"assistant","content":"a"`), "[DONE]", delta(`"role":"assistant","content":"a"`), legacy, "[DONE]"),
		"under an event field":               []byte("event: ping\ndata: " + legacy + "\n\n"),
		"under an event field that is error": []byte("event: error\ndata: " + legacy + "\n\n"),
		"beside an error":                    sse(`{"error":{"message":"x"},"choices":[{"index":0,"delta":{"function_call":{"name":"ls","arguments":"{}"}}}]}`, "[DONE]"),
	} {
		out, calls, err := run(none, stream)
		if err != nil || len(calls) == 0 || strings.Contains(string(out), `"ls"`) {
			t.Errorf("%s: %v, calls %q, sent\n%s", name, err, describe(calls), out)
		}
	}
}
