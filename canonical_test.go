package holdgate

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestIsCanonical(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want bool
	}{
		"sorted keys":                   {`{"a":1,"b":[{"c":2,"d":3}],"e":{}}`, true},
		"the same key in two objects":   {`[{"a":1},{"a":1}]`, true},
		"common escapes":                {`{"a":"x\n\"\\\t\r\b\f"}`, true},
		"numbers as written":            {`{"a":1E5,"b":-0.10}`, true},
		"unsorted keys":                 {`{"b":1,"a":2}`, false},
		"unsorted after a nested value": {`{"b":{"z":1},"a":2}`, false},
		"a key that comes twice":        {`{"a":1,"a":2}`, false},
		"blanks":                        {`{"a": 1}`, false},
		"an escaped solidus":            {`"\/"`, false},
		"a line separator":              {"\"\u2028\"", false},
		"an escaped letter":             {`"\u0061"`, false},
		"an escape in a key":            {`{"\n":1}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsCanonical([]byte(c.in)); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Whatever IsCanonical accepts is what rewriting makes of it.
func FuzzIsCanonical(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":[{"c":2}]}`, `{"b":1,"a":2}`, `{"a":"\u2028"}`, "{\"a\":\"\u2028\"}", `{"":1}`, `"\ud83d\ude00"`, `"é"`,
		"\"\x7f\"", `{"a\n":1}`, `[1,[2,[3]]]`, `-0.0e+1`, `{"é":1,"z":2}`, `"<>&"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if !jsontext.Value(in).IsValid() || !IsCanonical(in) {
			return
		}
		want, err := rewrite(in)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(in, want) {
			t.Errorf("accepted %q, canonical is %q", in, want)
		}
	})
}

// Bytes that are moved about come to be what decoding and encoding makes of
// them: digests are stored.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{"b":1,"a":[{"d":"x\n","c":2.50}, null ] , "" : {} }`, `{"b":1,"a":2,"b":3}`, `{"b":{"z":1,"y":[ ]},"a":"\u2028"}`, `{"z":"<>&","é":1E5}`, `{"\ue000":1,"\ud83d\ude00":2}`, "{\"\uffff\":1,\"\U0001f600\":2}",
		" [ 1 , { \"b\" : true , \"a\" : -0.0e+1 } ]\n", `{"i":1,"h":2,"g":3,"f":4,"e":5,"d":6,"c":7,"b":8,"a":9}`, `{"b\n":1,"a":2}`, `{} {}`, `{"b":1,"a":"\xff"}`, `5 `,
		`{"a":1,"a":1}`, `{"a":{"b":1,"b":1}}`, `{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":1e}`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{,}`, `[1 2]`, `nul`, `nulll`, `"\x01"`, "\"\x01\"", "\"\xff\"", `"`, `{"a`, `[`, ``,
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		got, err := Canonical(in)
		want, wantErr := rewrite(in)
		if !bytes.Equal(got, want) || (err == nil) != (wantErr == nil) {
			t.Errorf("of %q: got %q, %v, want %q, %v", in, got, err, want, wantErr)
		}
		if canon, ok := StrictCanonical(in); ok && (!jsontext.Value(in).IsValid() || !bytes.Equal(canon, want)) {
			t.Errorf("of %q: strict is %q, want %q where it is valid (%v)", in, canon, want, jsontext.Value(in).IsValid())
		}
		if !bytes.Equal(in, before) {
			t.Error("the input was changed")
		}
	})
}

// Whatever stands in the repository as JSON has the canonical form that digests on
// disk were made of: its keys sorted by their bytes, its numbers as they were written.
func TestCanonicalOfACorpus(t *testing.T) {
	values := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || d.IsDir() || ext != ".json" && ext != ".jsonl" && ext != ".txtar" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pieces := [][]byte{text}
		if ext != ".json" {
			pieces = bytes.Split(text, []byte("\n"))
		}
		for _, raw := range pieces {
			raw = bytes.TrimPrefix(raw, []byte("data: "))
			if !jsontext.Value(raw).IsValid() {
				continue
			}
			values++
			got, ok := StrictCanonical(raw)
			if want, err := rewrite(raw); ok && (err != nil || !bytes.Equal(got, want)) {
				t.Errorf("%s: got %.300s, want %.300s", path, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if values < 500 {
		t.Errorf("the corpus has %d values", values)
	}
}
