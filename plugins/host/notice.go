package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// How much of a request goes into a notice, in bytes.
const (
	maxText   = 16 << 10 // of a reason, a message, ...
	headBytes = 48 << 10 // of arguments that are longer than both
	tailBytes = 16 << 10
)

// notice is the request of the event as a channel is told of it.
func (c *channel) notice(e approvals.Event, i sdk.Info) sdk.Notice {
	r := e.Request
	n := Notice(r)
	n.Event = strings.TrimPrefix(string(e.Type), "approval.")
	n.Nonce = c.nonces.of(c.c.Name, r.ID, r.Call.Digest)
	if r.Status == holdgate.StatusPending {
		if page := c.page(r.ID); page != "" {
			n.Place = append(n.Place, sdk.Fact{Name: "page", Text: page})
		}
		n.Closed = closed(r, i.Assurance, n.Call.Cut > 0)
		n.Editable = editable(r, i, n.Closed)
		n.Answers = allowed(r, i, n.Closed, n.Editable != "")
		n.Voters = c.routes().voters(r, c.c.Name)
	}
	return n
}

// Notice is the request as every screen shows it, safe to show and of bounded
// length. It has no nonce and names no answers: those depend on the channel.
func Notice(r approvals.Request) sdk.Notice {
	n := sdk.Notice{
		ID: r.ID, Digest: string(r.Call.Digest),
		Status: string(r.Status), Kind: string(r.Kind), Risk: text(string(r.Risk)), Gate: text(r.Gate),
		Rule: text(r.Rule), Reason: text(r.Reason), Message: text(r.Message),
		Agent:   sdk.Agent{ID: text(r.Agent.ID), Proven: r.Agent.Proven, Confinement: text(r.Agent.Confinement)},
		Session: text(r.Session.ID), Door: text(r.Door), Call: callOf(r.Call),
		// A briefing is safe to show already.
		Summary: r.Briefing.Summary, Subject: r.Target(), Undo: r.Briefing.Undo, Place: places(r), Why: r.Briefing.Why, Details: r.Briefing.Details,
		Hidden: r.Briefing.Hidden, Counts: sdk.Counts(r.Briefing.Counts), Whole: r.Briefing.Whole,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, OnTimeout: r.OnTimeout,
		Quorum: max(r.Approvers.Quorum, 1), Votes: approving(r), Approved: approvers(r),
		People: persons(r), Similar: similar(r),
		Thread: thread(r.Agent.ID, r.Session.ID), Cast: cast(r),
	}
	for _, s := range r.Briefing.Sections {
		n.Sections = append(n.Sections, sdk.Section(s))
	}
	for _, o := range r.Options {
		n.Options = append(n.Options, sdk.Option{ID: text(o.ID), Label: text(o.Label), Effect: text(o.Effect), Other: o.Other})
	}
	if r.NoApprover != "" && r.Status == holdgate.StatusPending {
		n.Warnings = append(n.Warnings, text(r.NoApprover))
	}
	if r.RunEnded != nil && r.Status == holdgate.StatusPending {
		n.Warnings = append(n.Warnings, r.Left(time.Now()))
	}
	if r.EditedFrom != "" {
		n.Edited = "by a person, in request " + r.EditedFrom
	}
	if c := r.Claim; c != nil {
		n.Claim = &sdk.Lease{By: text(c.By), Until: c.Until}
	}
	if o := r.Outcome; o != nil {
		n.Outcome = &sdk.Outcome{
			Decision: string(o.Decision), By: text(o.By), At: o.At,
			Reason: text(o.Reason), Instructions: text(o.Instructions), Choice: text(o.Choice),
		}
	}
	return n
}

// Word is what a person types in full to approve the request on a terminal, or
// nothing where a key will do: see [page.Word]. Critical risk takes the name of the
// request's target.
func Word(r approvals.Request) string { return page.Word(Notice(r)) }

