package sdk

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdgate/holdgate/plugins/sdk/channelv1"
)

func noticeToProto(n Notice) *channelv1.Notice {
	p := &channelv1.Notice{
		Id: n.ID, Nonce: n.Nonce, Digest: n.Digest,
		Status: n.Status, Kind: n.Kind, Risk: n.Risk, Gate: n.Gate, Rule: n.Rule, Reason: n.Reason, Message: n.Message,
		Agent:   &channelv1.Agent{Id: n.Agent.ID, Proven: n.Agent.Proven, Confinement: n.Agent.Confinement},
		Session: n.Session, Door: n.Door,
		Call: &channelv1.Call{
			Kind: n.Call.Kind, Target: n.Call.Target, Server: n.Call.Server,
			Arguments: n.Call.Arguments, Cut: int64(n.Call.Cut),
		},
		Summary: n.Summary, Details: n.Details, Hidden: int64(n.Hidden),
		Answers: n.Answers, Closed: n.Closed,
		CreatedAt: timeToProto(n.CreatedAt), ExpiresAt: timeToProto(n.ExpiresAt), OnTimeout: n.OnTimeout,
		Quorum: int32(min(n.Quorum, math.MaxInt32)), Votes: int32(min(n.Votes, math.MaxInt32)),
	}
	p.Why, p.Whole, p.Approved, p.People, p.Warnings, p.Similar, p.Edited = n.Why, n.Whole, n.Approved, n.People, n.Warnings, n.Similar, n.Edited
	p.Event, p.Thread, p.To, p.Voters, p.Editable, p.Waiting = n.Event, n.Thread, n.To, n.Voters, n.Editable, int64(n.Waiting)
	for _, v := range n.Cast {
		p.Cast = append(p.Cast, &channelv1.Vote{Decision: v.Decision, By: v.By, Channel: v.Channel, At: timeToProto(v.At), Reason: v.Reason})
	}
	if c := n.Claim; c != nil {
		p.Claim = &channelv1.Claim{By: c.By, Until: timeToProto(c.Until)}
	}
	if c := n.Counts; c != (Counts{}) {
		p.Counts = &channelv1.Counts{Unresolved: int64(c.Unresolved), Unbound: int64(c.Unbound), Redacted: int64(c.Redacted), Cut: int64(c.Cut), Commands: int64(c.Commands)}
	}
	p.Undo, p.Subject = n.Undo, n.Subject
	for _, f := range n.Place {
		p.Place = append(p.Place, &channelv1.Fact{Name: f.Name, Text: f.Text})
	}
	for _, s := range n.Sections {
		p.Sections = append(p.Sections, &channelv1.Section{Title: s.Title, Kind: s.Kind, Lines: s.Lines})
	}
	for _, o := range n.Options {
		p.Options = append(p.Options, &channelv1.Option{Id: o.ID, Label: o.Label, Effect: o.Effect, Other: o.Other})
	}
	if o := n.Outcome; o != nil {
		p.Outcome = &channelv1.Outcome{
			Decision: o.Decision, By: o.By, At: timeToProto(o.At),
			Reason: o.Reason, Instructions: o.Instructions, Choice: o.Choice,
		}
	}
	return p
}

