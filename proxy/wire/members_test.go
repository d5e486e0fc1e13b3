package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestMembersGivesNamesValuesAndPlaces(t *testing.T) {
	object := ` { "a" : 1 ,"b\u0031": {"a":[",}\"\\"]}, "c":"\\" , "d":[] }`
	type member struct{ Name, Value, Whole string }
	var got []member
	for m, err := range wire.Members([]byte(object)) {
		if err != nil {
			t.Fatal(err)
		}
		if v := object[m.ValueStart:m.End]; v != string(m.Value) {
			t.Errorf("value %q, but its place holds %q", m.Value, v)
		}
		got = append(got, member{string(m.Name), string(m.Value), object[m.Start:m.End]})
	}
	want := []member{
		{"a", "1", `"a" : 1`},
		{"b1", `{"a":[",}\"\\"]}`, `"b\u0031": {"a":[",}\"\\"]}`},
		{"c", `"\\"`, `"c":"\\"`},
		{"d", "[]", `"d":[]`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestElementsGivesValuesAndPlaces(t *testing.T) {
	array := `[ 1 , "a]" ,[[2],{}],true]`
	var got []string
	for e, err := range wire.Elements([]byte(array)) {
		if err != nil {
			t.Fatal(err)
		}
		if v := array[e.Start:e.End]; v != string(e.Value) {
			t.Errorf("value %q, but its place holds %q", e.Value, v)
		}
		got = append(got, string(e.Value))
	}
	if diff := cmp.Diff([]string{"1", `"a]"`, "[[2],{}]", "true"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWalkingWhatIsNoObjectOrArrayIsAnError(t *testing.T) {
	for _, value := range []string{"", " ", "1", `"a"`, "null", "[]", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":[`, `{a":1}`} {
		var last error
		for _, err := range wire.Members([]byte(value)) {
			last = err
		}
		if last == nil {
			t.Errorf("Members(%q) found no fault", value)
		}
	}
	for _, value := range []string{"", "{}", "1", "[", "[1", `["`} {
		var last error
		for _, err := range wire.Elements([]byte(value)) {
			last = err
		}
		if last == nil {
			t.Errorf("Elements(%q) found no fault", value)
		}
	}
}

func TestFind(t *testing.T) {
	object := []byte(`{"a":{"b":1},"b":2}`)
	if got := string(wire.Find(object, "b")); got != "2" {
		t.Errorf("got %q, want 2", got)
	}
	if got := wire.Find(object, "B"); got != nil {
		t.Errorf("got %q for a name that is not there", got)
	}
	if got := wire.Find([]byte(`[1]`), "a"); got != nil {
		t.Errorf("got %q in an array", got)
	}
}

func TestKnownRefusesANameInAnotherCase(t *testing.T) {
	tests := []struct {
		name, object, problem string
	}{
		{"exact names", `{"tools":1,"model":2}`, ""},
		{"names that are none of its business", `{"Other":1,"OTHER_2":2}`, ""},
		{"another case", `{"model":1,"Tools":2}`, `key "Tools" is "tools" in another case`},
		{"the long s", `{"toolſ":2}`, `in another case`},
		{"an escaped capital", `{"\u0054ools":2}`, `key "Tools" is`},
		{"no object", `[]`, `{ was expected`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := wire.Known([]byte(tt.object), "tools", "model")
			if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
				t.Errorf("got %v, want %q", err, tt.problem)
			}
		})
	}
}

func TestText(t *testing.T) {
	if got, err := wire.Text([]byte(`"a\n\ud83d\ude00é"`)); got != "a\n😀é" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, value := range []string{"", "1", "null", `"a`, `"a"b`, `"\ud83d"`, "\"\xff\""} {
		if got, err := wire.Text([]byte(value)); err == nil {
			t.Errorf("Text(%q) = %q, want an error", value, got)
		}
	}
}

// walk goes through everything in JSON that is good, and fails the test if
// the walkers see a fault.
func walk(t *testing.T, value []byte) {
	switch strings.TrimLeft(string(value), " \t\r\n")[0] {
	case '{':
		for m, err := range wire.Members(value) {
			if err != nil {
				t.Fatalf("walking through %q: %v", value, err)
			}
			walk(t, m.Value)
		}
	case '[':
		for e, err := range wire.Elements(value) {
			if err != nil {
				t.Fatalf("walking through %q: %v", value, err)
			}
			walk(t, e.Value)
		}
	}
}

func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"a":`, `[1,`, `{"a"}`, `{,}`, `{"a":}}`, `[]]`, `{"\`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		n := 0
		for range wire.Members(value) {
			n++
		}
		for range wire.Elements(value) {
			n++
		}
		if n > 2*len(value)+2 {
			t.Errorf("%d items in %d bytes", n, len(value))
		}
	})
}

func TestMembersDoesNotAllocate(t *testing.T) {
	body := chatRequest(4 << 10)
	if n := testing.AllocsPerRun(20, func() {
		if wire.Find(body, "messages") == nil {
			t.Fatal("no messages")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFind(b *testing.B) {
	body := chatRequest(64 << 10)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if wire.Find(body, "messages") == nil {
			b.Fatal("no messages")
		}
	}
}

func TestMentionsCall(t *testing.T) {
	for text, want := range map[string]bool{
		"call": true, "CALL": true, "tool_calls": true, "functionCall": true, "ccall": true, "cacall": true, "calcall": true, "xxxcall": true, "xcallx": true,
		"": false, "cal": false, "all": false, "cal l": false, "calendar": false, "local calm, allow": false, "c a l l": false,
	} {
		for pad := range 9 {
			padded := strings.Repeat("-", pad) + text + strings.Repeat("a", pad/2)
			if got := wire.MentionsCall([]byte(padded)); got != want {
				t.Errorf("%q: got %v", padded, got)
			}
		}
	}
}

// Characters beyond ASCII fold to letters of it too, at the start of a name as well.
func TestKnownSeesEveryCase(t *testing.T) {
	for _, object := range []string{`{"Stream":1}`, `{"STREAM":1}`, `{"ſtream":1}`, `{"\u017Ftream":1}`, `{"Kind":1}`, `{"toolſ":1}`} {
		if wire.Known([]byte(object), "stream", "kind", "tools") == nil {
			t.Errorf("%s passes", object)
		}
	}
	for _, object := range []string{`{"stream":1,"kind":2,"tools":[]}`, `{"streams":1}`, `{"":1}`, `{"_tream":1}`, `{"ßtream":1}`} {
		if err := wire.Known([]byte(object), "stream", "kind", "tools"); err != nil {
			t.Errorf("%s: %v", object, err)
		}
	}
}
