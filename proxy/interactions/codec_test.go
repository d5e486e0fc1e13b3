package interactions_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/interactions"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

var codec = &interactions.Codec{}

// plain is a whole interaction with these steps.
func plain(status string, steps ...string) string {
	return `{"id":"v1","status":"` + status + `","steps":[` + strings.Join(steps, ",") + `],"usage":{"total_tokens":7}}`
}

func call(id, name, arguments string) string {
	return fmt.Sprintf(`{"type":"function_call","id":%q,"name":%q,"arguments":%s}`, id, name, arguments)
}

// message is a step of the model's words.
func message(text string) string {
	return `{"type":"model_output","content":[{"type":"text","text":` + wire.Quote(text) + `}]}`
}

const searched = `{"type":"google_search_call","id":"s","arguments":{"queries":["x"]}}`

// event is one of a stream, as the API writes it.
func event(typ, members string) string {
	if members != "" {
		members += ","
	}
	return fmt.Sprintf("event: %s\ndata: {%s\"event_type\":\"%s\"}\n\n", typ, members, typ)
}

func indexed(typ string, index int, members string) string {
	if members != "" {
		members = "," + members
	}
	return event(typ, fmt.Sprintf(`"index":%d%s`, index, members))
}

var begin = event("interaction.created", `"interaction":{"id":"v1","status":"in_progress"}`)

// end is the last event, and what follows it.
func end(status, more string) string {
	return event("interaction.completed", `"interaction":{"id":"v1","status":"`+status+`"`+more+`}`) + "event: done\ndata: [DONE]\n\n"
}

func words(index int, text string) string {
	return indexed("step.start", index, `"step":{"type":"model_output"}`) + indexed("step.delta", index, `"delta":{"text":`+wire.Quote(text)+`,"type":"text"}`) + indexed("step.stop", index, "")
}

// called are the events of a call, its arguments in these pieces.
func called(index int, id, name string, pieces ...string) string {
	s := indexed("step.start", index, `"step":`+call(id, name, "{}"))
	for _, p := range pieces {
		s += indexed("step.delta", index, `"delta":{"arguments":"`+p+`","type":"arguments_delta"}`)
	}
	return s + indexed("step.stop", index, "")
}

