package wire_test

import (
	"testing"

	"github.com/holdgate/holdgate/proxy/wire"
)

func TestRewriteMembers(t *testing.T) {
	tests := []struct{ name, object, want string }{
		{"nothing to do", ` { "a" : 1 , "b":2 } `, ` { "a" : 1 , "b":2 } `},
		{"a value is replaced", `{ "a" : 1, "new" : 2 }`, `{ "a" : 1, "new" : 9 }`},
		{"the first goes", `{ "x":0 , "a":1, "b":2 }`, `{ "a":1, "b":2 }`},
		{"one in the middle goes", `{"a":1 ,"x":0, "b":2}`, `{"a":1, "b":2}`},
		{"the last goes", `{"a":1, "x":0 }`, `{"a":1 }`},
		{"all go", `{ "x":0, "x2":0 }`, `{  }`},
		{"an empty object", `{ }`, `{ }`},
		{"no object", `[1]`, ``},
		{"a broken object", `{"a":1,`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := wire.RewriteMembers([]byte(tt.object), func(m wire.Member) []byte {
				switch m.Name[0] {
				case 'x':
					return nil
				case 'n':
					return []byte("9")
				}
				return m.Value
			})
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestRewriteElements(t *testing.T) {
	tests := []struct{ name, array, want string }{
		{"nothing to do", ` [ 1 , 2 ] `, ` [ 1 , 2 ] `},
		{"the first goes", `[ 0 , 1, 2 ]`, `[ 1, 2 ]`},
		{"one in the middle goes", `[1 ,0, 2]`, `[1, 2]`},
		{"all go", `[0, 0]`, `[]`},
		{"a value is replaced", `[1, 9 ]`, `[1, 8 ]`},
		{"no array", `{}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := wire.RewriteElements([]byte(tt.array), func(_ int, v []byte) []byte {
				switch v[0] {
				case '0':
					return nil
				case '9':
					return []byte("8")
				}
				return v
			})
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAppendMember(t *testing.T) {
	for object, want := range map[string]string{
		`{}`:         `{"a\"b":1}`,
		`{ }`:        `{ "a\"b":1}`,
		`{"x":{}}`:   `{"x":{},"a\"b":1}`,
		`{ "x":[] }`: `{ "x":[] ,"a\"b":1}`,
	} {
		if got := string(wire.AppendMember([]byte(object), `a"b`, []byte("1"))); got != want {
			t.Errorf("%s: got %s, want %s", object, got, want)
		}
	}
}
