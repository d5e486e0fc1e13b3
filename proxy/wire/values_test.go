package wire_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestValuesThatMayBeAbsent(t *testing.T) {
	tests := []struct {
		value         string
		null, empty   bool
		text          string
		isBool        bool
		textOK, truth bool
	}{
		{value: "", null: true, empty: true, textOK: true, isBool: true},
		{value: "null", null: true, empty: true, textOK: true, isBool: true},
		{value: `""`, empty: true, textOK: true},
		{value: `"null"`, text: "null", textOK: true},
		{value: `"\ud83d"`},
		{value: "true", isBool: true, truth: true},
		{value: "false", isBool: true},
		{value: "0"},
		{value: "[ ]", empty: true},
		{value: "[null]"},
		{value: "{\n}", empty: true},
		{value: `{"":0}`},
	}
	for _, tt := range tests {
		v := []byte(tt.value)
		if wire.IsNull(v) != tt.null || wire.IsEmpty(v) != tt.empty {
			t.Errorf("%q: null %v, empty %v", v, wire.IsNull(v), wire.IsEmpty(v))
		}
		if s, err := wire.TextOrNull(v); s != tt.text || (err == nil) != tt.textOK {
			t.Errorf("%q as text: %q, %v", v, s, err)
		}
		if b, err := wire.BoolOrNull(v); b != tt.truth || (err == nil) != tt.isBool {
			t.Errorf("%q as true or false: %v, %v", v, b, err)
		}
	}
}

func TestEachElement(t *testing.T) {
	var got []string
	note := func(v []byte) error { got = append(got, string(v)); return nil }
	for _, absent := range []string{"", "null"} {
		if err := wire.EachElement([]byte(absent), note); err != nil || got != nil {
			t.Errorf("%q: %v, %q", absent, err, got)
		}
	}
	if err := wire.EachElement([]byte(`[1, {"a":[2]}]`), note); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", `{"a":[2]}`}, got); diff != "" {
		t.Error(diff)
	}
	if err := wire.EachElement([]byte(`{}`), note); err == nil {
		t.Error("an object is taken for an array")
	}
	stop := errors.New("stop")
	n := 0
	if err := wire.EachElement([]byte(`[1,2]`), func([]byte) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Errorf("after an error it goes on: %v, %d", err, n)
	}
}
