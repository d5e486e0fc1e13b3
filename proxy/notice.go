package proxy

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// The notices below stand in the place of a refused call, so the model reads
// them later as words of its own. They therefore say who speaks, what was not
// run, why, and what may be done instead.

const noticeMark = "[holdgate] "

func noticeDenied(c holdgate.Call, d holdgate.Decision) string {
	return noticeMark + fmt.Sprintf("%s was not run: denied by policy (%s). Do not try it again; tell the user, or choose another way.",
		nameCall(c), join2(d.Rule, d.Reason))
}

func noticeOutcome(c holdgate.Call, r approvals.Request) string {
	o := r.Outcome
	if o == nil {
		return noticeMark + fmt.Sprintf("%s was not run: request %s ended without an outcome.", nameCall(c), r.ID)
	}
	by := bounded(o.By, 100)
	switch r.Status {
	case holdgate.StatusSteered:
		return noticeMark + fmt.Sprintf("%s was not run. The approver (%s) asks for this instead: %s", nameCall(c), by, bounded(o.Instructions, 8<<10))
	case holdgate.StatusDenied:
		why := "denied by the approver (" + by + ")"
		if o.Reason != "" {
			why += ": " + bounded(o.Reason, 8<<10)
		}
		return noticeMark + fmt.Sprintf("%s was not run: %s. Do not try it again; tell the user, or choose another way.", nameCall(c), strings.TrimSuffix(why, "."))
	case holdgate.StatusExpired:
		return noticeMark + fmt.Sprintf("%s was not run: nobody approved it within %s (request %s). Do not try it again by yourself; tell the user.",
			nameCall(c), r.ExpiresAt.Sub(r.CreatedAt).Round(time.Second), r.ID)
	default:
		return noticeMark + fmt.Sprintf("%s was not run: request %s was withdrawn.", nameCall(c), r.ID)
	}
}

// noticeError stands in the place of a call that could not be judged or held.
func noticeError(c holdgate.Call, err error) string {
	return noticeMark + fmt.Sprintf("%s was not run: Holdgate cannot hold or log calls at the moment (%s). Tell the user; try again later.",
		nameCall(c), bounded(err.Error(), 300))
}

// noticeLimit stands in the place of a call that is over a limit.
func noticeLimit(c holdgate.Call, o *overLimit) string {
	return noticeMark + fmt.Sprintf("%s was not run (%s): %s. Tell the user.", nameCall(c), o.rule, bounded(o.why, 500))
}

// noticeWaiting is the line that a setting shows the agent's user.
func noticeWaiting(q *question) string {
	return noticeMark + fmt.Sprintf("Waiting for a person to decide: %s\nholdgate approve %s\nholdgate deny %s\n", q.request.Briefing.Summary, q.request.ID, q.request.ID)
}

func nameCall(c holdgate.Call) string {
	switch {
	case c.Tool != nil:
		return "The call to " + bounded(c.Tool.Name, 100)
	case c.Model != nil:
		return "The request to model " + bounded(c.Model.Name, 100)
	case c.MCP != nil:
		return "The request " + bounded(c.MCP.Method, 100)
	case c.HTTP != nil:
		return "The request " + bounded(c.HTTP.Method+" "+c.HTTP.Host+c.HTTP.Path, 200)
	}
	return "The call"
}

func join2(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + ": " + b
}

// bounded shortens text that others wrote and takes control characters out of
// it, line ends and tabs apart.
func bounded(s string, n int) string {
	s = strings.Map(func(c rune) rune {
		if (c < ' ' && c != '\n' && c != '\t') || c == 0x7f {
			return -1
		}
		return c
	}, s)
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
