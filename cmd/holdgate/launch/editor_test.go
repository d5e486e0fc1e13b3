package launch

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestKeysMakeALine(t *testing.T) {
	for _, c := range []struct{ name, keys, show, line string }{
		{"letters", "deny\r", "deny", "deny"},
		{"line feed ends it too", "deny\n", "deny", "deny"},
		{"Backspace", "ab\x7fc\r", "ab\b \bc", "ac"},
		{"Backspace on an empty line", "\x7fa\r", "a", "a"},
		{"Backspace takes a whole character", "aé\x7f\r", "aé\b \b", "a"},
		{"and one of two cells", "漢\x7f\r", "漢\b \b\b \b", ""},
		{"Ctrl-U", "no\x15yes\r", "no\b \b\b \byes", "yes"},
		{"Ctrl-C decides nothing", "approve\x03\r", "approve" + strings.Repeat("\b \b", 7), ""},
		{"arrows and function keys", "a\x1b[A\x1bOPb\x1b[15~c\r", "abc", "abc"},
		{"Alt and a letter", "a\x1bdb\r", "ab", "ab"},
		{"Escape and Enter", "a\x1b\r", "a", "a"},
		{"the terminal's answer that holds words", "\x1b]lapprove\x1b\\d\r", "d", "d"},
		{"one that ends with BEL", "\x1b]11;approve\x07d\r", "d", "d"},
		{"one without an end takes the line with it", "approve\x1b]lx\r\r", "approve" + strings.Repeat("\b \b", 7), ""},
		{"what a screen would obey is shown", "a\u202eb\r", "a⟨U+202E⟩b", "a\u202eb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e editor
			var show string
			rest := []byte(c.keys)
			for len(rest) > 0 { // each byte alone, as a slow line brings them
				s, line, done, _ := e.feed(rest[:1])
				show, rest = show+s, rest[1:]
				if done {
					if show != c.show || line != c.line || len(rest) != 0 {
						t.Errorf("showed %q for line %q and left %q, want %q and %q", show, line, rest, c.show, c.line)
					}
					return
				}
			}
			t.Error("no line came")
		})
	}
}

func FuzzEditor(f *testing.F) {
	f.Add([]byte("deny no\rapprove\r"))
	f.Add([]byte("a\x1b[A\xe6\xbc\x7f\x15\x1b]0;x\x07\r"))
	f.Fuzz(func(t *testing.T, keys []byte) {
		var e editor
		for rest := keys; len(rest) > 0; {
			var show, line string
			show, line, _, rest = e.feed(rest)
			if strings.ContainsAny(show, "\x1b\r\n") || !utf8.ValidString(show) {
				t.Fatalf("it shows %q", show)
			}
			if strings.ContainsAny(line, "\r\n") || len(line) > maxLine {
				t.Fatalf("the line is %q", line)
			}
		}
	})
}
