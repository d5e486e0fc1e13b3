package demo

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// A story breaks what is told between words, at a terminal's width, while it is told: the
// last word is held back until it has ended. What goes on below stands below what a
// speaker says. A word that is wider than the terminal, such as a link, stays whole.
type story struct {
	w     io.Writer
	width int // in columns

	mu     sync.Mutex
	word   []byte // that has not ended
	blanks int    // before it
	at     int    // the column that comes next
	indent int    // of what goes on below
}

func (s *story) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	for _, c := range b {
		switch c {
		case ' ':
			s.put(&out)
			s.blanks++
		case '\n':
			s.put(&out)
			out.WriteByte('\n')
			s.blanks, s.at, s.indent = 0, 0, 0
		default:
			s.word = append(s.word, c)
		}
	}
	if _, err := io.WriteString(s.w, out.String()); err != nil {
		return 0, err
	}
	return len(b), nil
}

// put tells the word that has ended.
func (s *story) put(out *strings.Builder) {
	if len(s.word) == 0 {
		return
	}
	word := string(s.word)
	cells := page.Cells(strings.ToValidUTF8(word, string(utf8.RuneError)))
	if s.at > s.indent && s.at+s.blanks+cells > s.width {
		out.WriteString("\n")
		s.at, s.blanks = 0, s.indent
	}
	if s.at == 0 {
		s.indent = s.blanks
	}
	out.WriteString(strings.Repeat(" ", s.blanks) + word)
	s.at += s.blanks + cells
	if s.blanks, s.word = 0, s.word[:0]; word == ">" || word == "$" {
		s.indent = s.at + 1
	}
}

// end tells what was held back.
func (s *story) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	s.put(&out)
	_, _ = io.WriteString(s.w, out.String()) // whatever is wrong with it was told before
}