func noticeFromProto(p *channelv1.Notice) Notice {
	n := Notice{
		ID: p.GetId(), Nonce: p.GetNonce(), Digest: p.GetDigest(),
		Status: p.GetStatus(), Kind: p.GetKind(), Risk: p.GetRisk(), Gate: p.GetGate(), Rule: p.GetRule(),
		Reason: p.GetReason(), Message: p.GetMessage(),
		Agent:   Agent{ID: p.GetAgent().GetId(), Proven: p.GetAgent().GetProven(), Confinement: p.GetAgent().GetConfinement()},
		Session: p.GetSession(), Door: p.GetDoor(),
		Call: Call{
			Kind: p.GetCall().GetKind(), Target: p.GetCall().GetTarget(), Server: p.GetCall().GetServer(),
			Arguments: p.GetCall().GetArguments(), Cut: int(p.GetCall().GetCut()),
		},
		Summary: p.GetSummary(), Details: p.GetDetails(), Hidden: int(p.GetHidden()),
		Answers: p.GetAnswers(), Closed: p.GetClosed(),
		CreatedAt: timeFromProto(p.GetCreatedAt()), ExpiresAt: timeFromProto(p.GetExpiresAt()), OnTimeout: p.GetOnTimeout(),
		Quorum: int(p.GetQuorum()), Votes: int(p.GetVotes()),
	}
	n.Why, n.Whole, n.Approved, n.People, n.Warnings, n.Similar, n.Edited = p.GetWhy(), p.GetWhole(), p.GetApproved(), p.GetPeople(), p.GetWarnings(), p.GetSimilar(), p.GetEdited()
	n.Event, n.Thread, n.To, n.Voters, n.Editable, n.Waiting = p.GetEvent(), p.GetThread(), p.GetTo(), p.GetVoters(), p.GetEditable(), int(p.GetWaiting())
	for _, v := range p.GetCast() {
		n.Cast = append(n.Cast, Vote{Decision: v.GetDecision(), By: v.GetBy(), Channel: v.GetChannel(), At: timeFromProto(v.GetAt()), Reason: v.GetReason()})
	}
	if c := p.GetClaim(); c != nil {
		n.Claim = &Lease{By: c.GetBy(), Until: timeFromProto(c.GetUntil())}
	}
	c := p.GetCounts()
	n.Counts = Counts{Unresolved: int(c.GetUnresolved()), Unbound: int(c.GetUnbound()), Redacted: int(c.GetRedacted()), Cut: int(c.GetCut()), Commands: int(c.GetCommands())}
	n.Undo, n.Subject = p.GetUndo(), p.GetSubject()
	for _, f := range p.GetPlace() {
		n.Place = append(n.Place, Fact{Name: f.GetName(), Text: f.GetText()})
	}
	for _, s := range p.GetSections() {
		n.Sections = append(n.Sections, Section{Title: s.GetTitle(), Kind: s.GetKind(), Lines: s.GetLines()})
	}
	for _, o := range p.GetOptions() {
		n.Options = append(n.Options, Option{ID: o.GetId(), Label: o.GetLabel(), Effect: o.GetEffect(), Other: o.GetOther()})
	}
	if o := p.GetOutcome(); o != nil {
		n.Outcome = &Outcome{
			Decision: o.GetDecision(), By: o.GetBy(), At: timeFromProto(o.GetAt()),
			Reason: o.GetReason(), Instructions: o.GetInstructions(), Choice: o.GetChoice(),
		}
	}
	return n
}

func answerToProto(a Answer) *channelv1.Answer {
	return &channelv1.Answer{
		Id: a.ID, Nonce: a.Nonce, Digest: a.Digest, Decision: a.Decision, By: a.By,
		Reason: a.Reason, Instructions: a.Instructions, Choice: a.Choice, Arguments: []byte(a.Arguments),
		Assurance: channelv1.Assurance(a.Assurance),
	}
}

func answerFromProto(p *channelv1.Answer) Answer {
	return Answer{
		ID: p.GetId(), Nonce: p.GetNonce(), Digest: p.GetDigest(), Decision: p.GetDecision(), By: p.GetBy(),
		Reason: p.GetReason(), Instructions: p.GetInstructions(), Choice: p.GetChoice(), Arguments: string(p.GetArguments()),
		Assurance: Assurance(p.GetAssurance()),
	}
}

// timeToProto keeps the zero time absent.
func timeToProto(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func timeFromProto(p *timestamppb.Timestamp) time.Time {
	if p == nil {
		return time.Time{}
	}
	return p.AsTime()
}
