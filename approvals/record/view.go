package record

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/store/audit"
)

// Eligibility is who of the people may approve the request.
func (r *StoredRequest) Eligibility(p *people.People) people.Eligibility {
	return people.Eligibility{People: p, Approvers: r.Approvers, Owner: r.Owner, Widened: r.Escalated, Delegations: r.Delegations}
}

// Entry begins an audit entry about the request.
func (r *StoredRequest) Entry(typ audit.Type) audit.Entry {
	c := &audit.Call{
		ID: r.Call.ID, Kind: r.Call.Kind, Model: r.Call.Model, MCP: r.Call.MCP, HTTP: r.Call.HTTP,
		Digest: r.Call.Digest, Agent: r.Agent, Proven: r.Proven, Session: r.Session,
		Folder: r.Briefing.Place.Folder, Said: r.Briefing.Place.Said, Program: r.Briefing.Place.Program,
	}
	if r.Call.Gate != nil {
		c.Gate = r.Call.Gate.Type
	}
	if r.Call.IsTool {
		c.Tool = &audit.Tool{Name: r.Call.Tool, Server: r.Call.Server}
	}
	return audit.Entry{Type: typ, RequestID: r.ID, Exchange: r.Exchange, Door: r.Door, Call: c}
}

// view is the request as people see it, where there are these people.
func (r *StoredRequest) View(p *people.People) Request {
	v := Request{
		ID: r.ID, Exchange: r.Exchange, Status: r.Status, Kind: r.Kind, Gate: r.Gate, Risk: r.Risk,
		Rule: r.Rule, Reason: r.Reason, Message: r.Message,
		Agent:   AgentRef{ID: r.Agent, Proven: r.Proven, Confinement: r.Confinement},
		Session: Ref{ID: r.Session}, Door: r.Door,
		Call: r.Call.view(), Briefing: r.Briefing.view(),
		Options: r.Options, Allow: r.Allow, Required: r.Required, Approvers: r.Approvers,
		CreatedAt: r.Created, ExpiresAt: r.Expires, OnTimeout: r.OnTimeout.String(),
		Votes: make([]Vote, 0, len(r.Votes)), Outcome: r.Outcome, Revision: r.Revision,
		Also: r.Also, Owner: r.Owner, Claim: r.Claim, Delegations: slices.Clone(r.Delegations), Deferrals: slices.Clone(r.Deferrals), RunEnded: r.RunEnded, Escalated: r.Escalated, EditedFrom: r.EditedFrom, Anew: r.Anew, Trace: r.Trace,
	}
	for _, vote := range r.Votes {
		v.Votes = append(v.Votes, Vote(vote))
	}
	if r.Edit != nil && r.Outcome != nil {
		r.showEdit(&v)
	}
	if r.SilenceDenied != "" {
		v.Briefing.Why = append(slices.Clip(v.Briefing.Why), r.SilenceDenied)
	}
	if r.Similarity != nil {
		v.Shape, v.Prose = r.Similarity.Line, r.Similarity.Prose
		v.AboutTool = r.AboutTool
	}
	v.OfTask = r.Task != "" && r.RunEnded == nil
	if r.Status.Final() {
		return v
	}
	if r.Claim != nil {
		v.ExpiresAt = r.Claim.Until.Add(r.Timeout)
	}
	if err := r.Eligibility(p).Check(); err != nil {
		v.NoApprover = "nobody can approve this: " + err.Error()
	}
	return v
}

// showEdit puts the edited arguments where people look for them.
func (r *StoredRequest) showEdit(v *Request) {
	o := *r.Outcome
	o.Arguments = r.Edit.Arguments
	v.Outcome = &o
	if last := len(v.Votes) - 1; last >= 0 {
		v.Votes[last].Arguments = r.Edit.Arguments
	}
}

func (c *storedCall) view() CallView {
	v := CallView{ID: c.ID, Kind: c.Kind, Position: c.Position, Model: c.Model, MCP: c.MCP, HTTP: c.HTTP, Digest: c.Digest}
	if c.Gate != nil {
		g := GateView(*c.Gate)
		v.Gate = &g
	}
	if c.Result != nil {
		r := ResultView(*c.Result)
		v.Result = &r
	}
	if c.IsTool {
		v.Tool = &ToolView{Name: c.Tool, Server: c.Server, Arguments: c.Arguments, ArgumentsRaw: string(c.ArgumentsRaw)}
	}
	return v
}

// storeCall is the call as a request keeps it.
func StoreCall(c holdgate.Call, digest holdgate.Digest) storedCall {
	s := storedCall{ID: strings.ToValidUTF8(c.ID, "\uFFFD"), Kind: c.Kind, Position: c.Position, Digest: digest}
	switch {
	case c.Tool != nil:
		s.IsTool, s.Tool, s.Server = true, c.Tool.Name, c.Tool.Server
		s.Arguments, s.ArgumentsRaw = c.Tool.Arguments, []byte(c.Tool.ArgumentsRaw)
	case c.Model != nil:
		s.Model = c.Model.Name
	case c.MCP != nil:
		s.MCP = c.MCP.Server + " " + c.MCP.Method
	case c.Gate != nil:
		g := StoreGate(c.Gate)
		s.Gate = &g
	case c.HTTP != nil:
		s.HTTP = c.HTTP.Method + " " + c.HTTP.Host + c.HTTP.Path
	}
	if c.Result != nil {
		s.Result = &storedResult{Size: len(c.Result.Body), IsError: c.Result.IsError}
	}
	return s
}

// approved is the digest of the call that the outcome lets go on.
func (r *StoredRequest) Approved() holdgate.Digest {
	if r.Edit != nil {
		return r.Edit.Digest
	}
	return r.Call.Digest
}

// answered reports whether the outcome alone lets the call go on: see
// [Request.Answered].
func (r *StoredRequest) Answered() bool { return r.Edit == nil || r.Approvers.Quorum <= 1 }

// effect is what a vote wants of the call. What is not known denies.
func (r *StoredRequest) Effect(v StoredVote) string {
	switch v.Decision {
	case holdgate.AnswerApprove, holdgate.AnswerEdit:
		return holdgate.EffectApprove
	case holdgate.AnswerSteer:
		return holdgate.EffectSteer
	case holdgate.AnswerChoose:
		o, ok := r.Option(v.Choice)
		switch {
		case !ok:
			return holdgate.EffectDeny
		case o.Other:
			return holdgate.EffectSteer
		case o.Effect == "":
			return holdgate.EffectApprove
		}
		return o.Effect
	}
	return holdgate.EffectDeny
}

func (r *StoredRequest) Option(id string) (holdgate.Option, bool) {
	i := slices.IndexFunc(r.Options, func(o holdgate.Option) bool { return o.ID == id })
	if i < 0 {
		return holdgate.Option{}, false
	}
	return r.Options[i], true
}
