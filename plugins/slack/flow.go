package slack

import (
	"strings"

	"github.com/slack-go/slack"

	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// flowing lays out a page that is shown whole: prose that Slack breaks where it
// likes, with its names in bold, the call in blocks, what the agent says in
// quotes. The names that commands take come apart: they belong below the buttons.
// Nothing in a text becomes a mention or a link.
func flowing(lines []page.Line) (blocks, names []slack.Block) {
	for i := 0; i < len(lines); {
		if lines[i].Label == "" && lines[i].Text == "" {
			i++
			continue
		}
		end := i + 1
		for end < len(lines) && lines[end].Code() == lines[i].Code() && lines[end].Said() == lines[i].Said() && (lines[i].Code() || lines[i].Said() || lines[end].Text != "") {
			end++
		}
		part := lines[i:end]
		switch i = end; {
		case part[0].Code():
			blocks = append(blocks, coded(part)...)
		case strings.HasPrefix(part[0].Label, "request"):
			names = append(names, prose(part, true)...)
		case part[0].Said():
			blocks = append(blocks, prose(part, true)...)
		default:
			blocks = append(blocks, prose(part, false)...)
		}
	}
	return blocks, names
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
