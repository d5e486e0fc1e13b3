package wire_test

import (
	"strings"
	"testing"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestDocumentMayHave(t *testing.T) {
	d := read(t, `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"Deep_Key":"a rather long text, which is not noted"}}]}],"n":1}`)
	for _, name := range []string{"model", "messages", "role", "type", "input", "deep_key", "n"} {
		if !d.MayHave(name) {
			t.Errorf("says that it has no %q", name)
		}
	}
	for _, m := range [][2]string{{"role", "assistant"}, {"type", "tool_use"}, {"model", "m"}} {
		if !d.MaySay(m[0], m[1]) {
			t.Errorf("says that no %q is %q", m[0], m[1])
		}
	}
	for _, m := range [][2]string{{"type", "tool_result"}, {"role", "tool_use"}, {"role", "tool"}, {"assistant", "role"}} {
		if d.MaySay(m[0], m[1]) {
			t.Errorf("does not know that no %q is %q", m[0], m[1])
		}
	}
	if d.MayHave("functionResponse") || d.MayHave("assistant") {
		t.Error("takes for a key what is none")
	}
	if s := read(t, `[{"x":"t\u006fol"}]`); !s.MaySay("role", "tool") || !s.MayHave("anything") {
		t.Error("is sure of a document with escapes of ASCII")
	}
}

func TestDocumentFind(t *testing.T) {
	d := read(t, ` {"a":{"b":1},"b":"x"}`)
	if got := string(d.Find("b")); got != `"x"` {
		t.Errorf("got %s", got)
	}
	if d.Find("c") != nil || read(t, `["b"]`).Find("b") != nil {
		t.Error("found what is not there")
	}
}

func read(t *testing.T, body string) *wire.Document {
	t.Helper()
	d, err := wire.ReadDocument([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What a document has, it never denies, in whatever way it is written.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"a":[{"role":"tool"},{"type":"tool_result","x":{"é":"\u0041\/"}}],"KEY":"` + strings.Repeat("x", 24) + `"}`))
	f.Add([]byte(`[{"role":"user","a":["b"]},{"role":"tool","a":["K"]},{"role":"a","a":[{"type":"x"},{"type":"tool_result"}]}]`))
	f.Add([]byte(`[{"role":"user","a":["b"]},{"role":"t\u006fol","a":["b"]}]`))
	f.Add([]byte(`{"\u0072ole":"to\u006fl","ſ":"K"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := wire.ReadDocument(body)
		if (err == nil) != (wire.Strict(body) == nil) {
			t.Fatalf("%q: %v", body, err)
		}
		if err == nil {
			says(t, d, d.Body)
			if d, err = wire.ReadAlike(body, false); err != nil {
				t.Fatal(err)
			}
			says(t, d, d.Body)
		}
	})
}

// says checks all members in a value.
func says(t *testing.T, d *wire.Document, value []byte) {
	value = []byte(strings.TrimLeft(string(value), " \t\r\n"))
	switch wire.KindOf(value) {
	case "an array":
		for e, err := range wire.Elements(value) {
			if err != nil {
				t.Fatal(err)
			}
			says(t, d, e.Value)
		}
	case "an object":
		for m, err := range wire.Members(value) {
			if err != nil {
				t.Fatal(err)
			}
			name := string(m.Name)
			text, err := wire.Text(m.Value)
			if isASCII(name) && (!d.MayHave(name) || !d.MayHave(strings.ToUpper(name))) {
				t.Errorf("%q: says that it has no %q", d.Body, name)
			}
			if err == nil && isASCII(name+text) && len(text) <= 24 && !d.MaySay(name, text) {
				t.Errorf("%q: says that no %q is %q", d.Body, name, text)
			}
			says(t, d, m.Value)
		}
	}
}

// isASCII leaves out control characters, which are written with escapes that
// name no number.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == '/' || r > '~' })
}
