package credential

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTracesAreMaskedHoweverTheyAreCut(t *testing.T) {
	const key = "sk-real/0123+456789=="
	for _, form := range []string{key, `sk-real\/0123+456789==`, `sk-real%2F0123%2B456789%3D%3D`} {
		text := "before sk-rea s sk-real/0123 " + form + form + " behind s"
		want := "before sk-rea s sk-real/0123 " + strings.Repeat("*", 2*len(form)) + " behind s"
		for size := 1; size <= len(text); size++ {
			for name, wrap := range map[string]func(io.Reader) io.Reader{
				"whole":             func(r io.Reader) io.Reader { return r },
				"by the byte":       iotest.OneByteReader,
				"end with data":     iotest.DataErrReader,
				"half of what fits": iotest.HalfReader,
			} {
				found := 0
				r := traces(Bearer, key).Reader(wrap(&cut{text: text, size: size}), func() { found++ })
				got, err := io.ReadAll(r)
				if err != nil || string(got) != want || found != 1 {
					t.Fatalf("%s, pieces of %d: got %q, %v, found %d times", name, size, got, err, found)
				}
				small, err := io.ReadAll(iotest.OneByteReader(traces(Bearer, key).Reader(wrap(&cut{text: text, size: size}), func() {})))
				if err != nil || string(small) != want {
					t.Fatalf("%s, read by the byte, pieces of %d: got %q, %v", name, size, small, err)
				}
			}
		}
	}
}

// A cut is read in pieces.
type cut struct {
	text string
	size int
}

func (c *cut) Read(p []byte) (int, error) {
	if c.text == "" {
		return 0, io.EOF
	}
	n := copy(p, c.text[:min(c.size, len(c.text))])
	c.text = c.text[n:]
	return n, nil
}

func TestTracesOfBasic(t *testing.T) {
	tr := traces(Basic, "user:pass/word123")
	for _, text := range []string{"user:pass/word123", "pass/word123", base64.StdEncoding.EncodeToString([]byte("user:pass/word123"))} {
		if b := []byte("<" + text + ">"); !tr.mask(b) || bytes.Contains(b, []byte("word")) || bytes.Contains(b, []byte("dXNlcj")) {
			t.Errorf("%s: %s", text, b)
		}
	}
	h := http.Header{"X-Echo": {"a", "Basic " + base64.StdEncoding.EncodeToString([]byte("user:pass/word123"))}}
	if !tr.MaskHeader(h) || h["X-Echo"][0] != "a" || strings.Trim(strings.TrimPrefix(h["X-Echo"][1], "Basic "), "*") != "" {
		t.Errorf("got %v", h)
	}
}

// A word that is short stands in answers where nobody meant it.
func TestShortValuesAreNotLookedFor(t *testing.T) {
	if tr := traces(Plain, "seven77"); len(tr) != 0 {
		t.Errorf("%q", tr)
	}
	r := traces(Plain, "x").Reader(strings.NewReader("xxx"), func() { t.Error("found") })
	if got, err := io.ReadAll(r); err != nil || string(got) != "xxx" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A broken answer does not end in the beginning of the value.
func TestWhereAnAnswerBreaksNothingIsShown(t *testing.T) {
	broken := errors.New("broken")
	r := traces(Plain, "sk-real-0123456789").Reader(io.MultiReader(strings.NewReader("x sk-real-01234567"), iotest.ErrReader(broken)), func() {})
	if got, err := io.ReadAll(r); !errors.Is(err, broken) || string(got) != "x " {
		t.Errorf("got %q, %v", got, err)
	}
}

func FuzzTraces(f *testing.F) {
	f.Add([]byte("a sk-real-0123456789 b"), "sk-real-0123456789", 3)
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaab"), "aaaaaaaab", 1)
	f.Fuzz(func(t *testing.T, text []byte, key string, size int) {
		if usable(key) != nil || len(key) > 100 || size < 1 {
			return
		}
		tr := traces(Plain, key)
		got, err := io.ReadAll(tr.Reader(&cut{text: string(text), size: size}, func() {}))
		if err != nil || len(got) != len(text) {
			t.Fatalf("got %d bytes of %d, %v", len(got), len(text), err)
		}
		if len(key) >= shortest && !strings.Contains(key, "*") && bytes.Contains(got, []byte(key)) {
			t.Fatalf("%q has %q", got, key)
		}
		for i := range got {
			if got[i] != text[i] && got[i] != '*' {
				t.Fatalf("%q became %q", text, got)
			}
		}
	})
}
