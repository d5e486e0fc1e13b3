package proxy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/rego"
)

// maxRounds bounds how often one call may be held again after it was approved:
// a policy that never stops asking is refused.
const maxRounds = 8

// A question is one call on its way to a verdict.
type question struct {
	call      holdgate.Call // as it will be sent: the agent's, or what a person made of it
	edited    string        // the request that gave the call its arguments; empty for the agent's own
	part      wire.Part     // the bytes that are the call, where it came in an answer
	digest    holdgate.Digest
	canonical []byte            // the call's arguments as the digest is over them; nil where not at hand
	approved  []approval        // of the call as it is
	notes     []string          // what approvers said to the agent
	rounds    int               // how often people, or grants of theirs, have answered
	request   approvals.Request // what waits, while open
	verdict   holdgate.Verdict
	decided   bool
	over      *overLimit       // why policy was not asked
	repeats   int              // how often the session made the very same call lately
	lately    int              // how many calls the session made lately
	report    *sessions.Report // of confidence, that the question is about
	remark    string           // what the log says of the call besides the decision
	hint      string           // the agent's own id of the call in a model's answer
	redact    []string         // of the decision that let the call go on
}

func (q *question) open() bool { return !q.decided }

func (q *question) release() {
	q.verdict, q.decided = holdgate.Verdict{Release: true, Note: q.note()}, true
	if q.edited != "" {
		q.verdict.Arguments = q.call.Tool.Arguments
	}
}

func (q *question) refuse(notice string) {
	q.verdict, q.decided = holdgate.Verdict{Notice: notice}, true
}

// decide asks policy about the call, unless people have stopped its agent. Afterwards the question is decided, or
// open with a request in the queue. The decision is in the log before this
// returns. An error means that nothing could be written: the call must be
// refused.
func (e *exchange) decide(ctx context.Context, q *question) error {
	if s := e.standing(); s.Stopped() {
		return e.halt(ctx, q, s)
	}
	d := e.judge(q)
	if d.Action == holdgate.Hold {
		err := e.hold(ctx, q, d)
		if s, halted := asHalt(err); halted {
			return e.halt(ctx, q, s)
		}
		return err
	}
	return e.settled(ctx, q, d)
}

// judge asks the policy in force what becomes of the call, now that people have
// answered what they have. It does not where the agent has asked for too much;
// what people answered is nothing that the agent asks for.
func (e *exchange) judge(q *question) holdgate.Decision {
	if q.rounds == 0 && q.call.Result == nil {
		if q.over = e.s.quotas.admit(e.s.life, q.call.Agent); q.over != nil {
			return holdgate.Decision{Rule: q.over.rule, Reason: q.over.why}
		}
		if err := e.counted(q); err != nil {
			return unknownSession(err)
		}
	}
	d := e.evaluate(q, q.answers(-1))
	if d.Action == holdgate.Allow {
		d = e.confirmed(q, d)
	}
	if d.Action == holdgate.Hold && q.rounds >= maxRounds {
		return holdgate.Decision{Rule: holdgate.RulePolicyError, Reason: fmt.Sprintf("the policy asked %d times about one call", maxRounds), Revision: d.Revision}
	}
	return d
}

func (e *exchange) evaluate(q *question, answers []rego.Answer) holdgate.Decision {
	q.call = e.s.informed(q.call)
	in := rego.Input{Call: q.call, Answers: answers, Edited: q.edited != "", Dir: e.dir(), Home: e.s.c.Home, Own: rego.Own{Listeners: e.s.own.decided(), Folders: e.s.c.Private}}
	if err := e.inSession(&in, q); err != nil {
		return unknownSession(err)
	}
	return e.s.c.Engine.Decide(context.WithoutCancel(e.r.Context()), in)
}

