package coherev1_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/coherev1"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

var codec = &coherev1.Codec{}

func lines() wire.Stream { return codec.StreamAs("application/stream+json") }

func call(name, parameters string) string {
	return fmt.Sprintf(`{"name":%q,"parameters":%s}`, name, parameters)
}

// calls is the member with calls; nothing where there are none.
func calls(list ...string) string {
	if len(list) == 0 {
		return ""
	}
	return `,"tool_calls":[` + strings.Join(list, ",") + `]`
}

// plain is a whole answer with a text and these calls, which its history has again.
func plain(text string, list ...string) string {
	return fmt.Sprintf(`{"text":%q,"generation_id":"g"%s,"chat_history":[{"role":"USER","message":"go"},{"role":"CHATBOT","message":%q%s}],"finish_reason":"COMPLETE"}`,
		text, calls(list...), text, calls(list...))
}

// event is a line of a stream, as the API writes it.
func event(typ, members string) string {
	return fmt.Sprintf(`{"is_finished":%t,"event_type":"%s",%s}`+"\n", typ == "stream-end", typ, members)
}

var begin = event("stream-start", `"generation_id":"g"`)

func words(text string) string { return event("text-generation", `"text":`+wire.Quote(text)) }
func planned(text string) string {
	return event("tool-calls-chunk", `"text":`+wire.Quote(text))
}
func end(response string) string {
	return event("stream-end", `"finish_reason":"COMPLETE","response":`+response)
}

// piece is one of a call.
func piece(index int, name, value string) string {
	return event("tool-calls-chunk", fmt.Sprintf(`"tool_call_delta":{"index":%d,"%s":%s}`, index, name, wire.Quote(value)))
}

