package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"unicode/utf8"
)

// A Message is one message of an application/vnd.amazon.eventstream ("Amazon
// event stream specification", Smithy 2.0). Its slices stay valid, and nobody
// changes them.
type Message struct {
	// Raw is the message exactly as it came, with its lengths and checksums.
	// The Raw of all messages of a stream, joined, are the stream.
	Raw []byte
	// Kind is the header :message-type: "event", "exception" or "error".
	Kind string
	// Type is the header :event-type, :exception-type or :error-code, whichever
	// goes with the kind.
	Type    string
	Payload []byte
}

// Lengths of the parts of a message, in bytes.
const (
	preludeLength  = 12 // two lengths and their checksum
	checksumLength = 4
	maxHeaders     = 128 << 10 // as the specification has it
)

// A MessageScanner cuts an event stream, which comes in pieces, into messages,
// and checks their checksums. Where the pieces were cut makes no difference to
// the messages. A message with two headers of one name, or with one of the
// names above in another case or of another type than text, is an error.
//
// The zero value is ready. A MessageScanner is for one goroutine; its cost is
// linear in the stream, however it is cut.
type MessageScanner struct {
	// Limit is the greatest length of one message in bytes; zero stands for
	// [DefaultEventLimit]. A longer one is an error that wraps [ErrTooLarge].
	Limit int

	// Messages point into buf. So it is only ever appended to; where it is
	// full, what has not been returned moves to a new one.
	buf     []byte
	start   int
	prelude bool // of the message that begins at start, checked
	ended   bool
	err     error
}

// Push adds the next bytes of the stream. No reference to p is kept.
func (s *MessageScanner) Push(p []byte) {
	if len(s.buf)+len(p) > cap(s.buf) {
		rest := s.buf[s.start:]
		s.buf = append(make([]byte, 0, max(2*len(rest)+len(p), leastBlock)), rest...)
		s.start = 0
	}
	s.buf = append(s.buf, p...)
}

// End says that the stream is over. A message that is not whole is then an
// error.
func (s *MessageScanner) End() { s.ended = true }

// Next returns the next complete message. It reports false where more bytes are
// needed or, after [MessageScanner.End], nothing is left. Once it has returned
// an error it returns the same for ever.
func (s *MessageScanner) Next() (Message, bool, error) {
	if s.err != nil {
		return Message{}, false, s.err
	}
	m, ok, err := s.next()
	switch {
	case err != nil || ok || !s.ended:
	case s.start < len(s.buf):
		err = errors.New("it ends inside a message")
	default:
		s.buf, s.start = nil, 0 // who waits long after the end keeps no more than its messages
	}
	if err != nil {
		s.err = fmt.Errorf("reading an event stream: %w", err)
	}
	return m, ok && err == nil, s.err
}

func (s *MessageScanner) next() (Message, bool, error) {
	rest := s.buf[s.start:]
	if len(rest) < preludeLength {
		return Message{}, false, nil
	}
	total, headers := uint64(binary.BigEndian.Uint32(rest)), uint64(binary.BigEndian.Uint32(rest[4:]))
	if !s.prelude {
		limit := s.Limit
		if limit <= 0 {
			limit = DefaultEventLimit
		}
		switch {
		case crc32.ChecksumIEEE(rest[:8]) != binary.BigEndian.Uint32(rest[8:]):
			return Message{}, false, errors.New("the checksum of a message's lengths does not match")
		case headers > maxHeaders || total < preludeLength+headers+checksumLength:
			return Message{}, false, errors.New("the lengths of a message do not fit together")
		case total > uint64(limit):
			return Message{}, false, fmt.Errorf("a message is longer than %d bytes: %w", limit, ErrTooLarge)
		}
		s.prelude = true
	}
	if uint64(len(rest)) < total {
		return Message{}, false, nil
	}
	m := Message{Raw: rest[:total:total]}
	body, sum := m.Raw[:total-checksumLength], m.Raw[total-checksumLength:]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) {
		return Message{}, false, errors.New("the checksum of a message does not match")
	}
	m.Payload = body[preludeLength+headers:]
	if err := m.readHeaders(body[preludeLength : preludeLength+headers]); err != nil {
		return Message{}, false, err
	}
	s.start += int(total)
	s.prelude = false
	return m, true, nil
}

