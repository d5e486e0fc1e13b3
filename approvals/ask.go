package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/holdgate/holdgate/approvals/redact"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/folder"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/tools"
)

// Digest is what an outcome on the call is bound to. For a tool call it is the
// digest of server, tool and arguments; any other call is one with the request
// that it is part of, and so has the exchange's key in its digest.
func (x *Exchange) Digest(c holdgate.Call) (holdgate.Digest, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.digest(c)
}

func (x *Exchange) digest(c holdgate.Call) (holdgate.Digest, error) {
	if c.Result != nil {
		return x.resultDigest(c)
	}
	if c.Tool != nil {
		return x.q.c.Digester.Tool(c.Tool)
	}
	if err := x.named(); err != nil {
		return "", err
	}
	fields := []string{string(x.key)}
	switch {
	case c.Model != nil:
		fields = append(fields, c.Model.Provider, c.Model.Name)
	case c.MCP != nil:
		fields = append(fields, c.MCP.Server, c.MCP.Method, c.MCP.Name, string(c.MCP.Params))
		fields = append(fields, grants.WayOf(c.MCP)...)
	case c.Gate != nil:
		gate, err := json.Marshal(record.StoreGate(c.Gate))
		if err != nil {
			return "", fmt.Errorf("digesting a gate: %w", err)
		}
		fields = append(fields, string(gate))
	case c.HTTP != nil:
		fields = append(fields, c.HTTP.Method, c.HTTP.Scheme, c.HTTP.Host, c.HTTP.Path, c.HTTP.Query)
	}
	return x.q.c.Digester.Fields("call."+string(c.Kind), fields...), nil
}

// A Question is a call that people must be asked about.
type HeldCall struct {
	Call     holdgate.Call
	Decision holdgate.Decision
	// Edited is the id of the request of this exchange whose outcome, an edit,
	// gave the call its arguments; empty for a call as the agent made it. The
	// briefing then begins with what was changed, and where that request was
	// for the same rules and gate, its editor's vote counts already.
	Edited string
	// Task is what the agent's user asked it for, where that is known, without
	// credentials.
	Task string
	// Turns are what the agent's user has said in the conversation, in order; none
	// where that is not known.
	Turns []string
	// Program is the agent's program, and Said the folder that it is in, by the agent's own
	// word; empty where it told none.
	Program, Said string
	// Trace names the span of the agent's request, as a traceparent of W3C Trace Context;
	// empty without traces.
	Trace string
}

// RequestApproval returns the exchange's request for the call under the decision's rule
// and gate: one that is there (same position, tool, digest, edit, rule, gate and
// demands on approvers; not used, not cancelled), or a new one, durable on
// return. A request that is there may have ended. Where there is no space for a
// new one the error wraps a [*QuotaError] or [ErrDiskFull], and where the agent is
// stopped a [*agents.HaltError].
func (x *Exchange) RequestApproval(ctx context.Context, q HeldCall) (Request, error) {
	c, d := q.Call, q.Decision
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gone {
		return Request{}, errLeft
	}
	if err := x.named(); err != nil {
		return Request{}, err
	}
	digest, err := x.digest(c)
	if err != nil {
		return Request{}, err
	}
	draft := x.draft(c, d, digest)
	draft.Trace = q.Trace
	draft.Briefing.Place, draft.Task = placeOf(q), x.q.Grants.Task(c.Session.ID, q.Turns)
	if q.Edited == "" { // else a person made it, not the agent
		grants.Teaches(&draft, c, d)
		grants.AsksOnce(&draft, d.Hold)
	}
	if waits := x.q.Sessions.HoldsBack(ctx, x.who, &draft); waits != "" {
		draft.Briefing.Why = append(draft.Briefing.Why, waits)
	}
	earlier := slices.Concat(x.q.Sessions.AnsweredBefore(ctx, x.who, c), x.q.Sessions.EndedOf(ctx, x.who, c), x.q.Sessions.TaintOf(ctx, x.who), x.q.earlier(ctx, x.who))
	draft.Briefing.Sections = slices.Concat(draft.Briefing.Sections, earlier)
	if x.q.member == nil && draft.OnTimeout == holdgate.TimeoutApprove && !x.q.silence.reserve(draft.ID, x.who.Agent.ID) {
		draft.MustBeAnswered(anotherWaits)
	}
	full := x.q.checkSpace(draft.Call.Size())
	match := x.match(q, digest)
	input := x.q.book.Kept(c, d)
	var r record.StoredRequest
	err = x.q.transact(ctx, func(t *transition) error {
		ex, err := x.ensureRecord(t)
		if err != nil {
			return err
		}
		if ref := matching(ex, match); ref != nil {
			found, err := t.Request(ref.ID)
			if err == nil {
				r = *found
			}
			return err
		}
		if full != nil {
			return full
		}
		if s, err := t.q.Agents.StatusIn(t.Change, draft.Agent, draft.Session); err != nil || s.Stopped() {
			return cmp.Or[error](err, &agents.HaltError{Status: s})
		}
		r = draft
		if q.Edited == "" {
			return t.AddRequest(ex, &r, match, input)
		}
		if err := t.askEdited(ex, &r, match, input, q); err != nil {
			return err
		}
		r.Briefing.Sections = slices.Concat(r.Briefing.Sections, earlier)
		return t.Write(&r)
	})
	if err != nil || r.ID != draft.ID {
		x.q.silence.forget(draft.ID)
	}
	if err != nil {
		return Request{}, fmt.Errorf("asking about a call: %w", err)
	}
	x.q.Agents.Know(draft.Agent)
	shown := r.View(x.q.People())
	if shown.NoApprover != "" && r.ID == draft.ID {
		x.q.c.Logger.ErrorContext(ctx, "a call is held that nobody can approve", "approval", r.ID, "rule", r.Rule, "why", shown.NoApprover)
	}
	if x.slot == nil {
		x.stored()
	}
	return shown, nil
}

