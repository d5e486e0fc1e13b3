package launch

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// maxKept is how much of the agent's output is kept while a question is open,
// in bytes. Beyond it the agent waits.
const maxKept = 1 << 20

// A screen is the person's terminal as something to write to: by the agent, or
// by a question, never by both. It is safe for concurrent use.
type screen struct {
	out   io.Writer
	plain bool // the terminal knows no escape sequences

	mu    sync.Mutex
	freed sync.Cond // of mu: held has become false
	held  bool
	kept  []byte
	modes modes
}

func newScreen(out io.Writer, plain bool) *screen {
	s := &screen{out: out, plain: plain}
	s.freed.L = &s.mu
	return s
}

// Write writes what the agent prints, or keeps it while a question is open.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held && len(s.kept)+len(p) > maxKept {
		s.freed.Wait()
	}
	if s.held {
		s.kept = append(s.kept, p...)
		return len(p), nil
	}
	s.modes.feed(p)
	return s.out.Write(p)
}

// Sequences that put the terminal into a known state, whatever was written
// before. Terminals pass over those that they do not know.
const (
	// cutShort ends a sequence that the agent left open, and an update that it
	// has the terminal not show yet.
	cutShort = "\x18\x1b\\\x1b[?2026l"
	// known resets what would hide or change text and keys: margins, insert
	// mode, character sets, attributes, reverse video, mouse and focus
	// reports, bracketed paste, the colours themselves, the kitty keyboard.
	known = "\x1b[!p\x1b[?69l\x1b[r\x1b[4l\x1b%G\x1b(B\x0f\x1b[0m\x1b[?1l\x1b[?5l\x1b[?6l\x1b[?7h\x1b[?25h" +
		"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?2004l" +
		"\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\\x1b[>0u"
	otherScreen = "\x1b[?1049h"
	ownScreen   = "\x1b[?1049l"
	clear       = "\x1b[2J\x1b[H"
	oldKeyboard = "\x1b[<u"
)

// hold gives the terminal to a question, and reports whether the agent shows
// the terminal's other screen: then it must paint it anew afterwards.
func (s *screen) hold() (alternate bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
	if !s.plain {
		s.put(cutShort + otherScreen + known + clear)
	}
	return s.modes.alternate()
}

// leave gives the terminal to a program of the person's, until hold takes it again.
func (s *screen) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.plain {
		s.put(oldKeyboard + ownScreen)
	}
}

// draw replaces what the question shows. Lines end in "\n".
func (s *screen) draw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lead := "\r\n"
	if !s.plain {
		lead = clear
	}
	s.put(lead + strings.ReplaceAll(text, "\n", "\r\n"))
}

// replace replaces a line of what was drawn, the first is 1, and leaves the cursor where
// it is.
func (s *screen) replace(row int, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.plain {
		s.put(fmt.Sprintf("\x1b7\x1b[%dH\x1b[2K%s\x1b8", row, line))
	}
}

// echo writes behind what was drawn.
func (s *screen) echo(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(text)
}

// release gives the terminal back to the agent, with its modes and with what
// it printed meanwhile.
func (s *screen) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.freed.Broadcast()
	back := "\r\n"
	if !s.plain {
		back = oldKeyboard + ownScreen
		if s.modes.alternate() {
			back = oldKeyboard + clear
		}
		back += s.modes.restore() + string(s.modes.partial) // the question cut it short
	}
	s.put(back)
	s.modes.feed(s.kept)
	s.put(string(s.kept))
	s.held, s.kept = false, nil
}

// put writes to the terminal. One that cannot be written to any longer shows
// that by how it is read, too.
func (s *screen) put(text string) { _, _ = io.WriteString(s.out, text) }
