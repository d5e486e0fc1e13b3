package tui

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestATextIsEdited(t *testing.T) {
	for _, c := range []struct {
		name, keys, want string // a key in brackets, else characters
		lines            bool
	}{
		{"what is typed stands there", "abc", "abc_", false},
		{"in the middle", "ac[left]b", "ab_c", false},
		{"at both ends", "b[home]a[end]c", "abc_", false},
		{"characters go", "abc[backspace][home][delete]", "_b", false},
		{"words go", "rm -rf x[ctrl+w][ctrl+w]", "rm _", false},
		{"what is before the cursor goes", "abc[left][ctrl+u]", "_c", false},
		{"and what is behind it", "abc[left][ctrl+k]", "ab_", false},
		{"one line stays one", "a[ctrl+j]b", "ab_", false},
		{"several are several", "a[ctrl+j]b", "a/b_", true},
		{"moved through", "abc[ctrl+j]d[up][up]x[down]y", "axbc/dy_", true},
		{"wide characters take two cells", "漢字漢字漢字[home][right]", "漢_字漢字漢/字", true},
		{"what does not show is named", "a\u202eb", "a/⟨U+202E⟩/b_", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := textInput{lines: c.lines}
			for rest := c.keys; rest != ""; {
				key, after, named := strings.Cut(strings.TrimPrefix(rest, "["), "]")
				if named = named && rest[0] == '['; named {
					rest = after
				} else {
					_, n := utf8.DecodeRuneInString(rest)
					key, rest = rest[:n], rest[n:]
				}
				if !named || !in.key(key) {
					in.insert(key)
				}
			}
			var got []string
			shown, at := in.shown(10)
			for _, l := range shown {
				got = append(got, paint(l, false))
			}
			if text := strings.Join(got, "/"); text != c.want || !strings.Contains(got[at], "_") {
				t.Errorf("%s shows %q, want %q", c.keys, text, c.want)
			}
		})
	}
}
