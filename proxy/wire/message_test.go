package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/proxy/wire"
)

// scanMessages reads a stream in pieces of the given size.
func scanMessages(in []byte, size int) (messages []wire.Message, err error) {
	var s wire.MessageScanner
	for {
		m, ok, err := s.Next()
		switch {
		case err != nil:
			return messages, err
		case ok:
			messages = append(messages, m)
		case len(in) == 0:
			s.End()
			_, _, err := s.Next()
			return messages, err
		default:
			n := min(size, len(in))
			s.Push(in[:n])
			in = in[n:]
		}
	}
}

// encoded is a message as AWS's own library writes it.
func encoded(t testing.TB, payload string, headers ...eventstream.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, eventstream.Message{Headers: headers, Payload: []byte(payload)}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func text(name, value string) eventstream.Header {
	return eventstream.Header{Name: name, Value: eventstream.StringValue(value)}
}

func TestMessageScanner(t *testing.T) {
	event := encoded(t, `{"a":1}`, text(":event-type", "chunk"), text(":content-type", "application/json"), text(":message-type", "event"))
	exception := encoded(t, `{}`, text(":message-type", "exception"), text(":exception-type", "throttlingException"))
	failure := encoded(t, ``, text(":message-type", "error"), text(":error-code", "x"), text(":error-message", "y"))
	odd := encoded(t, ``, text(":message-type", "event"), text(":event-type", "e"),
		eventstream.Header{Name: "yes", Value: eventstream.BoolValue(true)}, eventstream.Header{Name: "byte", Value: eventstream.Int8Value(1)},
		eventstream.Header{Name: "short", Value: eventstream.Int16Value(1)}, eventstream.Header{Name: "int", Value: eventstream.Int32Value(1)},
		eventstream.Header{Name: "long", Value: eventstream.Int64Value(1)}, eventstream.Header{Name: "binary", Value: eventstream.BytesValue{0xff}},
		eventstream.Header{Name: "uuid", Value: eventstream.UUIDValue{}})
	in := bytes.Join([][]byte{event, exception, failure, odd}, nil)
	want := []wire.Message{
		{Raw: event, Kind: "event", Type: "chunk", Payload: []byte(`{"a":1}`)},
		{Raw: exception, Kind: "exception", Type: "throttlingException", Payload: []byte(`{}`)},
		{Raw: failure, Kind: "error", Type: "x", Payload: []byte{}},
		{Raw: odd, Kind: "event", Type: "e", Payload: []byte{}},
	}
	for size := 1; size <= len(in); size++ {
		got, err := scanMessages(in, size)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("in pieces of %d: %v\n%s", size, err, diff)
		}
	}
}

func TestMessagesThatAreNotWhatTheySayAreRefused(t *testing.T) {
	good := encoded(t, `{"a":1}`, text(":event-type", "chunk"), text(":message-type", "event"))
	flipped := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	lengths := func(total, headers uint32) []byte {
		b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, total), headers)
		return append(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), good[12:]...)
	}
	for name, tt := range map[string]struct {
		in   []byte
		want string
	}{
		"a flipped bit in the length":      {flipped(3), "lengths does not match"},
		"a flipped bit in a header":        {flipped(15), "checksum of a message does not match"},
		"a flipped bit in the payload":     {flipped(len(good) - 6), "checksum of a message does not match"},
		"a flipped bit in the checksum":    {flipped(len(good) - 1), "checksum of a message does not match"},
		"a message that is cut":            {good[:len(good)-1], "ends inside"},
		"a prelude that is cut":            {good[:5], "ends inside"},
		"something behind":                 {append(bytes.Clone(good), 'x'), "ends inside"},
		"headers longer than the message":  {lengths(uint32(len(good)), uint32(len(good))), "do not fit together"},
		"a message shorter than its frame": {lengths(15, 0), "do not fit together"},
		"more than a stream may have":      {lengths(1<<31, 0), "longer than"},
		"two headers of a name":            {encoded(t, ``, text(":message-type", "event"), text(":event-type", "a"), text(":event-type", "b")), "two headers"},
		"two headers that differ in case":  {encoded(t, ``, text(":message-type", "event"), text(":event-type", "a"), text(":Event-Type", "b")), "two headers"},
		"a header in another case":         {encoded(t, ``, text(":message-type", "event"), text(":Event-Type", "b")), "clients read differently"},
		"a type that is no text":           {encoded(t, ``, text(":message-type", "event"), eventstream.Header{Name: ":event-type", Value: eventstream.BytesValue("a")}), "clients read differently"},
		"an unknown kind":                  {encoded(t, ``, text(":message-type", "Event"), text(":event-type", "a")), "unknown kind"},
		"no kind":                          {encoded(t, ``, text(":event-type", "a")), "unknown kind"},
		"an event without a type":          {encoded(t, ``, text(":message-type", "event"), text(":exception-type", "a")), "which one"},
		"a header that is not valid UTF-8": {encoded(t, ``, text(":message-type", "event"), text(":event-type", "a\xff")), "broken"},
		"server-sent events":               {[]byte("data: {\"a\":1}\n\ndata: [DONE]\n\n"), "lengths does not match"},
		"JSON":                             {[]byte(`{"message":"too many tokens"}`), "lengths does not match"},
		"a header that ends in its name":   {framed([]byte{9, 'x'}), "broken"},
		"a header of an unknown type":      {framed([]byte{1, 'x', 10}), "broken"},
		"a header longer than all of them": {framed([]byte{1, 'x', 7, 0, 9, 'a'}), "broken"},
		"a header without a name":          {framed([]byte{0, 0}), "broken"},
		"a text without a length":          {framed([]byte{1, 'x', 7, 0}), "broken"},
		"a number that is cut":             {framed([]byte{1, 'x', 5, 0}), "broken"},
	} {
		for _, size := range []int{1, 7, len(tt.in)} {
			got, err := scanMessages(tt.in, size)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, in pieces of %d: %d messages, error %v, want %q", name, size, len(got), err, tt.want)
			}
		}
	}
}

