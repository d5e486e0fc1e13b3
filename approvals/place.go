package approvals

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/approvals/folder"
)

// maxTask is how many characters of what the user has asked for are shown.
const maxTask = 200

// placeOf says where a call happens, for whom and for what, safe to show. The folder is known
// only of agents on this machine. Where policy redacts parts of the call the task is
// left out, for the user may have named them.
func placeOf(q HeldCall) briefing.Place {
	c, d, task := q.Call, q.Decision, q.Task
	if len(d.Redact) > 0 {
		task = ""
	}
	p := briefing.Place{Person: holdgate.Visible(c.Agent.Starter), Task: quotedTask(task), Program: holdgate.Visible(q.Program)}
	if d.Facts == nil || d.Facts.Dir != q.Said {
		p.Said = holdgate.Visible(q.Said)
	}
	if d.Facts == nil || d.Facts.Dir == "" {
		return p
	}
	p.Folder, p.Branch = holdgate.Visible(d.Facts.Dir), holdgate.Visible(folder.Branch(d.Facts.Dir))
	if host, err := os.Hostname(); err == nil {
		p.Host = holdgate.Visible(host)
	}
	return p
}

// quotedTask is the beginning of a text, on one line and in quotes.
func quotedTask(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return ""
	}
	if utf8.RuneCountInString(s) > maxTask {
		s = string([]rune(s)[:maxTask-1]) + "…"
	}
	return "“" + holdgate.Visible(s) + "”"
}
