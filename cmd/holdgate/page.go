package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// A page collects the lines of a request's page.
type page struct{ b strings.Builder }

// field writes a named line, unless the value is empty. Values are made
// visible; those of a briefing are so already.
func (p *page) field(name, value string) {
	if value != "" {
		fmt.Fprintf(&p.b, "%-11s%s\n", name, holdgate.Visible(value))
	}
}

// printPage writes a request for a person who is to decide. What Holdgate
// itself knows comes first; what the agent says comes last, in a marked block.
func printPage(w io.Writer, r approvals.Request, now time.Time) error {
	p := &page{}
	p.head(r, now)
	p.call(r)
	if o := r.Outcome; o != nil && o.Decision == holdgate.AnswerEdit && r.Call.Tool != nil {
		if err := printDiff(&p.b, "edited", r.Call.Tool.Arguments, o.Arguments); err != nil {
			return err
		}
	}
	if r.Message != "" {
		p.message(r)
	}
	for _, v := range r.Votes {
		fmt.Fprintf(&p.b, "\n%s", voteLine(v))
	}
	if len(r.Votes) > 0 {
		p.b.WriteByte('\n')
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// head writes what comes before anything that the agent controls.
func (p *page) head(r approvals.Request, now time.Time) {
	p.field("request", r.ID)
	p.field("status", status(r))
	p.field("risk", known(string(r.Risk)))
	agent := holdgate.Visible(r.Agent.ID) + " (asserted: its own word)"
	if r.Agent.Proven {
		agent = holdgate.Visible(r.Agent.ID) + " (proven)"
	}
	if r.Agent.Confinement == "unconfined" {
		agent += " UNCONFINED"
	}
	fmt.Fprintf(&p.b, "%-11s%s\n", "agent", agent)
	p.field("session", r.Session.ID)
	p.field("door", r.Door)
	if t := r.Call.Tool; t != nil {
		p.field("tool", t.Name)
		p.field("server", t.Server)
	}
	p.field("model", r.Call.Model)
	p.field("mcp", r.Call.MCP)
	p.field("http", r.Call.HTTP)
	p.field("gate", r.Gate)
	p.field("rule", r.Rule)
	p.field("reason", r.Reason)
	p.field("similar", similar(r.Similar))
	p.field("edited", edited(r))
	if r.Status == holdgate.StatusPending {
		p.field("time left", short(r.ExpiresAt.Sub(now))+", then "+silence(r))
	}
	if q := r.Approvers.Quorum; q > 1 {
		p.field("approvers", fmt.Sprintf("%d must approve, %d did", q, approving(r)))
	}
	if r.Status == holdgate.StatusPending {
		p.people(r)
	}
	p.field("digest", r.Call.Digest.Short())
	if r.Briefing.Hidden > 0 {
		p.field("NOT SHOWN", fmt.Sprintf("%d values or parts", r.Briefing.Hidden))
	}
}

// call writes what the call would do.
func (p *page) call(r approvals.Request) {
	fmt.Fprintf(&p.b, "\n%s\n", r.Briefing.Summary)
	for _, d := range r.Briefing.Details {
		fmt.Fprintf(&p.b, "  | %s\n", d)
	}
	if len(r.Options) > 0 {
		p.b.WriteString("\noptions\n")
	}
	for _, o := range r.Options {
		effect := ""
		switch {
		case o.Other:
			effect = " (your own text, with --other)"
		case o.Effect != "":
			effect = " (" + holdgate.Visible(o.Effect) + ")"
		}
		fmt.Fprintf(&p.b, "  %-10s %s%s\n", holdgate.Visible(o.ID), holdgate.Visible(o.Label), effect)
	}
}

// edited says where the call's arguments come from, if not from the agent.
func edited(r approvals.Request) string {
	if r.EditedFrom == "" {
		return ""
	}
	return "by a person, in request " + r.EditedFrom
}

// people writes what is known of those who may answer a pending request.
func (p *page) people(r approvals.Request) {
	p.field("WARNING", r.NoApprover)
	p.field("for", circle(r))
	if c := r.Claim; c != nil {
		p.field("claimed", "by "+c.By+" until "+c.Until.Local().Format(time.TimeOnly)+": silence does nothing until then")
	}
	for _, d := range r.Delegations {
		note := ""
		if d.Note != "" {
			note = ": " + d.Note
		}
		p.field("delegated", d.By+" lets "+d.To+" vote"+note)
	}
	if r.Approvers.FourEyes {
		p.field("four eyes", "whoever the agent works for does not count")
	}
}

// circle names those who may approve a request by now, where not everybody may
// who approves at all.
func circle(r approvals.Request) string {
	roles, users := slices.Clone(r.Approvers.Roles), slices.Clone(r.Approvers.Users)
	if len(roles) == 0 && len(users) == 0 {
		return ""
	}
	for _, e := range r.Approvers.Escalate[:min(r.Escalated, len(r.Approvers.Escalate))] {
		roles, users = append(roles, e.Roles...), append(users, e.Users...)
	}
	for i, role := range roles {
		roles[i] = "the role " + role
	}
	return strings.Join(append(roles, users...), ", or ")
}

// message writes the request's message. At a gate, or in a message, it is the
// agent's own; elsewhere it is the policy's.
func (p *page) message(r approvals.Request) {
	from, end := "policy says", ""
	if k := r.Call.Kind; k == holdgate.KindGate || k == holdgate.KindMessage {
		from, end = "-- the agent says: its word, not checked --", "-- end of what the agent says --\n"
	}
	fmt.Fprintf(&p.b, "\n%s\n", from)
	for line := range strings.SplitSeq(r.Message, "\n") {
		fmt.Fprintf(&p.b, "  > %s\n", holdgate.Visible(line))
	}
	p.b.WriteString(end)
}

// printAnswers writes the commands that answer a pending request.
func printAnswers(w io.Writer, r approvals.Request) error {
	approve := "approve " + r.ID
	if r.Kind == holdgate.RequestChoice {
		approve = "choose " + r.ID + " OPTION"
	}
	text := fmt.Sprintf("\nholdgate %s\nholdgate deny %s --reason \"...\"\n", approve, r.ID)
	if slices.Contains(r.Allow, "steer") {
		text += fmt.Sprintf("holdgate steer %s \"do this instead\"\n", r.ID)
	}
	if slices.Contains(r.Allow, "edit") {
		text += fmt.Sprintf("holdgate edit %s\n", r.ID)
	}
	if slices.Contains(r.Allow, "remember") {
		text += fmt.Sprintf("holdgate approve %s --remember exact --for 8h\n", r.ID)
	}
	_, err := io.WriteString(w, text)
	return err
}

// similar says what became of calls like this one.
func similar(s *approvals.Similar) string {
	if s == nil {
		return ""
	}
	var parts []string
	for _, n := range []struct {
		count int
		what  string
	}{{s.Approved, "approved"}, {s.Denied, "denied"}, {s.Steered, "steered"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if !s.LastAt.IsZero() {
		parts = append(parts, fmt.Sprintf("the last by %s at %s", s.LastBy, s.LastAt.Local().Format(time.DateTime)))
	}
	if s.Pending > 0 {
		parts = append(parts, fmt.Sprintf("%d more wait", s.Pending))
	}
	return strings.Join(parts, ", ")
}

// status is the request's status and, where it has ended, how.
func status(r approvals.Request) string {
	o := r.Outcome
	if o == nil {
		return string(r.Status)
	}
	s := fmt.Sprintf("%s by %s at %s", r.Status, o.By, o.At.Local().Format(time.DateTime))
	if o.Decision == holdgate.AnswerTimeout {
		s += ", for nobody answered in time"
	}
	if o.Rollback {
		s += ", to be rolled back"
	}
	if o.Stop {
		s += ", and the agent to end"
	}
	for _, more := range []string{o.Reason, o.Instructions, o.Choice} {
		if more != "" {
			s += ": " + more
		}
	}
	return s
}

// silence says what happens to the request when nobody answers.
func silence(r approvals.Request) string {
	if r.OnTimeout == holdgate.TimeoutApprove.String() {
		return "it is APPROVED by itself"
	}
	return "it is denied"
}

// approving counts the votes that approve.
func approving(r approvals.Request) int {
	n := 0
	for _, v := range r.Votes {
		if v.Decision == holdgate.AnswerApprove || v.Decision == holdgate.AnswerChoose {
			n++
		}
	}
	return n
}

// voteLine is one vote.
func voteLine(v approvals.Vote) string {
	s := fmt.Sprintf("%s by %s over %s at %s", v.Decision, v.By, v.Channel, v.At.Local().Format(time.DateTime))
	for _, more := range []string{v.Reason, v.Instructions, v.Choice} {
		if more != "" {
			s += ": " + more
		}
	}
	return holdgate.Visible(s)
}
