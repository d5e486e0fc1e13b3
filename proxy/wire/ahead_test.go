package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

// aheads are bodies in which something is found half way, rightly or not.
func aheads() map[string]string {
	const turn = `{"role":"user","content":[{"type":"text","text":"hello"}]}`
	turns := func(n int) string { return strings.Repeat(","+turn, n)[1:] }
	return map[string]string{
		"a conversation":                       `{"model":"m","messages":[` + turns(40) + `],"stream":true}`,
		"one with blanks":                      `{"messages": [` + strings.ReplaceAll(turns(40), "},{", "},\r\n\t {") + ` ] }`,
		"tools before it":                      `{"tools":[{"name":"a"},{"name":"b"}],"messages":[` + turns(40) + `]}`,
		"an array alone":                       `[` + turns(40) + `]`,
		"a guess in a string":                  `{"messages":[{"role":"user","content":"` + strings.Repeat(`x`, 900) + `,{"},` + turns(2) + `]}`,
		"a guess that closes a string":         `{"messages":[{"":1},{"role":"` + strings.Repeat(`x`, 900) + `,{"},{"":"` + strings.Repeat(`y`, 800) + `"}]}`,
		"a guess that is read and not come to": `[{":":1},{"p":"` + strings.Repeat(`y`, 900) + `"},{"x,{":":1}]"},{":":2}]`,
		"a guess that lies deeper":             `{"messages":[{"role":[` + turns(40) + `]},` + turns(2) + `]}`,
		"a guess in another array":             `{"tools":[` + turns(2) + `],"messages":[` + turns(40) + `]}`,
		"a guess in an object":                 `{"messages":[` + turns(2) + `],"a":[{"x":1` + strings.Repeat(` `, 900) + `,"b":` + turn + `}]}`,
		"an error behind the guess":            `{"messages":[` + turns(40) + `,{"role":"a","Role":"b"}]}`,
		"an error before the guess":            `{"messages":[{"role":tru},` + turns(40) + `]}`,
		"an error behind the array":            `{"messages":[` + turns(40) + `],"a":1,"A":2}`,
		"a wrong bracket behind the guess":     `{"messages":[` + turns(40) + `},"a":1]`,
		"an end behind the guess":              `{"messages":[` + turns(40),
		"an end in the guess":                  `{"messages":[` + turns(10) + `,{"role"`,
		"a key twice, across the guess":        `{"messages":[` + turns(40) + `],"messages":1}`,
		"too deep behind the guess":            `{"messages":[` + turns(40) + `,` + nested(wire.MaxDepth-1) + `]}`,
		"too deep behind one that lies deeper": `{"messages":[{"role":[` + turns(40) + `,` + nested(wire.MaxDepth-3) + `]}]}`,
		"as deep as may be":                    `{"messages":[` + turns(40) + `,` + nested(wire.MaxDepth-2) + `]}`,
		"an escape behind the guess":           `{"messages":[` + turns(40) + `,{"role":"t\u006fol"}]}`,
		"something new behind the guess":       `{"messages":[` + turns(40) + `,{"role":"tool","tool_call_id":"x"}]}`,
	}
}

func TestReadInTwoPlacesIsReadInOne(t *testing.T) {
	for name, body := range aheads() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameDocument(t, []byte(body))
		})
	}
}

// sameDocument reads a body in one place and in two, with and without an eye for
// elements that are alike, and compares all that can be seen of it.
func sameDocument(t *testing.T, body []byte) {
	t.Helper()
	type seen struct {
		Err     string
		Members []wire.Member
		Has     []bool
	}
	look := func(read func([]byte, bool) (*wire.Document, error), two bool) (s seen) {
		d, err := read(body, two)
		if s.Err = fmt.Sprint(err); err != nil {
			return s
		}
		for m, err := range d.Members() {
			if err == nil {
				s.Members = append(s.Members, m)
			}
		}
		for _, name := range []string{"role", "content", "type", "text", "tool_call_id", "zzz"} {
			s.Has = append(s.Has, d.MayHave(name), d.MaySay(name, "user"), d.MaySay(name, "tool"), d.MaySay(name, "tool_result"))
		}
		return s
	}
	want := look(wire.ReadInTwo, false)
	if diff := cmp.Diff(want, look(wire.ReadInTwo, true)); diff != "" {
		t.Errorf("%.300q in two places: %s", body, diff)
	}
	for _, two := range []bool{false, true} {
		if diff := cmp.Diff(want, look(wire.ReadAlike, two)); diff != "" {
			t.Errorf("%.300q, of which is known what is alike (in two places: %t): %s", body, two, diff)
		}
	}
}

// FuzzAhead holds a body that is read in two places against the same read in
// one.
func FuzzAhead(f *testing.F) {
	for _, body := range aheads() {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { sameDocument(t, body) })
}