// said are the events of words of our own.
func said(index int, text string) string {
	at := fmt.Sprintf(`{"index":%d,`, index)
	return "event: step.start\ndata: " + at + `"step":{"type":"model_output"},"event_type":"step.start"}` + "\n\n" +
		"event: step.delta\ndata: " + at + `"delta":{"type":"text","text":` + wire.Quote(text) + `},"event_type":"step.delta"}` + "\n\n" +
		"event: step.stop\ndata: " + at + `"event_type":"step.stop"}` + "\n\n"
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for request, want := range map[string][3]bool{ // on any host, on one that serves models, and whether it fetches
		"POST /v1beta/interactions":                              {true, true, false},
		"POST /v1beta//Interactions/":                            {true, true, false},
		"POST /v1beta1/projects/p/locations/global/interactions": {false, true, false},
		"GET /v1beta/interactions/i":                             {true, true, true},
		"POST /v1beta/interactions/i/cancel":                     {true, true, true},
		"POST /v2/interactions":                                  {false, true, false},
		"GET /v1beta/interactions":                               {},
		"DELETE /v1beta/models/m":                                {},
	} {
		method, path, _ := strings.Cut(request, " ")
		got := [3]bool{codec.Match(method, path), codec.MatchHost(method, path), codec.Fetches(method, path)}
		if got != want {
			t.Errorf("%s: got %v, want %v", request, got, want)
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
		{"tools", `{"model":"models/m","input":"go","stream":true,"tools":[{"type":"function","name":"a"},{"type":"google_search"},{"type":"mcp_server","name":"n","url":"https://x.example"}]}`,
			holdgate.Model{Name: "m", Stream: true, Tools: []string{"a"}, ServerTools: []holdgate.ServerTool{{Type: "google_search"}, {Type: "mcp_server", Name: "n", URL: "https://x.example"}}}, ""},
		{"an agent", `{"agent":"deep-research","background":true,"input":[]}`, holdgate.Model{ServerTools: []holdgate.ServerTool{{Type: "agent", Name: "deep-research"}}}, ""},
		{"a key in another case", `{"model":"m","Tools":[]}`, holdgate.Model{}, "in another case"},
		{"a tool without a name", `{"model":"m","tools":[{"type":"function"}]}`, holdgate.Model{}, "name of a tool"},
		{"a tool without a type", `{"model":"m","tools":[{"name":"f"}]}`, holdgate.Model{}, "type of a tool"},
		{"another API's", `{"data":{}}`, holdgate.Model{}, "not gated yet"},
	} {
		tt.want.Provider = "gemini"
		m, err := codec.Request("/v1beta/interactions", wire.Members([]byte(tt.body)))
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
	a, b := call("a", "f", `{"x":1}`), call("b", "g", `{"y": 2}`)
	for _, tt := range []struct {
		name, in string
		verdicts []holdgate.Verdict
		want     string
	}{
		{"both released", plain("requires_action", a, b), []holdgate.Verdict{wiretest.Release(), wiretest.Release()}, plain("requires_action", a, b)},
		{"one of two refused", plain("requires_action", a, b), []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Release()}, plain("requires_action", message("no"), b)},
		{"without a word", plain("requires_action", a), nil, plain("completed", message("[holdgate] This call was not run."))},
		{"edited", plain("requires_action", b), []holdgate.Verdict{wiretest.Edit(`{"x":2}`)}, plain("requires_action", call("b", "g", `{"x":2}`))},
		{"a note", plain("requires_action", a), []holdgate.Verdict{wiretest.Note("mind")}, plain("requires_action", message("mind"), a)},
		{"what the provider has run stays", plain("requires_action", searched, a), []holdgate.Verdict{{}, wiretest.Refuse("no")}, plain("completed", searched, message("no"))},
		{"another status stays", plain("incomplete", a), []holdgate.Verdict{wiretest.Refuse("no")}, plain("incomplete", message("no"))},
		{"one in the background", `{"id":"v1","status":"queued"}`, nil, `{"id":"v1","status":"queued"}`},
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
	two := begin + words(0, "So.") + called(1, "a", "f", `{\"x\":`, `1}`) + called(2, "b", "g", "{}") + words(3, "And.")
	done, none := end("requires_action", ""), end("completed", "")
	again := func(steps string) string { return end("requires_action", `,"steps":[`+steps+`]`) }
	a, b := call("a", "f", `{"x":1}`), call("b", "g", "{}")
	update := event("interaction.status_update", `"interaction_id":"v1","status":"requires_action"`)
	for _, tt := range []struct {
		name, in string
		verdicts []holdgate.Verdict
		want     string
	}{
		{"both released", two + again(a+","+b), nil, two + again(a+","+b)},
		{"one refused", two + again(a+","+b), []holdgate.Verdict{wiretest.Refuse("no")},
			begin + words(0, "So.") + said(1, "no") + called(2, "b", "g", "{}") + words(3, "And.") + again(message("no")+","+b)},
		{"both refused", two + update + done, []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Refuse("nor this")},
			begin + words(0, "So.") + said(1, "no") + said(2, "nor this") + words(3, "And.") + strings.Replace(update, "requires_action", "completed", 1) + none},
		{"edited", two + again(a), []holdgate.Verdict{wiretest.Edit(`{"y":2}`)},
			begin + words(0, "So.") + strings.Replace(called(1, "a", "f", `{\"y\":2}`), `"arguments":"{\"y\":2}","type":"arguments_delta"`, `"type":"arguments_delta","arguments":"{\"y\":2}"`, 1) +
				called(2, "b", "g", "{}") + words(3, "And.") + again(call("a", "f", `{"y":2}`))},
		{"a note", two + done, []holdgate.Verdict{wiretest.Note("mind")},
			begin + words(0, "So.") + said(1, "mind") + called(2, "a", "f", `{\"x\":`, `1}`) + called(3, "b", "g", "{}") + words(4, "And.") + done},
		{"half a pair in each piece", begin + called(0, "a", "f", `{\"x\":\"\ud83d`, `\ude00\"}`) + done, nil, begin + called(0, "a", "f", `{\"x\":\"\ud83d`, `\ude00\"}`) + done},
		{"what looks like an end in the arguments", begin + called(0, "a", "f", `{\"x\":\"[DONE]\"}`) + done, nil, begin + called(0, "a", "f", `{\"x\":\"[DONE]\"}`) + done},
		{"a comment and a status inside of a call", begin + strings.Replace(called(0, "a", "f", "{}"), "event: step.stop", ": hm\n\n"+update+"event: step.stop", 1) + done, []holdgate.Verdict{wiretest.Refuse("no")},
			begin + said(0, "no") + ": hm\n\n" + strings.Replace(update, "requires_action", "completed", 1) + none},
		{"taken up again behind the start of words", words(0, "So.")[len(indexed("step.start", 0, `"step":{"type":"model_output"}`)):] + called(1, "a", "f", "{}") + done, []holdgate.Verdict{wiretest.Refuse("no")},
			words(0, "So.")[len(indexed("step.start", 0, `"step":{"type":"model_output"}`)):] + said(1, "no") + none},
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

func TestACallWithoutArgumentsIsEdited(t *testing.T) {
	t.Parallel()
	_, out, err := wiretest.Run(codec.Stream(), begin+called(0, "a", "f")+end("requires_action", ""), 99, []holdgate.Verdict{wiretest.Edit(`{"x":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	calls, _, err := wiretest.Run(codec.Stream(), out, 99, nil)
	if err != nil || len(calls) != 1 || string(calls[0].Tool.Arguments) != `{"x":1}` {
		t.Errorf("%d calls, error %v: %s", len(calls), err, out)
	}
}

func TestWhatTheProviderRunsIsObserved(t *testing.T) {
	t.Parallel()
	in := begin + indexed("step.start", 0, `"step":{"id":"s","signature":"","type":"mcp_server_tool_call","name":"find","server_name":"web"}`) +
		indexed("step.delta", 0, `"delta":{"type":"mcp_server_tool_call","arguments":{"q":1}}`) + indexed("step.stop", 0, "") +
		indexed("step.start", 1, `"step":{"call_id":"s","type":"mcp_server_tool_result"}`) + indexed("step.delta", 1, `"delta":{"type":"mcp_server_tool_result","result":"ok"}`) + indexed("step.stop", 1, "") +
		end("completed", "")
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
		if found++; !p.Observed || p.Call.Tool.Name != "find" || p.Call.Tool.Server != "web" || string(p.Call.Tool.Arguments) != `{"q":1}` {
			t.Errorf("the call is %+v", p.Call.Tool)
		}
	}
	if found != 1 {
		t.Errorf("%d calls are observed", found)
	}
	got, err := codec.Collect([]byte(in))
	if want := `{"id":"v1","status":"completed","steps":[{"id":"s","signature":"","type":"mcp_server_tool_call","name":"find","server_name":"web","arguments":{"q":1}},{"call_id":"s","type":"mcp_server_tool_result","result":"ok"}]}`; err != nil || string(got) != want {
		t.Errorf("collected it is %s, error %v", got, err)
	}
	if again, err := codec.Expand(got); err != nil || strings.Count(string(again), "event: step.delta") != 2 {
		t.Errorf("expanded it is %s, error %v", again, err)
	}
	a, err := codec.Answer(got)
	if err != nil || len(a.Calls()) != 1 || !a.Calls()[0].Observed {
		t.Errorf("plain it has the calls %v, error %v", a, err)
	}
}

// evasions are streams that two clients could read differently, or of which some of the
// calls would go unseen.
func evasions() map[string]string {
	one := called(0, "a", "f", "{}")
	cut := strings.TrimSuffix(one, indexed("step.stop", 0, ""))
	return map[string]string{
		"a call in words":                    begin + indexed("step.start", 0, `"step":{"type":"model_output","content":[{"type":"function_call","name":"f","arguments":{}}]}`),
		"a piece of a call in words":         begin + indexed("step.start", 0, `"step":{"type":"model_output"}`) + indexed("step.delta", 0, `"delta":{"type":"arguments_delta","arguments":"{}"}`),
		"a call as a piece of words":         begin + indexed("step.start", 0, `"step":{"type":"model_output"}`) + indexed("step.delta", 0, `"delta":{"type":"function_call","name":"f","arguments":{}}`),
		"a call of a type that nobody knows": begin + indexed("step.start", 0, `"step":{"type":"computer_call","id":"a","name":"f","arguments":{}}`),
		"arguments in the start":             begin + strings.Replace(one, `"arguments":{}`, `"arguments":{"x":1}`, 1),
		"another name in a piece":            begin + strings.Replace(one, `"arguments":"{}"`, `"name":"g","arguments":"{}"`, 1),
		"another id in a piece":              begin + strings.Replace(one, `"arguments":"{}"`, `"id":"b","arguments":"{}"`, 1),
		"arguments that are an object":       begin + strings.Replace(one, `"arguments":"{}"`, `"arguments":{"x":1}`, 1),
		"a piece behind the end":             begin + one + indexed("step.delta", 0, `"delta":{"type":"arguments_delta","arguments":"{}"}`),
		"a number again":                     begin + one + called(0, "b", "f", "{}"),
		"an id again":                        begin + one + called(1, "a", "g", "{}"),
		"no name":                            begin + called(0, "a", "", "{}"),
		"no id":                              begin + called(0, "", "f", "{}"),
		"no index":                           begin + event("step.start", `"step":`+call("a", "f", "{}")),
		"words inside of a call":             begin + cut + words(1, "x") + indexed("step.stop", 0, ""),
		"two calls at once":                  begin + cut + called(1, "b", "g", "{}") + indexed("step.stop", 0, ""),
		"an event called something else":     begin + strings.Replace(one, "event: step.start", "event: step.stop", 1),
		"an event without a type":            begin + "event: step.start\ndata: {\"index\":0,\"step\":" + call("a", "f", "{}") + "}\n\n",
		"a key in another case":              begin + strings.Replace(one, `"step":`, `"Step":`, 1),
		"a call beside a step":               begin + strings.Replace(words(0, "x"), `"index":0,"step"`, `"tool_calls":[{"name":"f"}],"index":0,"step"`, 1),
		"a call that only the end has":       begin + one + end("requires_action", `,"steps":[`+call("a", "f", "{}")+`,`+call("b", "g", "{}")+`]`),
		"other arguments in the end":         begin + one + end("requires_action", `,"steps":[`+call("a", "f", `{"x":1}`)+`]`),
		"a call in the beginning":            event("interaction.created", `"interaction":{"id":"v1","steps":[`+call("a", "f", "{}")+`]}`),
		"a call beside the steps":            begin + end("completed", `,"outputs":[{"type":"function_call","name":"f","arguments":{}}]`),
		"done inside of a call":              begin + cut + "data: [DONE]\n\n" + indexed("step.stop", 0, "") + end("requires_action", ""),
		"an end inside of a call":            begin + cut + end("requires_action", ""),
		"the schema of before":               event("content.start", `"index":0,"content":{"type":"function_call","id":"a","name":"f","arguments":{}}`),
		"a piece of the schema of before":    event("content.delta", `"index":0,"delta":{"type":"function_call","id":"a","name":"f","arguments":{}}`),
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
		"a step without a type":      plain("completed", `{"id":"a","name":"f","arguments":{}}`),
		"a step of a type of null":   plain("completed", `{"type":null,"id":"a","name":"f","arguments":{}}`),
		"another type of call":       plain("completed", strings.Replace(call("a", "f", "{}"), "function_call", "custom_call", 1)),
		"a call beside the steps":    strings.Replace(plain("completed"), `"usage"`, `"tool_calls":[{"name":"f"}],"usage"`, 1),
		"a call in words":            plain("completed", `{"type":"model_output","content":[`+call("a", "f", "{}")+`]}`),
		"a type in another case":     plain("completed", strings.Replace(call("a", "f", "{}"), `"type"`, `"Type"`, 1)),
		"no status":                  `{"steps":[]}`,
		"the schema of before":       `{"status":"requires_action","outputs":[` + call("a", "f", "{}") + `]}`,
		"what it is not, before May": `{"status":"completed","outputs":[]}`,
	} {
		if a, err := codec.Answer([]byte(in)); err == nil {
			t.Errorf("%s: %d calls are found", name, len(a.Calls()))
		}
	}
}

func TestACallHasALimit(t *testing.T) {
	t.Parallel()
	small := &interactions.Codec{CallLimit: 1000}
	for name, in := range map[string]string{
		"a call":                 begin + called(0, "a", "f", strings.Repeat("x", 1000)),
		"what the provider runs": begin + indexed("step.start", 0, `"step":{"type":"google_search_call","id":"s"}`) + indexed("step.delta", 0, `"delta":{"type":"google_search_call","arguments":{"q":"`+strings.Repeat("x", 1000)+`"}}`),
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
	push(indexed("step.start", 1, `"step":{"type":"model_output"}`), wiretest.Release())
	out += string(s.Idle()) + string(s.(interface{ Notice(string) []byte }).Notice("who knows")) + string(s.Idle())
	push(indexed("step.delta", 1, `"delta":{"type":"text","text":"Well."}`)+indexed("step.stop", 1, ""), wiretest.Release())
	push(called(2, "a", "f", "{}")+end("requires_action", ""), wiretest.Refuse("no"))
	got, err := codec.Collect([]byte(out))
	want := plain("completed", message("So."), message("Well."), message("who knows"), message("no"))
	if diff := cmp.Diff(strings.Replace(want, `,"usage":{"total_tokens":7}`, "", 1), string(got)); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if _, err := codec.Collect(s.Fail("it broke")); err == nil {
		t.Error("a stream that fails is collected")
	}
}

// What is collected and expanded again says the same.
func TestCollectAndExpand(t *testing.T) {
	t.Parallel()
	whole := plain("requires_action", `{"type":"thought","summary":[{"type":"text","text":"hm"}],"signature":"c2ln"}`,
		`{"type":"model_output","content":[{"type":"text","text":"a","annotations":[{"type":"url_citation","url":"u"}]},{"type":"image","data":"aGk=","mime_type":"image/png"}]}`,
		searched, `{"type":"google_search_result","call_id":"s","result":[{"search_suggestions":"x"}]}`, call("a", "f", `{"x":"\ud83d\ude00"}`))
	stream, err := codec.Expand([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	back, err := codec.Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := holdgate.Canonical([]byte(whole))
	two, _ := holdgate.Canonical(back)
	if diff := cmp.Diff(string(one), string(two)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzStream: what comes out, read again, has exactly the calls that were released.
func FuzzStream(f *testing.F) {
	f.Add(begin+words(0, "So.")+called(1, "a", "f", `{\"x\":`, `1}`)+called(2, "b", "g", "{}")+end("requires_action", `,"steps":[`+call("a", "f", `{"x":1}`)+`,`+call("b", "g", "{}")+`]`), uint8(7))
	f.Add(begin+called(0, "a", "f", `{\"x\":\"\ud83d`, `\ude00\"}`)+": hm\n\n"+called(5, "b", "g", "{}"), uint8(1))
	f.Add(begin+indexed("step.start", 0, `"step":{"id":"s","type":"google_search_call"}`)+indexed("step.delta", 0, `"delta":{"type":"google_search_call","arguments":{"queries":["x"]}}`)+indexed("step.stop", 0, "")+end("completed", ""), uint8(9))
	for _, in := range evasions() {
		f.Add(in, uint8(2))
	}
	f.Fuzz(func(t *testing.T, in string, size uint8) { wiretest.Property(t, codec.Stream, in, int(size)+1) })
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(plain("requires_action", call("a", "f", `{"x":1}`), call("b", "g", `{"x": 1}`), searched, message("hello"))))
	f.Add([]byte(`{"id":"v1","status":"queued"}`))
	f.Fuzz(func(t *testing.T, body []byte) { wiretest.AnswerProperty(t, codec, body) })
}
