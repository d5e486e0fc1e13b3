package slack

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// What Slack shows of a message before it folds the rest, as seen on a desktop and on
// phones: about so many characters and lines.
const (
	foldChars = 700
	foldLines = 14
)

// read is the text of blocks, line by line as a person sees it.
func read(blocks []slack.Block) (lines []string) {
	rich := func(elements []slack.RichTextSectionElement) {
		var b strings.Builder
		for _, e := range elements {
			if t, ok := e.(*slack.RichTextSectionTextElement); ok {
				b.WriteString(t.Text)
			}
		}
		lines = append(lines, strings.Split(b.String(), "\n")...)
	}
	for _, block := range blocks {
		switch b := block.(type) {
		case *slack.HeaderBlock:
			lines = append(lines, b.Text.Text)
		case *slack.ContextBlock:
			lines = append(lines, b.ContextElements.Elements[0].(*slack.TextBlockObject).Text)
		case *slack.ActionBlock:
			var labels []string
			for _, e := range b.Elements.ElementSet {
				labels = append(labels, "["+e.(*slack.ButtonBlockElement).Text.Text+"]")
			}
			lines = append(lines, strings.Join(labels, " "))
		case *slack.RichTextBlock:
			for _, e := range b.Elements {
				switch e := e.(type) {
				case *slack.RichTextSection:
					rich(e.Elements)
				case *slack.RichTextQuote:
					rich(e.Elements)
				case *slack.RichTextPreformatted:
					rich(e.Elements)
				}
			}
		default:
			lines = append(lines, fmt.Sprintf("?? %T", block))
		}
	}
	return lines
}

// TestAnOrdinaryCallIsAnsweredAboveTheFold holds that what happens, to what, whether
// it can be undone, who wants it, the call and the buttons are seen before Slack folds
// the message.
func TestAnOrdinaryCallIsAnsweredAboveTheFold(t *testing.T) {
	t.Parallel()
	c := New(slog.New(slog.DiscardHandler))
	for _, n := range sdktest.Ordinary() {
		lines := read(c.content(n, []string{"U024BE7LH"}, 1<<20).blocks)
		all := strings.Join(lines, "\n")
		above, below, ok := strings.Cut(all, "[Approve]")
		if !ok || len(above) > foldChars || strings.Count(above, "\n") > foldLines {
			t.Errorf("%s: %d characters in %d lines above the buttons:\n%s", n.ID, len(above), strings.Count(above, "\n"), all)
		}
		wants := []string{n.Summary, n.Undo, "claude (proven), for ada", "/home/ada/shop"}
		for _, s := range n.Sections {
			if s.Kind != sdk.KindSaid && s.Kind != "before" {
				wants = append(wants, s.Lines...)
			}
		}
		for _, want := range wants {
			if !strings.Contains(above, want) {
				t.Errorf("%s: %q is not above the buttons:\n%s", n.ID, want, all)
			}
		}
		for _, want := range append(n.Why, n.ID, n.Digest[:12]) {
			if !strings.Contains(below, want) {
				t.Errorf("%s: %q is not below them:\n%s", n.ID, want, all)
			}
		}
	}
}