// stored takes the exchange into the index after its first request.
func (x *Exchange) stored() {
	x.slot = x.q.index.add(x.id, keyOf(x.who), x.key)
	x.q.index.claim(x.slot, x)
	x.q.index.entered(x.slot, 1)
	if x.detached {
		x.q.index.detach(x.slot, x)
	}
}

// ensureRecord returns the exchange's record, a new one where nothing was asked yet.
func (x *Exchange) ensureRecord(t *transition) (*record.StoredExchange, error) {
	if x.slot == nil {
		ex := t.Begin(&record.StoredExchange{
			ID: x.name(), Agent: x.who.Agent.ID, Proven: x.who.Agent.Proven, Session: x.who.Session.ID, Door: x.who.Door, Key: x.key,
		})
		if x.q.member != nil {
			ex.Member, ex.Turn = x.q.member.ID(), 1
		}
		return ex, nil
	}
	ex, err := t.Exchange(x.id)
	if err != nil {
		return nil, err
	}
	if ex.State.Final() {
		return nil, ErrOver
	}
	return ex, t.own(ex)
}

// matching finds the request that asks the same and can still answer it.
func matching(x *record.StoredExchange, match holdgate.Digest) *record.StoredRef {
	for i := range x.Requests {
		r := &x.Requests[i]
		if r.Match == match && !r.Used && r.Status != holdgate.StatusCancelled {
			return r
		}
	}
	return nil
}

// match names everything that must be the same for a request to stand for a
// call that came again.
func (x *Exchange) match(q HeldCall, digest holdgate.Digest) holdgate.Digest {
	c, d := q.Call, q.Decision
	fields := []string{strconv.Itoa(c.Position), string(c.Kind), string(digest), d.Rule, d.Hold.Gate}
	if c.Tool != nil {
		fields = append(fields, c.Tool.Server, c.Tool.Name)
	}
	a := d.Hold.Approvers
	fields = append(fields, strconv.Itoa(a.Quorum), a.Demands(), strconv.FormatBool(a.FourEyes), q.Edited)
	fields = append(fields, approverFields(a.Roles, a.Users)...)
	for _, e := range a.Escalate {
		fields = append(append(fields, e.After.String()), approverFields(e.Roles, e.Users)...)
	}
	return x.q.c.Digester.Fields("approvals.match", fields...)
}

// approverFields names approvers for a digest, in whatever order it is written.
func approverFields(roles, users []string) []string {
	m := append([]string{"roles"}, slices.Sorted(slices.Values(roles))...)
	return append(append(m, "users"), slices.Sorted(slices.Values(users))...)
}

