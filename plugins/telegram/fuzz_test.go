package telegram

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// FuzzMessage throws texts at a message, wherever an agent has a word: none brings a
// character that a screen obeys, something that Telegram could make a link, a mention
// or a command of, a line above Holdgate's own, or more than Telegram takes.
func FuzzMessage(f *testing.F) {
	for _, s := range append(sdktest.Hostile(), hostile()...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := sdktest.Unkind(sdktest.Notice("req-1"), s)
		n.Sections = append(n.Sections, sdk.Section{Title: s, Kind: "before", Lines: []string{s}})
		n.Place, n.Undo = []sdk.Fact{{Name: "where", Text: s}, {Name: "for", Text: s}, {Name: "task", Text: s}}, s
		text := requestText(n, time.Now())
		m := text.message(1)
		code := utf16.Encode([]rune(m.Text))
		if len(code) > maxMessage {
			t.Errorf("%d units", len(code))
		}
		if !strings.HasPrefix(m.Text, "MEDIUM RISK. Without an answer it is denied at ") {
			t.Errorf("it begins with %.80q", m.Text)
		}
		if i := strings.IndexFunc(m.Text, func(r rune) bool { return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }); i >= 0 {
			t.Errorf("a character that a screen obeys, at %d: %q", i, m.Text)
		}
		for _, e := range m.Entities {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > len(code) {
				t.Fatalf("%+v of %d", e, len(code))
			}
			if e.Type == "code" || e.Type == "pre" {
				for at := e.Offset; at < e.Offset+e.Length; at++ {
					code[at] = 'x'
				}
			}
		}
		if found := linkable.FindString(string(utf16.Decode(code[m.Entities[0].Length:]))); found != "" && text.page != nil {
			t.Errorf("outside of code is %q", found)
		}
	})
}
