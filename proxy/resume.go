package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/rego"
)

// An approval is one approving outcome that a call rests on, or a grant.
type approval struct {
	answer    rego.Answer
	use       approvals.Use      // zero for a grant
	approvers holdgate.Approvers // that were demanded for it
}

// resume takes a question on from its outcome. What a person has edited is a
// new call, for which no earlier approval counts.
func (e *exchange) resume(ctx context.Context, q *question, req approvals.Request) error {
	if req.Anew {
		q.rounds++
		return e.decide(ctx, q)
	}
	if req.Status != holdgate.StatusApproved || req.Outcome == nil {
		q.refuse(noticeOutcome(q.call, req))
		return nil
	}
	q.rounds++
	if req.Outcome.Decision == holdgate.AnswerEdit {
		args, err := e.x.Edited(ctx, req.ID)
		if err != nil {
			return err
		}
		if err := e.edit(q, req.ID, args); err != nil {
			e.s.c.Logger.Error("refusing an edited call", "request", req.ID, "err", err)
			q.refuse(noticeUneditable(q.call, err))
			return nil
		}
	}
	if note := noteApproved(q.call, req.Outcome); note != "" {
		q.notes = append(q.notes, note)
	}
	if req.Answered() {
		q.approved = append(q.approved, approval{answer: answerOf(req), use: approvals.Use{RequestID: req.ID, Digest: q.digest}, approvers: req.Approvers})
	}
	return e.decide(ctx, q)
}

// answerOf is the outcome of a request as policy reads it.
func answerOf(req approvals.Request) rego.Answer {
	answer := rego.Answer{Gate: req.Gate, Rule: req.Rule, Decision: req.Outcome.Decision, Choice: req.Outcome.Choice, By: req.Outcome.By}
	for _, f := range req.Also {
		answer.Also = append(answer.Also, f.Rule)
	}
	return answer
}

// edit puts other arguments into the call. They are read as strictly as an
// agent's own, for the codec will write them as they are.
func (e *exchange) edit(q *question, request string, args json.RawMessage) error {
	switch {
	case q.call.Tool == nil || q.part.Fixed:
		return errors.New("the call has no arguments that could be changed")
	case !bytes.HasPrefix(args, []byte("{")):
		return fmt.Errorf("arguments are a JSON object, not %s", wire.KindOf(args))
	}
	if err := wire.Strict(args); err != nil {
		return fmt.Errorf("reading the edited arguments: %w", err)
	}
	tool := *q.call.Tool
	tool.Arguments, tool.ArgumentsRaw = args, ""
	edited := q.call
	edited.Tool = &tool
	digest, err := e.x.Digest(edited)
	if err != nil {
		return fmt.Errorf("digesting the edited call: %w", err)
	}
	q.call, q.digest, q.canonical, q.edited = edited, digest, nil, request
	q.approved, q.notes = nil, nil
	return nil
}

// catchUp takes questions on whose requests had ended before this connection
// came, so that what they asked next is known.
func (e *exchange) catchUp(ctx context.Context, qs []*question) error {
	for _, q := range qs {
		for q.open() && q.request.Status.Final() {
			if err := e.resume(ctx, q, q.request); err != nil {
				return err
			}
		}
	}
	return nil
}

// answers is what people have said of the call as it is now, without one.
func (q *question) answers(without int) []rego.Answer {
	var out []rego.Answer
	for i, a := range q.approved {
		if i != without {
			out = append(out, a.answer)
		}
	}
	return out
}

// confirmed returns the decision to allow a call that people have approved, if
// every answer still covers what its rules demand of the call as it is now: an
// edit, or a policy saved meanwhile, can change what that is. Else the answer
// counts no longer, and the decision is the one without it.
func (e *exchange) confirmed(q *question, allow holdgate.Decision) holdgate.Decision {
	narrowed := false
	for i := range q.approved {
		a := &q.approved[i]
		d := e.evaluate(q, q.answers(i))
		rules := a.rules()
		if d.Action != holdgate.Hold || d.Hold.Gate != a.answer.Gate || !slices.Contains(rules, d.Rule) {
			continue
		}
		if !covers(a.approvers, d.Hold.Approvers) {
			q.approved = slices.Delete(q.approved, i, i+1)
			return d
		}
		// Rules that one answer settled may not be settled by one any more.
		still := slices.DeleteFunc(rules, func(rule string) bool {
			return rule != d.Rule && !slices.ContainsFunc(d.Also, func(f holdgate.Finding) bool { return f.Rule == rule })
		})
		narrowed = narrowed || len(still) < len(a.rules())
		a.answer.Rule, a.answer.Also = still[0], still[1:]
	}
	if narrowed {
		return e.evaluate(q, q.answers(-1))
	}
	return allow
}

// rules are those that the answer is for.
func (a *approval) rules() []string { return append([]string{a.answer.Rule}, a.answer.Also...) }

// covers reports whether an approval by the approvers that were demanded is one
// by those that are.
func covers(were, are holdgate.Approvers) bool {
	return max(are.Quorum, 1) <= max(were.Quorum, 1) && were.Assurance == are.Assurance && (were.FourEyes || !are.FourEyes) &&
		sameSet(were.Roles, are.Roles) && sameSet(were.Users, are.Users) &&
		slices.EqualFunc(byTime(were.Escalate), byTime(are.Escalate), func(a, b holdgate.Escalation) bool {
			return a.After == b.After && sameSet(a.Roles, b.Roles) && sameSet(a.Users, b.Users)
		})
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func byTime(all []holdgate.Escalation) []holdgate.Escalation {
	return slices.SortedStableFunc(slices.Values(all), func(a, b holdgate.Escalation) int { return cmp.Compare(a.After, b.After) })
}

// note is what approvers say to the agent, a line for each.
func (q *question) note() string { return strings.Join(q.notes, "\n") }
