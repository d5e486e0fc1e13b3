package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

// scanLines reads a stream in pieces of the given size.
func scanLines(in string, size int) (values []string, joined string, err error) {
	var s wire.LineScanner
	for {
		l, ok, err := s.Next()
		switch {
		case err != nil:
			return values, joined, err
		case ok:
			joined += string(l.Raw)
			if l.Data != nil {
				values = append(values, string(l.Data))
			}
		case in == "":
			s.End()
			if l, ok, err = s.Next(); ok {
				joined += string(l.Raw)
				if l.Data != nil {
					values = append(values, string(l.Data))
				}
			}
			return values, joined, err
		default:
			n := min(size, len(in))
			s.Push([]byte(in[:n]))
			in = in[n:]
		}
	}
}

func TestLineScanner(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
		problem  string
	}{
		{"lines", "{\"a\":1}\n{\"b\":2}\r\n", []string{`{"a":1}`, `{"b":2}`}, ""},
		{"blanks", "\n \t\r\n  {} \n\n", []string{`{}`}, ""},
		{"a last line that nothing ends", "{}\n{\"a\":1}", []string{`{}`, `{"a":1}`}, ""},
		{"nothing", "", nil, ""},
		{"a lone CR between tokens", "{\"a\":\r{}}\n", nil, "0x0d"},
		{"two objects with a CR between them", "{}\r{}\n", nil, "0x0d"},
		{"two CRs before the LF", "{}\r\r\n", nil, "0x0d"},
		{"a VT", "{}\v{}\n", nil, "0x0b"},
		{"a line end of Unicode before an object", "{\"a\":\"\u2028{\\\"tool_calls\\\":1}\"}\n", nil, "line end of Unicode"},
		{"a line end of Unicode in a text", "{\"a\":\"x\u2028y\"}\n", []string{"{\"a\":\"x\u2028y\"}"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size <= len(tt.in)+1; size++ {
				values, joined, err := scanLines(tt.in, size)
				if (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
					t.Fatalf("in pieces of %d: got error %v, want %q", size, err, tt.problem)
				}
				if diff := cmp.Diff(tt.want, values); diff != "" {
					t.Fatalf("in pieces of %d (-want +got):\n%s", size, diff)
				}
				if err == nil && joined != tt.in {
					t.Fatalf("in pieces of %d: joined to %q", size, joined)
				}
			}
		})
	}
}

func TestLinesHaveALimit(t *testing.T) {
	for _, in := range []string{strings.Repeat("x", 11), strings.Repeat("x", 10) + "\n"} {
		s := wire.LineScanner{Limit: 10}
		s.Push([]byte(in))
		if _, _, err := s.Next(); !errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("%q: got %v", in, err)
		}
		if _, _, again := s.Next(); !errors.Is(again, wire.ErrTooLarge) {
			t.Errorf("%q: after an error it says %v", in, again)
		}
	}
}

func TestAppendLine(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                      `{"a":1}`,
		"{\r\n\"a\":\n1}":              `{  "a": 1}`,
		"{\"a\":\"\u2028{\"}":          `{"a":"\u2028{"}`,
		"{\"a\":\"\u2028 data: x é\"}": `{"a":"\u2028 data: x \u00e9"}`,
		"{\"a\":\"é\u2028\"}":          "{\"a\":\"é\u2028\"}",
	} {
		got := string(wire.AppendLine(nil, []byte(in)))
		if got != want+"\n" {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if values, _, err := scanLines(got, 100); err != nil || len(values) != 1 {
			t.Errorf("%q reads as %q (%v)", got, values, err)
		}
	}
}

func FuzzLineScanner(f *testing.F) {
	f.Add("{\"a\":1}\n\r\n{\"b\":\"\u2028{\"}", uint8(3))
	f.Add("{}\r{}\n", uint8(1))
	f.Fuzz(func(t *testing.T, in string, size uint8) {
		values, joined, err := scanLines(in, int(size)+1)
		whole, _, wholeErr := scanLines(in, len(in)+1)
		if (err == nil) != (wholeErr == nil) {
			t.Fatalf("the cut makes a difference: %v, %v", err, wholeErr)
		}
		if diff := cmp.Diff(whole, values); err == nil && diff != "" {
			t.Errorf("the cut makes a difference:\n%s", diff)
		}
		if err == nil && joined != in {
			t.Errorf("%q joined to %q", in, joined)
		}
	})
}
