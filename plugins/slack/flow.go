package slack

import (
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// A sheet is a page that is shown whole, in the order in which Slack's readers take
// it: the call and what must be known of it stand above the buttons; why it is asked,
// what the agent says, what was before and the names that commands take stand below,
// where a long message is folded. Nothing in a text becomes a mention or a link.
type sheet struct{ above, below []slack.Block }

// abreast are the fields of a page that stand above the buttons.
var abreast = []string{"what", "risk", "agent", "status", "approved", "WARNING", "approve", "where", "edited", "NOT SHOWN"}

// flowing lays out a page: prose that Slack breaks where it likes, with its names in
// bold, the call in blocks, what the agent says in quotes. What the header of the
// message says already is left out.
func flowing(lines []page.Line, headed bool) (s sheet) {
	var call, facts, why, rest []page.Line
	field := ""
	for _, l := range lines {
		name := strings.TrimSpace(l.Label)
		if prose := !l.Code() && !l.Said() && !l.Heading(); prose && (name != "" || l.Text == "") {
			field = name
		}
		switch {
		case l.More, l.Said(), l.Frames():
			rest = append(rest, l)
		case l.Code(), l.Heading(), strings.HasSuffix(field, "."): // an option
			call = append(call, l)
		case field == "time left", field == "what" && headed, headed && name == "" && l.Text == "":
		case slices.Contains(abreast, field):
			facts = append(facts, l)
		default:
			why = append(why, l)
		}
	}
	return sheet{above: append(parted(call), parted(facts)...), below: append(parted(why), parted(rest)...)}
}

// parted makes blocks of lines that look alike.
func parted(lines []page.Line) (blocks []slack.Block) {
	quoted := func(l page.Line) bool { return l.Said() || l.More && !l.Code() && !l.Heading() }
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && lines[end].Code() == lines[i].Code() && quoted(lines[end]) == quoted(lines[i]) {
			end++
		}
		part := lines[i:end]
		switch i = end; {
		case part[0].Code():
			blocks = append(blocks, coded(part)...)
		default:
			blocks = append(blocks, prose(part, quoted(part[0]))...)
		}
	}
	return blocks
}

// coded shows lines of a call as they are, in as many blocks as they take.
func coded(lines []page.Line) (blocks []slack.Block) {
	texts := make([]string, len(lines))
	for i, l := range page.Wrap(lines, 0) {
		texts[i] = l.Text
	}
	parts, _ := fit([][]string{texts}, maxBlock*len(lines)+maxBlock)
	for _, p := range parts {
		if strings.TrimSpace(p) == "" {
			p = "(nothing but blanks)" // Slack takes no empty texts
		}
		blocks = append(blocks, preformatted(p))
	}
	return blocks
}

// prose shows lines with their names in bold, or as a quote.
func prose(lines []page.Line, quote bool) (blocks []slack.Block) {
	var elements []slack.RichTextSectionElement
	size := 0
	end := func() {
		if len(elements) == 0 {
			return
		}
		var e slack.RichTextElement = slack.NewRichTextSection(elements...)
		if quote {
			e = &slack.RichTextQuote{Type: slack.RTEQuote, Elements: elements}
		}
		blocks = append(blocks, slack.NewRichTextBlock("", e))
		elements, size = nil, 0
	}
	for _, l := range lines {
		label := strings.TrimSpace(strings.Trim(l.Label, " >"))
		if label == "" && l.Text == "" {
			continue
		}
		for rest := l.Text; ; {
			text := rest
			if len(text) > maxBlock {
				text = clip(rest, maxBlock)
				text = strings.TrimSuffix(text, "…")
			}
			rest = rest[len(text):]
			if size > 0 && size+len(label)+len(text) > maxBlock {
				end()
			}
			below := ""
			if size > 0 {
				below = "\n"
			}
			if label != "" {
				elements = append(elements, slack.NewRichTextSectionTextElement(below+label+"  ", &slack.RichTextSectionTextStyle{Bold: true}))
				below = ""
			}
			if strings.TrimSpace(text) != "" {
				elements = append(elements, slack.NewRichTextSectionTextElement(below+inert(text), nil))
			}
			size += len(label) + len(text) + 3
			label = ""
			if rest == "" {
				break
			}
		}
	}
	end()
	return blocks
}
