package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestMembersAreSetChangedAndTakenAway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, got, want string }{
		{"set", string(wire.SetMember([]byte(`{ "a":1, "b" : 2 }`), "b", []byte("3"))), `{ "a":1, "b" : 3 }`},
		{"set anew", string(wire.SetMember([]byte(` {"a":1} `), "b", []byte("3"))), `{"a":1,"b":3}`},
		{"changed", string(wire.EditMember([]byte(`{"a":1}`), "a", func(v []byte) []byte { return append(v[:1:1], '0') })), `{"a":10}`},
		{"changed where there is none", string(wire.EditMember([]byte(`{"a":1}`), "b", func([]byte) []byte { return []byte("2") })), `{"a":1}`},
		{"taken away", string(wire.WithoutMember([]byte(`{"a":1,"b":2}`), "a")), `{"b":2}`},
		{"what is no object", string(wire.EditMember([]byte(`[1]`), "a", func(v []byte) []byte { return v })), ``},
		{"a text", wire.TextIn([]byte(`{"role":"\u0061"}`), "role"), "a"},
		{"a text that is a number", wire.TextIn([]byte(`{"role":1}`), "role"), ""},
		{"an array", string(wire.Array([]byte("1"), []byte("2"))), "[1,2]"},
		{"an empty array", string(wire.Array()), "[]"},
		{"a text in quotes", wire.Quote("a\"\xff"), `"a\"` + "\ufffd" + `"`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, tt.got, tt.want)
		}
	}
}

func TestAnObjectGrowsInTheOrderOfItsMembers(t *testing.T) {
	t.Parallel()
	var o wire.Object
	if got := string(o.JSON()); got != "{}" {
		t.Errorf("the empty object is %s", got)
	}
	o, err := wire.ObjectOf([]byte(`{"a":1, "b":[2 ]}`))
	if err != nil {
		t.Fatal(err)
	}
	o.Set("c", []byte(`"x"`))
	o.Set("a", []byte("0"))
	if got, want := string(o.JSON()), `{"a":0,"b":[2 ],"c":"x"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if o.Value("d") != nil || string(o.Value("c")) != `"x"` {
		t.Errorf("the members are %s", o.JSON())
	}
	if _, err := wire.ObjectOf([]byte("[]")); err == nil {
		t.Error("an array is taken for an object")
	}
}

func TestOrdinalsAreDigits(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"0": 0, "17": 17, "2147483647": 1<<31 - 1} {
		if got, err := wire.Ordinal([]byte(value)); err != nil || got != want {
			t.Errorf("%s is read as %d: %v", value, got, err)
		}
	}
	for _, value := range []string{"", "-1", "+1", "1.0", "1e1", "null", `"1"`, "2147483648"} {
		if got, err := wire.Ordinal([]byte(value)); err == nil {
			t.Errorf("%s is read as %d", value, got)
		}
	}
}

// beside is a format that has calls beside the content, and their results behind.
func beside(refusals *wire.Refusals) wire.Turns {
	return wire.Turns{
		List:     "messages",
		PutBack:  func(message, _ []byte) ([]byte, []*wire.Refused) { return refusals.Beside(message, nil) },
		IsResult: func(message []byte) bool { return wire.TextIn(message, "role") == "tool" },
		Result:   func(r *wire.Refused) []byte { return []byte(`{"role":"tool","id":"` + r.ID + `"}`) },
	}
}

func TestRefusedCallsArePutBackIntoTurns(t *testing.T) {
	t.Parallel()
	a := wire.Refused{Notice: "a was not run", Call: []byte(`{"id":"a"}`), ID: "a"}
	c := wire.Refused{Notice: "c was not run", Call: []byte(`{"id":"c"}`), ID: "c", Place: 2}
	const user = `{"role":"user","content":"go"}`
	for _, tt := range []struct {
		name, messages, want string // no want: nothing changes
		n                    int
	}{
		{"a content that is a notice", user + `, {"role":"assistant","content":"a was not run"}`,
			user + `, {"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"tool","id":"a"}`, 1},
		{"a notice among words", `{"role":"assistant","content":"So.\n\na was not run\n\nAnd."}`,
			`{"role":"assistant","content":"So.\n\nAnd.","tool_calls":[{"id":"a"}]},{"role":"tool","id":"a"}`, 1},
		{"two around a call that was run", `{"role":"assistant","content":"a was not run\n\nc was not run","tool_calls":[{"id":"b"}]},{"role":"tool","id":"b"},` + user,
			`{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"},{"id":"c"}]},{"role":"tool","id":"a"},{"role":"tool","id":"b"},{"role":"tool","id":"c"},` + user, 2},
		{"blocks", `{"role":"assistant","content":[{"type":"text","text":"a was not run"},{"type":"thinking","text":"c was not run"}]}`,
			`{"role":"assistant","content":[{"type":"thinking","text":"c was not run"}],"tool_calls":[{"id":"a"}]},{"role":"tool","id":"a"}`, 1},
		{"a call of the same id", `{"role":"assistant","content":"a was not run","tool_calls":[{"id":"a"}]}`, "", 0},
		{"calls that are no list", `{"role":"assistant","content":"a was not run","tool_calls":{"id":"b"}}`, "", 0},
		{"words of the user's", `{"role":"user","content":"a was not run"}`, "", 0},
		{"another text", `{"role":"assistant","content":"b was not run"}`, "", 0},
		{"a content that is a number", `{"role":"assistant","content":1}`, "", 0},
	} {
		body := `{"messages":[` + tt.messages + `], "x":1}`
		want := `{"messages":[` + tt.want + `], "x":1}`
		if tt.want == "" {
			want = body
		}
		got, n, err := beside(wire.NewRefusals([]wire.Refused{a, c})).Rehydrate([]byte(body))
		if err != nil || n != tt.n {
			t.Errorf("%s: %d calls, error %v", tt.name, n, err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if _, _, err := beside(wire.NewRefusals(nil)).Rehydrate([]byte(`{"messages":1}`)); err == nil {
		t.Error("messages that are no list are read")
	}
}

func TestACallIsTakenOnlyOnce(t *testing.T) {
	t.Parallel()
	refused := []wire.Refused{{Notice: "one", ID: "x", Call: []byte("1")}, {Notice: "two", ID: "x", Call: []byte("2")}}
	f := wire.NewRefusals(refused)
	ids := map[string]bool{"y": true}
	passages := f.Split("one\n\ntwo")
	if calls := f.Take(passages, ids); calls != nil || len(ids) != 1 {
		t.Errorf("of two calls with one id, %d were taken, with the ids %v", len(calls), ids)
	}
	if again := f.Split("one"); len(again) != 1 {
		t.Error("the notice was not given back")
	}
}