func generation(list ...string) string {
	return event("tool-calls-generation", calls(list...)[1:])
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]bool{
		"POST /v1/chat": true, "POST /x/v1//Chat/": true, "GET /v1/chat": false, "POST /v1/chat/completions": false, "POST /v2/chat": false,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := codec.MatchHost(method, path); got != want || codec.Match(method, path) {
			t.Errorf("%s matches: %t", request, got)
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		want       holdgate.Model
		problem    string
	}{
		{"tools", `{"model":"m","message":"go","stream":true,"tools":[{"name":"a"},{"name":"b"}],"connectors":[{"id":"web-search"}]}`,
			holdgate.Model{Name: "m", Stream: true, Tools: []string{"a", "b"}, ServerTools: []holdgate.ServerTool{{Type: "connector", Name: "web-search"}}}, ""},
		{"a key in another case", `{"message":"go","Tools":[]}`, holdgate.Model{}, "in another case"},
		{"a tool without a name", `{"message":"go","tools":[{}]}`, holdgate.Model{}, "a string was expected"},
		{"another API's", `{"messages":[]}`, holdgate.Model{}, "not gated yet"},
	} {
		tt.want.Provider = "cohere"
		m, err := codec.Request("/v1/chat", wire.Members([]byte(tt.body)))
		switch {
		case tt.problem != "":
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s: error %v", tt.name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		default:
			if diff := cmp.Diff(&tt.want, m); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	}
}

func TestPlainAnswers(t *testing.T) {
	t.Parallel()
	a, b := call("f", `{"x":1}`), call("g", `{"y": 2}`)
	older := `{"text":"Yes.","chat_history":[{"role":"CHATBOT","message":"","tool_calls":[` + a + `]},{"role":"TOOL","tool_results":[{"call":` + a + `,"outputs":[]}]},{"role":"CHATBOT","message":"Yes."}]}`
	for _, tt := range []struct {
		name, in string
		verdicts []holdgate.Verdict
		want     string
	}{
		{"both released", plain("So.", a, b), []holdgate.Verdict{wiretest.Release(), wiretest.Release()}, plain("So.", a, b)},
		{"one of two refused", plain("So.", a, b), []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Release()}, plain("So.\n\nno", b)},
		{"without a word", plain("", a), nil, plain("[holdgate] This call was not run.")},
		{"edited", plain("", b), []holdgate.Verdict{wiretest.Edit(`{"x":2}`)}, plain("", call("g", `{"x":2}`))},
		{"a note", plain("", a), []holdgate.Verdict{wiretest.Note("mind")}, plain("mind", a)},
		{"calls of before stay", older, nil, older},
		{"no history", `{"text":"","tool_calls":[` + a + `]}`, []holdgate.Verdict{wiretest.Refuse("no")}, `{"text":"no"}`},
	} {
		got, err := codec.Answer([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, string(got.Render(tt.verdicts))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

type streamCase struct {
	name, in string
	verdicts []holdgate.Verdict
	want     string
}

func streams() []streamCase {
	a, b := call("f", `{"x":1}`), call("g", `{}`)
	pieces := piece(0, "name", "f") + piece(0, "parameters", `{"x":`) + piece(0, "parameters", `1}`) + piece(1, "name", "g") + piece(1, "parameters", "{}")
	head := begin + words("So.") + planned("I will.")
	two := head + pieces + generation(a, b) + end(plain("So.", a, b))
	anew := func(n int, name, parameters string) string {
		return piece(n, "name", name) + piece(n, "parameters", parameters)
	}
	return []streamCase{
		{"both released", two, nil, two},
		{"one refused", two, []holdgate.Verdict{wiretest.Refuse("no")}, head + words("\n\nno") + anew(0, "g", "{}") + generation(b) + end(plain("So.\n\nno", b))},
		{"both refused", two, []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Refuse("nor this")}, head + words("\n\nno\n\nnor this") + end(plain("So.\n\nno\n\nnor this"))},
		{"edited", two, []holdgate.Verdict{wiretest.Edit(`{"y":2}`)},
			head + anew(0, "f", `{"y":2}`) + anew(1, "g", "{}") + generation(call("f", `{"y":2}`), b) + end(plain("So.", call("f", `{"y":2}`), b))},
		{"a note", two, []holdgate.Verdict{wiretest.Note("mind")},
			head + words("\n\nmind") + anew(0, "f", `{"x":1}`) + anew(1, "g", "{}") + generation(a, b) + end(plain("So.\n\nmind", a, b))},
		{"no pieces", begin + generation(a, b) + end(plain("", a, b)), []holdgate.Verdict{wiretest.Refuse("no")}, begin + words("no") + generation(b) + end(plain("no", b))},
		{"a plan beside calls that are refused", begin + event("tool-calls-generation", `"text":"I will."`+calls(a)) + end(plain("", a)), []holdgate.Verdict{wiretest.Refuse("no")}, begin + words("no") + planned("I will.") + end(plain("no"))},
		{"an end without calls", begin + generation(a) + end(`{"meta":{}}`), []holdgate.Verdict{wiretest.Refuse("no")}, begin + words("no") + end(`{"meta":{}}`)},
		{"calls in pieces and at the end", begin + pieces + end(plain("", a, b)), []holdgate.Verdict{wiretest.Refuse("no")}, begin + words("no") + anew(0, "g", "{}") + end(plain("no", b))},
		{"calls in pieces alone", begin + pieces + end(`{"text":""}`), []holdgate.Verdict{wiretest.Refuse("no")}, begin + words("no") + anew(0, "g", "{}") + end(`{"text":"no"}`)},
		{"calls at the end alone", begin + end(plain("", a)), []holdgate.Verdict{wiretest.Refuse("no")}, begin + words("no") + end(plain("no"))},
		{"no call", begin + words("So.") + "\n" + end(plain("So.")), nil, begin + words("So.") + "\n" + end(plain("So."))},
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	for _, tt := range streams() {
		for _, sse := range []bool{false, true} {
			in, want, begin := tt.in, tt.want, lines
			if sse {
				in, want, begin = events(in), events(want), codec.Stream
			}
			for size := 1; size <= len(in); size += 1 + size/3 {
				_, out, err := wiretest.Run(begin(), in, size, tt.verdicts)
				if err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
				if diff := cmp.Diff(want, strings.ReplaceAll(out, "event: \n", "")); diff != "" {
					t.Fatalf("%s, in pieces of %d, as events: %t (-want +got):\n%s", tt.name, size, sse, diff)
				}
			}
		}
	}
}

// events are lines as server-sent events.
func events(lines string) (out string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(lines, "\n"), "\n") {
		if line == "" {
			out += ": hm\n\n"
			continue
		}
		out += "event: " + wire.TextIn([]byte(line), "event_type") + "\ndata: " + line + "\n\n"
	}
	return out
}

// evasions are streams that two clients could read differently, or of which some of the
// calls would go unseen.
func evasions() map[string]string {
	a, b := call("f", "{}"), call("g", "{}")
	one := piece(0, "name", "f") + piece(0, "parameters", "{}")
	return map[string]string{
		"other pieces":                     begin + one + generation(call("f", `{"x":1}`)) + end(plain("")),
		"another name in pieces":           begin + one + generation(b) + end(plain("")),
		"more pieces than calls":           begin + one + piece(1, "name", "g") + generation(a) + end(plain("")),
		"others at the end":                begin + generation(a) + end(plain("", b)),
		"more at the end":                  begin + generation(a) + end(plain("", a, b)),
		"others in the history":            begin + generation(a) + end(strings.Replace(plain("", a), a, b, 1)),
		"calls twice":                      begin + generation(a) + generation(a) + end(plain("", a)),
		"pieces behind":                    begin + generation(a) + one + end(plain("", a)),
		"calls behind the end":             begin + end(plain("")) + generation(a) + end(plain("", a)),
		"an end inside of pieces":          begin + one,
		"a piece that becomes another":     begin + one + piece(0, "name", "g") + generation(a) + end(plain("")),
		"a piece of no call":               begin + piece(1, "parameters", "{}") + generation(a) + end(plain("")),
		"a piece without an index":         begin + event("tool-calls-chunk", `"tool_call_delta":{"name":"f"}`),
		"parameters of an object in one":   begin + event("tool-calls-chunk", `"tool_call_delta":{"index":0,"parameters":{}}`),
		"calls beside a text":              begin + event("text-generation", `"text":""`+calls(a)),
		"a piece beside a text":            begin + event("text-generation", `"text":"","tool_call_delta":{"index":0,"name":"f"}`),
		"a call under another name":        begin + event("text-generation", `"text":"","function_call":{"name":"f"}`),
		"no type":                          begin + `{"is_finished":false,"tool_calls":[` + a + `]}` + "\n",
		"a key in another case":            begin + event("tool-calls-generation", `"Tool_Calls":[`+a+`]`),
		"parameters in another case":       begin + generation(`{"name":"f","Parameters":{}}`),
		"no name":                          begin + generation(`{"parameters":{}}`),
		"an end without a response":        begin + event("stream-end", `"finish_reason":"COMPLETE"`),
		"a response that is a text":        begin + event("stream-end", `"response":"x"`),
		"a response beside a text":         begin + event("text-generation", `"response":{"tool_calls":[`+a+`]}`),
		"a text that is none":              begin + event("text-generation", `"text":[`+a+`]`),
		"calls in a message of the answer": begin + end(`{"text":"","message":{"tool_calls":[`+a+`]}}`),
	}
}

func TestEvasions(t *testing.T) {
	t.Parallel()
	for name, in := range evasions() {
		if calls, out, err := wiretest.Run(lines(), in, len(in), nil); err == nil {
			t.Errorf("%s: %d calls are found, and sent is %s", name, len(calls), out)
		}
		if calls, out, err := wiretest.Run(codec.Stream(), events(in), len(in), nil); err == nil {
			t.Errorf("%s, as events: %d calls are found, and sent is %s", name, len(calls), out)
		}
	}
	if _, out, err := wiretest.Run(codec.Stream(), strings.Replace(events(generation(call("f", "{}"))), "event: tool-calls-generation", "event: text-generation", 1), 99, nil); err == nil {
		t.Errorf("an event that is called something else is sent as %s", out)
	}
	for name, in := range map[string]string{
		"no text":                          `{"tool_calls":[]}`,
		"a call in a third place":          `{"text":"","message":{"tool_calls":[{"name":"f"}]}}`,
		"another call in its own message":  strings.Replace(plain("", call("f", "{}")), call("f", "{}"), call("g", "{}"), 1),
		"a call in its own message alone":  `{"text":"","chat_history":[{"role":"Chatbot","message":"","tool_calls":[` + call("f", "{}") + `]}]}`,
		"a role in another case":           `{"text":"","chat_history":[{"Role":"CHATBOT","tool_calls":[` + call("f", "{}") + `]}]}`,
		"an answer of the other version's": `{"id":"x","message":{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f"}}]}}`,
	} {
		if a, err := codec.Answer([]byte(in)); err == nil {
			t.Errorf("%s: %d calls are found", name, len(a.Calls()))
		}
	}
}

func TestCallsHaveALimit(t *testing.T) {
	t.Parallel()
	small := &coherev1.Codec{CallLimit: 1000}
	in := begin + piece(0, "name", "f") + piece(0, "parameters", strings.Repeat("x", 1000))
	if _, _, err := wiretest.Run(small.StreamAs("application/x-ndjson"), in, 100, nil); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("the error is %v", err)
	}
}

func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	s := lines()
	out := string(s.Idle())
	push := func(in string, v holdgate.Verdict) {
		t.Helper()
		parts, err := s.Push([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			out += string(s.Render(p, v))
		}
	}
	a := call("f", "{}")
	push(begin+words("So."), wiretest.Release())
	out += string(s.Idle()) + string(s.(interface{ Notice(string) []byte }).Notice("who knows")) + string(s.Idle())
	push(generation(a)+end(plain("So.", a)), wiretest.Release())
	got, err := codec.Collect([]byte(out))
	if diff := cmp.Diff(plain("So.\n\nwho knows", a), string(got)); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if s.Idle() != nil {
		t.Error("it goes on behind its end")
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		begin + words("So") + words(".") + generation(call("f", `{"x": 1}`)) + end(`{"meta":{}}`): `{"meta":{},"finish_reason":"COMPLETE","text":"So.","tool_calls":[{"name":"f","parameters":{"x": 1}}]}`,
		begin + piece(0, "name", "f") + piece(0, "parameters", `{"x": 1}`) + end(`{"text":""}`):   `{"text":"","finish_reason":"COMPLETE","tool_calls":[{"name":"f","parameters":{"x": 1}}]}`,
		begin + words("So."): "",
	} {
		for _, stream := range []string{in, events(in)} {
			if got, err := codec.Collect([]byte(stream)); string(got) != want || (err != nil) != (want == "") {
				t.Errorf("%s is collected to %s, error %v", stream, got, err)
			}
		}
	}
}

// FuzzStream: what comes out, read again, has exactly the calls that were released.
func FuzzStream(f *testing.F) {
	for _, tt := range streams() {
		f.Add(tt.in, uint8(7), false)
		f.Add(events(tt.in), uint8(7), true)
	}
	for _, in := range evasions() {
		f.Add(in, uint8(2), false)
	}
	f.Fuzz(func(t *testing.T, in string, size uint8, sse bool) {
		begin := lines
		if sse {
			begin = codec.Stream
		}
		wiretest.Property(t, begin, in, int(size)+1)
	})
}

// inLines is the codec with streams as it expands them.
type inLines struct{ *coherev1.Codec }

func (inLines) Stream() wire.Stream { return lines() }

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(plain("hello", call("f", `{"x":1}`), call("g", `{"x": 1}`))))
	f.Add([]byte(`{"text":"","chat_history":[{"role":"CHATBOT","message":"","tool_calls":[` + call("f", "{}") + `]},{"role":"TOOL"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) { wiretest.AnswerProperty(t, inLines{codec}, body) })
}
