package mistral_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mistral"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

var codec = &mistral.Codec{}

// plain is a whole answer with these entries.
func plain(entries ...string) string {
	return `{"object":"conversation.response","conversation_id":"conv","outputs":[` + strings.Join(entries, ",") + `],"usage":{"total_tokens":7}}`
}

// call is an entry of a call, its arguments as they stand in the JSON.
func call(id, name, arguments string) string {
	return fmt.Sprintf(`{"object":"entry","type":"function.call","id":"fc_%s","model":"m","tool_call_id":%q,"name":%q,"arguments":%s}`, id, id, name, arguments)
}

// message is an entry of words that stands in the place of a call's.
func message(id, text string) string {
	return fmt.Sprintf(`{"type":"message.output","object":"entry","id":"fc_%s","model":"m","role":"assistant","content":%s}`, id, wire.Quote(text))
}

const ran = `{"object":"entry","type":"tool.execution","id":"te","name":"web_search","arguments":"{\"q\":1}","info":{}}`

// event is one of a stream, as the API writes it.
func event(typ, members string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":\"%s\",%s}\n\n", typ, typ, members)
}

var (
	begin = event("conversation.response.started", `"conversation_id":"conv"`)
	end   = event("conversation.response.done", `"usage":{"total_tokens":7}`)
)

func words(index int, text string) string {
	return event("message.output.delta", fmt.Sprintf(`"output_index":%d,"content_index":0,"id":"msg_%d","role":"assistant","content":%s`, index, index, wire.Quote(text)))
}

// called are the events of a call, its arguments in these pieces.
func called(index int, id, name string, pieces ...string) (s string) {
	for _, p := range pieces {
		s += event("function.call.delta", fmt.Sprintf(`"output_index":%d,"id":"fc_%s","model":"m","name":"%s","tool_call_id":"%s","arguments":"%s"`, index, id, name, id, p))
	}
	return s
}

