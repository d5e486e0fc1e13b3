package ollama_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/ollama"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/proxy/wire/wiretest"
)

func TestStreamsOfOneLineSayWhatPlainAnswersSay(t *testing.T) {
	for _, tt := range cases() {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size <= len(tt.in)+1; size++ {
				calls, out, err := wiretest.Run((&ollama.Codec{}).Stream(), tt.in+"\n", size, tt.verdicts)
				if err != nil || len(calls) != len(tt.verdicts) {
					t.Fatalf("in pieces of %d: %d calls, error %v", size, len(calls), err)
				}
				if diff := cmp.Diff(tt.want+"\n", out); diff != "" {
					t.Fatalf("in pieces of %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

func TestWhatIsReleasedPassesByteForByte(t *testing.T) {
	in := "\n" + chat("a") + "\r\n  " + chat("é\u2028", function("f", `{"x" : 1}`), numbered(3, "g")) + " \n" + generate("b", function("h", `"raw"`)) + "\n" + last
	for size := 1; size <= len(in); size++ {
		calls, out, err := wiretest.Run((&ollama.Codec{}).Stream(), in, size, []holdgate.Verdict{wiretest.Release(), wiretest.Release(), wiretest.Release()})
		if err != nil || out != in || len(calls) != 3 {
			t.Fatalf("in pieces of %d: %d calls, error %v, got %q", size, len(calls), err, out)
		}
	}
}

func TestSeveralLines(t *testing.T) {
	in := chat("I will.") + "\n" + chat("", numbered(0, "f")) + "\n" + chat("", numbered(1, "g"), numbered(2, "h")) + "\n" + chat("Well.") + "\n" + last + "\n"
	_, out, err := wiretest.Run((&ollama.Codec{}).Stream(), in, 9, []holdgate.Verdict{wiretest.Refuse("no"), wiretest.Release(), wiretest.Refuse("never")})
	if err != nil {
		t.Fatal(err)
	}
	want := chat("I will.") + "\n" + chat("\n\nno\n") + "\n" + chat("\n\nnever\n", `{"id":"c1","function":{"index":0,"name":"g","arguments":{}}}`) + "\n" + chat("Well.") + "\n" + last + "\n"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingOfACallFlowsBeforeItIsWhole(t *testing.T) {
	s := (&ollama.Codec{}).Stream()
	in := chat("before") + "\n" + chat("", function("f", `{}`)) + "\n"
	parts, err := s.Push([]byte(in[:len(in)-1]))
	if err != nil || len(parts) != 1 || !strings.Contains(string(parts[0].Bytes), "before") {
		t.Fatalf("%d parts, error %v", len(parts), err)
	}
	if parts, err = s.Push([]byte("\n")); err != nil || len(parts) != 1 || parts[0].Call == nil {
		t.Fatalf("%d parts, error %v", len(parts), err)
	}
}

func TestStreamsThatAreNotUnderstoodEnd(t *testing.T) {
	call := chat("", function("f", `{}`))
	for name, in := range map[string]string{
		"a line that is cut":               call[:len(call)-2],
		"two objects in a line":            chat("a") + call + "\n",
		"two objects with a CR between":    chat("a") + "\r" + call + "\n",
		"two objects with a VT between":    chat("a") + "\v" + call + "\n",
		"a byte order mark":                "\xef\xbb\xbf" + call + "\n",
		"server-sent events":               "data: " + call + "\n\n",
		"an array":                         "[" + call + "]\n",
		"duplicate keys":                   `{"message":{"content":""},"message":{"tool_calls":[` + function("f", `{}`) + `]}}` + "\n",
		"a call behind a line separator":   `{"message":{"content":"` + "\u2028" + strings.ReplaceAll(call, `"`, `\"`) + `"}}` + "\n",
		"a name that comes twice":          chat("", `{"function":{"name":"f","name":"g"}}`) + "\n",
		"a key with a NUL":                 `{"message` + "\x00" + `":{}}` + "\n",
		"text that is not valid UTF-8":     `{"message":{"content":"` + "\xff" + `"}}` + "\n",
		"a call behind the end that is no": last + "\n" + `{"tool_calls":[{"function":{}}]}` + "\n",
	} {
		if calls, out, err := wiretest.Run((&ollama.Codec{}).Stream(), in, 5, nil); err == nil {
			t.Errorf("%s: %d calls, sent %q", name, len(calls), out)
		}
	}
}

func TestEveryFormOfCallIsSeen(t *testing.T) {
	call := function("f", `{}`)
	for name, in := range map[string]string{
		"in the last line":            `{"message":{"content":"","tool_calls":[` + call + `]},"done":true}` + "\n",
		"behind the last line":        last + "\n" + chat("", call) + "\n",
		"in a line that nothing ends": chat("a") + "\n" + chat("", call),
		"beside an error":             `{"error":"x","message":{"content":"","tool_calls":[` + call + `]}}` + "\n",
		"beside a message of null":    `{"message":null,"tool_calls":[` + call + `],"done":true}` + "\n",
		"in a user's message":         `{"message":{"role":"user","content":"","tool_calls":[` + call + `]},"done":true}` + "\n",
		"under escaped keys":          `{"m\u0065ssage":{"tool\u005fcalls":[` + call + `]},"done":true}` + "\n",
	} {
		calls, out, err := wiretest.Run((&ollama.Codec{}).Stream(), in, 4, []holdgate.Verdict{wiretest.Refuse("no")})
		if err != nil || len(calls) != 1 || strings.Contains(out, `"f"`) || !strings.Contains(out, `no\n`) {
			t.Errorf("%s: %d calls, error %v, sent %s", name, len(calls), err, out)
		}
	}
}

func TestALineHasALimit(t *testing.T) {
	in := chat(strings.Repeat("x", wire.DefaultEventLimit))
	if _, _, err := wiretest.Run((&ollama.Codec{}).Stream(), in, 1<<20, nil); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	many := strings.Repeat(function("f", "{}")+",", 1024) + function("f", "{}")
	if _, _, err := wiretest.Run((&ollama.Codec{}).Stream(), chat("", many)+"\n", 1<<20, nil); err == nil {
		t.Error("any number of calls is taken")
	}
}

func TestWhatHoldgateSaysByItself(t *testing.T) {
	s := (&ollama.Codec{}).Stream()
	type noticer interface{ Notice(string) []byte }
	if b := s.Idle(); len(b) > 0 {
		t.Errorf("before the first line there is %q", b)
	}
	push := func(in string, v holdgate.Verdict) string {
		parts, err := s.Push([]byte(in + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, p := range parts {
			out += string(s.Render(p, v))
		}
		return out
	}
	out := push(chat("a"), wiretest.Release())
	if got, want := string(s.Idle()), chat("")+"\n"; got != want {
		t.Errorf("idle: got %s, want %s", got, want)
	}
	if got, want := string(s.(noticer).Notice("who\nknows")), chat("\n\nwho\nknows\n")+"\n"; got != want {
		t.Errorf("notice: got %s, want %s", got, want)
	}
	out += string(s.Idle()) + push(generate("a"), wiretest.Release())
	if got, want := string(s.Idle()), generate("")+"\n"; got != want {
		t.Errorf("idle: got %s, want %s", got, want)
	}
	push(last, wiretest.Release())
	if b := s.Idle(); len(b) > 0 {
		t.Errorf("behind the last line there is %q", b)
	}
	if got, want := string(s.Fail("it \"broke\"")), `{"error":"it \"broke\""}`+"\n"; got != want {
		t.Errorf("fail: got %s, want %s", got, want)
	}
	if _, again, err := wiretest.Run((&ollama.Codec{}).Stream(), out, 3, nil); err != nil || again != out {
		t.Errorf("what was sent cannot be read: %v\n%s", err, out)
	}
}

func FuzzStream(f *testing.F) {
	for _, tt := range cases() {
		f.Add(tt.in+"\n"+last, uint8(3))
	}
	for _, in := range evasions() {
		f.Add(in, uint8(1))
	}
	f.Add(chat("a")+"\r\n\n"+chat("\u2028", numbered(0, "f"), numbered(1, "g"))+"\n"+last, uint8(1))
	f.Fuzz(func(t *testing.T, in string, size uint8) {
		calls, out, err := wiretest.Run((&ollama.Codec{}).Stream(), in, int(size)+1, nil)
		whole, _, wholeErr := wiretest.Run((&ollama.Codec{}).Stream(), in, len(in)+1, nil)
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
		for _, refused := range [][]bool{{true}, {false, true}} {
			verdicts := make([]holdgate.Verdict, len(calls))
			var want []string
			for i := range verdicts {
				verdicts[i] = holdgate.Verdict{Release: !refused[i%len(refused)], Notice: "no"}
				if verdicts[i].Release {
					want = append(want, calls[i].ID+" "+calls[i].Tool.Name)
				}
			}
			_, sent, err := wiretest.Run((&ollama.Codec{}).Stream(), in, int(size)+1, verdicts)
			if err != nil {
				t.Fatal(err)
			}
			left, _, err := wiretest.Run((&ollama.Codec{}).Stream(), sent, len(sent)+1, nil)
			if err != nil {
				t.Fatalf("what was sent cannot be read: %v\n%q", err, sent)
			}
			if diff := cmp.Diff(want, names(left)); diff != "" {
				t.Errorf("other calls are left than were released (-want +got):\n%s\n%q", diff, sent)
			}
		}
		if plain, err := (&ollama.Codec{}).Collect([]byte(in)); err == nil && len(calls) > 0 {
			if a, err := (&ollama.Codec{}).Answer(plain); err == nil && len(a.Calls()) > len(calls) {
				t.Errorf("collected, there are %d calls more: %s", len(a.Calls())-len(calls), plain)
			}
		}
	})
}
