package launch

import (
	"testing"
)

func TestModesAreFollowed(t *testing.T) {
	for _, c := range []struct {
		name, text, restore string
		alternate           bool
		partial             string
	}{
		{name: "text alone", text: "a [?25l b"},
		{name: "a hidden cursor", text: "\x1b[?25l", restore: "\x1b[?25l"},
		{name: "and shown again", text: "\x1b[?25l\x1b[?25h"},
		{name: "several at once", text: "\x1b[?1002;1006h", restore: "\x1b[?1002h\x1b[?1006h"},
		{name: "the other screen is no mode to restore", text: "\x1b[?1049h", alternate: true},
		{name: "and left", text: "\x1b[?1049h\x1b[?1049l"},
		{name: "modes that are not private", text: "\x1b[25l\x1b[4h"},
		{name: "a full reset", text: "\x1b[?25l\x1b[?1049h\x1bc"},
		{name: "a soft reset leaves the mouse", text: "\x1b[?25l\x1b[?1000h\x1b[!p", restore: "\x1b[?1000h"},
		{name: "what a title holds is no mode", text: "\x1b]0;\x1b[?25l", restore: "\x1b[?25l"}, // but ESC ends the title
		{name: "within a title", text: "\x1b]0;[?25l\x07"},
		{name: "a sequence that is given up", text: "\x1b[?25\x18l"},
		{name: "one that is not complete", text: "x\x1b[?25l\x1b[?10", restore: "\x1b[?25l", partial: "\x1b[?10"},
		{name: "a title that is not", text: "\x1b]0;half", partial: "\x1b]0;half"},
		{name: "a character set", text: "\x1b(0\x1b[?25l", restore: "\x1b[?25l"},
		{name: "a number that is none", text: "\x1b[?99999999999999999999h\x1b[?h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m modes
			m.feed([]byte(c.text))
			if got := m.restore(); got != c.restore {
				t.Errorf("restore is %q, want %q", got, c.restore)
			}
			if got := m.alternate(); got != c.alternate {
				t.Errorf("alternate is %v, want %v", got, c.alternate)
			}
			if got := string(m.partial); got != c.partial {
				t.Errorf("partial is %q, want %q", got, c.partial)
			}
		})
	}
}

// Chunking changes nothing.
func FuzzModes(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b]0;t\x1b\\\x1b[?25l"), 3)
	f.Add([]byte("\x1bP\x1b[?7l\x18\x1b[!p\x1bc\x1b(0"), 1)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		var whole, parts modes
		whole.feed(text)
		cut = min(max(cut, 0), len(text))
		parts.feed(text[:cut])
		parts.feed(text[cut:])
		if whole.restore() != parts.restore() || whole.alternate() != parts.alternate() || string(whole.partial) != string(parts.partial) {
			t.Fatalf("cut at %d, %q reads differently", cut, text)
		}
		if len(whole.partial) > maxPartial+1 {
			t.Fatalf("%d bytes are kept", len(whole.partial))
		}
	})
}