// said is the event that stands in the place of a call's.
func said(index int, id, text string) string {
	return "event: message.output.delta\ndata: " + fmt.Sprintf(`{"type":"message.output.delta","id":"fc_%s","model":"m","output_index":%d,"content_index":0,"role":"assistant","content":%s}`, id, index, wire.Quote(text)) + "\n\n"
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"POST /v1/conversations":           "",
		"POST /v1/conversations/c":         "c",
		"POST /x/v1/conversations/c/":      "c",
		"POST /v1/conversations/c/restart": "",
		"GET /v1/conversations/c":          "none",
		"POST /v1/conversations/c/items":   "none",
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := codec.MatchHost(method, path); got != (want != "none") || codec.Match(method, path) {
			t.Errorf("%s matches: %t", request, got)
		}
		if got := codec.Conversation(path, nil); want != "none" && got != want {
			t.Errorf("%s is in the conversation %q, want %q", request, got, want)
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
		{"tools", `{"model":"m","inputs":"go","stream":true,"tools":[{"type":"function","function":{"name":"a"}},{"type":"web_search"},{"type":"connector","connector_id":"c"}]}`,
			holdgate.Model{Name: "m", Stream: true, Tools: []string{"a"}, ServerTools: []holdgate.ServerTool{{Type: "web_search"}, {Type: "connector", Name: "c"}}}, ""},
		{"an agent", `{"agent_id":"ag","inputs":[]}`, holdgate.Model{ServerTools: []holdgate.ServerTool{{Type: "agent", Name: "ag"}}}, ""},
		{"a confirmation", `{"tool_confirmations":[]}`, holdgate.Model{}, ""},
		{"a key in another case", `{"inputs":"go","Tools":[]}`, holdgate.Model{}, "in another case"},
		{"a tool without a name", `{"inputs":"go","tools":[{"function":{}}]}`, holdgate.Model{}, "name of a tool"},
		{"another API's", `{"items":[]}`, holdgate.Model{}, "not gated yet"},
	} {
		tt.want.Provider = "mistral"
		m, err := codec.Request("/v1/conversations", wire.Members([]byte(tt.body)))
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
	a, b := call("a", "f", `"{\"x\":1}"`), call("b", "g", `{"x": 1}`)
	pending := strings.Replace(a, `"name"`, `"confirmation_status":"pending","name"`, 1)
	for _, tt := range []struct {
		name, in string
		verdicts []holdgate.Verdict
		want     string
	}{
		{"one of two refused", plain(a, b), []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Release()}, plain(message("a", "no"), b)},
		{"without a word", plain(a), nil, plain(message("a", "[holdgate] This call was not run."))},
		{"edited, a text", plain(a), []holdgate.Verdict{wiretest.Edit(`{"x":2}`)}, plain(call("a", "f", `"{\"x\":2}"`))},
		{"edited, an object", plain(b), []holdgate.Verdict{wiretest.Edit(`{"x":2}`)}, plain(call("b", "g", `{"x":2}`))},
		{"a note", plain(a), []holdgate.Verdict{wiretest.Note("mind")}, plain(message("a", "mind"), a)},
		{"what the provider has run stays", plain(ran, a), []holdgate.Verdict{{}, wiretest.Refuse("no")}, plain(ran, message("a", "no"))},
		{"a call that waits to be confirmed", plain(pending), []holdgate.Verdict{wiretest.Release()}, plain(pending)},
		{"the same, edited", plain(pending), []holdgate.Verdict{wiretest.Edit(`{}`)},
			plain(message("a", "[holdgate] The call to f was not run: its arguments were edited, and the provider has others."))},
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
	two := begin + words(0, "So.") + called(1, "a", "f", `{\"x\":`, `1}`) + called(2, "b", "g", "{}") + words(3, "And.") + end
	for _, tt := range []struct {
		name, in string
		verdicts []holdgate.Verdict
		want     string
	}{
		{"both released", two, nil, two},
		{"one refused", two, []holdgate.Verdict{wiretest.Refuse("no")}, begin + words(0, "So.") + said(1, "a", "no") + called(2, "b", "g", "{}") + words(3, "And.") + end},
		{"edited", two, []holdgate.Verdict{wiretest.Edit(`{"y":2}`)},
			begin + words(0, "So.") + called(1, "a", "f", `{\"y\":2}`) + called(2, "b", "g", "{}") + words(3, "And.") + end},
		{"a note", two, []holdgate.Verdict{wiretest.Note("mind")},
			begin + words(0, "So.") + said(1, "a", "mind") + called(2, "a", "f", `{\"x\":`, `1}`) + called(3, "b", "g", "{}") + strings.Replace(words(4, "And."), "msg_4", "msg_3", 1) + end},
		{"half a pair in each piece", begin + called(0, "a", "f", `{\"x\":\"\ud83d`, `\ude00\"}`) + end, nil, begin + called(0, "a", "f", `{\"x\":\"\ud83d`, `\ude00\"}`) + end},
		{"comments inside of a call", begin + called(0, "a", "f", "{") + ": hm\n\n" + called(0, "a", "f", "}") + end, []holdgate.Verdict{wiretest.Refuse("no")}, begin + said(0, "a", "no") + end},
		{"an end without an end", begin + called(0, "a", "f", "{}"), []holdgate.Verdict{wiretest.Refuse("no")}, begin + said(0, "a", "no")},
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

func TestWhatTheProviderRunsIsObserved(t *testing.T) {
	t.Parallel()
	in := begin + event("tool.execution.started", `"output_index":0,"id":"te","name":"web_search","arguments":"{\"q\":"`) +
		event("tool.execution.delta", `"output_index":0,"id":"te","name":"web_search","arguments":"1}"`) +
		event("tool.execution.done", `"output_index":0,"id":"te","name":"web_search","info":{}`) + end
	s := codec.Stream()
	parts, err := s.Push([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, p := range parts {
		if p.Call == nil {
			continue
		}
		if found++; !p.Observed || p.Call.Tool.Name != "web_search" || string(p.Call.Tool.Arguments) != `{"q":1}` {
			t.Errorf("the call is %+v", p.Call.Tool)
		}
	}
	if found != 1 {
		t.Errorf("%d calls are observed", found)
	}
	got, err := codec.Collect([]byte(in))
	if want := `{"object":"conversation.response","conversation_id":"conv","usage":{"total_tokens":7},"outputs":[{"object":"entry","type":"tool.execution","id":"te","name":"web_search","arguments":"{\"q\":1}","info":{}}]}`; err != nil || string(got) != want {
		t.Errorf("collected it is %s, error %v", got, err)
	}
	if again, err := codec.Expand(got); err != nil || strings.Count(string(again), "event: tool.execution.") != 2 {
		t.Errorf("expanded it is %s, error %v", again, err)
	}
}

// evasions are streams that two clients could read differently, or of which some of the
// calls would go unseen.
func evasions() map[string]string {
	one := called(0, "a", "f", "{}")
	return map[string]string{
		"a call in words":                   begin + strings.Replace(words(0, "x"), `"content":`, `"tool_call_id":"a","name":"f","arguments":"{}","content":`, 1),
		"a call inside of the words":        begin + strings.Replace(words(0, "x"), `"content":"x"`, `"content":{"type":"function.call","name":"f","arguments":"{}"}`, 1),
		"a whole entry":                     begin + event("function.call", `"id":"x","tool_call_id":"a","name":"f","arguments":"{}"`),
		"entries in the end":                begin + event("conversation.response.done", `"outputs":[{"tool_calls":[{"name":"f"}]}]`),
		"another name":                      begin + one + called(0, "a", "g", "{}"),
		"another id":                        begin + one + called(0, "b", "f", "{}"),
		"a number again":                    begin + one + words(1, "x") + called(0, "b", "f", "{}"),
		"an id of the call again":           begin + one + words(1, "x") + called(2, "a", "f", "{}"),
		"no name":                           begin + called(0, "a", "", "{}"),
		"no id of the call":                 begin + called(0, "", "f", "{}"),
		"arguments that are an object":      begin + strings.Replace(one, `"arguments":"{}"`, `"arguments":{}`, 1),
		"an event called something else":    begin + strings.Replace(one, "event: function.call.delta", "event: message.output.delta", 1),
		"an event without a type":           begin + "event: function.call.delta\ndata: {\"name\":\"f\"}\n\n",
		"a key in another case":             begin + strings.Replace(one, `"tool_call_id"`, `"Tool_call_id"`, 1),
		"what runs at the provider, by us":  begin + event("tool.execution.started", `"id":"te","name":"f","tool_call_id":"a","arguments":"{}"`),
		"an end inside of the arguments":    begin + called(0, "a", "f", `{\"x\":`),
		"a call of something else's number": begin + strings.Replace(one, `"output_index":0`, `"output_index":-1`, 1),
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
		"an entry without a type":    plain(strings.Replace(call("a", "f", `"{}"`), `"type":"function.call",`, "", 1)),
		"an entry of a type of null": plain(strings.Replace(call("a", "f", `"{}"`), `"type":"function.call"`, `"type":null`, 1)),
		"another type of call":       plain(strings.Replace(call("a", "f", `"{}"`), "function.call", "custom.call", 1)),
		"a call beside the entries":  strings.Replace(plain(), `"usage"`, `"tool_calls":[{"name":"f"}],"usage"`, 1),
		"arguments of a list":        plain(call("a", "f", "[1]")),
		"no outputs":                 `{"object":"conversation.response"}`,
	} {
		if a, err := codec.Answer([]byte(in)); err == nil {
			t.Errorf("%s: %d calls are found", name, len(a.Calls()))
		}
	}
}

func TestACallHasALimit(t *testing.T) {
	t.Parallel()
	small := &mistral.Codec{CallLimit: 1000}
	for name, in := range map[string]string{
		"a call":                 begin + called(0, "a", "f", strings.Repeat("x", 1000)),
		"what the provider runs": begin + event("tool.execution.started", `"id":"te","name":"f","arguments":"`+strings.Repeat("x", 1000)+`"`),
	} {
		if _, _, err := wiretest.Run(small.Stream(), in, 100, nil); !errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	s := codec.Stream()
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
	push(begin+words(0, "So."), wiretest.Release())
	out += string(s.Idle()) + string(s.(interface{ Notice(string) []byte }).Notice("who knows")) + string(s.Idle())
	push(called(1, "a", "f", "{}")+end, wiretest.Refuse("no"))
	got, err := codec.Collect([]byte(out))
	want := `{"object":"conversation.response","conversation_id":"conv","usage":{"total_tokens":7},"outputs":[` +
		`{"object":"entry","type":"message.output","id":"msg_0","role":"assistant","content":"So."},{"object":"entry","type":"message.output","id":"msg_holdgate","role":"assistant","content":"who knows"},` +
		`{"object":"entry","type":"message.output","id":"fc_a","model":"m","role":"assistant","content":"no"}]}`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if _, err := codec.Collect(s.Fail("it broke")); err == nil {
		t.Error("a stream that fails is collected")
	}
}

// FuzzStream: what comes out, read again, has exactly the calls that were released.
func FuzzStream(f *testing.F) {
	f.Add(begin+words(0, "So.")+called(1, "a", "f", `{\"x\":`, `1}`)+called(2, "b", "g", "{}")+end, uint8(7))
	f.Add(begin+called(0, "a", "f", `{\"x\":\"\ud83d`, `\ude00\"}`)+": hm\n\n"+called(5, "b", "g", "{}"), uint8(1))
	f.Add(begin+event("tool.execution.started", `"id":"te","name":"s","arguments":"{"`)+event("tool.execution.delta", `"id":"te","name":"s","arguments":"}"`)+event("tool.execution.done", `"id":"te","name":"s"`)+end, uint8(9))
	for _, in := range evasions() {
		f.Add(in, uint8(2))
	}
	f.Fuzz(func(t *testing.T, in string, size uint8) { wiretest.Property(t, codec.Stream, in, int(size)+1) })
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(plain(call("a", "f", `"{\"x\":1}"`), call("b", "g", `{"x": 1}`), ran, message("c", "hello"))))
	f.Add([]byte(plain(`{"object":"entry","type":"agent.handoff","id":"h","previous_agent_id":"a","previous_agent_name":"a","next_agent_id":"b","next_agent_name":"b"}`)))
	f.Fuzz(func(t *testing.T, body []byte) { wiretest.AnswerProperty(t, codec, body) })
}
