package slack

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"github.com/slack-go/slack"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// FuzzContent throws texts at a message, wherever an agent has a word: none brings a
// character that a screen obeys, markup, a mention, another element than a text, or
// more than Slack takes.
func FuzzContent(f *testing.F) {
	for _, s := range sdktest.Hostile() {
		f.Add(s)
	}
	c := New(slog.New(slog.DiscardHandler))
	f.Fuzz(func(t *testing.T, s string) {
		n := sdktest.Unkind(sdktest.Notice("req-1"), s)
		n.Sections = append(n.Sections, sdk.Section{Title: s, Kind: "before", Lines: []string{s}})
		n.Place, n.Undo = []sdk.Fact{{Name: "where", Text: s}, {Name: "for", Text: s}, {Name: "task", Text: s}}, s
		got := c.content(n, []string{"U024BE7LH"}, textLimits[0])
		if len(got.blocks) > 50 {
			t.Errorf("%d blocks", len(got.blocks))
		}
		for _, l := range read(got.blocks) {
			if strings.ContainsFunc(l, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }) {
				t.Errorf("a character that a screen obeys: %q", l)
			}
		}
		raw, err := json.Marshal(got.blocks)
		if err != nil {
			t.Fatal(err)
		}
		var blocks []map[string]any
		if err := json.Unmarshal(raw, &blocks); err != nil {
			t.Fatal(err)
		}
		mentions := 0
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, e := range v {
					walk(e)
				}
			case map[string]any:
				switch v["type"] {
				case "user":
					mentions++
				case "link", "emoji", "channel", "usergroup", "broadcast", "image", "date", "color":
					t.Errorf("an element of type %v", v["type"])
				case slack.MarkdownType:
					if text, _ := v["text"].(string); !strings.HasPrefix(text, "Until <!date^") {
						t.Errorf("markup %q", text)
					}
				}
				if v["type"] == "text" && strings.TrimSpace(v["text"].(string)) == "" && v["text"] != " " {
					t.Errorf("a text of blanks: %q", v["text"])
				}
				for _, e := range v {
					walk(e)
				}
			}
		}
		for _, b := range blocks {
			walk(b)
		}
		if mentions != 1 {
			t.Errorf("%d people are called", mentions)
		}
	})
}
