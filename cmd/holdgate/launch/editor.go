package launch

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/holdgate/holdgate"
)

// maxLine bounds a line that is typed, in bytes.
const maxLine = 4 << 10

// An editor makes lines of keys, for a terminal in raw mode. Keys that write
// no character (arrows, function keys) do nothing, nor does what the terminal
// itself sends: its answer to a question of the agent's may come late, and may
// hold the agent's words.
type editor struct {
	line []byte
	keys keyState
}

// keyState is where in the sequence of a key that writes nothing.
type keyState int

const (
	keyPlain   keyState = iota
	keyEscape           // after ESC
	keyControl          // in a control sequence
	keySingle           // after SS3: one more byte
	keyString           // OSC, DCS, APC, PM, SOS: to BEL or ST
)

// feed takes what was typed next, up to the first line that it completes. It
// returns what to show for it, that line, and the rest.
func (e *editor) feed(p []byte) (show, line string, done bool, rest []byte) {
	for i, c := range p {
		switch {
		case e.keys == keyString && (c == '\r' || c == '\n'): // no end was seen: nothing of the line is sure
			e.keys = keyPlain
			show += e.clear()
		case c == '\r', c == '\n':
			line = string(e.line)
			*e = editor{}
			return show, line, true, p[i+1:]
		case c == 0x1b:
			e.keys = keyEscape
		case e.keys != keyPlain:
			e.skip(c)
		case c == 0x7f, c == 0x08: // Backspace
			show += e.drop()
		case c == 0x03 && len(e.line) == 0:
			*e = editor{}
			return show, interrupted, true, p[i+1:]
		case c == 0x15, c == 0x03: // Ctrl-U, Ctrl-C: the line anew
			show += e.clear()
		case c < ' ' || len(e.line) >= maxLine:
		default:
			e.line = append(e.line, c)
			if last := e.line[lastRune(e.line):]; utf8.FullRune(last) {
				show += holdgate.Visible(string(last))
			}
		}
	}
	return show, "", false, nil
}

// skip takes a byte of a key's sequence.
func (e *editor) skip(c byte) {
	switch {
	case e.keys == keyEscape && c == '[':
		e.keys = keyControl
	case e.keys == keyEscape && c == 'O':
		e.keys = keySingle
	case e.keys == keyEscape && strings.IndexByte("]P^_X", c) >= 0:
		e.keys = keyString
	case e.keys == keyControl && (c < 0x40 || c > 0x7e), e.keys == keyString && c != 0x07: // not its last byte
	default:
		e.keys = keyPlain
	}
}

// drop takes the last character away, and returns what takes it off the
// screen.
func (e *editor) drop() string {
	if len(e.line) == 0 {
		return ""
	}
	i := lastRune(e.line)
	n := cells(holdgate.Visible(string(e.line[i:])))
	e.line = e.line[:i]
	return strings.Repeat("\b \b", n)
}

// clear takes the line away, and returns what takes it off the screen.
func (e *editor) clear() (show string) {
	for len(e.line) > 0 {
		show += e.drop()
	}
	return show
}

// lastRune is where the last character of line begins, complete or not.
func lastRune(line []byte) int {
	i := len(line) - 1
	for i > 0 && i > len(line)-utf8.UTFMax && !utf8.RuneStart(line[i]) {
		i--
	}
	return i
}

// cells is how wide s is on most terminals.
func cells(s string) (n int) {
	for _, r := range s {
		switch k := width.LookupRune(r).Kind(); {
		case unicode.Is(unicode.Mn, r):
		case k == width.EastAsianWide, k == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
