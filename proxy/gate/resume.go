package gate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/rego"
)

// resume takes a call on from the outcome of its request. What a person has edited is a
// new call, for which no earlier approval counts.
func (x *Exchange) resume(ctx context.Context, e *Evaluation, req approvals.Request) error {
	trace.TakenUp(ctx, req.ID, req.Trace)
	if req.Anew {
		e.rounds++
		return x.Decide(ctx, e)
	}
	if req.Status != holdgate.StatusApproved || req.Outcome == nil {
		e.Refuse(noticeOutcome(e.Call, req))
		return nil
	}
	e.rounds++
	if req.Outcome.Decision == holdgate.AnswerEdit {
		args, err := x.held.Edited(ctx, req.ID)
		if err != nil {
			return err
		}
		if err := x.edit(e, req.ID, args); err != nil {
			x.g.c.Logger.ErrorContext(ctx, "refusing an edited call", "approval", req.ID, "err", err)
			e.Refuse(NoticeUneditable(e.Call, err))
			return nil
		}
	}
	if note := noteApproved(e.Call, req.Outcome); note != "" {
		e.notes = append(e.notes, note)
	}
	if req.Answered() {
		e.approved = append(e.approved, approval{answer: answerOf(req), use: approvals.Use{RequestID: req.ID, Digest: e.digest}, approvers: req.Approvers})
	}
	return x.Decide(ctx, e)
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
func (x *Exchange) edit(e *Evaluation, request string, args json.RawMessage) error {
	switch {
	case e.Call.Tool == nil || e.Fixed:
		return errors.New("the call has no arguments that could be changed")
	case !bytes.HasPrefix(args, []byte("{")):
		return fmt.Errorf("arguments are a JSON object, not %s", wire.KindOf(args))
	}
	if err := wire.Strict(args); err != nil {
		return fmt.Errorf("reading the edited arguments: %w", err)
	}
	tool := *e.Call.Tool
	tool.Arguments, tool.ArgumentsRaw = args, ""
	edited := e.Call
	edited.Tool = &tool
	digest, err := x.held.Digest(edited)
	if err != nil {
		return fmt.Errorf("digesting the edited call: %w", err)
	}
	e.Call, e.digest, e.canonical, e.edited = edited, digest, nil, request
	e.approved, e.notes = nil, nil
	return nil
}

// confirmed returns the decision to allow a call that people have approved, if
// every answer still covers what its rules demand of the call as it is now: an
// edit, or a policy saved meanwhile, can change what that is. Else the answer
// counts no longer, and the decision is the one without it.
func (x *Exchange) confirmed(ctx context.Context, e *Evaluation, allow holdgate.Decision) holdgate.Decision {
	narrowed := false
	for i := range e.approved {
		a := &e.approved[i]
		d := x.evaluate(ctx, e, e.answers(i))
		rules := a.rules()
		if d.Action != holdgate.Hold || d.Hold.Gate != a.answer.Gate || !slices.Contains(rules, d.Rule) {
			continue
		}
		if !covers(a.approvers, d.Hold.Approvers) {
			e.approved = slices.Delete(e.approved, i, i+1)
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
		return x.evaluate(ctx, e, e.answers(-1))
	}
	return allow
}

// covers reports whether an approval by the approvers that were demanded is one
// by those that are.
func covers(were, are holdgate.Approvers) bool {
	return max(are.Quorum, 1) <= max(were.Quorum, 1) && were.Demands() == are.Demands() && (were.FourEyes || !are.FourEyes) &&
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
