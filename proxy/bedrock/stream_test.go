package bedrock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/bedrock"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

func stream() wire.Stream { return (&bedrock.Converse{}).StreamAs(bedrock.StreamType) }

func ev(typ, payload string) string {
	return string(wire.AppendMessage(nil, "event", typ, []byte(payload)))
}

func start(i int, kind string) string {
	return ev("contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"p":"ab","start":{%s}}`, i, kind))
}

func toolStart(i int, id, name string) string {
	return start(i, fmt.Sprintf(`"toolUse":{"name":%q,"toolUseId":%q}`, name, id))
}

func delta(i int, kind string) string {
	return ev("contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":{%s},"p":"abcdef"}`, i, kind))
}

func input(i int, fragment string) string { return delta(i, `"toolUse":{"input":`+quote(fragment)+`}`) }

func textDelta(i int, s string) string { return delta(i, `"text":`+quote(s)) }

func stop(i int) string {
	return ev("contentBlockStop", fmt.Sprintf(`{"contentBlockIndex":%d,"p":"a"}`, i))
}

func begin() string { return ev("messageStart", `{"p":"abcd","role":"assistant"}`) }

func end(reason string) string {
	return ev("messageStop", `{"p":"abc","stopReason":"`+reason+`"}`) + ev("metadata", `{"metrics":{"latencyMs":9},"usage":{"totalTokens":3}}`)
}

// described is a stream in words: what each event says.
func described(t *testing.T, in string) (list []string) {
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
		payload := wire.RewriteMembers(m.Payload, func(m wire.Member) []byte {
			if string(m.Name) == "p" {
				return nil
			}
			return m.Value
		})
		list = append(list, m.Type+" "+string(payload))
	}
}

func TestStreamsSayWhatPlainAnswersSay(t *testing.T) {
	c := &bedrock.Converse{}
	for _, tt := range cases() {
		t.Run(tt.name, func(t *testing.T) {
			plain, plainWant := tt.plain()
			in, err := c.Expand([]byte(plain))
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{1, 2, 3, 5, 7, 11, 64, len(in)} {
				calls, out, err := wiretest.Run(stream(), string(in), size, tt.verdicts)
				if err != nil || len(calls) != len(tt.verdicts) {
					t.Fatalf("in pieces of %d: %d calls, error %v", size, len(calls), err)
				}
				got, err := c.Collect([]byte(out))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(squeezed(plainWant), string(got)); diff != "" {
					t.Fatalf("in pieces of %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

func TestWhatIsReleasedPassesByteForByte(t *testing.T) {
	in := begin() + delta(0, `"reasoningContent":{"text":"hm"}`) + delta(0, `"reasoningContent":{"signature":"c2ln"}`) + stop(0) +
		textDelta(1, "I will.") + stop(1) + toolStart(2, "t1", "f") + input(2, ``) + input(2, `{"x" : "\u00e9`) + input(2, `"}`) + stop(2) +
		start(3, `"toolUse":{"name":"nova_grounding","toolUseId":"s","type":"server_tool_use"}`) + input(3, `{"q":1}`) + stop(3) +
		start(4, `"toolResult":{"toolUseId":"s"}`) + delta(4, `"toolResult":[{"text":"x"}]`) + stop(4) +
		ev("newEvent", `{"x":1}`) + toolStart(5, "t2", "g") + stop(5) + end("tool_use")
	for size := 1; size <= len(in); size++ {
		calls, out, err := wiretest.Run(stream(), in, size, []holdgate.Verdict{wiretest.Release(), wiretest.Release()})
		if err != nil || out != in || len(calls) != 3 {
			t.Fatalf("in pieces of %d: %d calls, error %v, got %q", size, len(calls), err, out)
		}
		if got := string(calls[0].Tool.Arguments); got != `{"x" : "\u00e9"}` {
			t.Fatalf("arguments %s", got)
		}
	}
}

func TestWhatIsWrittenForACall(t *testing.T) {
	in := begin() + textDelta(0, "So.") + stop(0) + toolStart(1, "t1", "f") + input(1, `{"x":`) + input(1, `1}`) + stop(1) + toolStart(2, "t2", "g") + stop(2) + end("tool_use")
	edited := holdgate.Verdict{Release: true, Note: "n", Arguments: []byte(`{"x":2}`)}
	_, out, err := wiretest.Run(stream(), in, 9, []holdgate.Verdict{edited, wiretest.Edit(`{"y":3}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := described(t, begin()+textDelta(0, "So.")+stop(0)+textDelta(1, "n")+stop(1)+
		toolStart(2, "t1", "f")+input(2, `{"x":2}`)+stop(2)+toolStart(3, "t2", "g")+input(3, `{"y":3}`)+stop(3)+end("tool_use"))
	if diff := cmp.Diff(want, described(t, out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, out, err = wiretest.Run(stream(), in, 9, []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Refuse("never")})
	if err != nil {
		t.Fatal(err)
	}
	want = described(t, begin()+textDelta(0, "So.")+stop(0)+textDelta(1, "no")+stop(1)+textDelta(2, "never")+stop(2)+end("end_turn"))
	if diff := cmp.Diff(want, described(t, out)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

func TestNothingOfACallFlowsBeforeItIsDecided(t *testing.T) {
	s := stream()
	in := begin() + textDelta(0, "before") + toolStart(1, "t", "f") + ev("newEvent", `{}`) + input(1, `{}`)
	parts, err := s.Push([]byte(in + stop(1)[:20]))
	if err != nil || len(parts) != 2 || parts[1].Call != nil {
		t.Fatalf("%d parts, error %v", len(parts), err)
	}
	if parts, err = s.Push([]byte(stop(1)[20:])); err != nil || len(parts) != 1 || parts[0].Call == nil {
		t.Fatalf("%d parts, error %v", len(parts), err)
	}
}

func TestStreamsThatAreNotUnderstoodEnd(t *testing.T) {
	call := toolStart(0, "t", "f")
	broken := []byte(begin())
	broken[len(broken)-1]++
	for name, tt := range map[string]struct{ in, want string }{
		"it ends inside a call":               {begin() + call, "ends inside the call"},
		"it ends inside a message":            {begin()[:9], "ends inside a message"},
		"a checksum that does not match":      {string(broken), "checksum"},
		"a call begins inside of another":     {begin() + call + toolStart(1, "u", "g"), "comes where it cannot"},
		"a text inside of a call":             {begin() + call + textDelta(0, "x"), `delta of the kind "text"`},
		"another block inside of a call":      {begin() + call + textDelta(1, "x"), "comes where it cannot"},
		"the message ends inside of a call":   {begin() + call + end("tool_use"), "comes where it cannot"},
		"an exception inside of a call":       {begin() + call + string(wire.AppendMessage(nil, "exception", "throttlingException", []byte(`{"message":"slow"}`))), "slow"},
		"two calls of one index":              {begin() + toolStart(0, "u", "g") + stop(0) + call + stop(0), "two calls"},
		"a call after the end":                {begin() + end("end_turn") + call, "comes where it cannot"},
		"two messages":                        {begin() + begin(), "comes where it cannot"},
		"arguments outside of a call":         {begin() + input(0, "{}"), "outside of any call"},
		"arguments that are an object":        {begin() + call + delta(0, `"toolUse":{"input":{}}`), "not a text"},
		"arguments in the start":              {begin() + start(0, `"toolUse":{"name":"f","input":{}}`), "may or may not see"},
		"input in another case":               {begin() + call + delta(0, `"toolUse":{"Input":"{}"}`), "another case"},
		"duplicate keys":                      {begin() + start(0, `"toolUse":{"name":"f","name":"g"}`), "occurs twice"},
		"a start of two kinds":                {begin() + start(0, `"toolResult":{},"toolUse":{"name":"f"}`), "where one may be"},
		"a call in another case":              {begin() + start(0, `"ToolUse":{"name":"f"}`), "another case"},
		"a call under an unknown name":        {begin() + start(0, `"remoteToolUse":{"name":"f"}`), "no call belongs"},
		"a call without a name":               {begin() + start(0, `"toolUse":{"toolUseId":"t"}`), "no name"},
		"an event type in another case":       {begin() + ev("ContentBlockStart", `{}`), "another case"},
		"a start in an event of another type": {begin() + ev("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"a"},"start":{"toolUse":{"name":"f"}}}`), "of another type"},
		"a start in an event of no type":      {begin() + ev("newEvent", `{"start":{"toolUse":{"name":"f"}}}`), "of another type"},
		"a call in metadata":                  {begin() + ev("metadata", `{"toolUse":{"name":"f"}}`), "no call belongs"},
		"a message of InvokeModel":            {begin() + ev("chunk", `{"bytes":"e30="}`), "of another type"},
		"content in messageStart":             {ev("messageStart", `{"role":"assistant","content":[{"toolUse":{"name":"f"}}]}`), "of another type"},
		"an index that is no number":          {begin() + ev("contentBlockStop", `{"contentBlockIndex":"0"}`), "its index"},
		"a start without an index":            {begin() + ev("contentBlockStart", `{"start":{"toolUse":{"name":"f"}}}`), "all that it must"},
		"no JSON":                             {begin() + ev("contentBlockStop", `{`), "too early"},
		"an array":                            {begin() + ev("contentBlockStart", `[]`), "{ was expected"},
	} {
		calls, out, err := wiretest.Run(stream(), tt.in, 5, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(out, `"f"`) {
			t.Errorf("%s: %d calls, error %v, want %q; sent %q", name, len(calls), err, tt.want, out)
		}
	}
}

func TestArgumentsThatAreNoObject(t *testing.T) {
	for args, want := range map[string]string{`{"a":`: `{"a":`, `[1]`: `[1]`, `{"a":1,"a":2}`: `{"a":1,"a":2}`, "x\ty": "x\ty"} {
		calls, _, err := wiretest.Run(stream(), begin()+toolStart(0, "t", "f")+input(0, args)+stop(0), 100, nil)
		if err != nil || len(calls) != 1 || calls[0].Tool.Arguments != nil || calls[0].Tool.ArgumentsRaw != want {
			t.Errorf("%q: %v, %+v", args, err, calls)
		}
	}
}

func TestACallHasALimit(t *testing.T) {
	in := begin() + toolStart(0, "t", "f") + strings.Repeat(input(0, strings.Repeat("x", 100)), 20)
	if _, _, err := wiretest.Run((&bedrock.Converse{CallLimit: 2000}).Stream(), in, 50, nil); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestWhatHoldgateSaysByItself(t *testing.T) {
	s := stream()
	notice := s.(interface{ Notice(string) []byte }).Notice
	if b := notice("who"); b != nil {
		t.Errorf("before the answer there is a notice: %q", b)
	}
	out := string(s.Idle())
	in := begin() + textDelta(0, "a") + stop(0) + toolStart(1, "t", "f") + stop(1)
	parts, err := s.Push([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if p.Call != nil {
			out += string(notice("who knows")) + string(s.Idle())
		}
		out += string(s.Render(p, wiretest.Release()))
	}
	want := described(t, ev("ping", "{}")+begin()+textDelta(0, "a")+stop(0)+textDelta(1, "who knows")+stop(1)+ev("ping", "{}")+toolStart(2, "t", "f")+stop(2))
	if diff := cmp.Diff(want, described(t, out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, again, err := wiretest.Run(stream(), out, 3, nil); err != nil || again != out {
		t.Errorf("what was sent cannot be read: %v", err)
	}
	if got := described(t, string(s.Fail(`it "broke"`))); got[0] != `modelStreamErrorException {"message":"it \"broke\""}` {
		t.Errorf("fail: %q", got)
	}
}

func FuzzStream(f *testing.F) {
	for _, tt := range cases() {
		plain, _ := tt.plain()
		in, err := (&bedrock.Converse{}).Expand([]byte(plain))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(in), uint8(3))
	}
	f.Add(begin()+start(0, `"toolUse":{"name":"g","type":"server_tool_use"}`)+input(0, "{}")+stop(0)+toolStart(1, "t", "f")+input(1, `{"a"`)+input(1, `:1}`)+stop(1)+end("tool_use"), uint8(1))
	// The fuzzer changes payloads, not checksums: these are made anew.
	f.Fuzz(func(t *testing.T, in string, size uint8) {
		in = summed(in)
		calls, out, err := wiretest.Run(stream(), in, int(size)+1, nil)
		whole, _, wholeErr := wiretest.Run(stream(), in, len(in)+1, nil)
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
		for i := range verdicts {
			verdicts[i] = []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Note("n"), wiretest.Edit(`{"e":1}`)}[(i+int(size))%3]
		}
		_, sent, err := wiretest.Run(stream(), in, int(size)+1, verdicts)
		if err != nil {
			t.Fatal(err)
		}
		left, again, err := wiretest.Run(stream(), sent, len(sent)+1, nil)
		if err != nil || again != sent {
			t.Fatalf("what was sent cannot be read: %v\n%q", err, sent)
		}
		if len(left) > len(calls) {
			t.Errorf("there are %d calls of %d: %q", len(left), len(calls), sent)
		}
	})
}