// framed is a message with these headers and valid checksums.
func framed(headers []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(b, headers...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func TestMessagesHaveALimit(t *testing.T) {
	in := encoded(t, strings.Repeat("x", 100), text(":message-type", "event"), text(":event-type", "a"))
	s := wire.MessageScanner{Limit: 99}
	s.Push(in[:12])
	if _, _, err := s.Next(); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("got %v before the message has come", err)
	}
	s.Push(in[12:])
	if _, _, err := s.Next(); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("after an error it says %v", err)
	}
}

// TestMessagesThatAreWritten has AWS's own library read them.
func TestMessagesThatAreWritten(t *testing.T) {
	event := wire.AppendMessage([]byte("before"), "event", "chunk", []byte(`{"a":1}`))[len("before"):]
	want := encoded(t, `{"a":1}`, text(":event-type", "chunk"), text(":content-type", "application/json"), text(":message-type", "event"))
	if !bytes.Equal(event, want) {
		t.Errorf("got  %q\nwant %q", event, want)
	}
	exception := wire.AppendMessage(nil, "exception", "throttlingException", nil)
	m, err := eventstream.NewDecoder().Decode(bytes.NewReader(exception), nil)
	if err != nil || m.Headers.Get(":exception-type").String() != "throttlingException" {
		t.Errorf("%v, %v", m, err)
	}
	messages, err := scanMessages(event, len(event))
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{"", `{"b":"é"}`, strings.Repeat("x", 1<<16)} {
		m, err := eventstream.NewDecoder().Decode(bytes.NewReader(messages[0].AppendWith(nil, []byte(payload))), nil)
		if err != nil || string(m.Payload) != payload || m.Headers.Get(":event-type").String() != "chunk" {
			t.Errorf("%.40q: %v, %v", payload, m.Headers, err)
		}
	}
}

// FuzzMessageScanner compares with AWS's own library: what is taken, it takes
// for the same messages.
func FuzzMessageScanner(f *testing.F) {
	f.Add(encoded(f, `{"a":1}`, text(":event-type", "chunk"), text(":message-type", "event")), uint8(3))
	f.Add(append(encoded(f, ``, text(":message-type", "exception"), text(":exception-type", "x")), framed([]byte{1, 'x', 0})...), uint8(1))
	f.Add(framed([]byte{1, 'x', 7, 0, 9, 'a'}), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		got, err := scanMessages(in, int(size)+1)
		whole, wholeErr := scanMessages(in, len(in)+1)
		if (err == nil) != (wholeErr == nil) {
			t.Fatalf("the cut makes a difference: %v, %v", err, wholeErr)
		}
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Errorf("the cut makes a difference:\n%s", diff)
		}
		r, joined := bytes.NewReader(in), []byte(nil)
		for _, m := range got {
			joined = append(joined, m.Raw...)
			theirs, err := eventstream.NewDecoder().Decode(r, nil)
			if err != nil {
				t.Fatalf("AWS's library does not read it: %v", err)
			}
			which := map[string]string{"event": ":event-type", "exception": ":exception-type", "error": ":error-code"}[m.Kind]
			if !bytes.Equal(theirs.Payload, m.Payload) || theirs.Headers.Get(":message-type").String() != m.Kind || theirs.Headers.Get(which).String() != m.Type {
				t.Errorf("AWS's library reads %v for %+v", theirs, m)
			}
		}
		if _, left := io.ReadAll(r); err == nil && (left != nil || !bytes.Equal(joined, in)) {
			t.Errorf("the messages are not the stream: %q", joined)
		}
	})
}