// places says where the call happens, and for whom.
func places(r approvals.Request) (facts []sdk.Fact) {
	p := r.Briefing.Place
	where := p.Folder
	if where != "" && p.Branch != "" {
		where += ", branch " + p.Branch
	}
	if where != "" && p.Host != "" {
		where += ", on " + p.Host
	}
	whom := text(r.Owner)
	if whom == "" && p.Person != "" {
		whom = p.Person + ", who started it"
	}
	said := p.Said
	if said != "" {
		said += ", as the agent says: not checked"
	}
	for _, f := range []sdk.Fact{{Name: "program", Text: p.Program}, {Name: "where", Text: where}, {Name: "folder", Text: said}, {Name: "for", Text: whom}, {Name: "task", Text: p.Task}} {
		if f.Text != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

// approving counts the votes for the call.
func approving(r approvals.Request) (n int) {
	for _, v := range r.Votes {
		if v.Decision == holdgate.AnswerApprove || v.Decision == holdgate.AnswerChoose {
			n++
		}
	}
	return n
}

// closed says why a channel of the assurance may not approve the request or
// choose, or nothing where it may. What is not known closes.
func closed(r approvals.Request, a sdk.Assurance, cut bool) string {
	elsewhere := "; see it with: holdgate show " + r.ID + " --full"
	switch r.Risk {
	case "", holdgate.RiskLow, holdgate.RiskMedium, holdgate.RiskHigh:
	default:
		return "calls of critical risk are approved through no channel" + elsewhere
	}
	demand := slices.Index([]string{"", sdk.Text.String(), sdk.Interactive.String(), sdk.Local.String()}, r.Approvers.Demands())
	switch {
	case a != sdk.Interactive && a != sdk.Local:
		return "this channel cannot prove who speaks: it may deny and steer" + elsewhere
	case r.Approvers.Demands() == "strong":
		return "approving it takes a signature with a passkey (assurance strong), which this channel does not have; answer on the page: holdgate open " + r.ID
	case demand < 0 || demand > int(a):
		return fmt.Sprintf("approving it needs an assurance (%s) that this channel does not have", text(r.Approvers.Assurance)) + elsewhere
	case r.NoApprover != "":
		return text(r.NoApprover) + elsewhere
	case cut, !r.Briefing.Whole:
		return "the call cannot be shown whole here" + elsewhere
	}
	return ""
}

// allowed lists what a channel may answer.
func allowed(r approvals.Request, i sdk.Info, closed string, edit bool) []string {
	answers := []string{sdk.Deny}
	if slices.Contains(r.Allow, "steer") {
		answers = append(answers, sdk.Steer)
	}
	switch {
	case closed != "":
	case r.Kind == holdgate.RequestApproval:
		answers = append(answers, sdk.Approve)
	case r.Kind == holdgate.RequestChoice:
		answers = append(answers, sdk.Choose)
	}
	if edit {
		answers = append(answers, sdk.Edit)
	}
	if i.Claims {
		answers = append(answers, sdk.Claim, sdk.Unclaim)
	}
	if i.Sees {
		answers = append(answers, sdk.Seen)
	}
	return answers
}

// editable returns the arguments of a call that may be edited in a channel, as
// JSON with hidden characters escaped; nothing where it may not be.
func editable(r approvals.Request, i sdk.Info, closed string) string {
	if !i.Edits || closed != "" || r.Kind != holdgate.RequestApproval || !slices.Contains(r.Allow, "edit") || r.Call.Tool == nil {
		return ""
	}
	args := jsontext.Value(slices.Clone(r.Call.Tool.Arguments))
	if args.Indent(jsontext.WithIndent("  ")) != nil || !utf8.Valid(args) {
		return ""
	}
	var b strings.Builder
	for _, c := range string(args) {
		switch one := string(c); {
		case c == '\n', holdgate.Visible(one) == one:
			b.WriteString(one)
		default:
			for _, unit := range utf16.AppendRune(nil, c) {
				fmt.Fprintf(&b, "\\u%04x", unit)
			}
		}
	}
	if b.Len() > headBytes {
		return ""
	}
	return b.String()
}

// thread names a session of an agent.
func thread(agent, session string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", len(agent), agent, session))
	return hex.EncodeToString(sum[:8])
}

// cast lists the votes.
func cast(r approvals.Request) (votes []sdk.Vote) {
	for _, v := range r.Votes {
		votes = append(votes, sdk.Vote{Decision: string(v.Decision), By: text(v.By), Channel: text(v.Channel), At: v.At, Reason: text(v.Reason)})
	}
	return votes
}

func callOf(v approvals.CallView) sdk.Call {
	call := sdk.Call{Kind: string(v.Kind)}
	switch {
	case v.Tool != nil:
		call.Target, call.Server = text(v.Tool.Name), text(v.Tool.Server)
		call.Arguments, call.Cut = arguments(v.Tool)
	case v.Model != "":
		call.Target = text(v.Model)
	case v.MCP != "":
		call.Target = text(v.MCP)
	case v.HTTP != "":
		call.Target = text(v.HTTP)
	}
	return call
}

// arguments returns a call's arguments as lines that are safe to show, numbers
// and escapes as they were written, and how many characters are missing.
func arguments(t *approvals.ToolView) (lines []string, cut int) {
	raw := t.ArgumentsRaw
	if t.Arguments != nil {
		raw = string(t.Arguments)
		if v := jsontext.Value(slices.Clone(t.Arguments)); v.Indent(jsontext.WithIndent("  ")) == nil {
			raw = string(v)
		}
	}
	if raw == "" {
		return nil, 0
	}
	for line := range strings.SplitSeq(raw, "\n") {
		lines = append(lines, holdgate.Visible(line))
	}
	whole := strings.Join(lines, "\n")
	if len(whole) <= headBytes+tailBytes {
		return lines, 0
	}
	head, tail := headBytes, len(whole)-tailBytes
	for !utf8.RuneStart(whole[head]) {
		head--
	}
	for !utf8.RuneStart(whole[tail]) {
		tail++
	}
	cut = utf8.RuneCountInString(whole[head:tail])
	lines = strings.Split(whole[:head], "\n")
	lines = append(lines, fmt.Sprintf("⟨%d characters are not shown⟩", cut))
	return append(lines, strings.Split(whole[tail:], "\n")...), cut
}

// text is s, safe to show and of bounded length.
func text(s string) string {
	s = holdgate.Visible(s)
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s⟨%d characters are not shown⟩", s[:end], utf8.RuneCountInString(s[end:]))
}
