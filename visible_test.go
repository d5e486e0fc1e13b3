package holdgate_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
)

func TestVisible(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text stays", "rm -rf build", "rm -rf build"},
		{"letters of any script stay", "naïve 日本 עברית 😀", "naïve 日本 עברית 😀"},
		{"an override is named", "a\u202Eb", "a⟨U+202E⟩b"},
		{"isolates and marks are named", "\u2066\u200E\u061C", "⟨U+2066⟩⟨U+200E⟩⟨U+061C⟩"},
		{"terminal sequences are named", "\x1b[2J\x9b", "⟨U+001B⟩[2J⟨0x9B⟩"},
		{"line ends are named", "a\r\nb", "a⟨U+000D⟩⟨U+000A⟩b"},
		{"tabs go to the next stop", "\t\tif x {\t// 漢\ty", "⇥   ⇥   if x {⇥ // 漢⇥   y"},
		{"what looks like a tab is escaped", "⇥ x", "⟨U+21E5⟩ x"},
		{"many tabs are counted", strings.Repeat("\t", 8) + "x" + strings.Repeat("\t", 9), strings.Repeat("⇥   ", 8) + "x⟨9 × U+0009⟩"},
		{"NUL and DEL are named", "\x00\x7f", "⟨U+0000⟩⟨U+007F⟩"},
		{"zero width is named", "a\u200Bb\uFEFF", "a⟨U+200B⟩b⟨U+FEFF⟩"},
		{"tags are named", "\U000E0041", "⟨U+E0041⟩"},
		{"variation selectors are named", "x\uFE0F\U000E0100", "x⟨U+FE0F⟩⟨U+E0100⟩"},
		{"unusual spaces are named", "a\u00A0b\u3000", "a⟨U+00A0⟩b⟨U+3000⟩"},
		{"letters without a glyph are named", "\u3164\u2800", "⟨U+3164⟩⟨U+2800⟩"},
		{"line separators are named", "\u2028\u2029", "⟨U+2028⟩⟨U+2029⟩"},
		{"a lone surrogate is named", "\xed\xa0\x80", "⟨U+D800⟩"},
		{"bytes that are no UTF-8 are named", "\xff\xc3", "⟨0xFF⟩⟨0xC3⟩"},
		{"what looks like an escape is escaped", "⟨U+202E⟩", "⟨U+27E8⟩U+202E⟩"},
		{"few spaces stay", "a" + strings.Repeat(" ", 16) + "b", "a" + strings.Repeat(" ", 16) + "b"},
		{"many spaces are counted", "a" + strings.Repeat(" ", 312) + "b", "a⟨312 spaces⟩b"},
		{"many of one hidden character are counted", strings.Repeat("\u200B", 40), "⟨40 × U+200B⟩"},
		{"nothing stays nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := holdgate.Visible(tt.in); got != tt.want {
				t.Errorf("Visible(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// FuzzVisible proves that nothing is dropped: what was shown can be read back
// to the very bytes, and nothing shown is hidden.
func FuzzVisible(f *testing.F) {
	for _, s := range []string{
		"ls", "\u202Egnp.exe", "⟨3 spaces⟩", strings.Repeat(" ", 17), "\xed\xa0\x80\xed\xb0\x80", "\xf4\x90\x80\x80",
		strings.Repeat("⟨", 9), "\x00\x1b]0;x\x07", strings.Repeat("\xff", 6), "a\u0301", "\ufffd\xff", "\xed\xed\xa0\x80",
		"\t \t  \tx\t", "a\u200b\t\t⇥\t",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := holdgate.Visible(s)
		if !utf8.ValidString(shown) {
			t.Fatalf("Visible(%q) = %q: no UTF-8", s, shown)
		}
		if i := strings.IndexFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("Visible(%q) = %q: not printable at %d", s, shown, i)
		}
		if got := unsee(t, shown); got != s {
			t.Fatalf("Visible(%q) = %q, which reads as %q", s, shown, got)
		}
	})
}

// unsee is the inverse of Visible.
func unsee(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	s = untab(t, s)
	for {
		before, rest, found := strings.Cut(s, "⟨")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		esc, after, found := strings.Cut(rest, "⟩")
		if !found {
			t.Fatalf("an escape without end in %q", s)
		}
		b.WriteString(unescape(t, esc))
		s = after
	}
}

// untab reads tabs back: each mark, and the blanks up to the next stop.
func untab(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	for shown, i := []rune(s), 0; i < len(shown); i++ {
		if shown[i] != '⇥' {
			b.WriteRune(shown[i])
			continue
		}
		stop := i/4*4 + 4
		if stop > len(shown) || strings.Trim(string(shown[i+1:stop]), " ") != "" {
			t.Fatalf("no stop behind a tab in %q", s)
		}
		b.WriteByte('\t')
		i = stop - 1
	}
	return b.String()
}

func unescape(t *testing.T, esc string) string {
	t.Helper()
	count := 1
	if n, ok := strings.CutSuffix(esc, " spaces"); ok {
		return strings.Repeat(" ", number(t, n, 10))
	}
	if n, name, ok := strings.Cut(esc, " × "); ok {
		count, esc = number(t, n, 10), name
	}
	if b, ok := strings.CutPrefix(esc, "0x"); ok {
		return strings.Repeat(string([]byte{byte(number(t, b, 16))}), count)
	}
	u, ok := strings.CutPrefix(esc, "U+")
	if !ok {
		t.Fatalf("unknown escape %q", esc)
	}
	r := rune(number(t, u, 16))
	if r >= 0xD800 && r <= 0xDFFF {
		return strings.Repeat(string([]byte{0xED, 0x80 | byte(r>>6)&0x3F, 0x80 | byte(r)&0x3F}), count)
	}
	return strings.Repeat(string(r), count)
}

func number(t *testing.T, s string, base int) int {
	t.Helper()
	n, err := strconv.ParseInt(s, base, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}
