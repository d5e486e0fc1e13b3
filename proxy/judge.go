package proxy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/rego"
)

// maxRounds bounds how often one call may be held again after it was approved:
// a policy that never stops asking is refused.
const maxRounds = 8

// A question is one call on its way to a verdict.
type question struct {
	call    holdgate.Call
	part    wire.Part // the bytes that are the call, where it came in an answer
	digest  holdgate.Digest
	answers []rego.Answer
	uses    []approvals.Use
	request approvals.Request // what waits, while open
	verdict holdgate.Verdict
	decided bool
	over    *overLimit // why policy was not asked
}

func (q *question) open() bool { return !q.decided }

func (q *question) release() { q.verdict, q.decided = holdgate.Verdict{Release: true}, true }

func (q *question) refuse(notice string) {
	q.verdict, q.decided = holdgate.Verdict{Notice: notice}, true
}

// decide asks policy about the call. Afterwards the question is decided, or
// open with a request in the queue. The decision is in the log before this
// returns. An error means that nothing could be written: the call must be
// refused.
func (e *exchange) decide(ctx context.Context, q *question) error {
	d := e.judge(q)
	if d.Action == holdgate.Hold {
		return e.hold(ctx, q, d)
	}
	return e.settled(ctx, q, d)
}

// judge asks the policy in force, unless the agent has asked for too much.
func (e *exchange) judge(q *question) holdgate.Decision {
	if q.over = e.s.quotas.admit(e.s.life, q.call.Agent); q.over != nil {
		return holdgate.Decision{Rule: q.over.rule, Reason: q.over.why}
	}
	d := e.s.c.Engine.Decide(context.WithoutCancel(e.r.Context()), rego.Input{Call: q.call, Answers: q.answers, Dir: e.s.c.Dir, Home: e.s.c.Home})
	if d.Action == holdgate.Hold && len(q.answers) >= maxRounds {
		return holdgate.Decision{Rule: holdgate.RulePolicyError, Reason: fmt.Sprintf("the policy asked %d times about one call", maxRounds), Revision: d.Revision}
	}
	return d
}

// settled logs a decision that holds nothing and makes it the verdict.
func (e *exchange) settled(ctx context.Context, q *question, d holdgate.Decision) error {
	if q.over != nil {
		return e.overLimit(ctx, q, q.over)
	}
	if err := e.log.decision(ctx, q, d); err != nil {
		return err
	}
	if d.Action == holdgate.Allow {
		q.release()
	} else {
		q.refuse(noticeDenied(q.call, d))
	}
	return nil
}

// hold answers the question by a grant, or else puts the call into the queue,
// or finds the request that an earlier connection left there. What a grant has
// answered is decided again, as what a person has.
func (e *exchange) hold(ctx context.Context, q *question, d holdgate.Decision) error {
	if q.digest == "" {
		digest, err := e.x.Digest(q.call)
		if err != nil {
			return fmt.Errorf("digesting the call: %w", err)
		}
		q.digest = digest
	}
	switch g, ok, err := e.s.c.Queue.Granted(ctx, q.call, d, q.digest); {
	case err != nil:
		return err
	case ok:
		q.answers = append(q.answers, rego.Answer{Gate: d.Hold.Gate, Rule: d.Rule, Decision: holdgate.AnswerApprove, By: strings.Join(g.By, ", "), Also: g.Settles(d)})
		return e.decide(ctx, q)
	}
	req, err := e.x.Ask(ctx, approvals.Question{Call: q.call, Decision: d})
	if over := limitOf(err); over != nil {
		return e.overLimit(ctx, q, over)
	}
	if err != nil {
		return fmt.Errorf("putting the call into the queue: %w", err)
	}
	e.log.stored()
	q.request = req
	return nil
}

// settle waits until every question is decided: each outcome is judged again
// by the policy of that time, which may ask the next question.
func (e *exchange) settle(ctx context.Context, qs []*question) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, q := range qs {
		if !q.open() {
			continue
		}
		g.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil { // in a goroutine it would end the process
					err = fmt.Errorf("deciding a call failed inside Holdgate: %v", p)
				}
			}()
			for q.open() {
				req, err := e.x.Wait(ctx, q.request.ID)
				if err != nil {
					return err
				}
				if err := e.resume(ctx, q, req); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// resume takes a question on from its outcome.
func (e *exchange) resume(ctx context.Context, q *question, req approvals.Request) error {
	if req.Status != holdgate.StatusApproved || req.Outcome == nil {
		q.refuse(noticeOutcome(q.call, req))
		return nil
	}
	q.uses = append(q.uses, approvals.Use{RequestID: req.ID, Digest: q.digest})
	answer := rego.Answer{Gate: req.Gate, Rule: req.Rule, Decision: req.Outcome.Decision, Choice: req.Outcome.Choice, By: req.Outcome.By}
	for _, f := range req.Also {
		answer.Also = append(answer.Also, f.Rule)
	}
	q.answers = append(q.answers, answer)
	return e.decide(ctx, q)
}

// use claims every approval that the released calls rest on, in one
// transaction, before the first of their bytes goes on.
func (e *exchange) use(qs []*question) error {
	var uses []approvals.Use
	for _, q := range qs {
		if q.decided && q.verdict.Release {
			uses = append(uses, q.uses...)
		}
	}
	if len(uses) == 0 {
		return nil
	}
	if err := e.x.Use(context.WithoutCancel(e.r.Context()), uses); err != nil {
		return fmt.Errorf("using the approval: %w", err)
	}
	return nil
}

func completeCall(c holdgate.Call, t target) holdgate.Call {
	c.Agent, c.Session, c.Door = t.caller.Agent, t.caller.Session, t.door
	c.Time = time.Now()
	return c
}

func requestIDs(qs []*question) string {
	var ids []string
	for _, q := range qs {
		if q.open() {
			ids = append(ids, q.request.ID)
		}
	}
	if len(ids) == 1 {
		return "request " + ids[0]
	}
	return "requests " + strings.Join(ids, ", ")
}
