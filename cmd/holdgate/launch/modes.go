package launch

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// modes follows what the agent writes, so far as its terminal's state must be
// brought back after a question: the private modes that a question resets, and
// an escape sequence that is not complete yet. What a sequence is, is told by
// ECMA-48; the modes are those of xterm (its "Control Sequences").
//
// It is for looks alone: what a question resets, it resets whatever is known
// here.
type modes struct {
	set     map[int]bool // by number, where it is not as at a terminal's start
	state   scanState
	partial []byte // the sequence that is not complete, as far as it came
}

type scanState int

const (
	scanText   scanState = iota
	scanEscape           // after ESC
	scanControl
	scanString       // OSC, DCS, APC, PM, SOS: to BEL or ST
	scanStringEscape // ESC within a string
)

// maxPartial bounds what is kept of an incomplete sequence, in bytes.
const maxPartial = 4 << 10

// initially are the private modes that are followed, as a terminal starts.
func initially() map[int]bool {
	return map[int]bool{
		1: false, 5: false, 6: false, 7: true, 25: true, 69: false,
		1000: false, 1002: false, 1003: false, 1004: false, 1005: false, 1006: false, 1015: false,
		47: false, 1047: false, 1049: false, 2004: false,
	}
}

// alternateModes are those that show the other screen.
func alternateModes() []int { return []int{47, 1047, 1049} }

// alternate reports whether the agent shows the other screen.
func (m *modes) alternate() bool {
	return slices.ContainsFunc(alternateModes(), func(n int) bool { return m.set[n] })
}

// restore is what brings the modes back which a question has reset, but for
// the screen.
func (m *modes) restore() string {
	var b strings.Builder
	for _, n := range slices.Sorted(maps.Keys(m.set)) {
		if slices.Contains(alternateModes(), n) {
			continue
		}
		end := 'l'
		if m.set[n] {
			end = 'h'
		}
		fmt.Fprintf(&b, "\x1b[?%d%c", n, end)
	}
	return b.String()
}

// feed follows what is written next.
func (m *modes) feed(p []byte) {
	for _, c := range p {
		if m.state == scanText {
			if c == 0x1b {
				m.begin(c)
			}
			continue
		}
		if len(m.partial) < maxPartial {
			m.partial = append(m.partial, c)
		}
		m.step(c)
		if m.state == scanText {
			m.partial = m.partial[:0]
		}
	}
}

func (m *modes) begin(c byte) {
	m.state, m.partial = scanEscape, append(m.partial[:0], c)
}

// step takes one byte within a sequence.
func (m *modes) step(c byte) {
	switch {
	case c == 0x18, c == 0x1a: // CAN and SUB end every sequence
		m.state = scanText
	case m.state == scanString && c == 0x07, m.state == scanStringEscape && c == '\\':
		m.state = scanText
	case m.state == scanString:
		if c == 0x1b {
			m.state = scanStringEscape
		}
	case c == 0x1b:
		m.begin(c)
	case m.state == scanStringEscape: // ESC and no ST ended the string, and began this
		m.begin(0x1b)
		m.partial = append(m.partial, c)
		m.step(c)
	case m.state == scanEscape:
		m.escape(c)
	case m.state == scanControl && c >= 0x40 && c <= 0x7e:
		m.control()
		m.state = scanText
	}
}

// escape takes what follows ESC.
func (m *modes) escape(c byte) {
	switch {
	case c == '[':
		m.state = scanControl
	case strings.IndexByte("]P^_X", c) >= 0:
		m.state = scanString
	case c == 'c': // RIS
		m.set, m.state = nil, scanText
	case c >= 0x30: // an intermediate byte, below, is followed by more
		m.state = scanText
	}
}

// control takes a complete control sequence.
func (m *modes) control() {
	body, ok := bytes.CutPrefix(m.partial, []byte("\x1b["))
	if !ok || len(body) < 2 || len(m.partial) == maxPartial {
		return
	}
	params, final := string(body[:len(body)-1]), body[len(body)-1]
	if final == 'p' && params == "!" { // DECSTR
		for _, n := range []int{1, 6, 7, 25} {
			delete(m.set, n)
		}
	}
	params, private := strings.CutPrefix(params, "?")
	if !private || (final != 'h' && final != 'l') {
		return
	}
	start := initially()
	for p := range strings.SplitSeq(params, ";") {
		n, err := strconv.Atoi(p)
		first, known := start[n]
		switch {
		case err != nil, !known:
		case first == (final == 'h'):
			delete(m.set, n)
		default:
			if m.set == nil {
				m.set = map[int]bool{}
			}
			m.set[n] = final == 'h'
		}
	}
}
