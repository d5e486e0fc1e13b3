package audit

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
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
			if got := isCanonical([]byte(c.in)); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Whatever isCanonical accepts is left alone by Canonical.
func FuzzIsCanonical(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":[{"c":2}]}`, `{"b":1,"a":2}`, `{"a":"\u2028"}`, "{\"a\":\"\u2028\"}", `{"":1}`, `"\ud83d\ude00"`, `"é"`,
		"\"\x7f\"", `{"a\n":1}`, `[1,[2,[3]]]`, `-0.0e+1`, `{"é":1,"z":2}`, `"<>&"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if !jsontext.Value(in).IsValid() || !isCanonical(in) {
			return
		}
		want, err := holdgate.Canonical(in)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(in, want) {
			t.Errorf("accepted %q, canonical is %q", in, want)
		}
	})
}

// The form that is hashed is the canonical form of the stored line without its
// hash, for entries of every shape.
func TestTheHashIsOverTheCanonicalForm(t *testing.T) {
	for name, e := range entries() {
		t.Run(name, func(t *testing.T) {
			line, hash, err := encode(e)
			if err != nil {
				t.Fatal(err)
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(line, &members); err != nil {
				t.Fatal(err)
			}
			delete(members, "hash")
			rest, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			want, err := holdgate.Canonical(rest)
			if err != nil {
				t.Fatal(err)
			}
			if got := hashOf(want); got != hash {
				t.Errorf("the hash is %s, that of the canonical form %s\n%s", hash, got, want)
			}
			l, wrong := parseLine(line)
			if wrong != "" || l.hash != hash {
				t.Errorf("reading it back: %q, hash %s", wrong, l.hash)
			}
		})
	}
}

// A plain entry is canonical as it is encoded: no field is out of order.
func TestAPlainEntryIsEncodedInCanonicalOrder(t *testing.T) {
	e := entries()["a decision"]
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if !isCanonical(b) {
		t.Errorf("not in the order of JSON names: %s", b)
	}
}

func entries() map[string]Entry {
	hold := holdgate.Hold
	decision := Entry{
		Seq: 7, Type: TypeDecision, RequestID: "r1", Exchange: "x1", Door: "up/anthropic", Note: "n", PrevHash: "00",
		Call: &Call{
			Agent: "a", Digest: "d", HTTP: "GET h/p", ID: "toolu_1", Kind: holdgate.KindToolCall, MCP: "s m", Model: "m",
			Session: "s", Tool: &Tool{Name: "Bash", Server: "srv"},
		},
		Decision: &Decision{Action: holdgate.Allow, Reason: "r", Revision: "v", Risk: holdgate.RiskLow, Rule: "x.y", Would: &hold},
		Input:    json.RawMessage(`{"command":"ls\n"}`),
	}
	unsorted := decision
	unsorted.Input = json.RawMessage(`{"z": 1, "a": {"y": 1e3, "b": "\u2028\/\u0001"}}`)
	hostile := decision
	hostile.Note = "<b>\u2028&\x00\x7f\u202e" + `"},"hash":"`
	return map[string]Entry{
		"an empty entry":             {},
		"a decision":                 decision,
		"an input in no order":       unsorted,
		"an outcome":                 {Type: TypeOutcome, Outcome: &holdgate.Outcome{Decision: holdgate.AnswerApprove, By: "ann", Reason: "ok"}},
		"characters of special kind": hostile,
		"an input of many bytes":     {Input: json.RawMessage(`"` + string(bytes.Repeat([]byte("é"), 1<<20)) + `"`)},
	}
}

func TestParseHead(t *testing.T) {
	hash := string(bytes.Repeat([]byte("a"), 64))
	if h, err := ParseHead("12:" + hash); err != nil || h != (Head{12, hash}) || h.String() != "12:"+hash {
		t.Errorf("got %v, %v", h, err)
	}
	for _, s := range []string{"", ":", "12", "12:", ":" + hash, "0:" + hash, "012:" + hash, "-1:" + hash, "1:" + hash[1:], "1:" + hash + "a", "1:A" + hash[1:], " 1:" + hash} {
		if _, err := ParseHead(s); err == nil {
			t.Errorf("%q is taken for a head", s)
		}
	}
}
