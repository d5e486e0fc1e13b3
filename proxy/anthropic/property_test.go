package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/anthropic"
	"github.com/holdgate/holdgate/proxy/wire"
	"pgregory.net/rapid"
)

// quoted returns a JSON string.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// cutText cuts a text into fragments at any bytes that leave each one UTF-8.
func cutText(t *rapid.T, s string) []string {
	var fragments []string
	runes := []rune(s)
	for len(runes) > 0 {
		n := rapid.IntRange(0, len(runes)).Draw(t, "fragment")
		fragments = append(fragments, string(runes[:n]))
		runes = runes[n:]
		if len(fragments) > 5 {
			break
		}
	}
	return append(fragments, string(runes))
}

// drawBlock returns the events of a random block, and whether it is a call.
func drawBlock(t *rapid.T, index int) (events string, call bool) {
	at := fmt.Sprint(index)
	deltas := func(typ, member string, s string) (all string) {
		for _, f := range cutText(t, s) {
			all += add(at, `{"type":"`+typ+`","`+member+`":`+quoted(f)+`}`)
		}
		return all
	}
	words := rapid.StringN(0, 12, -1)
	switch rapid.IntRange(0, 5).Draw(t, "kind of block") {
	case 0:
		events = open(at, `{"type":"text","text":""}`) + deltas("text_delta", "text", words.Draw(t, "text"))
	case 1:
		events = open(at, `{"type":"text","text":"","citations":[]}`) +
			add(at, `{"type":"citations_delta","citation":{"url":`+quoted(words.Draw(t, "url"))+`}}`) +
			deltas("text_delta", "text", words.Draw(t, "cited text"))
	case 2:
		events = open(at, `{"type":"thinking","thinking":"","signature":""}`) +
			deltas("thinking_delta", "thinking", words.Draw(t, "thinking")) +
			add(at, `{"type":"signature_delta","signature":"c2ln"}`)
	case 3:
		events = open(at, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`) +
			deltas("input_json_delta", "partial_json", `{"q":`+quoted(words.Draw(t, "query"))+`}`)
	case 4:
		events = open(at, `{"type":"web_search_tool_result","tool_use_id":"s","content":[{"x":`+quoted(words.Draw(t, "result"))+`}]}`)
	case 5:
		call = true
		name := rapid.SampledFrom([]string{"Bash", "mcp__files__read", "Wörk"}).Draw(t, "name")
		events = open(at, `{"type":"tool_use","id":"t`+at+`","name":`+quoted(name)+`,"input":{}}`)
		if rapid.IntRange(0, 3).Draw(t, "whole") == 0 {
			typ := rapid.SampledFrom([]string{"tool_use", "new_tool_use"}).Draw(t, "type")
			return open(at, `{"type":"`+typ+`","id":"t`+at+`","name":"x","input":{"a":`+quoted(words.Draw(t, "argument"))+`},"caller":{"type":"direct"}}`) + shut(at), true
		}
		args := rapid.SampledFrom([]string{``, `{}`, `{"a": 1.50}`, `{"a":"\u00e9\ud83d\ude00","b":[ ]}`, `{"a":`, `[1]`, `"x"`, `null`, ` {"a":1} `, `x`}).Draw(t, "arguments")
		events += deltas("input_json_delta", "partial_json", args)
	}
	return events + shut(at), call
}

func drawVerdict(t *rapid.T) holdgate.Verdict {
	if rapid.IntRange(0, 3).Draw(t, "refused") == 0 {
		return refuse
	}
	v := release
	v.Arguments = rapid.SampledFrom([]json.RawMessage{nil, nil, json.RawMessage(`{}`), json.RawMessage(`{ "n":1.50,"t":"\u00e9\n\"😀" }`)}).Draw(t, "edited")
	v.Note = rapid.SampledFrom([]string{"", "", "[gate] \"yes\"\n but é"}).Draw(t, "note")
	return v
}

func drawStream(t *rapid.T) (stream string, verdicts []holdgate.Verdict) {
	stream = begin()
	for index := range rapid.IntRange(0, 6).Draw(t, "blocks") {
		events, call := drawBlock(t, index)
		stream += events
		if call {
			verdicts = append(verdicts, drawVerdict(t))
		}
		if rapid.Bool().Draw(t, "ping") {
			stream += pinged
		}
	}
	return stream + end(rapid.SampledFrom([]string{"tool_use", "end_turn", "max_tokens"}).Draw(t, "stop reason")), verdicts
}

// value reads JSON; numbers stay as they were written.
func value(t *rapid.T, body []byte) any {
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return v
}

// callsOf lists calls as policy sees them. In a plain message blanks around
// the arguments have gone.
func callsOf(calls []*holdgate.Call) (lines []string) {
	for _, c := range calls {
		lines = append(lines, fmt.Sprintf("%s %s %s %q", c.ID, c.Tool.Name, strings.TrimSpace(string(c.Tool.Arguments)), c.Tool.ArgumentsRaw))
	}
	return lines
}

// TestStreamAndPlainAgree says that it makes no difference whether an answer
// is decided as a stream or as a plain message.
func TestStreamAndPlainAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := new(anthropic.Codec)
		stream, verdicts := drawStream(t)
		s := c.Stream()
		ps, err := parts(s, stream)
		if err != nil {
			t.Fatal(err)
		}
		var streamed []*holdgate.Call
		for _, p := range ps {
			if p.Call != nil {
				streamed = append(streamed, p.Call)
			}
		}
		rendered := render(s, ps, append(verdicts, release)...)
		fromStream, err := c.Collect([]byte(rendered))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := c.Collect([]byte(stream))
		if err != nil {
			t.Fatal(err)
		}
		a, err := c.Answer(whole)
		if err != nil {
			t.Fatal(err)
		}
		var plain []*holdgate.Call
		var all []holdgate.Verdict
		for _, p := range a.Calls() {
			plain = append(plain, p.Call)
			v := holdgate.Verdict{}
			if !p.Observed {
				v, verdicts = verdicts[0], verdicts[1:]
			}
			all = append(all, v)
		}
		if diff := cmp.Diff(callsOf(streamed), callsOf(plain)); diff != "" {
			t.Errorf("calls (-stream +plain):\n%s", diff)
		}
		if diff := cmp.Diff(value(t, fromStream), value(t, a.Render(all))); diff != "" {
			t.Errorf("rendered (-stream +plain):\n%s", diff)
		}
		expanded, err := c.Expand(whole)
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.Collect(expanded)
		if err != nil {
			t.Fatalf("%v: %s", err, expanded)
		}
		if diff := cmp.Diff(value(t, whole), value(t, again)); diff != "" {
			t.Errorf("collected from expanded (-want +got):\n%s", diff)
		}
	})
}

// checkEdited edits every call of a stream and reads what is written again.
func checkEdited(t *testing.T, c *anthropic.Codec, stream string) {
	t.Helper()
	s := c.Stream()
	calls := mustParts(t, s, stream)
	changed := holdgate.Verdict{Release: true, Arguments: json.RawMessage(`{"edited":[1]}`)}
	if strings.Contains(stream, "event") { // else the note's events have a field that the others have not
		changed.Note = "note"
	}
	written := render(s, calls, changed)
	got, err := parts(c.Stream(), written)
	if err != nil && !strings.Contains(err.Error(), "some have none") {
		t.Fatalf("edited: %v\n%s", err, written)
	}
	after := decidable(got)
	for i, p := range decidable(calls) {
		switch {
		case p.Fixed || err != nil: // refused instead, and the rest may have moved up
			return
		case i >= len(after), after[i].Call.ID != p.Call.ID, after[i].Call.Tool.Name != p.Call.Tool.Name, string(after[i].Call.Tool.Arguments) != `{"edited":[1]}`:
			t.Fatalf("call %d is not the edited one:\n%s\nwas\n%s", i, summary(got), summary(calls))
		}
	}
}

// decidable returns the calls that have a verdict.
func decidable(ps []wire.Part) (calls []wire.Part) {
	for _, p := range ps {
		if p.Call != nil && !p.Observed {
			calls = append(calls, p)
		}
	}
	return calls
}

func FuzzStream(f *testing.F) {
	call := open("0", bash) + add("0", fragment(`"{\"a\":1}"`)) + shut("0")
	for _, s := range []string{
		"", begin(), begin() + said("0") + end("end_turn"), begin() + call + end("tool_use"),
		strings.ReplaceAll(begin()+call, "\n", "\r\n"), strings.ReplaceAll(begin()+call, "event: ", ": "), strings.ReplaceAll(begin()+call, "data: ", "data: \r"),
		begin() + said("0") + strings.ReplaceAll(call, `"index":0`, `"index":1`) + pinged + end("tool_use"),
		begin() + strings.ReplaceAll(call, "tool_use", "server_tool_use") + "data: [DONE]\n\n",
		begin() + open("0", bash) + ev("error", `{"type":"error","error":{}}`),
	} {
		f.Add(s, uint16(40), uint16(100))
	}
	f.Fuzz(func(t *testing.T, stream string, a, b uint16) {
		c := &anthropic.Codec{CallLimit: 1 << 10, EventLimit: 1 << 10}
		s := c.Stream()
		whole, wholeErr := parts(s, stream)
		i := min(int(a), len(stream))
		j := min(i+int(b), len(stream))
		cut, cutErr := parts(c.Stream(), stream[:i], stream[i:j], stream[j:])
		if (wholeErr == nil) != (cutErr == nil) {
			t.Fatalf("whole: %v, cut at %d and %d: %v", wholeErr, i, j, cutErr)
		}
		if diff := cmp.Diff(summary(whole), summary(cut)); diff != "" {
			t.Fatalf("cut at %d and %d (-whole +cut):\n%s", i, j, diff)
		}
		if wholeErr != nil {
			if !strings.HasPrefix(stream, joined(whole)) {
				t.Fatalf("the parts are no prefix")
			}
			return
		}
		if joined(whole) != stream || render(s, whole, release) != stream {
			t.Fatalf("the parts are not the stream")
		}
		checkEdited(t, c, stream)
		s = c.Stream()
		refused := render(s, mustParts(t, s, stream), refuse)
		left, err := parts(c.Stream(), refused)
		if err != nil && !strings.Contains(err.Error(), "some have none") {
			t.Fatalf("refused: %v\n%s", err, refused)
		}
		for _, p := range left {
			if p.Call != nil && !p.Observed {
				t.Fatalf("refused, and still a call:\n%s", summary(left))
			}
		}
		if plain, err := c.Collect([]byte(stream)); err == nil {
			if _, err := c.Answer(plain); err != nil {
				t.Fatalf("collected: %v\n%s", err, plain)
			}
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add(plain)
	f.Add(`{"type":"error","error":{"message":"x"}}`)
	f.Add(`{"content":[` + bash + `,{"type":"thinking","thinking":"x"}],"stop_reason":"tool_use"}`)
	f.Fuzz(func(t *testing.T, body string) {
		c := new(anthropic.Codec)
		a, err := c.Answer([]byte(body))
		if err != nil {
			return
		}
		all := make([]holdgate.Verdict, len(a.Calls()))
		for i := range all {
			all[i] = release
		}
		if got := string(a.Render(all)); got != body {
			t.Fatalf("all released: %s", got)
		}
		for i := range all {
			all[i] = holdgate.Verdict{Release: true, Arguments: json.RawMessage(`{"edited":[1]}`), Note: "note"}
		}
		edited, err := c.Answer(a.Render(all))
		if err != nil {
			t.Fatalf("all edited: %v\n%s", err, a.Render(all))
		}
		for _, p := range edited.Calls() {
			if !p.Observed && string(p.Call.Tool.Arguments) != `{"edited":[1]}` {
				t.Fatalf("not edited: %s", p.Bytes)
			}
		}
		after, err := c.Answer(a.Render(nil))
		if err != nil {
			t.Fatalf("all refused: %v\n%s", err, a.Render(nil))
		}
		for _, p := range after.Calls() {
			if !p.Observed {
				t.Fatalf("all refused, and still a call: %s", p.Bytes)
			}
		}
		if stream, err := c.Expand([]byte(body)); err == nil {
			if _, err := parts(c.Stream(), string(stream)); err != nil {
				t.Fatalf("expanded: %v\n%s", err, stream)
			}
		}
	})
}
