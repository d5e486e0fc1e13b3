package bedrock_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/anthropic"
	"github.com/holdgate/holdgate/proxy/bedrock"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

func invoke() *bedrock.Invoke { return &bedrock.Invoke{Anthropic: &anthropic.Codec{}} }

func invoked() wire.Stream { return invoke().StreamAs(bedrock.StreamType) }

// chunk is a message with an event of the model's own, and some padding.
func chunk(event string) string {
	return ev("chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`","p":"abcdefgh"}`)
}

func claude(i int, block string, deltas ...string) (out string) {
	out = chunk(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block))
	for _, d := range deltas {
		out += chunk(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d))
	}
	return out + chunk(fmt.Sprintf(`{"type":"content_block_stop","index":%d  }`, i))
}

func claudeText(i int, s string) string {
	return claude(i, `{"type":"text","text":""}`, `{"type":"text_delta","text":`+quote(s)+`}`)
}

func claudeTool(i int, name, input string) string {
	return claude(i, fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":%q,"input":{}}`, i, name), `{"type":"input_json_delta","partial_json":`+quote(input[:1])+`}`, `{"type":"input_json_delta","partial_json":`+quote(input[1:])+`}`)
}

const claudeBegin = `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1}}}`

func claudeEnd(reason string) string {
	return chunk(`{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":2}}`) +
		chunk(`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":1}}`)
}

// inside are the events of the model's own that a stream carries.
func inside(t *testing.T, in string) (list []string) {
	t.Helper()
	var s wire.MessageScanner
	s.Push([]byte(in))
	s.End()
	for {
		m, ok, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return list
		}
		if m.Type != "chunk" {
			list = append(list, m.Type+" "+string(m.Payload))
			continue
		}
		encoded, err := wire.Text(wire.Find(m.Payload, "bytes"))
		if err != nil {
			t.Fatal(err)
		}
		event, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, strings.ReplaceAll(string(event), " ", ""))
	}
}

func TestInvokedStreamsPassByteForByte(t *testing.T) {
	in := chunk(claudeBegin) + claudeText(0, "I will.\u2028") + ev("newEvent", `{"x":1}`) + claudeTool(1, "f", `{"x" : 1}`) + chunk(`{"type":"ping"}`) + claudeTool(2, "g", `{}`) +
		ev("chunk", `{"p":"x"}`) + claudeEnd("tool_use")
	for size := 1; size <= len(in); size += 1 + size/8 {
		calls, out, err := wiretest.Run(invoked(), in, size, []holdgate.Verdict{wiretest.Release(), wiretest.Release()})
		if err != nil || out != in || len(calls) != 2 {
			t.Fatalf("in pieces of %d: %d calls, error %v, the same: %t", size, len(calls), err, out == in)
		}
		if got := string(calls[0].Tool.Arguments); got != `{"x" : 1}` {
			t.Fatalf("arguments %s", got)
		}
	}
}

