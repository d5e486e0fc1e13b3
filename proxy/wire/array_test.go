package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

// scanArray reads a stream in pieces of the given size.
func scanArray(in string, size int) (values []string, joined string, err error) {
	var s wire.ArrayScanner
	for {
		e, ok, err := s.Next()
		switch {
		case err != nil:
			return values, joined, err
		case ok:
			joined += string(e.Raw)
			if e.Value != nil {
				values = append(values, string(e.Value))
			}
		case in == "":
			s.End()
			if e, ok, err = s.Next(); ok {
				joined += string(e.Raw)
			}
			return values, joined, err
		default:
			n := min(size, len(in))
			s.Push([]byte(in[:n]))
			in = in[n:]
		}
	}
}

func TestArrayScanner(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
		problem  string
	}{
		{"an array of objects", "[{\"a\":1}\n,\r\n{\"b\":[2,{}]}]\n", []string{`{"a":1}`, `{"b":[2,{}]}`}, ""},
		{"an empty array", " [ ] ", nil, ""},
		{"brackets, quotes and backslashes in strings", `[{"a":"}\"]\\"},{"b":"{["}]`, []string{`{"a":"}\"]\\"}`, `{"b":"{["}`}, ""},
		{"an object in the place of the array", `{"error":{}}` + "\n", []string{`{"error":{}}`}, ""},
		{"nothing", "", nil, "before it is closed"},
		{"an array that is cut", `[{"a":1},`, []string{`{"a":1}`}, "before it is closed"},
		{"an object that is cut", `[{"a":1`, nil, "before it is closed"},
		{"an element that is no object", `[1]`, nil, `'1' where none may stand`},
		{"no comma", `[{}{}]`, []string{`{}`}, `'{' where none may stand`},
		{"a comma too many", `[{},]`, []string{`{}`}, `']' where none may stand`},
		{"a second array", `[{}][{}]`, []string{`{}`}, `'[' where none may stand`},
		{"a second object", `{}{}`, []string{`{}`}, `'{' where none may stand`},
		{"a byte order mark", "\xef\xbb\xbf[]", nil, `where none may stand`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size <= len(tt.in)+1; size++ {
				values, joined, err := scanArray(tt.in, size)
				if diff := cmp.Diff(tt.want, values); diff != "" {
					t.Fatalf("in pieces of %d (-want +got):\n%s", size, diff)
				}
				if (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
					t.Fatalf("in pieces of %d: got error %v, want %q", size, err, tt.problem)
				}
				if err == nil && joined != tt.in {
					t.Fatalf("in pieces of %d: the elements join to %q", size, joined)
				}
			}
		})
	}
}

func TestArrayScannerRefusesWhatIsTooLarge(t *testing.T) {
	s := wire.ArrayScanner{Limit: 10}
	s.Push([]byte(`[{"a":"0123456789`))
	if _, _, err := s.Next(); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func FuzzArrayScanner(f *testing.F) {
	f.Add(`[{"a":1},{"b":"]"}]`, uint8(3))
	f.Add(`{"error":1} `, uint8(1))
	f.Add(`[{"a":"\"}"} , {}`, uint8(2))
	f.Fuzz(func(t *testing.T, in string, size uint8) {
		values, joined, err := scanArray(in, int(size)+1)
		whole, _, wholeErr := scanArray(in, len(in)+1)
		if diff := cmp.Diff(whole, values); diff != "" || (err != nil) != (wholeErr != nil) {
			t.Errorf("the cut makes a difference: %v, %v\n%s", err, wholeErr, diff)
		}
		if err == nil && joined != in {
			t.Errorf("the elements join to %q", joined)
		}
	})
}
