package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/wire"
)

// The notices below stand in the place of a refused call, so the model reads
// them later as words of its own. They therefore say who speaks, what was not
// run, why, and what may be done instead. What a person wrote is bounded, and
// follows the words that say so.

// MaxWords bounds what people write to an agent: a reason, instructions; in bytes.
const MaxWords = 8 << 10

// Bounds of what instructions are about.
const (
	maxArtifact  = 300 // bytes of one thing
	maxArtifacts = 20  // that are named
)

func noticeDenied(c holdgate.Call, d holdgate.Decision, entry uint64) string {
	return wire.Mark + fmt.Sprintf("%s (log entry %d): denied by policy (%s). Do not try it again; tell the user, or choose another way.",
		Undone(c), entry, Remarks(d.Rule, d.Reason))
}

func noticeOutcome(c holdgate.Call, r approvals.Request) string {
	o := r.Outcome
	if o == nil {
		return wire.Mark + fmt.Sprintf("%s: request %s ended without an outcome.", Undone(c), r.ID)
	}
	by := holdgate.OneLine(o.By, 100)
	switch r.Status {
	case holdgate.StatusSteered:
		return wire.Mark + fmt.Sprintf("%s (request %s). The approver (%s) asks for this instead: %s", Undone(c), r.ID, by, holdgate.Bounded(o.Instructions, MaxWords)) + about(o.Artifacts)
	case holdgate.StatusDenied:
		why := "denied by the approver (" + by + ")"
		if o.Reason != "" {
			why += ": " + holdgate.Bounded(o.Reason, MaxWords)
		}
		return wire.Mark + fmt.Sprintf("%s (request %s): %s. %s", Undone(c), r.ID, strings.TrimSuffix(why, "."), afterDenial(o))
	case holdgate.StatusExpired:
		return wire.Mark + fmt.Sprintf("%s: nobody approved it within %s (request %s). Do not try it again by yourself; tell the user.",
			Undone(c), r.ExpiresAt.Sub(r.CreatedAt).Round(time.Second), r.ID)
	default:
		return wire.Mark + fmt.Sprintf("%s: request %s was withdrawn%s.", Undone(c), r.ID, because(o.Reason))
	}
}

// because adds a reason to a sentence.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + holdgate.OneLine(reason, MaxWords) + ")"
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
		b.WriteString("\n- " + holdgate.OneLine(a, maxArtifact))
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
	note := wire.Mark + fmt.Sprintf("The approver (%s) approved %s", holdgate.OneLine(o.By, 100), lowerFirst(NameCall(c)))
	if edited {
		note += " with other arguments than you gave: what runs, and its result, are of the edited call"
	}
	if o.Reason == "" {
		return note + "."
	}
	return note + ", and says: " + holdgate.Bounded(o.Reason, MaxWords)
}

// NoticeUneditable stands in the place of a call whose edited arguments cannot
// be sent.
func NoticeUneditable(c holdgate.Call, err error) string {
	return wire.Mark + fmt.Sprintf("%s: an approver gave it other arguments, which cannot be sent (%s). Tell the user.", Undone(c), holdgate.Bounded(err.Error(), 300))
}

// Fail refuses a call that could not be judged or held: its agent is stopped, or else
// something is wrong that people have to look at, and is logged.
func (x *Exchange) Fail(ctx context.Context, e *Evaluation, err error) {
	if s, halted := Halted(err); halted {
		e.Refuse(NoticeStopped(Undone(e.Call), s))
		return
	}
	var tool string
	if e.Call.Tool != nil {
		tool = e.Call.Tool.Name
	}
	x.g.c.Logger.ErrorContext(ctx, "refusing a call", "kind", e.Call.Kind, "tool", tool, "approval", e.request.ID, "err", err)
	e.Refuse(wire.Mark + Undone(e.Call) + ": Holdgate cannot hold or log calls at the moment (" + why(ctx, err) + "). Tell the user; try again later.")
}

// Unable tells an agent, after what could not be done, that something failed inside
// Holdgate, and logs the error.
func Unable(ctx context.Context, log *slog.Logger, what string, err error) string {
	log.ErrorContext(ctx, "telling an agent: "+what, "err", err)
	return what + ": " + why(ctx, err)
}

