package briefing_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
)

var escape = regexp.MustCompile(`⟨(?:(\d+) spaces|(?:(\d+) × )?U\+([0-9A-F]+))⟩`)

// decode is the text that [holdgate.Visible] was given.
func decode(t *testing.T, shown string) string {
	t.Helper()
	var b strings.Builder
	for r, i := []rune(shown), 0; i < len(r); i++ {
		if r[i] != '⇥' {
			b.WriteRune(r[i])
			continue
		}
		b.WriteByte('\t')
		i = i/4*4 + 3 // before the next stop
	}
	return escape.ReplaceAllStringFunc(b.String(), func(e string) string {
		m := escape.FindStringSubmatch(e)
		if m[1] != "" {
			return strings.Repeat(" ", number(t, m[1], 10))
		}
		n := 1
		if m[2] != "" {
			n = number(t, m[2], 10)
		}
		return strings.Repeat(string(rune(number(t, m[3], 16))), n)
	})
}

func number(t *testing.T, s string, base int) int {
	t.Helper()
	n, err := strconv.ParseInt(s, base, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// FuzzEveryCharacterIsShownOrCounted puts a text into a command, a file and an
// argument, and reads it back from the briefing.
func FuzzEveryCharacterIsShownOrCounted(f *testing.F) {
	for _, s := range []string{"rm -rf x", "a\nb\n", "\r\n\t\x00", "\u202e⟨U+202E⟩", strings.Repeat(" ", 40), strings.Repeat("a", 900), strings.Repeat("x\n", 300), "\n", "漢"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || s == "" {
			t.Skip("no JSON string")
		}
		for name, c := range map[string]struct {
			key, kind string
			prefix    int // characters before each line
		}{
			"exec": {"command", "command", 0}, "write_file": {"content", "diff", 1},
		} {
			raw, err := json.Marshal(map[string]string{c.key: s, "path": "p"})
			if err != nil {
				t.Fatal(err)
			}
			call := holdgate.Call{Kind: holdgate.KindToolCall, Tool: &holdgate.Tool{Name: name, Arguments: raw}}
			b := briefing.Make(call, 0, holdgate.Decision{})
			if b.Sections[0].Kind != c.kind {
				t.Fatalf("%s is shown as %s", name, b.Sections[0].Kind)
			}
			lines, ended := b.Sections[0].Lines, true
			if last := lines[len(lines)-1]; c.kind == "diff" && strings.HasPrefix(last, `\`) {
				lines, ended = lines[:len(lines)-1], false
			}
			if b.Counts.Cut > 0 {
				if b.Whole || b.Counts.Cut > utf8.RuneCountInString(s)+len(strings.Split(s, "\n"))+1 {
					t.Errorf("%s: %d characters of %d are cut, whole: %v", name, b.Counts.Cut, utf8.RuneCountInString(s), b.Whole)
				}
				continue
			}
			var got strings.Builder
			for i, l := range lines {
				if i > 0 {
					got.WriteByte('\n')
				}
				got.WriteString(decode(t, l)[c.prefix:])
			}
			if c.kind == "diff" && ended {
				got.WriteByte('\n')
			}
			if got.String() != s {
				t.Errorf("%s shows %q as %q", name, s, lines)
			}
		}
	})
}
