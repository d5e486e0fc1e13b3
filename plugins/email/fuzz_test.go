package email

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

var anyTag = regexp.MustCompile(`<[^>]*>`)

// tags are the tags of a text, with their attributes.
func tags(s string) (list map[string]int) {
	list = map[string]int{}
	for _, tag := range anyTag.FindAllString(s, -1) {
		list[tag]++
	}
	return list
}

// FuzzLetter throws texts at a mail, wherever an agent has a word: the subject stays
// one line that begins with ours, the text has no line of a call at the edge, and the
// HTML has no tag that one with plain words does not have.
func FuzzLetter(f *testing.F) {
	for _, s := range append(sdktest.Hostile(), hostile()...) {
		f.Add(s)
	}
	notice := func(s string) sdk.Notice {
		n := sdktest.Unkind(sdktest.Notice("req-1"), s)
		n.Sections = append(n.Sections, sdk.Section{Title: s, Kind: "before", Lines: []string{s}})
		n.Place, n.Undo = []sdk.Fact{{Name: "where", Text: s}, {Name: "for", Text: s}, {Name: "task", Text: s}}, s
		return n
	}
	letterOf := func(t *testing.T, s string) (letter, string) {
		t.Helper()
		n := notice(s)
		l := letter{to: "ann@example.com", subject: subject(n), lines: page.Of(n, time.Now()), link: "https://approve.example/#x"}
		body, err := l.html()
		if err != nil {
			t.Fatal(err)
		}
		return l, body
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, body := letterOf(t, s)
		if !strings.HasPrefix(l.subject, "[Holdgate] medium risk") || len([]rune(l.subject)) > 180 || strings.Contains(l.subject, "=?") ||
			strings.ContainsFunc(l.subject, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }) {
			t.Errorf("subject %q", l.subject)
		}
		for line := range strings.SplitSeq(l.text(), "\n") {
			if strings.ContainsFunc(line, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }) {
				t.Errorf("a character that a screen obeys: %q", line)
			}
			if page.Cells(line) > width && !strings.Contains(line, " ") {
				t.Errorf("a line of %d cells: %q", page.Cells(line), line)
			}
		}
		_, plain := letterOf(t, "x")
		known := tags(plain)
		for tag := range tags(body) {
			if known[tag] == 0 {
				t.Errorf("the tag %s in\n%s", tag, body)
			}
		}
		if text := html.UnescapeString(body); strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) }) {
			t.Errorf("a character that a screen obeys: %q", text)
		}
	})
}