// draft is a new request but for its times.
func (x *Exchange) draft(c holdgate.Call, d holdgate.Decision, digest holdgate.Digest) record.StoredRequest {
	shown, hidden := redact.Call(c, d.Redact)
	h, told := d.Hold, Brief(c, d)
	folder.Complete(&told, d)
	r := record.StoredRequest{
		Header: record.Current(), ID: record.NewID(), Exchange: x.name(), Status: holdgate.StatusPending,
		Kind: h.Kind, Gate: h.Gate, Risk: d.Risk, Rule: d.Rule, Reason: d.Reason, Message: h.Message,
		Agent: x.who.Agent.ID, Proven: x.who.Agent.Proven, Confinement: x.who.Agent.Confinement,
		Proofs: x.who.Agent.Proofs, Labels: besidesOwner(x.who.Agent.Labels),
		Session: x.who.Session.ID, Door: x.who.Door,
		Call: record.StoreCall(shown, digest), Briefing: record.StoreBriefing(told),
		Options: h.Options, Allow: answerable(h, editable(c, hidden)), Required: h.Required, Approvers: h.Approvers,
		Timeout: h.Timeout, OnTimeout: h.OnTimeout, Revision: d.Revision,
		Passes: h.Passes || c.Kind == holdgate.KindGate,
		Owner:  x.who.Agent.Labels[record.LabelOwner], Redact: d.Redact, Also: d.Also, Accepts: tools.Accepts(c),
	}
	if r.Similarity = x.q.Grants.Similarity(c, d); grants.Rememberable(h, d.Rule, r.Similarity) == "" {
		r.Allow = append(r.Allow, grants.WayRemember)
		r.AboutTool = grants.AboutTool(&r)
	}
	r.Approvers.Escalate = slices.SortedStableFunc(slices.Values(h.Approvers.Escalate), func(a, b holdgate.Escalation) int { return cmp.Compare(a.After, b.After) })
	if r.Kind == "" {
		r.Kind = holdgate.RequestApproval
	}
	if r.Timeout <= 0 {
		r.Timeout = holdgate.DefaultHoldTimeout
	}
	why := whySilenceDenies(x.who.Agent, d)
	if why == "" && h.OnTimeout == holdgate.TimeoutApprove && r.Eligibility(x.q.People()).Check() != nil {
		why = "silence does not approve: nobody else could"
	}
	if why != "" {
		r.MustBeAnswered(why)
	}
	return r
}

// Settle cancels the pending requests of the exchange that are not in keep:
// the answer that they belonged to was never read whole, and the new one does
// not ask for them.
func (x *Exchange) Settle(ctx context.Context, keep []string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gone {
		return errLeft
	}
	if x.slot == nil {
		return nil
	}
	err := x.q.transact(ctx, func(t *transition) error {
		ex, err := x.ensureRecord(t)
		if err != nil {
			return err
		}
		for _, ref := range slices.Clone(ex.Requests) {
			if ref.Status == holdgate.StatusPending && !slices.Contains(keep, ref.ID) {
				if err := t.CancelID(ref.ID, "the model answered anew and does not ask for this"); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("settling exchange %s: %w", x.id, err)
	}
	return nil
}

// answerable is what of a rule's ways to answer there is: a request offers
// nothing that would be refused.
func answerable(h holdgate.HoldSpec, editable bool) []string {
	return slices.DeleteFunc(slices.Clone(h.Allow), func(way string) bool {
		return way != waySteer && (way != wayEdit || !editable || h.Kind == holdgate.RequestChoice)
	})
}

// Ways in which a rule lets a request be answered, besides yes and no.
const (
	waySteer = "steer"
	wayEdit  = "edit"
)

// resultDigest is what an outcome on a result is bound to: the call and every
// byte that it has brought.
func (x *Exchange) resultDigest(c holdgate.Call) (holdgate.Digest, error) {
	made := c
	made.Result = nil
	call, err := x.digest(made)
	if err != nil {
		return "", err
	}
	kind := "result"
	if c.Result.IsError {
		kind = "error"
	}
	return x.q.c.Digester.Fields("call.result", string(call), kind, string(c.Result.Body)), nil
}
