package run

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// say writes a line for the person: on a terminal as wide as that, broken between words.
// A command that it ends in, behind the text, stays whole, so that it can be copied.
func (r *agent) say(label, text, command string) {
	width := 0
	if fd := int(r.Stderr.Fd()); term.IsTerminal(fd) {
		if cols, _, err := term.GetSize(fd); err == nil {
			width = cols
		}
	}
	said(r.Stderr, width, label, text, command)
}

// note is a line about what a person should know.
func (r *agent) note(format string, args ...any) { r.say("note: ", fmt.Sprintf(format, args...), "") }

// result is a line about what became of the run.
func (r *agent) result(format string, args ...any) {
	r.say("holdgate: ", fmt.Sprintf(format, args...), "")
}

// said is say for a terminal of so many columns; 0 is any. It is one write: others write
// there too.
func said(w io.Writer, width int, label, text, command string) {
	lines := []page.Line{{Label: label, Text: strings.TrimSuffix(text+" "+command, " ")}}
	if command == "" || width <= 0 || page.Cells(label+lines[0].Text) <= width {
		fmt.Fprint(w, page.Text(lines, width, false))
		return
	}
	lines[0].Text = text
	fmt.Fprint(w, page.Text(lines, width, false)+strings.Repeat(" ", len(label))+command+"\n")
}
