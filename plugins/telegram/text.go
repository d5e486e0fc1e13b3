package telegram

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// What Telegram shows at most, of a message and of an alert, in UTF-16 code
// units.
const (
	maxMessage = 4096
	maxAlert   = 180 // Telegram's 200 less what characters beyond the BMP may count
	maxLabel   = 40  // of a button, in characters
)

// A text is a message as Telegram takes it: a line of Holdgate's own, in bold, and
// then a block, or a page that flows. In blocks, and in the words of a page that
// are code, Telegram looks for no links, mentions and commands. There is no markup
// in it that could be closed from within.
type text struct {
	head  string
	block string
	page  *flow // in place of the block
	whole bool  // nothing is missing
}

// units is the length as Telegram counts it.
func units(s string) (n int) {
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// message is the text as it goes to Telegram.
func (t text) message(chat int64) sendMessage {
	m := sendMessage{Chat: chat, Text: t.head, Entities: []entity{{Type: "bold", Length: units(t.head)}}, Preview: preview{Disabled: true}}
	if t.page != nil {
		m.Text += "\n" + t.page.text.String()
		for _, e := range t.page.entities {
			e.Offset += units(t.head) + 1
			m.Entities = append(m.Entities, e)
		}
	}
	if t.block != "" {
		m.Text += "\n" + t.block
		m.Entities = append(m.Entities, entity{Type: "pre", Offset: units(t.head) + 1, Length: units(t.block)})
	}
	return m
}

// say is a text of the head, and of a block that may be cut.
func say(head, block string) text {
	head = inert(head)
	block, whole := fit(inert(strings.TrimRight(block, "\n ")), maxMessage-units(head)-1)
	return text{head: head, block: block, whole: whole}
}

// requestText is the text of a request.
func requestText(n sdk.Notice, now time.Time) text {
	head, lines := headline(n), page.Of(n, now)
	p := flowing(lines)
	if units(head)+1+p.at <= maxMessage {
		return text{head: inert(head), page: p, whole: true}
	}
	block := page.Text(lines, 0, false)
	t := say(head, block)
	if !t.whole && !n.Ended() {
		t = say(headline(n)+"\nThe call is too long for Telegram: approve it elsewhere, after holdgate show "+n.ID+" --full", block)
	}
	return t
}

// headline says in Holdgate's own words how dangerous a request is, how long
// there is and what silence does, or what has become of it.
func headline(n sdk.Notice) string {
	if n.Ended() {
		return strings.ToUpper(n.Status)
	}
	risk := "UNKNOWN"
	switch n.Risk {
	case sdk.RiskLow, sdk.RiskMedium, sdk.RiskHigh, sdk.RiskCritical:
		risk = strings.ToUpper(n.Risk)
	}
	s := risk + " RISK"
	if !n.ExpiresAt.IsZero() {
		silence := "denied"
		if n.OnTimeout == sdk.Approve {
			silence = "APPROVED"
		}
		s += fmt.Sprintf(". Without an answer it is %s at %s", silence, n.ExpiresAt.Local().Format("15:04:05 MST"))
	}
	if n.Quorum > 1 {
		s += fmt.Sprintf(". %d of %d have approved", n.Votes, n.Quorum)
	}
	return s
}

// fit cuts what does not fit: lines from the middle, for both ends matter.
func fit(s string, room int) (_ string, whole bool) {
	if units(s) <= room {
		return s, true
	}
	const mark = 60 // units for the line that says what is missing
	lines := strings.Split(s, "\n")
	head, used := 0, mark
	for head < len(lines) && used+units(lines[head])+1 <= room*2/3 {
		used += units(lines[head]) + 1
		head++
	}
	tail := len(lines)
	for tail > head && used+units(lines[tail-1])+1 <= room {
		used += units(lines[tail-1]) + 1
		tail--
	}
	gap := fmt.Sprintf("[%d lines are not shown here]", tail-head)
	return strings.Join(append(append(lines[:head:head], gap), lines[tail:]...), "\n"), false
}

// short is a text of at most so many characters.
func short(s string, limit int) string {
	r := []rune(inert(s))
	if len(r) <= limit {
		return string(r)
	}
	return string(r[:limit-1]) + "…"
}

// inert replaces what a screen would obey. Holdgate has written it out
// already; nothing here rests on that.
func inert(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
