package host

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// approvers names those who have approved so far.
func approvers(r approvals.Request) (names []string) {
	for _, v := range r.Votes {
		if v.Decision == holdgate.AnswerApprove || v.Decision == holdgate.AnswerChoose {
			names = append(names, text(v.By))
		}
	}
	return names
}

// people says what is known of those who may answer a pending request.
func persons(r approvals.Request) (lines []string) {
	if r.Status != holdgate.StatusPending {
		return nil
	}
	if who := approverNames(r); who != "" {
		lines = append(lines, "for "+who)
	}
	if r.Escalated > 0 {
		lines = append(lines, fmt.Sprintf("escalated %d of %d times", r.Escalated, len(r.Approvers.Escalate)))
	}
	if c := r.Claim; c != nil {
		lines = append(lines, "claimed by "+c.By+" until "+c.Until.Local().Format(time.TimeOnly)+": silence does nothing until then")
	}
	for _, d := range r.Delegations {
		l := d.By + " lets " + d.To + " vote"
		if d.Note != "" {
			l += ": " + d.Note
		}
		lines = append(lines, l)
	}
	if r.Approvers.FourEyes {
		lines = append(lines, "four eyes: whoever the agent works for does not count")
	}
	for i, l := range lines {
		lines[i] = text(l)
	}
	return lines
}

// approverNames names those who may approve a request by now, where not everybody may
// who approves at all.
func approverNames(r approvals.Request) string {
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

// similar says what people have answered to the same call.
func similar(r approvals.Request) string {
	s := r.Similar
	if s == nil {
		return ""
	}
	of := "the same call"
	if r.Briefing.Place.Folder != "" {
		of += " in this folder"
	}
	of += ", by any agent: "
	var parts []string
	for _, n := range []struct {
		count int
		what  string
	}{{s.Approved, "approved"}, {s.Denied, "denied"}, {s.Steered, "steered"}, {s.Edited, "edited"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if !s.LastAt.IsZero() {
		parts = append(parts, fmt.Sprintf("the last by %s at %s", text(s.LastBy), s.LastAt.Local().Format(time.DateTime)))
	}
	if s.Pending > 0 {
		parts = append(parts, page.MoreWait(s.Pending))
	}
	return of + strings.Join(parts, ", ")
}
