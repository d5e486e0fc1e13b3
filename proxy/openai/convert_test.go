package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/openai"
	"github.com/holdgate/holdgate/proxy/wire"
)

// value decodes JSON to compare it by value.
func value(t require, b []byte) any {
	t.Helper()
	if err := wire.Strict(b); err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
	return v
}

type require interface {
	Helper()
	Fatalf(format string, args ...any)
}

func renderAnswer(t require, body []byte, v verdicts) ([]byte, []holdgate.Call) {
	t.Helper()
	a, err := (&openai.Codec{}).Answer(body)
	if err != nil {
		t.Fatalf("reading %s: %v", body, err)
	}
	var vs []holdgate.Verdict
	var calls []holdgate.Call
	for i, p := range a.Calls() {
		calls = append(calls, *p.Call)
		vs = append(vs, v(i))
	}
	return a.Render(vs), calls
}

func TestCollect(t *testing.T) {
	stream := sse(
		`{"id":"1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":1,"delta":{"role":"assistant","content":"B"},"logprobs":{"content":[{"token":"B"}]},"finish_reason":null}],"usage":null}`,
		`{"id":"1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning":"hm","tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{\"n\": 1."}}]},"finish_reason":null}]}`,
		`{"id":"1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"reasoning":"m\ud83d","tool_calls":[{"index":0,"function":{"arguments":"0}"}}]},"finish_reason":null}]}`,
		`{"id":"1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"reasoning":"\ude00"},"finish_reason":"tool_calls"},{"index":1,"delta":{"content":"C"},"logprobs":{"content":[{"token":"C"}]},"finish_reason":"stop"}]}`,
		`{"id":"1","object":"chat.completion.chunk","created":7,"model":"m","choices":[],"usage":{"total_tokens":3}}`,
		`[DONE]`)
	got, err := (&openai.Codec{}).Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"object":"chat.completion","id":"1","created":7,"model":"m","usage":{"total_tokens":3},"choices":[` +
		`{"index":0,"message":{"role":"assistant","content":null,"reasoning":"hmm\ud83d\ude00","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"n\": 1.0}"}}]},"finish_reason":"tool_calls"},` +
		`{"index":1,"message":{"role":"assistant","content":"BC"},"logprobs":{"content":[{"token":"B"},{"token":"C"}]},"finish_reason":"stop"}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestCollectRefusesWhatHasNoPlainForm(t *testing.T) {
	for name, stream := range map[string][]byte{
		"an error in mid-stream":             sse(`{"error":{"message":"x"}}`),
		"a stream that ends inside a call":   sse(begun),
		"a stream that is not understood":    sse(`{"Choices":[]}`),
		"a stream with text that is no JSON": sse(`hello`),
	} {
		if got, err := (&openai.Codec{}).Collect(stream); err == nil {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestExpandAndCollectKeepTheAnswer(t *testing.T) {
	for name, plain := range map[string]string{
		"calls":         strings.ReplaceAll(twoCalls, `"logprobs": null, `, ""),
		"text":          `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null},"finish_reason":"stop"}],"usage":{"a":1}}`,
		"n=2":           `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"},{"index":1,"message":{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},"finish_reason":"function_call"}]}`,
		"no choices":    `{"object":"chat.completion","choices":[]}`,
		"own members":   `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","extra_content":{"g":{"s":"x"}},"function":{"name":"f","arguments":"{\"a\":1e2}"}}]},"finish_reason":"stop"}]}`,
		"an odd object": `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":{"a":[1]}}}]},"finish_reason":"tool_calls"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			stream, err := (&openai.Codec{}).Expand([]byte(plain))
			if err != nil {
				t.Fatal(err)
			}
			back, err := (&openai.Codec{}).Collect(stream)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(value(t, []byte(plain)), value(t, back)); diff != "" {
				t.Errorf("%s\n%s", diff, stream)
			}
			_, want := renderAnswer(t, []byte(plain), all)
			_, got, err := run(all, stream)
			if diff := cmp.Diff(describe(want), describe(got)); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	if got, err := (&openai.Codec{}).Expand([]byte(`{"Choices":[]}`)); err == nil {
		t.Errorf("got %s for what is not understood", got)
	}
}

// A choice of an answer, for random streams: text, and then calls.
type randomCall struct {
	id, name, args string
}

// randomStream draws a stream as upstreams write them: text first, then calls
// in fragments, choices and calls interleaved at random.
func randomStream(t *rapid.T) []byte {
	const head = `"id":"1","object":"chat.completion.chunk","created":7,"model":"m","choices":[`
	var lanes [][]string // events of each choice, in order
	choices := rapid.IntRange(1, 3).Draw(t, "choices")
	for c := range choices {
		var events []string
		add := func(delta string) {
			events = append(events, fmt.Sprintf(`{%s{"index":%d,"delta":{%s},"finish_reason":null}]}`, head, c, delta))
		}
		add(`"role":"assistant","content":null`)
		for range rapid.IntRange(0, 3).Draw(t, "texts") {
			add(`"content":` + quote(rapid.SampledFrom([]string{"a", "", "<é\n", "😀"}).Draw(t, "text")))
		}
		calls := rapid.IntRange(0, 3).Draw(t, "calls")
		var fragments [][]string
		for k := range calls {
			rc := randomCall{fmt.Sprintf("c%d_%d", c, k), rapid.SampledFrom([]string{"ls", "rm"}).Draw(t, "name"),
				rapid.SampledFrom([]string{`{"a":"b\"c"}`, `{}`, ``, `{"x":1.50,"y":["é😀"]}`, `{"cut":`, `[1]`}).Draw(t, "arguments")}
			var own []string
			first := rapid.IntRange(0, len(rc.args)).Draw(t, "cut")
			for first > 0 && first < len(rc.args) && rc.args[first]&0xc0 == 0x80 {
				first--
			}
			own = append(own, fmt.Sprintf(`"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]`, k, rc.id, rc.name, quote(rc.args[:first])))
			if first < len(rc.args) {
				own = append(own, fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`, k, quote(rc.args[first:])))
			}
			fragments = append(fragments, own)
		}
		inTurns := rapid.Bool().Draw(t, "interleaved")
		for _, f := range weave(t, fragments, inTurns) {
			add(f)
		}
		finish := "stop"
		if calls > 0 {
			finish = rapid.SampledFrom([]string{"tool_calls", "stop", "length"}).Draw(t, "finish")
		}
		events = append(events, fmt.Sprintf(`{%s{"index":%d,"delta":{},"finish_reason":%q}]}`, head, c, finish))
		lanes = append(lanes, events)
	}
	events := weave(t, lanes, true)
	events = append(events, `{`+head+`],"usage":{"total_tokens":3}}`, `[DONE]`)
	return sse(events...)
}

// weave joins lists, keeping the order within each. Where a call's first
// fragment comes is always in the order of the lists.
func weave(t *rapid.T, lists [][]string, inTurns bool) []string {
	if !inTurns {
		var out []string
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	var out []string
	rest := append([][]string(nil), lists...)
	begun := 0
	for {
		var ready []int
		for i, l := range rest {
			if len(l) > 0 && i <= begun {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			return out
		}
		i := rapid.SampledFrom(ready).Draw(t, "lane")
		out = append(out, rest[i][0])
		rest[i] = rest[i][1:]
		if i == begun {
			begun++
		}
	}
}

func quote(s string) string {
	return string(wire.AppendText(nil, s))
}

// drawVerdict draws what becomes of a call.
func drawVerdict(t *rapid.T, c holdgate.Call) holdgate.Verdict {
	if rapid.IntRange(0, 3).Draw(t, "refused") == 0 {
		return holdgate.Verdict{Notice: "[gate] " + c.ID + " was not run"}
	}
	v := holdgate.Verdict{Release: true}
	v.Arguments = rapid.SampledFrom([]json.RawMessage{nil, nil, json.RawMessage(`{}`), json.RawMessage(`{ "n":1.50,"t":"\u00e9\n\"😀" }`)}).Draw(t, "edited")
	v.Note = rapid.SampledFrom([]string{"", "", "[gate] \"yes\"\n but é"}).Draw(t, "note")
	return v
}

// TestStreamedAndPlainAnswersAreWrittenAlike holds that it makes no difference
// in which form an answer came when its calls are refused, edited or noted.
func TestStreamedAndPlainAnswersAreWrittenAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := randomStream(t)
		plain, err := (&openai.Codec{}).Collect(stream)
		if err != nil {
			// Fragments after whole arguments, as in {} and then a cut: refused.
			t.Skip(err)
		}
		_, plainCalls := renderAnswer(t, plain, all)
		names := make(map[string]holdgate.Verdict) // by id, for the orders differ where choices are interleaved
		for _, c := range plainCalls {
			names[c.ID] = drawVerdict(t, c)
		}
		out, calls, err := run(all, stream)
		if err != nil || !bytes.Equal(out, stream) {
			t.Fatalf("released: %v\n%s\n%s", err, stream, out)
		}
		out, _, err = run(func(n int) holdgate.Verdict { return names[calls[n].ID] }, stream)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&openai.Codec{}).Collect(out)
		if err != nil {
			t.Fatalf("collecting %s: %v", out, err)
		}
		want, _ := renderAnswer(t, plain, func(n int) holdgate.Verdict { return names[plainCalls[n].ID] })
		if diff := cmp.Diff(value(t, want), value(t, got)); diff != "" {
			t.Fatalf("%s\nfrom %s\nto %s", diff, stream, out)
		}
	})
}

func FuzzStream(f *testing.F) {
	for _, a := range streams(f) {
		f.Add(section(a, "stream"), uint16(1), 100)
	}
	f.Add(sse(whole, finished, element(`"index":0,"function":{"arguments":" \n"}`), "[DONE]"), uint16(0), 7)
	f.Fuzz(func(t *testing.T, stream []byte, refuse uint16, cut int) {
		out, calls, err := run(all, stream)
		if err != nil {
			return
		}
		if !bytes.Equal(out, stream) {
			t.Fatalf("all released, but something changed:\n%s\n%s", stream, out)
		}
		cut = max(0, min(cut, len(stream)))
		if _, again, err := run(all, stream[:cut], stream[cut:]); err != nil || describe(again) != describe(calls) {
			t.Fatalf("cut at %d: %v\n%s\n%s", cut, err, describe(calls), describe(again))
		}
		v := func(n int) holdgate.Verdict {
			if n > 15 || refuse>>n&1 == 1 {
				return none(n)
			}
			return all(n)
		}
		out, _, err = run(v, stream)
		if err != nil {
			t.Fatal(err)
		}
		_, left, err := run(all, out)
		want := 0
		for i := range calls {
			if v(i).Release {
				want++
			}
		}
		if err != nil || len(left) != want {
			t.Fatalf("%d calls are left of %d, want %d: %v\n%s\n%s", len(left), len(calls), want, err, stream, out)
		}
		checkEdited(t, stream, calls, refuse)
	})
}

// checkEdited edits some of a stream's calls and reads what is written again.
func checkEdited(t *testing.T, stream []byte, calls []holdgate.Call, which uint16) {
	t.Helper()
	var want []holdgate.Call
	for i, c := range calls {
		tool := *c.Tool
		switch {
		case i > 15 || which>>i&1 == 0:
		case tool.Arguments == nil:
			return // it may take text only, and is refused then
		default:
			tool.Arguments = edited(0).Arguments
		}
		want = append(want, holdgate.Call{ID: c.ID, Kind: c.Kind, Tool: &tool})
	}
	out, _, err := run(func(n int) holdgate.Verdict {
		if n > 15 || which>>n&1 == 0 {
			return all(n)
		}
		return edited(n)
	}, stream)
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := run(all, out)
	if err != nil || describe(got) != describe(want) {
		t.Fatalf("edited: %v\n%s\nwant\n%s\nfrom\n%s\nto\n%s", err, describe(got), describe(want), stream, out)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(twoCalls), uint16(1))
	f.Add([]byte(`{"choices":[{"message":{"content":[],"tool_calls":[{"index":3,"id":"a","function":{"name":"ls","arguments":""}},{}]}}]}`), uint16(1))
	f.Fuzz(func(t *testing.T, body []byte, refuse uint16) {
		if wire.Strict(body) != nil {
			return
		}
		a, err := (&openai.Codec{}).Answer(body)
		if err != nil {
			return
		}
		var vs []holdgate.Verdict
		want := 0
		for i := range a.Calls() {
			v := holdgate.Verdict{Release: i < 16 && refuse>>i&1 == 0, Notice: "no"}
			if v.Release {
				want++
			}
			vs = append(vs, v)
		}
		out := a.Render(vs)
		if err := wire.Strict(out); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		left, err := (&openai.Codec{}).Answer(out)
		if err != nil || len(left.Calls()) != want {
			t.Fatalf("%v: %s became %s", err, body, out)
		}
		for i, p := range a.Calls() {
			vs[i] = edited(i)
			vs[i].Release = !p.Fixed
		}
		left, err = (&openai.Codec{}).Answer(a.Render(vs))
		if err != nil {
			t.Fatalf("edited: %v: %s became %s", err, body, a.Render(vs))
		}
		for _, p := range left.Calls() {
			if string(p.Call.Tool.Arguments) != string(edited(0).Arguments) {
				t.Fatalf("not edited: %s became %s", body, a.Render(vs))
			}
		}
		if stream, err := (&openai.Codec{}).Expand(body); err == nil {
			if _, calls, err := run(all, stream); err == nil && len(calls) != len(a.Calls()) {
				t.Fatalf("%s\nexpands to other calls:\n%s", body, stream)
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	var text []string
	for range 200 {
		text = append(text, `{"id":"chatcmpl-9","object":"chat.completion.chunk","created":1700000000,"model":"gpt-x","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`)
	}
	var call []string
	for i := range 200 {
		e := `"index":0,"function":{"arguments":"abcd"}`
		if i == 0 {
			e = `"index":0,"id":"c","function":{"name":"write","arguments":"{\"t\":\""}`
		}
		call = append(call, element(e))
	}
	call = append(call, element(`"index":0,"function":{"arguments":"\"}"}`), finished)
	for name, stream := range map[string][]byte{"text": sse(text...), "call": sse(call...)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				st := (&openai.Codec{}).Stream()
				for piece := stream; len(piece) > 0; {
					n := min(len(piece), 4<<10)
					parts, err := st.Push(piece[:n])
					if err != nil {
						b.Fatal(err)
					}
					for _, p := range parts {
						st.Render(p, holdgate.Verdict{Release: true})
					}
					piece = piece[n:]
				}
				if _, err := st.End(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
