package approvals

import (
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/redact"
	"github.com/holdgate/holdgate/approvals/tracks"
)

// A Briefing says in words what a person needs in order to decide: see
// [briefing.Briefing].
type Briefing = briefing.Briefing

// Brief says what a call would do, from the call and the decision's facts.
// Values that the decision redacts are replaced and counted, and so is what is
// cut.
func Brief(c holdgate.Call, d holdgate.Decision) Briefing {
	shown, hidden := redact.Call(c, d.Redact)
	shown.Gate = tracks.Shown(shown.Gate)
	return briefing.Make(shown, hidden, d)
}

// briefEdited is a briefing that begins with what the editor changed.
func briefEdited(from *record.StoredRequest, editor string, q HeldCall) Briefing {
	before := holdgate.Call{Kind: from.Call.Kind, Tool: &holdgate.Tool{Name: from.Call.Tool, Server: from.Call.Server, Arguments: from.Call.Arguments}}
	before, _ = redact.Call(before, q.Decision.Redact)
	after, hidden := redact.Call(q.Call, q.Decision.Redact)
	return briefing.Edited(before, after, editor, hidden, q.Decision)
}
