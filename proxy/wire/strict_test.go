package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestStrictAccepts(t *testing.T) {
	tests := map[string]string{
		"an object":                            `{"model":"m","stream":true}`,
		"a scalar":                             `-0.5e+10`,
		"blanks around the value":              " \t\r\n {} \r\n",
		"keepalive blanks before the body":     strings.Repeat("\n", 30) + `{"a":1}`,
		"the same key in different objects":    `[{"a":1},{"a":{"a":1}}]`,
		"an empty key":                         `{"":1}`,
		"keys that differ in more than case":   `{"a@":1,"a` + "`" + `":2}`,
		"a surrogate pair in escapes":          `"\ud83d\ude00"`,
		"the last depth that is let in":        nested(wire.MaxDepth),
		"text beyond ASCII":                    `{"clé":"日本語 😀"}`,
		"the delete character":                 "\"\x7f\"",
		"a noncharacter":                       "\"\uffff\"",
		"many different keys":                  `{` + manyKeys(500) + `}`,
		"all simple escapes":                   `"\"\\\/\b\f\n\r\t\u0000"`,
		"a long string of every short length":  longStrings(),
		"a number that no float can hold":      `123456789012345678901234567890e99999`,
		"a byte order mark inside of a string": `"` + "\ufeff" + `"`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			if err := wire.Strict([]byte(body)); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestStrictRefuses(t *testing.T) {
	tests := []struct {
		name, body string
		pointer    string
		offset     int
		problem    string
	}{
		{"nothing", "", "", 0, "a value is missing"},
		{"blanks only", " \n", "", 2, "a value is missing"},
		{"a byte order mark", "\ufeff{}", "", 0, "byte order mark"},
		{"a second value", `{} {}`, "", 3, "something follows"},
		{"a NUL behind the value", "{}\x00", "", 2, "something follows"},
		{"a form feed as blank", "{\f}", "", 1, "key in quotes"},
		{"a duplicate key", `{"a":1,"b":2,"a":3}`, "/a", 13, `key "a" occurs twice`},
		{"a duplicate deep inside", `{"m":[0,{"a":1,"a":2}]}`, "/m/1/a", 15, "occurs twice"},
		{"a duplicate spelled with an escape", `{"a":1,"\u0061":2}`, "/a", 7, "occurs twice"},
		{"a duplicate beyond ASCII", `{"é":1,"\u00e9":2}`, "/é", 8, "occurs twice"},
		{"keys that differ in case", `{"name":1,"Name":2}`, "/Name", 10, `keys "name" and "Name" differ only in case`},
		{"the Kelvin sign for a k", `{"key":1,"\u212aey":2}`, "/\u212aey", 9, "differ only in case"},
		{"the long s for an s", `{"tools":1,"toolſ":2}`, "/toolſ", 11, "differ only in case"},
		{"Greek sigmas", `{"σ":1,"ς":2}`, "/ς", 8, "differ only in case"},
		{"long keys that differ in case", `{"parallel_tool_calls":1,"parallel_tool_Calls":2}`, "/parallel_tool_Calls", 25, "differ only in case"},
		{"a duplicate among many keys", `{` + manyKeys(100) + `,"K7":1}`, "/K7", -1, "differ only in case"},
		{"a duplicate at the edge of many keys", `{` + manyKeys(16) + `,"K0":1}`, "/K0", -1, "differ only in case"},
		{"half a pair", `"\ud83d"`, "", 1, "half of a surrogate pair"},
		{"the second half alone", `"\ude00"`, "", 1, "half of a surrogate pair"},
		{"two first halves", `"\ud83d\ud83d\ude00"`, "", 1, "half of a surrogate pair"},
		{"half a pair in a key", `{"\ud83d":1}`, "", 2, "half of a surrogate pair"},
		{"invalid UTF-8", "[\"abc\xff\"]", "/0", 5, "not valid UTF-8"},
		{"invalid UTF-8 before more", "[\"abc\xff\",\"and a text of more than two words\"]", "/0", 5, "not valid UTF-8"},
		{"a surrogate in UTF-8", "\"\xed\xa0\x80\"", "", 1, "not valid UTF-8"},
		{"an overlong slash", "\"12345678\xc0\xaf\"", "", 9, "not valid UTF-8"},
		{"a cut rune at the end", "\"12345678\xe2\x82\"", "", 9, "not valid UTF-8"},
		{"a control character", "\"a\nb\"", "", 2, "control character"},
		{"an unknown escape", `"\x41"`, "", 1, "escape in a string is unknown"},
		{"a short escape", `"\u12g4"`, "", 1, "four hexadecimal digits"},
		{"an open string", `{"a":"b`, "/a", 7, "ends too early: a string is not closed"},
		{"a backslash at the end", `"\`, "", 2, "ends too early"},
		{"an open object", `{"a":1`, "", 6, "ends too early"},
		{"a trailing comma", `[1,]`, "/1", 3, "a value was expected"},
		{"a missing colon", `{"a" 1}`, "/a", 5, "colon"},
		{"single quotes", `{'a':1}`, "", 1, "key in quotes"},
		{"a comment", `{"a":1}//`, "", 7, "something follows"},
		{"a leading zero", `[01]`, "/0", 2, "needless zero"},
		{"a plus sign", `+1`, "", 0, "a value was expected"},
		{"a bare minus", `-`, "", 1, "no digits"},
		{"a bare point", `[1.]`, "/0", 3, "after its point"},
		{"a bare exponent", `[1e]`, "/0", 3, "exponent"},
		{"not a number", `NaN`, "", 0, "a value was expected"},
		{"a wrong literal", `[nul]`, "/0", 1, "null was expected"},
		{"a word that goes on", `[truex]`, "", 5, "comma"},
		{"one depth too many", nested(wire.MaxDepth + 1), strings.Repeat("/0", wire.MaxDepth), wire.MaxDepth, "more than 128"},
		{"a million brackets", strings.Repeat("[", 1e6), strings.Repeat("/0", wire.MaxDepth), wire.MaxDepth, "more than 128"},
		{"a key that needs quoting in a pointer", `{"a/b~":{"c":1,"c":2}}`, "/a~1b~0/c", -1, "occurs twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := wire.Strict([]byte(tt.body))
			je, ok := errors.AsType[*wire.JSONError](err)
			if !ok {
				t.Fatalf("got error %v, want a JSONError", err)
			}
			if je.Pointer != tt.pointer || (je.Offset != tt.offset && tt.offset >= 0) || !strings.Contains(je.Problem, tt.problem) {
				t.Errorf("got %q at byte %d: %s\nwant %q at byte %d: ...%s...", je.Pointer, je.Offset, je.Problem, tt.pointer, tt.offset, tt.problem)
			}
			if strings.ContainsAny(err.Error(), "\n\r\x00") {
				t.Errorf("the error is not one line: %q", err)
			}
		})
	}
}

func TestStrictErrorIsOneShortLineWhateverTheKey(t *testing.T) {
	key := "a\\n\\u001b[31m" + strings.Repeat("x", 10000)
	err := wire.Strict(fmt.Appendf(nil, `{"%s":{"b":tru}}`, key))
	if err == nil || len(err.Error()) > 300 || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("got %q", err)
	}
}

func TestStrictEventLetsHalfAPairThroughInValuesOnly(t *testing.T) {
	if err := wire.StrictEvent([]byte(`{"t":["\ud83d","\ude00x"]}`)); err != nil {
		t.Errorf("half a pair in a value: %v", err)
	}
	if err := wire.StrictEvent([]byte(`{"\ud83d":1}`)); err == nil {
		t.Error("half a pair in a key was let through")
	}
	if err := wire.StrictEvent([]byte(`{"a":"\ud83d","a":1}`)); err == nil {
		t.Error("a duplicate key was let through")
	}
}

func TestStrictDoesNotAllocate(t *testing.T) {
	body := chatRequest(4 << 10)
	if n := testing.AllocsPerRun(20, func() {
		if err := wire.Strict(body); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzStrict holds Strict against jsontext, which refuses the same but for
// folding keys, depth and the byte order mark.
func FuzzStrict(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"A":2}`, `[1,2.5e-3,"\ud83d\ude00"]`, `{"a":{"b":[null,true,false]}}`, "\"\xff\"", `"\ud800"`,
		`{"key":1,"\u212aey":2}`, " [ ] ", `{"12345678":0,"1234567\u0038":1}`, `-0`, `1e5`, `""`, "\"\x7f\xc2\x80\"",
		`{` + manyKeys(20) + `}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := wire.Strict(body)
		want := reference(body)
		if (got == nil) != (want == nil) {
			t.Errorf("%q: got %v, reference says %v", body, got, want)
		}
		if got == nil {
			walk(t, body)
		}
		sameMembers(t, body, got)
	})
}

func TestDocumentMembersAreThoseOfMembers(t *testing.T) {
	for name, body := range map[string]string{
		"a request":           string(chatRequest(4 << 10)),
		"blanks everywhere":   " { \"a\" : 1 , \"b\":[ {\"a\":2} ] ,\"c\" :\"x\" } ",
		"keys with escapes":   `{"mod\u0065l":"m","\n":{"":0}}`,
		"an empty object":     `{}`,
		"objects in an array": `[{"a":1},{"b":2}]`,
		"no object":           `"{"`,
		"as many as are kept": `{` + manyKeys(255) + `}`,
		"one more":            `{` + manyKeys(256) + `}`,
		"far more":            `{` + manyKeys(1000) + `}`,
		"a key that is twice": `{"a":1,"A":2}`,
		"nothing":             ``,
	} {
		t.Run(name, func(t *testing.T) { sameMembers(t, []byte(body), wire.Strict([]byte(body))) })
	}
}

// sameMembers checks that ReadDocument refuses what Strict refuses, and finds
// else what Members finds.
func sameMembers(t *testing.T, body []byte, refused error) {
	t.Helper()
	d, err := wire.ReadDocument(body)
	if (err == nil) != (refused == nil) {
		t.Fatalf("%q: got %v, Strict says %v", body, err, refused)
	}
	if err != nil {
		return
	}
	type found struct {
		Member wire.Member
		Err    string
	}
	list := func(members iter.Seq2[wire.Member, error]) (all []found) {
		for m, err := range members {
			all = append(all, found{m, fmt.Sprint(err)})
		}
		return all
	}
	if diff := cmp.Diff(list(wire.Members(body)), list(d.Members())); diff != "" {
		t.Errorf("%.200q: %s", body, diff)
	}
}

// reference does what Strict does, slowly.
func reference(body []byte) error {
	if bytes.HasPrefix(body, []byte("\ufeff")) {
		return errors.New("byte order mark")
	}
	d := jsontext.NewDecoder(bytes.NewReader(body))
	keys := make([][]string, 1)
	for values := 0; ; {
		tok, err := d.ReadToken()
		if errors.Is(err, io.EOF) && values == 1 && d.StackDepth() == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		switch tok.Kind() {
		case '{', '[':
			keys = append(keys, nil)
			if d.StackDepth() > wire.MaxDepth {
				return errors.New("too deep")
			}
		case '}', ']':
			keys = keys[:len(keys)-1]
		case '"':
			if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 {
				top := &keys[len(keys)-1]
				for _, k := range *top {
					if strings.EqualFold(k, tok.String()) {
						return fmt.Errorf("key %q again", k)
					}
				}
				*top = append(*top, tok.String())
			}
		}
		if d.StackDepth() == 0 {
			if values++; values > 1 {
				return errors.New("a second value")
			}
		}
	}
}

func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return b.String()[1:]
}

func longStrings() string {
	var all []string
	for n := range 40 {
		all = append(all, strings.Repeat("x", n), strings.Repeat("x", n)+"é"+strings.Repeat("y", 39-n))
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// chatRequest is a chat request of about the given size in bytes, as agents
// send: tools with schemas, and a long conversation with code in it.
func chatRequest(size int) []byte {
	tool := `{"type":"function","function":{"name":"read_file","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string","description":"Where it is"},"limit":{"type":"integer"}},"required":["path"],"additionalProperties":false}}}`
	message := `{"role":"user","content":"func main() {\n\tfmt.Println(\"hello\")\n}\n// and some words that explain what this does, at some length, as people do"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"/etc/hosts\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"127.0.0.1 localhost, and a long line of text that tells what was found in the file"}`
	b := []byte(`{"model":"gpt-x","stream":true,"temperature":0.25,"tools":[` + tool + `,` + strings.ReplaceAll(tool, "read_file", "write_file") + `],"messages":[` + message)
	for len(b) < size {
		b = append(b, ',')
		b = append(b, message...)
	}
	return append(b, `]}`...)
}

func BenchmarkStrict(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		body := chatRequest(size)
		b.Run(fmt.Sprintf("chat %d KB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := wire.Strict(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for name, element := range map[string]string{
		"turns":     `{"role":"user","content":[{"type":"text","text":"Please look at the file and say what it does; quote \"names\" as they are.\nThen go on with the next one."}]}`,
		"not alike": `{"role":"user","n%d":1,"content":[{"type":"text","text":"Please look at the file and say what it does; quote \"names\" as they are."}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			body := []byte(`{"messages":[` + element)
			for i := 0; len(body) < 160<<10; i++ {
				body = append(body, ","+strings.Replace(element, "%d", fmt.Sprint(i), 1)...)
			}
			body = append(body, "]}"...)
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := wire.ReadDocument(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	body := chatRequest(64 << 10)
	b.Run("chat 64 KB, members", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			d, err := wire.ReadDocument(body)
			if err != nil {
				b.Fatal(err)
			}
			for range d.Members() {
			}
		}
	})
	b.Run("chat 64 KB, then its members", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if err := wire.Strict(body); err != nil {
				b.Fatal(err)
			}
			for range wire.Members(body) {
			}
		}
	})
	chunk := []byte(`{"id":"chatcmpl-9","object":"chat.completion.chunk","created":1700000000,"model":"gpt-x","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`)
	b.Run("stream chunk", func(b *testing.B) {
		b.SetBytes(int64(len(chunk)))
		for b.Loop() {
			if err := wire.StrictEvent(chunk); err != nil {
				b.Fatal(err)
			}
		}
	})
}
