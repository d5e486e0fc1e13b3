package telegram

import (
	"regexp"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// A flow is a page as text that a phone breaks where it likes: prose in the
// reader's own font, the call in blocks, what the agent says in quotes.
type flow struct {
	text     strings.Builder
	at       int // the length so far, as Telegram counts it
	entities []entity
}

// flowing lays out a page. How long there is stands in the headline.
func flowing(lines []page.Line) *flow {
	f := &flow{}
	for len(lines) > 0 && lines[len(lines)-1].Text == "" {
		lines = lines[:len(lines)-1]
	}
	for i := 0; i < len(lines); {
		l := lines[i]
		if strings.HasPrefix(l.Label, "time left") {
			i++
			continue
		}
		if f.at > 0 {
			f.add("\n", "")
		}
		end := i + 1
		for (l.Code() || l.Said()) && end < len(lines) && lines[end].Label == l.Label {
			end++
		}
		start := f.at
		switch {
		case l.Code():
			for k, c := range lines[i:end] {
				f.add(strings.Repeat("\n", min(k, 1))+c.Text, "")
			}
			f.mark("pre", start, f.at)
		case l.Said():
			for k, c := range lines[i:end] {
				f.add(strings.Repeat("\n", min(k, 1)), "")
				f.prose(c.Text)
			}
			f.mark("blockquote", start, f.at)
		default:
			if label := strings.TrimSpace(l.Label); label != "" {
				f.add(label, "bold")
				f.add(" ", "")
			}
			f.prose(l.Text)
		}
		i = end
	}
	return f
}

// add adds a text as it is.
func (f *flow) add(s, kind string) {
	s = inert(s)
	start := f.at
	f.text.WriteString(s)
	f.at += units(s)
	if kind != "" {
		f.mark(kind, start, f.at)
	}
}

func (f *flow) mark(kind string, start, end int) {
	if end > start {
		f.entities = append(f.entities, entity{Type: kind, Offset: start, Length: end - start})
	}
}

// plainWord is a word in which Telegram finds nothing to link to: letters, short
// numbers, and the signs of prose around them. Both are large: only the channel makes them.
var (
	plainWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^['"“”‘’(\[⟨]*[\p{L}\p{M}\p{N}+×_=-]*['"“”‘’)\]⟩…]*[.,:;!?]?$`)
	})
	longNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\p{N}{5}`) })
)

// prose adds words; those that are none, such as paths and hosts, as code.
func (f *flow) prose(s string) {
	for i, word := range strings.Split(s, " ") {
		if i > 0 {
			f.add(" ", "")
		}
		kind := ""
		if !plainWord().MatchString(word) || longNumber().MatchString(word) {
			kind = "code"
		}
		f.add(word, kind)
	}
}
