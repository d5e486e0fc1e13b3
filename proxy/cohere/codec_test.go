package cohere_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/cohere"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

var codec = &cohere.Codec{}

// element is an element of tool_calls.
func element(id, name, arguments string) string {
	return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, id, name, wire.Quote(arguments))
}

// plain is a whole answer with these members in its message.
func plain(members, reason string) string {
	return `{"id":"x","message":{"role":"assistant",` + members + `},"finish_reason":"` + reason + `","usage":{"tokens":{"output_tokens":7}}}`
}

// event is one of a stream, as the API writes it.
func event(typ, members string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":\"%s\"%s}\n\n", typ, typ, members)
}

const begin = "event: message-start\ndata: {\"type\":\"message-start\",\"id\":\"x\",\"delta\":{\"message\":{\"role\":\"assistant\",\"content\":[],\"tool_calls\":[]}}}\n\n"

func end(reason string) string {
	return event("message-end", `,"delta":{"finish_reason":"`+reason+`","usage":{"tokens":{"output_tokens":7}}}`)
}

func words(index int, text string) string {
	at := fmt.Sprintf(`,"index":%d`, index)
	return event("content-start", at+`,"delta":{"message":{"content":{"type":"text","text":""}}}`) +
		event("content-delta", at+`,"delta":{"message":{"content":{"text":`+wire.Quote(text)+`}}}`) + event("content-end", at)
}

// called are the events of a call, its arguments in these pieces.
func called(index int, id, name string, pieces ...string) string {
	at := fmt.Sprintf(`,"index":%d`, index)
	s := event("tool-call-start", at+`,"delta":{"message":{"tool_calls":`+element(id, name, "")+`}}`)
	for _, p := range pieces {
		s += event("tool-call-delta", at+`,"delta":{"message":{"tool_calls":{"function":{"arguments":"`+p+`"}}}}`)
	}
	return s + event("tool-call-end", at)
}

func TestRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		want       holdgate.Model
		problem    string
	}{
		{"tools", `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"a"}}]}`, holdgate.Model{Name: "m", Stream: true, Tools: []string{"a"}}, ""},
		{"what the provider runs", `{"connectors":[{"id":"web"}],"tools":[{"type":"search"}]}`, holdgate.Model{ServerTools: []holdgate.ServerTool{{Type: "connectors"}, {Type: "search"}}}, ""},
		{"a key in another case", `{"Tools":[]}`, holdgate.Model{}, "in another case"},
		{"a function in another case", `{"tools":[{"Function":{"name":"a"}}]}`, holdgate.Model{}, "in another case"},
		{"a tool without a name", `{"tools":[{"function":{}}]}`, holdgate.Model{}, "name of a tool"},
		{"tools that are no list", `{"tools":{}}`, holdgate.Model{}, "[ was expected"},
	} {
		tt.want.Provider = "cohere"
		m, err := codec.Request("/v2/chat", wire.Members([]byte(tt.body)))
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
	a, b := element("a", "f", `{"x":1}`), element("b", "g", "")
	for _, tt := range []struct {
		name, in string
		verdicts []holdgate.Verdict
		want     string
	}{
		{"a refused call", plain(`"tool_plan":"So.","tool_calls":[`+a+`]`, "TOOL_CALL"), []holdgate.Verdict{wiretest.Refuse("no")},
			plain(`"tool_plan":"So.","content":[{"type":"text","text":"no"}]`, "COMPLETE")},
		{"one of two", plain(`"tool_calls":[`+a+`, `+b+`],"content":[{"type":"text","text":"So."}]`, "TOOL_CALL"), []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Release()},
			plain(`"tool_calls":[`+b+`],"content":[{"type":"text","text":"So."},{"type":"text","text":"\n\nno"}]`, "TOOL_CALL")},
		{"both", plain(`"tool_calls":[`+a+`,`+b+`],"content":"So."`, "TOOL_CALL"), []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Refuse("never")},
			plain(`"content":"So.\n\nno\n\nnever"`, "COMPLETE")},
		{"without a word", plain(`"tool_calls":[`+a+`],"content":null`, "TOOL_CALL"), nil, plain(`"content":[{"type":"text","text":"[holdgate] This call was not run."}]`, "COMPLETE")},
		{"edited", plain(`"tool_calls":[`+a+`]`, "TOOL_CALL"), []holdgate.Verdict{wiretest.Edit(`{"x":2}`)}, plain(`"tool_calls":[`+element("a", "f", `{"x":2}`)+`]`, "TOOL_CALL")},
		{"arguments where there were none", plain(`"tool_calls":[{"id":"a","function":{"name":"f"}}]`, "TOOL_CALL"), []holdgate.Verdict{wiretest.Edit(`{}`)},
			plain(`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]`, "TOOL_CALL")},
		{"a call that is cut keeps the reason", plain(`"tool_calls":[`+element("a", "f", `{"x`)+`]`, "MAX_TOKENS"), []holdgate.Verdict{wiretest.Refuse("no")},
			plain(`"content":[{"type":"text","text":"no"}]`, "MAX_TOKENS")},
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

