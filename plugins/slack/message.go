package slack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// Limits of Slack, in characters; here they are counted in bytes, which are
// never fewer.
const (
	maxHeader  = 150
	maxBlock   = 2900 // of one preformatted block; Slack takes 3000
	maxFlow    = 36   // blocks of a page that flows; Slack takes 50 in a message
	maxLabel   = 75   // of a button
	maxConfirm = 300
	maxValue   = 2000 // of a button
	maxNotify  = 300  // of the text that notifications show; ours
)

// width is how wide a line may be, in cells, before it goes on below.
const width = 88

// A content is what a message says.
type content struct {
	text   string // what notifications show: no markup
	blocks []slack.Block
}

func (c content) options() []slack.MsgOption {
	return []slack.MsgOption{
		slack.MsgOptionText(escape(clip(c.text, maxNotify)), false), slack.MsgOptionBlocks(c.blocks...),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
}

// content is the message of a request, with at most so many bytes of it. Where
// that cuts it, it offers no answer that lets the call go.
func (c *Channel) content(n sdk.Notice, to []string, limit int) content {
	now := time.Now()
	parts, whole := fit(groups(n, now), limit)
	if !whole {
		n = closed(n)
		parts, _ = fit(groups(n, now), limit)
	}
	title := title(n)
	blocks := []slack.Block{slack.NewHeaderBlock(plain(title, maxHeader)), slack.NewContextBlock("", times(n))}
	s := flowing(page.Of(n, now), !n.Ended() && len(title) <= maxHeader)
	if whole && len(s.above)+len(s.below) <= maxFlow {
		blocks = append(blocks, s.above...)
	} else {
		s.below = nil
		for _, p := range parts {
			blocks = append(blocks, preformatted(p))
		}
	}
	if !n.Ended() {
		blocks = append(blocks, mention(to))
		blocks = append(blocks, buttons(n)...)
	}
	if n.Ended() {
		title += ": " + n.Summary
	}
	return content{text: title, blocks: append(blocks, s.below...)}
}

// closed is the notice without the answers that need the whole call.
func closed(n sdk.Notice) sdk.Notice {
	n.Answers = slices.DeleteFunc(slices.Clone(n.Answers), func(a string) bool { return a == sdk.Approve || a == sdk.Choose || a == sdk.Edit })
	n.Closed = cmp.Or(n.Closed, "the call is too long to be shown whole in Slack; see it with: holdgate show "+n.ID+" --full")
	return n
}

// title says how dangerous what is, or what has become of it.
func title(n sdk.Notice) string {
	risk := cmp.Or(n.Risk, "unknown")
	if !n.Ended() {
		what := strings.ReplaceAll(n.Summary, "\n", " ") // the header is one line
		return strings.ToUpper(risk) + " risk: " + cmp.Or(strings.TrimSpace(what), "an agent waits for an answer")
	}
	t := strings.ToUpper(n.Status[:min(len(n.Status), 1)]) + n.Status[min(len(n.Status), 1):]
	if n.Outcome != nil && n.Outcome.By != "" {
		t += " by " + n.Outcome.By
	}
	return t + " (" + risk + " risk)"
}

// times says how long there is, in the reader's own time, what silence does,
// and how far a quorum is.
func times(n sdk.Notice) slack.MixedElement {
	var parts []string
	switch {
	case n.Ended() && n.Outcome != nil:
		parts = append(parts, date(n.Outcome.At))
	case !n.ExpiresAt.IsZero():
		silence := "it is denied"
		if n.OnTimeout == sdk.Approve {
			silence = "it is APPROVED by itself"
		}
		parts = append(parts, "Until "+date(n.ExpiresAt)+", then "+silence)
	}
	if n.Quorum > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d have approved", n.Votes, n.Quorum))
	}
	if len(parts) == 0 {
		parts = append(parts, "No time limit")
	}
	return slack.NewTextBlockObject(slack.MarkdownType, strings.Join(parts, " · "), false, true)
}

func date(t time.Time) string {
	return fmt.Sprintf("<!date^%d^{date_short_pretty} {time_secs}|%s>", t.Unix(), utc(t))
}

func utc(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }

// groups are the paragraphs of the page that every screen shows. How much time
// is left changes while a message stands: it says until when.
func groups(n sdk.Notice, now time.Time) (all [][]string) {
	lines := page.Of(n, now)
	for i, l := range lines {
		if _, silence, ok := strings.Cut(l.Text, ", then "); ok && strings.HasPrefix(l.Label, "time left") && !n.ExpiresAt.IsZero() {
			lines[i].Label, lines[i].Text = fmt.Sprintf("%-*s", len(l.Label), "until"), utc(n.ExpiresAt)+", then "+silence
		}
	}
	var group []string
	for _, l := range append(page.Wrap(lines, width), page.Line{}) {
		switch {
		case l.Label+l.Text != "":
			group = append(group, l.String(false))
		case len(group) > 0:
			all = append(all, group)
			group = nil
		}
	}
	return all
}

