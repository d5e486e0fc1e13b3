package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// event is a wire.Event in a form that reads well in a table.
type event struct{ Raw, Type, Data string }

const noData = "(none)"

// scan feeds the pieces to a scanner and returns all events.
func scan(t testing.TB, s *wire.EventScanner, pieces ...string) ([]event, error) {
	t.Helper()
	var got []event
	drain := func() error {
		for {
			ev, ok, err := s.Next()
			if err != nil || !ok {
				return err
			}
			e := event{string(ev.Raw), ev.Type, noData}
			if ev.Data != nil {
				e.Data = string(ev.Data)
			}
			got = append(got, e)
		}
	}
	for _, p := range pieces {
		scratch := []byte(p)
		s.Push(scratch)
		for i := range scratch { // the scanner must keep no reference to it
			scratch[i] = '#'
		}
		if err := drain(); err != nil {
			return got, err
		}
	}
	s.End()
	return got, drain()
}

func TestEventScanner(t *testing.T) {
	tests := []struct {
		name   string
		stream string
		want   []event
	}{
		{"nothing is no event", "", nil},
		{
			"type and data", "event: ping\ndata: {}\n\ndata: x\n\n",
			[]event{{"event: ping\ndata: {}\n\n", "ping", "{}"}, {"data: x\n\n", "", "x"}},
		},
		{"CRLF", "event: a\r\ndata: x\r\n\r\n", []event{{"event: a\r\ndata: x\r\n\r\n", "a", "x"}}},
		{
			"mixed line ends", "event: a\ndata: x\n\r\ndata: y\r\n\ndata: z\n\n",
			[]event{{"event: a\ndata: x\n\r\n", "a", "x"}, {"data: y\r\n\n", "", "y"}, {"data: z\n\n", "", "z"}},
		},
		{"one blank after the colon is not part of the value", "data:x\n\ndata:  y\n\n", []event{{"data:x\n\n", "", "x"}, {"data:  y\n\n", "", " y"}}},
		{
			"several data fields are joined with LF", "data: a\ndata\ndata: b\r\ndata:\n\n",
			[]event{{"data: a\ndata\ndata: b\r\ndata:\n\n", "", "a\n\nb\n"}},
		},
		{"empty data is data", "data:\n\nid: 7\ndata\n\n", []event{{"data:\n\n", "", ""}, {"id: 7\ndata\n\n", "", ""}}},
		{
			"comments and blank lines are kept", ": hi\n\n\n: in\nevent: a\n:\ndata: x\n\n",
			[]event{{": hi\n\n", "", noData}, {"\n", "", noData}, {": in\nevent: a\n:\ndata: x\n\n", "a", "x"}},
		},
		{"a type does not outlive its event", "event: a\n\ndata: x\n\n", []event{{"event: a\n\n", "a", noData}, {"data: x\n\n", "", "x"}}},
		{"the last type counts", "event: a\nevent: b\ndata: x\n\n", []event{{"event: a\nevent: b\ndata: x\n\n", "b", "x"}}},
		{"a mark comes before the first line", "\ufeffdata: x\n\n", []event{{"\ufeffdata: x\n\n", "", "x"}}},
		{"no blank line at the end", "data: x\n\nevent: a\ndata: y\n", []event{{"data: x\n\n", "", "x"}, {"event: a\ndata: y\n", "a", "y"}}},
		{"no line end at the end", "event: a\ndata: y", []event{{"event: a\ndata: y", "a", "y"}}},
		{"id and retry say nothing here", "id: 1\nretry: 5\nid\n\n", []event{{"id: 1\nretry: 5\nid\n\n", "", noData}}},
		{"a comment with other letters", ": wird geprüft\tдальше\n\n", []event{{": wird geprüft\tдальше\n\n", "", noData}}},
		{"a text with line ends of Unicode", "data: \"a\u2028b \u2029 c\u0085\"\n\n", []event{{"data: \"a\u2028b \u2029 c\u0085\"\n\n", "", "\"a\u2028b \u2029 c\u0085\""}}},
		{"a text that only looks like a line end", "data: \"内{a} 内id: 1 database\u2028database: 1\"\n\n", []event{{"data: \"内{a} 内id: 1 database\u2028database: 1\"\n\n", "", "\"内{a} 内id: 1 database\u2028database: 1\""}}},
		{"JSON over many lines", "data: [\ndata:   {\ndata:     \"a\": {}\ndata:   }, {}\ndata: ]\n\n", []event{{"data: [\ndata:   {\ndata:     \"a\": {}\ndata:   }, {}\ndata: ]\n\n", "", "[\n  {\n    \"a\": {}\n  }, {}\n]"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := scan(t, new(wire.EventScanner), test.stream)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			for cut := range len(test.stream) {
				got, err := scan(t, new(wire.EventScanner), test.stream[:cut], test.stream[cut:])
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("cut at %d (-want +got):\n%s", cut, diff)
				}
			}
			got, err = scan(t, new(wire.EventScanner), strings.Split(test.stream, "")...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventScannerReturnsAnEventWithItsBlankLine(t *testing.T) {
	var s wire.EventScanner
	s.Push([]byte("data: x\n\n"))
	if _, ok, err := s.Next(); !ok || err != nil {
		t.Errorf("Next = %v, %v; want an event at once", ok, err)
	}
}

func TestEventScannerRefuses(t *testing.T) {
	tests := []struct{ name, stream string }{
		{"a field in another case", "Data: x\n\n"},
		{"a type in another case", "EVENT: x\n\n"},
		{"blanks before a field", " data: x\n\n"},
		{"blanks before the colon", "data : x\n\n"},
		{"a mark in the middle", "data: x\n\n\ufeffdata: y\n\n"},
		{"a second mark", "\ufeff\ufeffdata: y\n\n"},
		{"at the end too", "eVent"},
		{"a field that the standard does not know", "x: y\n\n"},
		{"a field without a colon", "{\"choices\":[]}\n\n"},
		{"a line of blanks", "data: x\n  \n\n"},
		{"a field behind a control character", "\x1cdata: y\n\n"},
		{"a field behind a NUL", "\x00data: y\n\n"},
		{"lines that end with CR", "event: a\rdata: x\r\r"},
		{"a CR before the data", "data: \r{}\n\n"},
		{"a CR behind a type", "event: a\n\rx\ndata: {}\n\n"},
		{"a CR in a comment", ": x\rdata: {}\n\n"},
		{"two CRs before an LF", "data: x\r\r\n\n"},
		{"a CR at the very end", "data: y\r\n\r"},
		{"a control character in a late type", "event: a\n\nevent: a\x0b\n\n"},
		{"DEL in a comment", ": \x7f\n\n"},
		{"a comment that is not UTF-8", ": \xc3\n\n"},
		{"a line end of Latin-1 in a comment", ": x\xc3\x85data: {}\n\n"},
		{"an object in a line of its own", "data: [\ndata: {\"a\":1}\ndata: ]\n\n"},
		{"an object and a comma in a line", "data: [\ndata:  {\"a\":1},\ndata: 1]\n\n"},
		{"a line end of Unicode before a field", "data: \"x\u2028data: {}\"\n\n"},
		{"a line end of Unicode before an object", "data: \"x\u2029 {}\"\n\n"},
		{"two line ends of Unicode before a field", "data: \"x\u0085\u2028 event : a\"\n\n"},
		{"a line end of Latin-1 before a field", "data: \"\xc3\x85 data: {}\"\n\n"},
		{"an event over the limit", "data: " + strings.Repeat("x", 100) + "\n\n"},
		{"an event over the limit without end", "data: " + strings.Repeat("x", 100)},
		{"many short lines over the limit", strings.Repeat(": x\n", 50)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := &wire.EventScanner{Limit: 100}
			got, err := scan(t, s, test.stream)
			if err == nil {
				t.Fatalf("no error, events %q", got)
			}
			if _, ok, again := s.Next(); ok || again != err {
				t.Errorf("then %v, %v; want the same error", ok, again)
			}
		})
	}
}

// TestCharactersThatEndLinesForSomeClients has each of them wherever a client
// could read something behind it.
func TestCharactersThatEndLinesForSomeClients(t *testing.T) {
	for _, cut := range []string{
		"\x00", "\x01", "\x08", "\v", "\f", "\r", "\x0e", "\x1b", "\x1c", "\x1d", "\x1e", "\x1f", "\u0085", "\u2028", "\u2029", "\x85",
	} {
		for _, stream := range []string{
			": x" + cut + "data: {}\n\n", "id: x" + cut + "data: {}\n\n", "retry: " + cut + "x\n\n", "event: x" + cut + "y\n\n",
			cut + "data: {}\n\n", "data" + cut + ": {}\n\n", "data: {\"a\":\"some text" + cut + "data: {}\"}\n\n",
			"data: {\"a\":\"text" + cut + " \tDATA :{}\"}\n\n", "data: " + strings.Repeat("x", 13) + cut + "data:",
		} {
			if got, err := scan(t, new(wire.EventScanner), stream); err == nil {
				t.Errorf("%q is read as %q", stream, got)
			}
		}
	}
}

func TestEventScannerCountsEachEventAlone(t *testing.T) {
	s := &wire.EventScanner{Limit: 20}
	got, err := scan(t, s, strings.Repeat("data: 0123456789ab\n\n", 1000))
	if err != nil || len(got) != 1000 {
		t.Errorf("%d events, %v; want 1000", len(got), err)
	}
}

// TestEventScannerThroughManyBuffers has events larger and smaller than the
// pieces and the buffers.
func TestEventScannerThroughManyBuffers(t *testing.T) {
	var stream strings.Builder
	for i := range 200 {
		fmt.Fprintf(&stream, "event: e%d\ndata: %s\ndata: %d\n\n", i%3, strings.Repeat("x", i*i%9001), i)
	}
	want, err := scan(t, new(wire.EventScanner), stream.String())
	if err != nil || len(want) != 200 {
		t.Fatalf("%d events, %v", len(want), err)
	}
	for _, size := range []int{1, 7, 100, 4095, 4096, 4097, 10000} {
		var pieces []string
		for rest := stream.String(); rest != ""; {
			n := min(size, len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		got, err := scan(t, new(wire.EventScanner), pieces...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pieces of %d bytes (-want +got):\n%s", size, diff)
		}
	}
}

func TestEventsMayBeKeptAndAppendedTo(t *testing.T) {
	var s wire.EventScanner
	s.Push([]byte("data: a\n\ndata: b\n\n"))
	first, _, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	_ = append(first.Raw, "######"...)
	_ = append(first.Data, "######"...)
	s.Push([]byte("data: c\n\n"))
	second, _, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	if string(second.Raw) != "data: b\n\n" || string(first.Raw) != "data: a\n\n" {
		t.Errorf("events are %q and %q", first.Raw, second.Raw)
	}
}

func TestAppendEvent(t *testing.T) {
	tests := []struct{ name, typ, data, want string }{
		{"type and data", "ping", "{}", "event: ping\ndata: {}\n\n"},
		{"no type", "", "{}", "data: {}\n\n"},
		{"no data", "a", "", "event: a\ndata: \n\n"},
		{"several lines", "", "a\nb\r\nc\rd\n", "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{"an object in a line of its own", "", "[\n{\"a\":1},\r\n 2\n]", "data: [ {\"a\":1},\ndata:  2\ndata: ]\n\n"},
		{"a line end of Unicode before a field", "", "\"é😀\u2028data: {\\\"\"", "data: \"\\u00e9\\ud83d\\ude00\\u2028data: {\\\"\"\n\n"},
		{"a line end of Unicode before words", "", "\"é\u2028words\"", "data: \"é\u2028words\"\n\n"},
		{"a line end in the type", "a\r\ndata: evil", "x", "event: adata: evil\ndata: x\n\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := wire.AppendEvent([]byte("#"), test.typ, []byte(test.data))
			if want := "#" + test.want; string(got) != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// FuzzAppendEvent holds AppendEvent to what an EventScanner takes.
func FuzzAppendEvent(f *testing.F) {
	for _, s := range []string{"{}", "[\n{\"a\":1}\n]", "\"\u2028data: {}\"", "\"\u0085\u2029 {\"", "\"内 data:\"", "{\"a\":\r\n1}",
		"[\r\r\n \n{\"a\":1}]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if wire.StrictEvent([]byte(data)) != nil {
			t.Skip()
		}
		got, err := scan(t, new(wire.EventScanner), string(wire.AppendEvent(nil, "x", []byte(data))))
		if err != nil || len(got) != 1 {
			t.Fatalf("%q becomes %q, %v", data, got, err)
		}
		var before, after any
		if json.Unmarshal([]byte(data), &before) != nil || json.Unmarshal([]byte(got[0].Data), &after) != nil {
			t.Skip() // numbers out of range
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("(-data +event):\n%s", diff)
		}
	})
}

func FuzzEventScanner(f *testing.F) {
	for _, s := range []string{
		"", "data: x\n\n", "event: a\r\ndata: x\r\n\r\n", "\ufeffdata\n\r\ndata:y\n\r\n", ": c\n\n\n\rdata: a\ndata: b",
		"data: \r{}\n\n", ": x\u2028data: {}\n\n", "data: \"a\u2028b\"\n\n", "data: [\ndata: {\"a\":1}\ndata: ]\n\n",
		"Data: x\n\n", "data: " + strings.Repeat("x", 70) + "\n\n",
	} {
		f.Add(s, uint16(3), uint16(9))
	}
	f.Fuzz(func(t *testing.T, stream string, a, b uint16) {
		whole, wholeErr := scan(t, &wire.EventScanner{Limit: 64}, stream)
		var joined bytes.Buffer
		for _, ev := range whole {
			joined.WriteString(ev.Raw)
		}
		if wholeErr == nil && joined.String() != stream {
			t.Fatalf("joined %q, want %q", joined.String(), stream)
		}
		if !strings.HasPrefix(stream, joined.String()) {
			t.Fatalf("joined %q is no prefix of %q", joined.String(), stream)
		}
		i := min(int(a), len(stream))
		j := min(i+int(b), len(stream))
		pieces, piecesErr := scan(t, &wire.EventScanner{Limit: 64}, stream[:i], stream[i:j], stream[j:])
		if diff := cmp.Diff(whole, pieces); diff != "" {
			t.Fatalf("cut at %d and %d (-whole +pieces):\n%s", i, j, diff)
		}
		if (wholeErr == nil) != (piecesErr == nil) {
			t.Fatalf("whole: %v, cut at %d and %d: %v", wholeErr, i, j, piecesErr)
		}
	})
}

func BenchmarkEventScanner(b *testing.B) {
	stream := bytes.Repeat(wire.AppendEvent(nil, "content_block_delta",
		[]byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words of an answer"}}`)), 200)
	for _, size := range []int{len(stream), 1448, 144} {
		b.Run(fmt.Sprintf("pieces of %d bytes", size), func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				var s wire.EventScanner
				for rest := stream; len(rest) > 0; {
					n := min(size, len(rest))
					s.Push(rest[:n])
					rest = rest[n:]
					for {
						if _, ok, err := s.Next(); err != nil {
							b.Fatal(err)
						} else if !ok {
							break
						}
					}
				}
			}
		})
	}
}
