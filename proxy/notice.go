package proxy

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/wire"
)

// The notices below stand in the place of a refused call, so the model reads
// them later as words of its own. They therefore say who speaks, what was not
// run, why, and what may be done instead. What a person wrote is bounded, and
// follows the words that say so.

const noticeMark = wire.Mark

// Bounds of what people write, in bytes.
const (
	maxWords     = 8 << 10 // a reason, instructions
	maxArtifact  = 300     // one of the things that instructions are about
	maxArtifacts = 20      // of those that are named
)

func noticeDenied(c holdgate.Call, d holdgate.Decision, entry uint64) string {
	return noticeMark + fmt.Sprintf("%s (log entry %d): denied by policy (%s). Do not try it again; tell the user, or choose another way.",
		undone(c), entry, join2(d.Rule, d.Reason))
}

func noticeOutcome(c holdgate.Call, r approvals.Request) string {
	o := r.Outcome
	if o == nil {
		return noticeMark + fmt.Sprintf("%s: request %s ended without an outcome.", undone(c), r.ID)
	}
	by := oneLine(o.By, 100)
	switch r.Status {
	case holdgate.StatusSteered:
		return noticeMark + fmt.Sprintf("%s (request %s). The approver (%s) asks for this instead: %s", undone(c), r.ID, by, bounded(o.Instructions, maxWords)) + about(o.Artifacts)
	case holdgate.StatusDenied:
		why := "denied by the approver (" + by + ")"
		if o.Reason != "" {
			why += ": " + bounded(o.Reason, maxWords)
		}
		return noticeMark + fmt.Sprintf("%s (request %s): %s. %s", undone(c), r.ID, strings.TrimSuffix(why, "."), afterDenial(o))
	case holdgate.StatusExpired:
		return noticeMark + fmt.Sprintf("%s: nobody approved it within %s (request %s). Do not try it again by yourself; tell the user.",
			undone(c), r.ExpiresAt.Sub(r.CreatedAt).Round(time.Second), r.ID)
	default:
		return noticeMark + fmt.Sprintf("%s: request %s was withdrawn%s.", undone(c), r.ID, because(o.Reason))
	}
}

// because adds a reason to a sentence.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + oneLine(reason, maxWords) + ")"
}

// afterDenial says what a person wants of the agent now that a call is denied.
func afterDenial(o *holdgate.Outcome) string {
	switch {
	case o.Rollback:
		return "The approver asks you to undo what you did for this task so far, then stop and tell the user."
	case o.Stop:
		return "The approver ends this task: call no further tools, and tell the user."
	}
	return "Do not try it again; tell the user, or choose another way."
}

// about names what instructions are about.
func about(artifacts []string) string {
	if len(artifacts) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nThis is about:")
	for i, a := range artifacts {
		if i == maxArtifacts {
			fmt.Fprintf(&b, "\n- and %d more", len(artifacts)-i)
			break
		}
		b.WriteString("\n- " + oneLine(a, maxArtifact))
	}
	return b.String()
}

// noteApproved is what an approving person says to the agent; empty where they
// said nothing. An agent must know of an edit, or it would take the result for
// that of the call that it made.
func noteApproved(c holdgate.Call, o *holdgate.Outcome) string {
	edited := o.Decision == holdgate.AnswerEdit
	if !edited && o.Reason == "" {
		return ""
	}
	note := noticeMark + fmt.Sprintf("The approver (%s) approved %s", oneLine(o.By, 100), lowerFirst(nameCall(c)))
	if edited {
		note += " with other arguments than you gave: what runs, and its result, are of the edited call"
	}
	if o.Reason == "" {
		return note + "."
	}
	return note + ", and says: " + bounded(o.Reason, maxWords)
}

// noticeUneditable stands in the place of a call whose edited arguments cannot
// be sent.
func noticeUneditable(c holdgate.Call, err error) string {
	return noticeMark + fmt.Sprintf("%s: an approver gave it other arguments, which cannot be sent (%s). Tell the user.", undone(c), bounded(err.Error(), 300))
}

// noticeError stands in the place of a call that could not be judged or held.
func noticeError(c holdgate.Call, err error) string {
	return noticeMark + fmt.Sprintf("%s: Holdgate cannot hold or log calls at the moment (%s). Tell the user; try again later.",
		undone(c), bounded(err.Error(), 300))
}

// noticeLimit stands in the place of a call that is over a limit.
func noticeLimit(c holdgate.Call, o *overLimit) string {
	return noticeMark + fmt.Sprintf("%s (%s): %s. Tell the user.", undone(c), o.rule, bounded(o.why, 500))
}

// noticeWaiting is the line that a setting shows the agent's user.
func noticeWaiting(q *question) string {
	return noticeMark + fmt.Sprintf("Waiting for a person to decide: %s\nholdgate approve %s\nholdgate deny %s\n", q.request.Briefing.Summary, q.request.ID, q.request.ID)
}

// undone says of a call what a refusal of it means.
func undone(c holdgate.Call) string {
	if c.Result != nil {
		made := c
		made.Result = nil
		return nameCall(made) + " was run, and its result is withheld"
	}
	return nameCall(c) + " was not run"
}

func nameCall(c holdgate.Call) string {
	switch {
	case c.Result != nil:
		made := c
		made.Result = nil
		return "The result of " + lowerFirst(nameCall(made))
	case c.Tool != nil:
		return "The call to " + bounded(c.Tool.Name, 100)
	case c.Model != nil:
		return "The request to model " + bounded(c.Model.Name, 100)
	case c.MCP != nil:
		return "The request " + bounded(c.MCP.Method, 100)
	case c.Gate != nil:
		return "The gate " + bounded(c.Gate.Type, 100)
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

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// oneLine is [bounded] without line ends, so that nothing in s can look like a
// line of ours.
func oneLine(s string, n int) string {
	return bounded(strings.Join(strings.Fields(s), " "), n)
}

// bounded shortens text that others wrote and takes control characters out of
// it, line ends and tabs apart, and those that turn the direction of text or
// are written to be read by machines only.
func bounded(s string, n int) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return c
		case unicode.IsControl(c), unicode.Is(unicode.Bidi_Control, c), c >= 0xE0000 && c <= 0xE007F:
			return -1
		}
		return c
	}, s)
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
