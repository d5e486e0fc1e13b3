package gemini_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gemini"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

// A form is how responses are streamed.
type form struct {
	name   string
	stream func() wire.Stream
	write  func(responses ...string) string
}

func forms() []form {
	c := &gemini.Codec{}
	return []form{
		{"events", c.Stream, func(rs ...string) string {
			return "data: " + strings.Join(rs, "\n\ndata: ") + "\n\n"
		}},
		{"array", func() wire.Stream { return c.StreamAs("application/json") }, func(rs ...string) string {
			return "[" + strings.Join(rs, "\n,\r\n") + "\n]\n"
		}},
	}
}

func TestStreamsOfOneResponseSayWhatPlainAnswersSay(t *testing.T) {
	for _, f := range forms() {
		for _, tt := range cases() {
			t.Run(f.name+"/"+tt.name, func(t *testing.T) {
				in, want := f.write(tt.in), f.write(tt.want)
				for size := 1; size <= len(in); size++ {
					calls, out, err := wiretest.Run(f.stream(), in, size, tt.verdicts)
					if err != nil || len(calls) != len(tt.verdicts) {
						t.Fatalf("in pieces of %d: %d calls, error %v", size, len(calls), err)
					}
					if diff := cmp.Diff(squeezed(want), squeezed(out)); diff != "" {
						t.Fatalf("in pieces of %d (-want +got):\n%s", size, diff)
					}
				}
			})
		}
	}
}

// squeezed is a stream without the blanks around responses, which a rewritten
// one does not keep.
func squeezed(s string) string {
	return strings.NewReplacer("\r", "", "\n", "").Replace(s)
}

func TestWhatIsReleasedPassesByteForByte(t *testing.T) {
	for _, f := range forms() {
		in := f.write(content(text("a")), content(function("f", `{"x" : 1}`), text("b")), content(signed), `{"usageMetadata":{"totalTokenCount":3}}`)
		for size := 1; size <= len(in); size++ {
			_, out, err := wiretest.Run(f.stream(), in, size, []holdgate.Verdict{wiretest.Release(), wiretest.Release()})
			if err != nil || out != in {
				t.Fatalf("%s in pieces of %d: error %v, got %q", f.name, size, err, out)
			}
		}
	}
}

// fragments are the responses of one call that comes in pieces, with text
// after it.
func fragments() []string {
	return []string{
		content(`{"functionCall":{"name":"write","id":"7","willContinue":true}}`),
		content(`{"functionCall":{"partialArgs":[{"jsonPath":"$.path","stringValue":"a\u002fb","willContinue":true}],"willContinue":true}}`),
		content(`{"functionCall":{"partialArgs":[{"jsonPath":"$.path","stringValue":".go"},{"jsonPath":"$.lines[0]","numberValue":1},{"jsonPath":"$.lines[1].ok","boolValue":true},{"jsonPath":"$['x y']","nullValue":null}],"willContinue":true}}`),
		content(`{"functionCall":{}}`),
		content(text("done")),
	}
}

func TestACallInFragmentsIsOneCall(t *testing.T) {
	for _, f := range forms() {
		in := f.write(fragments()...)
		calls, out, err := wiretest.Run(f.stream(), in, 7, []holdgate.Verdict{wiretest.Release()})
		if err != nil || len(calls) != 1 || out != in {
			t.Fatalf("%s: %d calls, error %v, sent %q", f.name, len(calls), err, out)
		}
		want := `{"path":"a\u002fb.go","lines":[1,{"ok":true}],"x y":null}`
		if got := string(calls[0].Tool.Arguments); got != want {
			t.Errorf("%s: arguments %s, want %s", f.name, got, want)
		}
		_, out, err = wiretest.Run(f.stream(), in, 7, []holdgate.Verdict{wiretest.Refuse("no")})
		if err != nil || strings.Contains(out, "functionCall") || strings.Count(out, `"no\n"`) != 1 || !strings.Contains(out, "done") {
			t.Errorf("%s, refused: error %v, sent %s", f.name, err, out)
		}
		_, out, err = wiretest.Run(f.stream(), in, 7, []holdgate.Verdict{wiretest.Edit(`{"path":"c"}`)})
		if err != nil || strings.Count(out, "functionCall") != 1 || !strings.Contains(out, `{"functionCall":{"name":"write","id":"7","args":{"path":"c"}}}`) {
			t.Errorf("%s, edited: error %v, sent %s", f.name, err, out)
		}
	}
}

