package demo

import (
	"io"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// A story breaks what is told between words, at a terminal's width, while it is told: what
// is written at once ends with a word. What goes on below stands below what a speaker
// says. A word that is wider than the terminal, such as a link, stays whole.
type story struct {
	w     io.Writer
	width int // in columns

	mu     sync.Mutex
	blanks int // before the next word
	at     int // the column that comes next
	indent int // of what goes on below
}

func (s *story) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	for text := string(b); text != ""; {
		switch text[0] {
		case ' ':
			s.blanks++
			text = text[1:]
		case '\n':
			out.WriteByte('\n')
			s.blanks, s.at, s.indent = 0, 0, 0
			text = text[1:]
		default:
			end := strings.IndexAny(text+" ", " \n")
			s.put(&out, text[:end])
			text = text[end:]
		}
	}
	if _, err := io.WriteString(s.w, out.String()); err != nil {
		return 0, err
	}
	return len(b), nil
}

// put tells a word.
func (s *story) put(out *strings.Builder, word string) {
	cells := page.Cells(word)
	if s.at > s.indent && s.at+s.blanks+cells > s.width {
		out.WriteString("\n")
		s.at, s.blanks = 0, s.indent
	}
	if s.at == 0 {
		s.indent = s.blanks
	}
	out.WriteString(strings.Repeat(" ", s.blanks) + word)
	s.at += s.blanks + cells
	if s.blanks = 0; word == ">" || word == "$" {
		s.indent = s.at + 1
	}
}