// why is what an agent is told of an error: what it can act upon, or where the log has the
// error, which may name files and servers.
func why(ctx context.Context, err error) string {
	if s, halted := Halted(err); halted {
		return PausedText(s)
	}
	if over, ok := errors.AsType[*approvals.QuotaError](err); ok {
		return over.Error()
	}
	for _, plain := range []error{approvals.ErrUsed, approvals.ErrNotApproved, approvals.ErrOver, approvals.ErrDiskFull} {
		if errors.Is(err, plain) {
			return plain.Error()
		}
	}
	if id := trace.Request(ctx); id != "" {
		return "the sidecar's log says why at request=" + id
	}
	return "the sidecar's log says why"
}

// noticeLimit stands in the place of a call that is over a limit.
func noticeLimit(c holdgate.Call, o *LimitError) string {
	return wire.Mark + fmt.Sprintf("%s (%s): %s. Tell the user.", Undone(c), o.Rule, holdgate.Bounded(o.Why, 500))
}

// NoticeWaiting is the line that a setting shows the agent's user.
func NoticeWaiting(e *Evaluation) string {
	return wire.Mark + fmt.Sprintf("Waiting for a person to decide: %s\nholdgate approve %s\nholdgate deny %s\n", e.request.Briefing.Summary, e.request.ID, e.request.ID)
}

// NoticeStopped stands in the place of what a stopped agent asked for.
func NoticeStopped(what string, s approvals.AgentStatus) string {
	return wire.Mark + what + ": this agent was " + holdgate.OneLine(s.String(), MaxWords) + ". Nothing that it asks for is done until a person resumes it. Stop, and tell the user."
}

// PausedText says what keeps a paused agent waiting.
func PausedText(s approvals.AgentStatus) string {
	return "this agent is " + holdgate.OneLine(s.String(), 500)
}

// GateAnswer is what people have answered to a gate, in words for its agent.
func GateAnswer(status holdgate.Status, o *holdgate.Outcome) string {
	by := holdgate.OneLine(o.By, 100)
	switch status {
	case holdgate.StatusApproved:
		text := "You may go on: approved by " + by
		if o.Choice != "" {
			text += ", who chose " + holdgate.OneLine(o.Choice, 300)
		}
		if o.Reason != "" {
			return text + ", who says: " + holdgate.Bounded(o.Reason, MaxWords)
		}
		return text + "."
	case holdgate.StatusSteered:
		return "Do not go on as you planned. " + by + " asks for this instead: " + holdgate.Bounded(o.Instructions, MaxWords) + about(o.Artifacts)
	case holdgate.StatusDenied:
		return strings.TrimSuffix("Do not go on: denied by "+by+": "+holdgate.Bounded(o.Reason, MaxWords), ": ") + ". " + afterDenial(o)
	case holdgate.StatusExpired:
		return "Do not go on: nobody answered in time. Tell the user."
	}
	return "The question was withdrawn" + because(o.Reason) + "."
}

// Undone says of a call what a refusal of it means.
func Undone(c holdgate.Call) string {
	if c.Result != nil {
		made := c
		made.Result = nil
		return NameCall(made) + " was run, and its result is withheld"
	}
	return NameCall(c) + " was not run"
}

// NameCall is what a sentence calls a call.
func NameCall(c holdgate.Call) string {
	switch {
	case c.Result != nil:
		made := c
		made.Result = nil
		return "The result of " + lowerFirst(NameCall(made))
	case c.Tool != nil:
		return "The call to " + holdgate.Bounded(c.Tool.Name, 100)
	case c.Model != nil:
		return "The request to model " + holdgate.Bounded(c.Model.Name, 100)
	case c.MCP != nil:
		return "The request " + holdgate.Bounded(c.MCP.Method, 100)
	case c.Gate != nil:
		return "The gate " + holdgate.Bounded(c.Gate.Type, 100)
	case c.HTTP != nil:
		return "The request " + holdgate.Bounded(c.HTTP.Method+" "+c.HTTP.Host+c.HTTP.Path, 200)
	}
	return "The call"
}

// Remarks joins two remarks, either of which may be empty.
func Remarks(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + ": " + b
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
