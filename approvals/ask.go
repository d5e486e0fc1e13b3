package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
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
	case c.HTTP != nil:
		fields = append(fields, c.HTTP.Method, c.HTTP.Scheme, c.HTTP.Host, c.HTTP.Path, c.HTTP.Query)
	}
	return x.q.c.Digester.Fields("call."+string(c.Kind), fields...), nil
}

// Ask returns the exchange's request for the call under the decision's rule
// and gate: one that is there (same position, tool, digest, rule, gate and
// approvers; not used, not cancelled), or a new one, durable on return. A
// request that is there may have ended.
func (x *Exchange) Ask(ctx context.Context, c holdgate.Call, d holdgate.Decision, b Briefing) (Request, error) {
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
	draft := x.draft(c, d, b, digest)
	match := x.match(c, d, digest)
	var input []byte
	if !x.q.c.NoInputs {
		input = Redacted(c, d.Redact)
	}
	var r storedRequest
	err = x.q.transact(ctx, func(t *transition) error {
		ex, err := x.open(t)
		if err != nil {
			return err
		}
		if ref := matching(ex, match); ref != nil {
			found, err := t.request(ref.ID)
			if err == nil {
				r = *found
			}
			return err
		}
		r = draft
		return t.ask(ex, &r, match, input)
	})
	if err != nil {
		return Request{}, fmt.Errorf("asking about a call: %w", err)
	}
	if x.slot == nil {
		x.stored()
	}
	if !r.Status.Final() && r.OnTimeout == holdgate.TimeoutApprove && r.ID == draft.ID {
		x.q.index.listen(r.ID)
	}
	return r.view(), nil
}

// stored takes the exchange into the index after its first request.
func (x *Exchange) stored() {
	x.slot = x.q.index.add(x.id, x.who.key(), x.key)
	x.q.index.claim(x.slot, x)
	if x.detached {
		x.q.index.detach(x.slot, x)
	}
}

// open returns the exchange's record, a new one where nothing was asked yet.
func (x *Exchange) open(t *transition) (*storedExchange, error) {
	if x.slot == nil {
		ex := &storedExchange{
			header: current(), ID: x.name(), Agent: x.who.Agent.ID, Session: x.who.Session.ID, Door: x.who.Door,
			Key: x.key, State: stateHolding,
		}
		t.exchanges[ex.ID] = ex
		return ex, nil
	}
	ex, err := t.exchange(x.id)
	if err != nil {
		return nil, err
	}
	if ex.State.final() {
		return nil, ErrOver
	}
	return ex, nil
}

// ask stores a new request.
func (t *transition) ask(x *storedExchange, r *storedRequest, match holdgate.Digest, input []byte) error {
	r.Created, r.Expires = t.now, t.now.Add(r.Timeout)
	e := r.entry(audit.TypeDecision)
	e.Decision = &audit.Decision{Action: holdgate.Hold, Rule: r.Rule, Reason: r.Reason, Risk: r.Risk, Revision: r.Revision}
	e.Input, e.Note = input, r.Loud
	seq, err := t.log(e)
	if err != nil {
		return err
	}
	r.Asked = seq
	x.Requests = append(x.Requests, storedRef{ID: r.ID, Match: match, Status: r.Status})
	if err := t.enter(x, stateHolding); err != nil {
		return err
	}
	return errors.Join(t.write(r), t.list(r), t.schedule(r.Expires, r.ID, r.due()), t.tell(EventRequested, r, seq))
}

// matching finds the request that asks the same and can still answer it.
func matching(x *storedExchange, match holdgate.Digest) *storedRef {
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
func (x *Exchange) match(c holdgate.Call, d holdgate.Decision, digest holdgate.Digest) holdgate.Digest {
	fields := []string{strconv.Itoa(c.Position), string(c.Kind), string(digest), d.Rule, d.Hold.Gate}
	if c.Tool != nil {
		fields = append(fields, c.Tool.Server, c.Tool.Name)
	}
	a := d.Hold.Approvers
	fields = append(fields, strconv.Itoa(a.Quorum), a.Assurance, "roles")
	fields = append(fields, sorted(a.Roles)...)
	fields = append(append(fields, "users"), sorted(a.Users)...)
	return x.q.c.Digester.Fields("approvals.match", fields...)
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// draft is a new request but for its times.
func (x *Exchange) draft(c holdgate.Call, d holdgate.Decision, b Briefing, digest holdgate.Digest) storedRequest {
	shown, _ := redact(c, d.Redact)
	h := d.Hold
	r := storedRequest{
		header: current(), ID: newID(), Exchange: x.name(), Status: holdgate.StatusPending,
		Kind: h.Kind, Gate: h.Gate, Risk: d.Risk, Rule: d.Rule, Reason: d.Reason, Message: h.Message,
		Agent: x.who.Agent.ID, Proven: x.who.Agent.Proven, Confinement: x.who.Agent.Confinement,
		Session: x.who.Session.ID, Door: x.who.Door,
		Call: storeCall(shown, digest), Briefing: storedBriefing(b),
		Options: h.Options, Allow: answerable(h.Allow), Required: h.Required, Approvers: h.Approvers,
		Timeout: h.Timeout, OnTimeout: h.OnTimeout, Loud: loudly(x.who.Agent, d), Revision: d.Revision,
	}
	if r.Kind == "" {
		r.Kind = holdgate.RequestApproval
	}
	if r.Timeout <= 0 {
		r.Timeout = holdgate.DefaultHoldTimeout
	}
	if r.Loud != "" {
		r.OnTimeout = holdgate.TimeoutDeny
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
		ex, err := x.open(t)
		if err != nil {
			return err
		}
		for _, ref := range slices.Clone(ex.Requests) {
			if ref.Status == holdgate.StatusPending && !slices.Contains(keep, ref.ID) {
				if err := t.cancel(ref.ID, "the model answered anew and does not ask for this"); err != nil {
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
func answerable(ways []string) []string {
	return slices.DeleteFunc(slices.Clone(ways), func(way string) bool { return way != "steer" })
}