func TestStreams(t *testing.T) {
	t.Parallel()
	two := begin + words(0, "So.") + called(0, "a", "f", `{\"x\":`, `1}`) + called(1, "b", "g") + words(1, "And.") + end("TOOL_CALL")
	for _, tt := range []struct {
		name, in string
		verdicts []holdgate.Verdict
		want     string
	}{
		{"both released", two, nil, two},
		{"one of two refused", two, []holdgate.Verdict{wiretest.Refuse("no")},
			begin + words(0, "So.") + words(1, "\n\nno") + called(0, "b", "g") + words(2, "And.") + end("TOOL_CALL")},
		{"both refused", two, []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Refuse("never")},
			begin + words(0, "So.") + words(1, "\n\nno") + words(2, "\n\nnever") + words(3, "And.") + end("COMPLETE")},
		{"edited", two, []holdgate.Verdict{wiretest.Edit(`{"y":2}`)},
			begin + words(0, "So.") + called(0, "a", "f", `{\"y\":2}`) + called(1, "b", "g") + words(1, "And.") + end("TOOL_CALL")},
		{"edited, without a piece", begin + called(0, "b", "g") + end("TOOL_CALL"), []holdgate.Verdict{wiretest.Edit(`{"y":2}`)},
			begin + called(0, "b", "g", `{\"y\":2}`) + end("TOOL_CALL")},
		{"a note", begin + called(0, "b", "g") + end("TOOL_CALL"), []holdgate.Verdict{wiretest.Note("mind")}, begin + words(0, "mind") + called(0, "b", "g") + end("TOOL_CALL")},
		{"a citation of a later block", begin + called(0, "b", "g") + event("citation-start", `,"index":0,"delta":{"message":{"citations":{"text":"x","content_index":0}}}`) + end("COMPLETE"), []holdgate.Verdict{wiretest.Refuse("no")},
			begin + words(0, "no") + event("citation-start", `,"index":0,"delta":{"message":{"citations":{"text":"x","content_index":1}}}`) + end("COMPLETE")},
		{"half a pair in each piece", begin + called(0, "a", "f", `{\"x\":\"\ud83d`, `\ude00\"}`) + end("TOOL_CALL"), nil, begin + called(0, "a", "f", `{\"x\":\"\ud83d`, `\ude00\"}`) + end("TOOL_CALL")},
		{"comments inside of a call", begin + strings.Replace(called(0, "a", "f", `{}`), "\n\n", "\n\n: hm\n\n", 1) + end("TOOL_CALL"), []holdgate.Verdict{wiretest.Refuse("no")}, begin + words(0, "no") + end("COMPLETE")},
	} {
		for size := 1; size <= len(tt.in); size += 1 + size/3 {
			_, out, err := wiretest.Run(codec.Stream(), tt.in, size, tt.verdicts)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if diff := cmp.Diff(tt.want, out); diff != "" {
				t.Fatalf("%s, in pieces of %d (-want +got):\n%s", tt.name, size, diff)
			}
		}
	}
}