// fit is the text of groups in parts that fit into one block each, and no more
// bytes in all than limit. Where there are more, the middle of what comes after
// the first group is left out and counted, and it is not whole.
func fit(groups [][]string, limit int) (parts []string, whole bool) {
	size := 0
	for _, g := range groups {
		size += len(strings.Join(g, "\n")) + 1
	}
	if size > limit {
		groups = cut(groups, limit)
	}
	for _, g := range groups {
		var b strings.Builder
		for _, l := range g {
			if b.Len() > 0 && b.Len()+1+len(l) > maxBlock {
				parts = append(parts, b.String())
				b.Reset()
			}
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(l)
		}
		parts = append(parts, b.String())
	}
	return parts, size <= limit
}

// cut keeps the head and the tail of what people see of a request.
func cut(groups [][]string, limit int) [][]string {
	first := groups[0]
	if head, rest := split(first, limit/2); len(rest) > 0 {
		first = append(head, hidden(rest))
	}
	for _, l := range first {
		limit -= len(l) + 1
	}
	lines := slices.Concat(groups[1:]...)
	head, rest := split(lines, limit*2/3)
	slices.Reverse(rest)
	tail, middle := split(rest, limit/3)
	slices.Reverse(tail)
	if len(middle) > 0 {
		head = append(head, hidden(middle))
	}
	return [][]string{first, head, tail}
}

// split returns the lines that fit into so many bytes, and the others.
func split(lines []string, limit int) (head, rest []string) {
	for i, l := range lines {
		if limit -= len(l) + 1; limit < 0 {
			return slices.Clone(lines[:i]), slices.Clone(lines[i:])
		}
	}
	return slices.Clone(lines), nil
}

func hidden(lines []string) string {
	chars := 0
	for _, l := range lines {
		chars += utf8.RuneCountInString(l)
	}
	return fmt.Sprintf("  ⟨%d lines with %d characters are not shown here⟩", len(lines), chars)
}

// preformatted shows a text in which Slack looks for nothing: no mentions, no
// links, no markup, no emoji.
func preformatted(text string) slack.Block {
	return slack.NewRichTextBlock("", &slack.RichTextPreformatted{
		Type: slack.RTEPreformatted, Elements: []slack.RichTextSectionElement{slack.NewRichTextSectionTextElement(inert(text), nil)},
	})
}

// mention calls people, which takes ids that are none of a call's texts.
func mention(ids []string) slack.Block {
	var elements []slack.RichTextSectionElement
	for _, id := range ids {
		if userID.MatchString(id) {
			elements = append(elements, slack.NewRichTextSectionUserElement(id, nil), slack.NewRichTextSectionTextElement(" ", nil))
		}
	}
	ask := "Please answer."
	if len(elements) == 0 {
		ask = "Nobody who may answer is named for this channel: neither by its users nor by people in Holdgate's configuration."
	}
	elements = append(elements, slack.NewRichTextSectionTextElement(ask, nil))
	return slack.NewRichTextBlock("", slack.NewRichTextSection(elements...))
}

// callContent calls people who have come to be asked later.
func callContent(ids []string) content {
	return content{text: "You are asked too, a little further up in this thread.", blocks: []slack.Block{
		mention(ids), slack.NewSectionBlock(plain("You are asked too, a little further up in this thread.", maxBlock), nil, nil),
	}}
}

// sessionContent is the head of a session's thread.
func sessionContent(n sdk.Notice) content {
	agent := cmp.Or(n.Agent.ID, "unknown")
	text := "Agent " + agent + ", session " + cmp.Or(n.Session, "unknown")
	return content{text: text, blocks: []slack.Block{
		slack.NewHeaderBlock(plain("An agent's requests", maxHeader)), preformatted(clip(text, maxBlock)),
	}}
}

// newsContent is the message with news.
func (c *Channel) newsContent(n sdk.News, limit int) content {
	title := cmp.Or(n.Title, "News of Holdgate")
	blocks := []slack.Block{slack.NewHeaderBlock(plain(title, maxHeader))}
	var lines []string
	if len(title) > maxHeader {
		lines = append(lines, title)
	}
	lines = append(lines, n.Lines...)
	for i, l := range lines {
		lines[i] = clip(l, maxBlock)
	}
	if len(lines) > 0 {
		parts, _ := fit([][]string{lines}, limit)
		for _, p := range parts {
			blocks = append(blocks, preformatted(p))
		}
	}
	return content{text: title, blocks: blocks}
}

// plain is a text in which Slack looks for nothing, of at most so many bytes.
func plain(text string, size int) *slack.TextBlockObject {
	return slack.NewTextBlockObject(slack.PlainTextType, clip(inert(text), size), false, false)
}

// clip is the text, or as much of it as fits. It is never empty: Slack takes no
// empty texts.
func clip(s string, size int) string {
	if s == "" {
		return "-"
	}
	if len(s) <= size {
		return s
	}
	return s[:boundary(s, size-len("…"))] + "…"
}

// boundary is at, or where the character begins that it would divide. Bytes that are no
// characters are divided anywhere.
func boundary(s string, at int) int {
	for i := at; i > 0 && i > at-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return at
}

// escape writes out what Slack would read as markup of its own: mentions,
// links and dates.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(inert(s))
}

// inert replaces every character that a screen would obey, but for the ends of
// lines. Holdgate has written them out already; nothing here rests on that.
func inert(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