func TestNothingOfACallFlowsBeforeItIsDecided(t *testing.T) {
	for _, f := range forms() {
		s := f.stream()
		in := f.write(append([]string{content(text("before"))}, fragments()...)...)
		cut := strings.Index(in, `{"functionCall":{}}`)
		parts, err := s.Push([]byte(in[:cut]))
		if err != nil || len(parts) != 1 || !strings.Contains(string(parts[0].Bytes), "before") {
			t.Fatalf("%s: %d parts, error %v", f.name, len(parts), err)
		}
	}
}

func TestStreamsThatAreNotUnderstoodEnd(t *testing.T) {
	for _, f := range forms() {
		for name, responses := range map[string][]string{
			"it ends inside a call":           fragments()[:2],
			"a call begins inside of another": {fragments()[0], content(function("g", `{}`))},
			"duplicate keys":                  {content(`{"functionCall":{"name":"f","name":"g"}}`)},
			"a call without a name":           {content(`{"functionCall":{"args":{}}}`)},
		} {
			if _, out, err := wiretest.Run(f.stream(), f.write(responses...), 5, nil); err == nil {
				t.Errorf("%s, %s: sent %q", f.name, name, out)
			}
		}
	}
}

func TestSignsOfLifeFitIn(t *testing.T) {
	for _, f := range forms() {
		s := f.stream()
		if b := s.Idle(); len(b) > 0 {
			t.Errorf("%s: before the first response there is %q", f.name, b)
		}
		in := f.write(content(text("a")), content(function("f", `{}`)))
		parts, err := s.Push([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, p := range parts {
			out += string(s.Render(p, wiretest.Refuse("no")))
			out += string(s.Idle())
		}
		rest, err := s.End()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range rest {
			out += string(s.Render(p, wiretest.Release()))
		}
		if calls, again, err := wiretest.Run(f.stream(), out, len(out), nil); err != nil || len(calls) != 0 || again != out {
			t.Errorf("%s: what was sent cannot be read: %v\n%s", f.name, err, out)
		}
		if strings.Count(out, `{"text":""}`) != 2 && f.name == "events" {
			t.Errorf("%s: the signs of life are not in %s", f.name, out)
		}
	}
}

func TestCollectSaysWhatTheStreamSays(t *testing.T) {
	c := &gemini.Codec{}
	in := forms()[0].write(append([]string{content(text("a"))}, append(fragments(), `{"candidates":[{"finishReason":"STOP","index":0}],"usageMetadata":{"n":1}}`)...)...)
	got, err := c.Collect([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"write","id":"7","args":{"path":"a\u002fb.go","lines":[1,{"ok":true}],"x y":null}}},{"text":"done"}],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"m","usageMetadata":{"n":1}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if err := wire.Strict(got); err != nil {
		t.Error(err)
	}
	back, err := c.Expand(got)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Collect(back)
	if diff := cmp.Diff(string(got), string(again)); err != nil || diff != "" {
		t.Errorf("expanded and collected: %v\n%s", err, diff)
	}
}

func FuzzStream(f *testing.F) {
	for _, form := range forms() {
		f.Add(form.write(content(text("a")), content(function("f", `{"x":1}`), text("b"))), uint8(3), form.name == "array")
		f.Add(form.write(fragments()...), uint8(1), form.name == "array")
	}
	f.Fuzz(func(t *testing.T, in string, size uint8, array bool) {
		form := forms()[0]
		if array {
			form = forms()[1]
		}
		calls, out, err := wiretest.Run(form.stream(), in, int(size)+1, nil)
		whole, _, wholeErr := wiretest.Run(form.stream(), in, len(in)+1, nil)
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
			verdicts[i] = wiretest.Refuse("no")
		}
		if len(calls) == 0 {
			return
		}
		_, refused, err := wiretest.Run(form.stream(), in, int(size)+1, verdicts)
		if err != nil {
			t.Fatal(err)
		}
		left, _, err := wiretest.Run(form.stream(), refused, len(refused)+1, nil)
		if err != nil {
			t.Fatalf("what was sent cannot be read: %v\n%q", err, refused)
		}
		for _, c := range left {
			if c.Tool.Name != "executableCode" && c.Tool.Name != "toolCall" && c.Tool.Name != "executable_code" && c.Tool.Name != "tool_call" {
				t.Errorf("a refused call is left: %s in %q", c.Tool.Name, refused)
			}
		}
	})
}