// evasions are streams that two clients could read differently, or of which some of the
// calls would go unseen.
func evasions() map[string]string {
	call, open := called(0, "a", "f", "{}"), event("tool-call-start", `,"index":0,"delta":{"message":{"tool_calls":`+element("a", "f", "")+`}}`)
	return map[string]string{
		"a call in another event":                begin + event("content-delta", `,"index":0,"delta":{"message":{"tool_calls":`+element("a", "f", "{}")+`}}`),
		"a call in the start of the message":     event("message-start", `,"delta":{"message":{"tool_calls":[`+element("a", "f", "{}")+`]}}`),
		"a list of calls":                        begin + event("tool-call-start", `,"index":0,"delta":{"message":{"tool_calls":[`+element("a", "f", "{}")+`]}}`),
		"a call beside the delta":                begin + event("debug", `,"tool_calls":[`+element("a", "f", "{}")+`]`),
		"a call in a block":                      begin + event("content-start", `,"index":0,"delta":{"message":{"content":{"type":"tool_call","name":"f","arguments":"{}"}}}`),
		"a piece before its call":                begin + event("tool-call-delta", `,"index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{}"}}}}`),
		"words inside of a call":                 begin + open + words(0, "x"),
		"a piece of another call":                begin + open + event("tool-call-delta", `,"index":1,"delta":{"message":{"tool_calls":{"function":{"arguments":"{}"}}}}`),
		"another name":                           begin + open + event("tool-call-delta", `,"index":0,"delta":{"message":{"tool_calls":{"function":{"name":"g"}}}}`),
		"an index twice":                         begin + call + called(0, "b", "g"),
		"an id twice":                            begin + call + called(1, "a", "g"),
		"no index":                               begin + strings.ReplaceAll(call, `,"index":0`, ""),
		"no name":                                begin + called(0, "a", ""),
		"arguments that are an object":           begin + strings.Replace(call, `"arguments":"{}"`, `"arguments":{}`, 1),
		"another type":                           begin + strings.Replace(call, `"type":"function"`, `"type":"custom"`, 1),
		"an event that is called something else": begin + strings.Replace(call, "event: tool-call-start", "event: ping", 1),
		"an event without a type":                begin + "event: tool-call-start\ndata: {\"index\":0}\n\n",
		"a key in another case":                  begin + strings.Replace(call, `"tool_calls"`, `"Tool_Calls"`, 1),
		"data in a comment":                      begin + ": hm data: " + `{"type":"tool-call-start"}` + "\n\n",
		"data behind an id":                      begin + "id: 1 data: {}\n\n",
		"the end inside of a call":               begin + open,
		"a key twice":                            begin + event("debug", `,"a":1,"a":2`),
	}
}

func TestEvasions(t *testing.T) {
	t.Parallel()
	for name, in := range evasions() {
		if calls, out, err := wiretest.Run(codec.Stream(), in, len(in), nil); err == nil {
			t.Errorf("%s: %d calls are found, and sent is %s", name, len(calls), out)
		}
	}
	for name, in := range map[string]string{
		"a call beside the message": strings.Replace(plain(`"content":[]`, "COMPLETE"), `"id"`, `"tool_calls":[`+element("a", "f", "{}")+`],"id"`, 1),
		"a call in a block":         plain(`"content":[{"type":"tool_call","name":"f","arguments":"{}"}]`, "COMPLETE"),
		"another case":              plain(`"Tool_calls":[`+element("a", "f", "{}")+`]`, "COMPLETE"),
		"arguments of a number":     plain(`"tool_calls":[{"id":"a","function":{"name":"f","arguments":1}}]`, "TOOL_CALL"),
		"no name":                   plain(`"tool_calls":[{"id":"a"}]`, "TOOL_CALL"),
		"a message that is a text":  `{"message":"hello"}`,
	} {
		if a, err := codec.Answer([]byte(in)); err == nil {
			t.Errorf("%s: %d calls are found", name, len(a.Calls()))
		}
	}
}

func TestACallHasALimit(t *testing.T) {
	t.Parallel()
	in := begin + called(0, "a", "f", strings.Repeat("x", 1000))
	if _, _, err := wiretest.Run((&cohere.Codec{CallLimit: 1000}).Stream(), in, 100, nil); err == nil || !strings.Contains(err.Error(), wire.ErrTooLarge.Error()) {
		t.Errorf("the error is %v", err)
	}
}