// The headers that are read.
const (
	headerKind      = ":message-type"
	headerEvent     = ":event-type"
	headerException = ":exception-type"
	headerError     = ":error-code"
)

func (m *Message) readHeaders(b []byte) error {
	seen := make(map[string]string)
	for len(b) > 0 {
		name, value, rest, err := header(b)
		if err != nil {
			return err
		}
		folded := strings.ToLower(name)
		if _, twice := seen[folded]; twice {
			return fmt.Errorf("a message has two headers %.40q", name)
		}
		seen[folded] = value
		switch folded {
		case headerKind, headerEvent, headerException, headerError:
			if name != folded || b[1+len(name)] != headerText {
				return fmt.Errorf("the header %.40q of a message is one that clients read differently", name)
			}
		}
		b = rest
	}
	m.Kind = seen[headerKind]
	switch m.Kind {
	case "event":
		m.Type = seen[headerEvent]
	case "exception":
		m.Type = seen[headerException]
	case "error":
		m.Type = seen[headerError]
	default:
		return fmt.Errorf("a message is of the unknown kind %.40q", m.Kind)
	}
	if m.Type == "" {
		return fmt.Errorf("a message of kind %q does not say which one it is", m.Kind)
	}
	return nil
}

// headerText is the type of a header that is a text.
const headerText = 7

// header reads the first header. The value is empty where it is no text.
func header(b []byte) (name, value string, rest []byte, err error) {
	broken := errors.New("the headers of a message are broken")
	n := int(b[0])
	if n == 0 || len(b) < 1+n+1 {
		return "", "", nil, broken
	}
	name, b = string(b[1:1+n]), b[1+n:]
	typ, b := b[0], b[1:]
	size := 0
	switch typ {
	case 0, 1: // true and false
	case 2: // byte
		size = 1
	case 3: // short
		size = 2
	case 4: // integer
		size = 4
	case 5, 8: // long, timestamp
		size = 8
	case 9: // UUID
		size = 16
	case 6, headerText: // binary
		if len(b) < 2 {
			return "", "", nil, broken
		}
		size, b = int(binary.BigEndian.Uint16(b)), b[2:]
	default:
		return "", "", nil, broken
	}
	if len(b) < size || !utf8.ValidString(name) {
		return "", "", nil, broken
	}
	if typ == headerText {
		if value = string(b[:size]); !utf8.ValidString(value) {
			return "", "", nil, broken
		}
	}
	return name, value, b[size:], nil
}

// AppendMessage appends a message with a JSON payload. It is of kind "event"
// or "exception", and typ says which one; it must be shorter than 64 KiB.
func AppendMessage(dst []byte, kind, typ string, payload []byte) []byte {
	which := headerEvent
	if kind == "exception" {
		which = headerException
	}
	var headers []byte
	for _, h := range [][2]string{{which, typ}, {":content-type", "application/json"}, {headerKind, kind}} {
		headers = append(append(headers, byte(len(h[0]))), h[0]...)
		headers = binary.BigEndian.AppendUint16(append(headers, headerText), uint16(len(h[1])))
		headers = append(headers, h[1]...)
	}
	return appendMessage(dst, headers, payload)
}

// AppendWith appends the message with the same headers and another payload.
func (m *Message) AppendWith(dst, payload []byte) []byte {
	return appendMessage(dst, m.Raw[preludeLength:len(m.Raw)-checksumLength-len(m.Payload)], payload)
}

func appendMessage(dst, headers, payload []byte) []byte {
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(preludeLength+len(headers)+len(payload)+checksumLength))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(headers)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
	dst = append(append(dst, headers...), payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
}
