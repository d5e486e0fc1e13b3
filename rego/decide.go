package rego

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	oparego "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/holdgate/holdgate"
)

// Decide asks the policy in force. It always answers: what goes wrong is a
// decision too, with rule [holdgate.RulePolicyError].
func (e *Engine) Decide(ctx context.Context, in Input) holdgate.Decision {
	var f holdgate.Facts
	var input ast.Value
	d := e.decide(ctx, in.Answers, func(p *policy) (v ast.Value, now time.Time, err error) {
		f = p.extract(ctx, in, e.o.Timeout)
		input, now, err = p.input(in, f)
		return input, now, err
	})
	if d.Action == holdgate.Hold {
		d.Facts = &f
	}
	if e.remote != nil && e.remote.logs != nil {
		e.logDecision(ctx, input, d)
	}
	return d
}

// Redact lists what the policy in force redacts of the call (the Redact of its
// decision). It decides nothing, so no decision log has it.
func (e *Engine) Redact(ctx context.Context, in Input) ([]string, error) {
	d, _, err := e.current.Load().decide(ctx, e.o.Timeout, func(p *policy) (ast.Value, time.Time, error) {
		return p.input(in, p.extract(ctx, in, e.o.Timeout))
	})
	return d.Redact, err
}

// decide evaluates the policy in force on what build makes, and turns the
// result into what Holdgate does: holds that people have answered are
// satisfied, failures refuse, and what only observes allows.
func (e *Engine) decide(ctx context.Context, answers []Answer, build func(*policy) (ast.Value, time.Time, error)) holdgate.Decision {
	p := e.current.Load()
	d, observe, err := p.decide(ctx, e.o.Timeout, build)
	if err != nil {
		d, observe = e.failure(err), false
	} else {
		observe = observe || e.o.Observe
	}
	d = satisfied(d, answers)
	if observe && d.Action != holdgate.Allow {
		would := d.Action
		d.Would, d.Action, d.Hold, d.Also = &would, holdgate.Allow, holdgate.HoldSpec{}, nil
	}
	d.Revision = p.loaded.Revision
	return d
}

// failure is the decision where policy gives none.
func (e *Engine) failure(err error) holdgate.Decision {
	e.o.Logger.Error("policy gave no decision", "err", err)
	d := holdgate.Decision{
		Action: holdgate.Deny,
		Rule:   holdgate.RulePolicyError,
		Risk:   holdgate.RiskHigh,
		Reason: fmt.Sprintf("The policy gave no decision, so the call was not let through: %v. %s", err, whatToDo(err)),
	}
	if e.o.OnError == holdgate.Hold {
		d.Action = holdgate.Hold
		d.Hold = defaultHold()
	}
	return d
}

// whatToDo ends the reason of a failure.
func whatToDo(err error) string {
	if _, late := errors.AsType[*lateError](err); late {
		return "Where the machine was busy, the same call again will do. Where this comes back, a rule is too slow: whoever keeps the policy can time it with `holdgate policy eval`."
	}
	return "Whoever keeps the policy can look with `holdgate policy check` and `holdgate policy eval`."
}

// decide evaluates one input within the timeout. A panic, whosever it is, is
// an error.
func (p *policy) decide(ctx context.Context, timeout time.Duration, build func(*policy) (ast.Value, time.Time, error)) (d holdgate.Decision, observe bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			d, observe, err = holdgate.Decision{}, false, fmt.Errorf("evaluating policy: panic: %v", r)
		}
	}()
	input, now, err := build(p)
	if err != nil {
		return d, false, err
	}
	value, err := p.eval(ctx, timeout, input, now)
	if _, late := errors.AsType[*lateError](err); late {
		// A machine that is busy for a moment is no slow policy.
		value, err = p.eval(ctx, timeout, input, now)
	}
	if err != nil {
		return d, false, err
	}
	return readDecision(value)
}

// A lateError says that policy did not answer in time.
type lateError struct{ timeout time.Duration }

func (e *lateError) Error() string {
	return fmt.Sprintf("evaluating policy: it took longer than %v, twice", e.timeout)
}

// eval returns the value of data.holdgate.decision.
func (p *policy) eval(ctx context.Context, timeout time.Duration, input ast.Value, now time.Time) (ast.Value, error) {
	bound := &bound{ctx: ctx, until: time.Now().Add(timeout)}
	results, err := p.query.Eval(ctx,
		oparego.EvalParsedInput(input),
		oparego.EvalTime(now),
		oparego.EvalMetrics(metrics.NoOp()),
		oparego.EvalGenerateJSON(asValue),
		oparego.EvalExternalCancel(bound),
	)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("evaluating policy: the call was given up: %w", context.Cause(ctx))
	case err != nil && topdown.IsCancel(err):
		return nil, &lateError{timeout: timeout}
	case err != nil:
		return nil, fmt.Errorf("evaluating policy: %w", err)
	case len(results) == 0:
		return nil, errors.New("evaluating policy: data.holdgate.decision is undefined for this input")
	case len(results) > 1 || len(results[0].Expressions) != 1:
		return nil, errors.New("evaluating policy: data.holdgate.decision has several results")
	}
	value, ok := results[0].Expressions[0].Value.(ast.Value)
	if !ok {
		return nil, errors.New("evaluating policy: data.holdgate.decision has no value")
	}
	return value, nil
}

// asValue keeps a result as OPA has it, in place of a conversion to Go's maps.
func asValue(t *ast.Term, _ *oparego.EvalContext) (any, error) { return t.Value, nil }

// satisfied turns a hold into an allow where its very question, by rule and
// gate, was answered approvingly, by itself or beside another. The shipped pack does so itself, rule by
// rule; for a policy that replaces it this is the place.
func satisfied(d holdgate.Decision, answers []Answer) holdgate.Decision {
	if d.Action != holdgate.Hold {
		return d
	}
	for _, a := range answers {
		if (a.Rule == d.Rule || slices.Contains(a.Also, d.Rule)) && a.Gate == d.Hold.Gate && approves(a, d.Hold) {
			d.Action, d.Hold, d.Also = holdgate.Allow, holdgate.HoldSpec{}, nil
			d.Reason = "A person has approved it."
			return d
		}
	}
	return d
}

// approves reports whether the answer lets a call go on that the hold asked
// about.
func approves(a Answer, h holdgate.HoldSpec) bool {
	switch a.Decision {
	case holdgate.AnswerApprove, holdgate.AnswerEdit:
		return true
	case holdgate.AnswerTimeout:
		return h.OnTimeout == holdgate.TimeoutApprove
	case holdgate.AnswerChoose:
		for _, o := range h.Options {
			if o.ID == a.Choice {
				return o.Effect == "" || o.Effect == holdgate.EffectApprove
			}
		}
	}
	return false
}