func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	s := codec.Stream()
	if b := s.Idle(); b != nil {
		t.Errorf("before the message there is %s", b)
	}
	parts, err := s.Push([]byte(begin))
	if err != nil {
		t.Fatal(err)
	}
	out := string(s.Render(parts[0], wiretest.Release())) + string(s.Idle()) + string(s.(interface{ Notice(string) []byte }).Notice("who knows")) + string(s.Idle())
	parts, err = s.Push([]byte(called(0, "a", "f", "{}") + end("TOOL_CALL")))
	if err != nil || len(parts) != 2 {
		t.Fatalf("%d parts, error %v", len(parts), err)
	}
	out += string(s.Render(parts[0], wiretest.Refuse("no"))) + string(s.Render(parts[1], wiretest.Release()))
	got, err := codec.Collect([]byte(out))
	want := `{"id":"x","finish_reason":"COMPLETE","usage":{"tokens":{"output_tokens":7}},"message":{"role":"assistant","content":[{"type":"text","text":"who knows"},{"type":"text","text":"\n\nno"}]}}`
	if err != nil || string(got) != want {
		t.Errorf("the client has %s, error %v", got, err)
	}
	if b := s.Idle(); b != nil {
		t.Errorf("behind the message there is %s", b)
	}
	if _, err := codec.Collect(s.Fail("it broke")); err == nil {
		t.Error("a stream that fails is collected")
	}
}

func TestInstruct(t *testing.T) {
	t.Parallel()
	got, ok := codec.Instruct([]byte(`{"messages":[{"role":"user","content":"go"}]}`), "stop")
	if want := `{"messages":[{"role":"user","content":"go"},{"role":"user","content":"stop"}]}`; !ok || string(got) != want {
		t.Errorf("got %s", got)
	}
	for _, body := range []string{`{}`, `{"messages":[]}`, `{"messages":[{"role":"assistant","content":"I"}]}`} {
		if got, ok := codec.Instruct([]byte(body), "stop"); ok {
			t.Errorf("%s becomes %s", body, got)
		}
	}
}

func TestHistoryHasResultsWithTheirCalls(t *testing.T) {
	t.Parallel()
	document, err := wire.ReadDocument([]byte(`{"messages":[{"role":"assistant","tool_calls":[` + element("a", "f", `{"x":1}`) + `]},{"role":"tool","tool_call_id":"a","content":"ok"},{"role":"tool","tool_call_id":"?","content":"ok"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	h, err := codec.History(document)
	want := wire.History{Begun: true, Results: []wire.Result{{ID: "a", Tool: "f", Arguments: []byte(`{"x":1}`)}, {ID: "?"}}}
	if diff := cmp.Diff(want, h); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// What comes out, read again, has exactly the calls that were released; and an answer all
// of whose calls go on as they came keeps its bytes.
func FuzzStream(f *testing.F) {
	f.Add(begin+words(0, "So.")+called(0, "a", "f", `{\"x\":`, `1}`)+called(1, "b", "g")+end("TOOL_CALL"), uint8(7))
	f.Add(begin+called(0, "a", "f", `{\"x\":\"\ud83d`, `\ude00\"}`)+called(3, "c", "h", "{}")+words(2, "x")+end("COMPLETE"), uint8(1))
	for _, in := range evasions() {
		f.Add(in, uint8(2))
	}
	f.Fuzz(func(t *testing.T, in string, size uint8) { wiretest.Property(t, codec.Stream, in, int(size)+1) })
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(plain(`"content":[{"type":"text","text":"So."},{"type":"thinking","thinking":"hm"}],"tool_calls":[`+element("a", "f", `{"x":1}`)+`,`+element("b", "g", "")+`],"citations":[{"text":"x"}]`, "TOOL_CALL")))
	f.Add([]byte(plain(`"tool_plan":"hm","tool_calls":null,"content":"x"`, "COMPLETE")))
	f.Fuzz(func(t *testing.T, body []byte) { wiretest.AnswerProperty(t, codec, body) })
}