// settled logs a decision that holds nothing and makes it the verdict.
func (e *exchange) settled(ctx context.Context, q *question, d holdgate.Decision) error {
	if q.over != nil {
		return e.overLimit(ctx, q, q.over)
	}
	if d.Action == holdgate.Allow {
		if err := e.s.c.Queue.Taint(ctx, e.t.caller, d.Taint, nameCall(q.call)); err != nil {
			return err
		}
	}
	entry, err := e.log.decision(ctx, q, d)
	if err == nil {
		err = e.advise(ctx, q, d)
	}
	if err != nil {
		return err
	}
	if q.call.Result == nil { // the call was counted when it was made
		if s, err := e.track(ctx); err == nil {
			s.Decided(d.Action)
		}
	}
	q.redact = d.Redact
	if d.Action == holdgate.Allow {
		q.release()
	} else {
		q.refuse(noticeDenied(q.call, d, entry))
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
		q.rounds++
		q.approved = append(q.approved, approval{
			answer:    rego.Answer{Gate: d.Hold.Gate, Rule: d.Rule, Decision: holdgate.AnswerApprove, By: strings.Join(g.By, ", "), Also: g.Settles(d)},
			approvers: d.Hold.Approvers,
		})
		return e.decide(ctx, q)
	}
	if done, err := e.askedOnce(ctx, q, d); done || err != nil {
		return err
	}
	if q.part.Fixed {
		d.Hold.Allow = slices.DeleteFunc(slices.Clone(d.Hold.Allow), func(way string) bool { return way == "edit" })
	}
	req, err := e.x.Ask(ctx, approvals.Question{Call: q.call, Decision: d, Edited: q.edited})
	if over := limitOf(err); over != nil {
		return e.overLimit(ctx, q, over)
	}
	if err != nil {
		return fmt.Errorf("putting the call into the queue: %w", err)
	}
	e.log.stored()
	q.request, q.canonical = req, nil // it may wait for long
	return nil
}

// settle waits until every question is decided: each outcome is judged again
// by the policy of that time, which may ask the next question. Then it waits
// until the agent is not paused.
func (e *exchange) settle(ctx context.Context, qs []*question) error {
	if err := e.settleAll(ctx, qs); err != nil {
		return err
	}
	return e.clear(ctx, qs)
}

func (e *exchange) settleAll(ctx context.Context, qs []*question) error {
	qs = slices.DeleteFunc(slices.Clone(qs), func(q *question) bool { return !q.open() })
	if len(qs) == 1 { // as nearly always: there may be many that wait, so it costs no goroutine
		return e.settleOne(ctx, qs[0])
	}
	return e.settleEach(ctx, qs)
}

func (e *exchange) settleEach(ctx context.Context, qs []*question) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, q := range qs {
		g.Go(func() error { return e.settleOne(ctx, q) })
	}
	return g.Wait()
}

func (e *exchange) settleOne(ctx context.Context, q *question) (err error) {
	defer func() {
		if p := recover(); p != nil { // in a goroutine it would end the process
			err = fmt.Errorf("deciding a call failed inside Holdgate: %v", p)
		}
	}()
	for q.open() {
		if err := e.x.Await(ctx, q.request.ID); err != nil {
			return err
		}
		if err := e.ended(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// ended takes a question on whose request has ended. It is apart from the
// waiting so that a stack that waits is small.
func (e *exchange) ended(ctx context.Context, q *question) error {
	req, err := e.x.Wait(ctx, q.request.ID)
	if err != nil {
		return err
	}
	err = e.resume(ctx, q, req)
	if err == nil && q.open() && e.onAsk != nil {
		e.onAsk(q)
	}
	return err
}

// use claims every approval that the released calls rest on, in one
// transaction, before the first of their bytes goes on.
func (e *exchange) use(qs []*question) error {
	var uses []approvals.Use
	for _, q := range qs {
		if q.decided && q.verdict.Release {
			for _, a := range q.approved {
				if a.use.RequestID != "" {
					if !a.use.Borrowed {
						a.use.Twin = e.covering(q)
					}
					uses = append(uses, a.use)
				}
			}
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
	if c.Kind != holdgate.KindToolCall || t.mcp { // what a model asks for is another request
		c.Credential = t.credential
	}
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