func TestThePartsOfAnInvokedStreamAreTheStream(t *testing.T) {
	in := chunk(claudeBegin) + claudeText(0, "a") + claudeTool(1, "f", `{}`) + claudeEnd("tool_use")
	s, joined := invoked(), ""
	parts, err := s.Push([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	rest, err := s.End()
	for _, p := range append(parts, rest...) {
		joined += string(p.Bytes)
	}
	if err != nil || joined != in {
		t.Errorf("%v, the same: %t", err, joined == in)
	}
}

func TestInvokedStreamsUnderVerdicts(t *testing.T) {
	in := chunk(claudeBegin) + claudeText(0, "So.") + claudeTool(1, "f", `{"x":1}`) + claudeTool(2, "g", `{"y":1}`) + claudeEnd("tool_use")
	tests := []struct {
		name     string
		verdicts []holdgate.Verdict
		want     string
	}{
		{"all refused", []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Refuse("never")}, chunk(claudeBegin) + claudeText(0, "So.") + claudeText(1, "no") + claudeText(2, "never") + claudeEnd("end_turn")},
		{"one refused", []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Release()}, chunk(claudeBegin) + claudeText(0, "So.") + claudeText(1, "no") + claudeTool(2, "g", `{"y":1}`) + claudeEnd("tool_use")},
		{"one edited", []holdgate.Verdict{wiretest.Release(), wiretest.Edit(`{"y":2}`)}, chunk(claudeBegin) + claudeText(0, "So.") + claudeTool(1, "f", `{"x":1}`) +
			claude(2, `{"type":"tool_use","id":"t2","name":"g","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"y\":2}"}`) + claudeEnd("tool_use")},
		{"one with a note", []holdgate.Verdict{wiretest.Note("n"), wiretest.Release()}, chunk(claudeBegin) + claudeText(0, "So.") + claudeText(1, "n") +
			strings.NewReplacer().Replace(renumbered(claudeTool(1, "f", `{"x":1}`), 1, 2)) + renumbered(claudeTool(2, "g", `{"y":1}`), 2, 3) + claudeEnd("tool_use")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, out, err := wiretest.Run(invoked(), in, 17, tt.verdicts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(inside(t, tt.want), inside(t, out)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			plain, err := invoke().Collect([]byte(in))
			if err != nil {
				t.Fatal(err)
			}
			a, err := invoke().Answer(plain)
			if err != nil {
				t.Fatal(err)
			}
			got, err := invoke().Collect([]byte(out))
			if diff := cmp.Diff(string(a.Render(tt.verdicts)), string(got)); err != nil || diff != "" {
				t.Errorf("the plain answer says otherwise: %v\n%s", err, diff)
			}
		})
	}
}

// renumbered is a block with another index; ids stay.
func renumbered(block string, from, to int) (out string) {
	var s wire.MessageScanner
	s.Push([]byte(block))
	for {
		m, ok, err := s.Next()
		if err != nil || !ok {
			return out
		}
		encoded, _ := wire.Text(wire.Find(m.Payload, "bytes"))
		event, _ := base64.StdEncoding.DecodeString(encoded)
		out += chunk(strings.Replace(string(event), fmt.Sprintf(`"index":%d`, from), fmt.Sprintf(`"index":%d`, to), 1))
	}
}

func TestInvokedStreamsThatAreNotUnderstoodEnd(t *testing.T) {
	call := chunk(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`)
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for name, tt := range map[string]struct{ in, want string }{
		"it ends inside a call":             {chunk(claudeBegin) + call, "ends inside the call"},
		"it ends inside a message":          {chunk(claudeBegin)[:40], "ends inside a message"},
		"two events in a chunk":             {chunk(claudeBegin + `{"type":"ping"}`), "something follows"},
		"two events in lines of a chunk":    {chunk(claudeBegin + "\n" + `{"type":"ping"}`), "something follows"},
		"a server-sent event in a chunk":    {chunk("event: x\ndata: " + claudeBegin), "a value was expected"},
		"bytes that are no base64":          {ev("chunk", `{"bytes":"e30"}`), "base64"},
		"bytes in lines":                    {ev("chunk", `{"bytes":"e3\n0="}`), "line ends"},
		"bytes with bits too many":          {ev("chunk", `{"bytes":"e31="}`), "base64"},
		"bytes in another case":             {ev("chunk", `{"Bytes":"`+encode(claudeBegin)+`"}`), "another case"},
		"bytes twice":                       {ev("chunk", `{"bytes":"","bytes":"`+encode(claudeBegin)+`"}`), "occurs twice"},
		"bytes in an event of another type": {ev("newEvent", `{"bytes":"`+encode(claudeBegin)+`"}`), "of another type"},
		"an event of the model's as such":   {ev("newEvent", `{"type":"content_block_start","content_block":{"type":"tool_use","name":"f"}}`), "of another type"},
		"a chunk in another case":           {ev("Chunk", `{"x":1}`), "clients read differently"},
		"a call of Converse":                {ev("newEvent", `{"toolUse":{"name":"f"}}`), "no call belongs"},
		"a call under an unknown name":      {ev("newEvent", `{"tool_call":{"name":"f"}}`), "looks like a call"},
		"duplicate keys in an event":        {chunk(`{"type":"ping","type":"content_block_start"}`), "occurs twice"},
		"an event of another format":        {chunk(`{"choices":[]}`), "no type"},
		"a block without a message":         {call, "comes where it cannot"},
	} {
		calls, out, err := wiretest.Run(invoked(), tt.in, 9, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(out, encode(`"name":"f"`)) {
			t.Errorf("%s: %d calls, error %v, want %q", name, len(calls), err, tt.want)
		}
		if _, err := invoke().Collect([]byte(tt.in)); err == nil {
			t.Errorf("%s: it was collected", name)
		}
	}
}

func TestAnExceptionEndsAnInvokedStream(t *testing.T) {
	exception := string(wire.AppendMessage(nil, "exception", "throttlingException", []byte(`{"message":"slow"}`)))
	in := chunk(claudeBegin) + claudeText(0, "a") + exception
	if _, out, err := wiretest.Run(invoked(), in, 11, nil); err != nil || out != in {
		t.Errorf("%v, the same: %t", err, out == in)
	}
	if _, err := invoke().Collect([]byte(in)); err == nil {
		t.Error("it was collected")
	}
}

func TestWhatHoldgateSaysInAnInvokedStream(t *testing.T) {
	s := invoked()
	out := string(s.Idle())
	parts, err := s.Push([]byte(chunk(claudeBegin) + claudeText(0, "a") + claudeTool(1, "f", `{}`)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if p.Call != nil {
			out += string(s.Idle()) + string(s.(interface{ Notice(string) []byte }).Notice("who")) + string(s.Idle())
		}
		out += string(s.Render(p, wiretest.Release()))
	}
	empty := func(i int) string {
		return chunk(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":""}}`, i))
	}
	shut := func(i int) string { return chunk(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i)) }
	want := inside(t, ev("ping", "{}")+chunk(claudeBegin)+strings.TrimSuffix(claudeText(0, "a"), chunk(`{"type":"content_block_stop","index":0  }`))+empty(0)+shut(0)+
		strings.TrimSuffix(claudeText(1, "who"), chunk(`{"type":"content_block_stop","index":1  }`))+empty(1)+shut(1)+renumbered(claudeTool(1, "f", `{}`), 1, 2))
	if diff := cmp.Diff(want, inside(t, out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := described(t, string(s.Fail("broken"))); got[0] != `modelStreamErrorException {"message":"broken"}` {
		t.Errorf("fail: %q", got)
	}
}

func TestInvokedAnswersExpandToStreams(t *testing.T) {
	plain := `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"f","input":{"x":1}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"output_tokens":2}}`
	stream, err := invoke().Expand([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	calls, out, err := wiretest.Run(invoked(), string(stream), 30, nil)
	if err != nil || len(calls) != 1 || out != string(stream) {
		t.Fatalf("%d calls, error %v", len(calls), err)
	}
	a, err := invoke().Answer([]byte(plain))
	if err != nil || len(a.Calls()) != 1 {
		t.Fatalf("%v", err)
	}
	for _, p := range a.Calls() {
		if r, ok := invoke().Refused(p, "no"); !ok || r.ID != "t" {
			t.Errorf("remembered: %+v, %t", r, ok)
		}
	}
}

func TestWhatWasRefusedInAnInvokedStreamIsPutBack(t *testing.T) {
	s := invoked()
	parts, err := s.Push([]byte(chunk(claudeBegin) + claudeTool(0, "f", `{"x": 1}`)))
	if err != nil {
		t.Fatal(err)
	}
	r, ok := invoke().Refused(parts[len(parts)-1], "[holdgate] no")
	if !ok {
		t.Fatal("it is not remembered")
	}
	body := `{"anthropic_version":"bedrock-2023-05-31","tools":[{"name":"f"}],"messages":[{"role":"assistant","content":[{"type":"text","text":"[holdgate] no"}]},{"role":"user","content":"?"}]}`
	got, n, err := invoke().Rehydrate([]byte(body), []wire.Refused{r})
	if err != nil || n != 1 || !strings.Contains(string(got), `{"type":"tool_use","id":"t0","name":"f","input":{"x": 1}}`) {
		t.Errorf("%d put back, %v: %s", n, err, got)
	}
}

func TestInvokeRequest(t *testing.T) {
	const plain, streamed = "/model/anthropic.claude-v9:0/invoke", "/model/arn:aws:bedrock:eu-west-1:1:application-inference-profile/abc/invoke-with-response-stream"
	tests := []struct {
		name, path, body string
		want             *holdgate.Model
		problem          string
	}{
		{"a plain one", plain, `{"anthropic_version":"bedrock-2023-05-31","messages":[]}`, &holdgate.Model{Name: "anthropic.claude-v9:0"}, ""},
		{"a streamed one with tools", streamed, `{"tools":[{"name":"a"},{"type":"web_search_1","name":"w"}],"anthropic_version":"x"}`,
			&holdgate.Model{Name: "arn:aws:bedrock:eu-west-1:1:application-inference-profile/abc", Stream: true, Tools: []string{"a"}, ServerTools: []holdgate.ServerTool{{Type: "web_search_1", Name: "w"}}}, ""},
		{"another model's", plain, `{"inputText":"x"}`, nil, "not gated yet"},
		{"another model's with tools", plain, `{"messages":[],"tools":[{"type":"function","function":{"name":"a"}}]}`, nil, "not gated yet"},
		{"another model's with a stream in it", plain, `{"message":"x","stream":true}`, nil, "not gated yet"},
		{"the version in another case", plain, `{"Anthropic_Version":"x"}`, nil, "another case"},
		{"a model in the body", plain, `{"anthropic_version":"x","model":"y"}`, nil, "the path says"},
		{"a stream in the body", plain, `{"anthropic_version":"x","stream":true}`, nil, "the path says"},
		{"tools that are broken", plain, `{"tools":[1],"anthropic_version":"x"}`, nil, "{ was expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want != nil {
				tt.want.Provider = "bedrock"
			}
			got, err := invoke().Request(tt.path, wire.Members([]byte(tt.body)))
			if (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Fatalf("got error %v, want %q", err, tt.problem)
			}
			if tt.problem == "not gated yet" && !errors.Is(err, wire.ErrUnsupported) {
				t.Errorf("%v is no ErrUnsupported", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzInvoked(f *testing.F) {
	f.Add(chunk(claudeBegin)+claudeText(0, "So.")+claudeTool(1, "f", `{"x":1}`)+chunk(`{"type":"ping"}`)+claudeEnd("tool_use"), uint8(3))
	f.Add(ev("newEvent", `{"x":1}`)+chunk(claudeBegin)+claudeTool(0, "f", `{}`), uint8(1))
	f.Fuzz(func(t *testing.T, in string, size uint8) {
		in = summed(in)
		calls, out, err := wiretest.Run(invoked(), in, int(size)+1, nil)
		whole, _, wholeErr := wiretest.Run(invoked(), in, len(in)+1, nil)
		if (err == nil) != (wholeErr == nil) {
			t.Fatalf("the cut makes a difference: %v, %v", err, wholeErr)
		}
		if err != nil {
			return
		}
		if out != in {
			t.Errorf("what was released was changed: %q", out)
		}
		if diff := cmp.Diff(whole, calls); diff != "" {
			t.Errorf("the cut makes a difference:\n%s", diff)
		}
		verdicts := make([]holdgate.Verdict, len(calls))
		_, sent, err := wiretest.Run(invoked(), in, int(size)+1, verdicts)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := wiretest.Run(invoked(), sent, len(sent)+1, nil); err != nil {
			t.Fatalf("what was sent cannot be read: %v\n%q", err, sent)
		}
	})
}
