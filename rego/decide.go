package rego

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	oparego "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts/secrets"
	"github.com/holdgate/holdgate/rego/verdict"
)

// Decide asks the policy in force. It always answers: what goes wrong is a
// decision too, with rule [holdgate.RulePolicyError].
func (e *Engine) Decide(ctx context.Context, in Input) holdgate.Decision {
	p := e.current.Load()
	if in.Call.Result != nil && p.results == nil && p.loaded.Broken == "" {
		return holdgate.Decision{Action: holdgate.Allow, Rule: ruleDefault, Revision: p.loaded.Revision}
	}
	in = p.relevant(in)
	logs := e.remote != nil && e.remote.logs != nil
	repeatable := !logs && !p.readsClock
	if repeatable {
		if d, ok := p.repeats.find(in); ok {
			return d
		}
	}
	_, span := started(ctx, "facts")
	f, err := p.facts(ctx, in)
	span.End()
	if repeatable && err == nil && !p.readsArguments && !p.readsEffects {
		if d, ok := p.repeats.findLike(in, &f); ok {
			return d
		}
	}
	var input ast.Value
	at := clock{read: new(true)} // until input is built
	began := time.Now()
	d := e.decide(ctx, p, p.asked(in.Call), in.Answers, func() (_ ast.Value, _ time.Time, ierr error) {
		if err != nil {
			return nil, time.Time{}, err
		}
		input, at, ierr = p.input(in, f)
		return input, at.now, ierr
	})
	if e.o.OnEvaluated != nil {
		e.o.OnEvaluated(ctx, time.Since(began), d.Rule == holdgate.RulePolicyError)
	}
	shown := p.hide(ctx, in, f, err, &d)
	d.Leaves = f.Leaves
	if d.Action == holdgate.Allow && err == nil {
		d.Later = p.later(in, f)
	}
	if in.Call.Result != nil && e.o.Observe { // what only observes changes nothing
		d.Redact = slices.DeleteFunc(d.Redact, func(p string) bool { return strings.HasPrefix(p, "/result") })
	}
	if e.o.KeepSeen {
		d.Seen = p.seen(in, f, d)
	}
	if repeatable && !*at.read {
		p.repeats.keep(in, f, d)
	}
	if d.Action == holdgate.Hold {
		f.Effects = p.shown(in.Call, f)
		f = shown(f)
		d.Facts = &f
	}
	if logs {
		e.logDecision(ctx, input, d)
	}
	return d
}

// started begins a span of the trace that ctx is in; where it is in none, the span does nothing.
func started(ctx context.Context, name string) (context.Context, trace.Span) {
	within := trace.SpanFromContext(ctx)
	if !within.IsRecording() {
		return ctx, within
	}
	return within.TracerProvider().Tracer("github.com/holdgate/holdgate").Start(ctx, name)
}

// facts is what is found out about a call. A panic is an error.
func (p *policy) facts(ctx context.Context, in Input) (f holdgate.Facts, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, err = holdgate.Facts{}, fmt.Errorf("evaluating policy: panic: %v", r)
		}
	}()
	return p.extract(ctx, in), nil
}

// Redact lists what is redacted of the call (the Redact of its decision). It decides nothing, so no decision log has it.
func (e *Engine) Redact(ctx context.Context, in Input) ([]string, error) {
	p := e.current.Load()
	f, ferr := p.facts(ctx, in)
	d, _, err := p.decide(ctx, e.o.Timeout, p.asked(in.Call), func() (ast.Value, time.Time, error) {
		if ferr != nil {
			return nil, time.Time{}, ferr
		}
		input, at, err := p.input(in, f)
		return input, at.now, err
	})
	p.hide(ctx, in, f, ferr, &d)
	return d.Redact, err
}

// Taint lists what the policy in force says that a session is in touch with once
// such a call has gone on (the Taint of its decision). It decides nothing, so no
// decision log has it.
func (e *Engine) Taint(ctx context.Context, in Input) ([]string, error) {
	p := e.current.Load()
	d, _, err := p.decide(ctx, e.o.Timeout, p.asked(in.Call), func() (ast.Value, time.Time, error) {
		input, at, err := p.input(in, p.extract(ctx, in))
		return input, at.now, err
	})
	return d.Taint, err
}

// decide evaluates a policy on what build makes, and turns the result into what
// Holdgate does: holds that people have answered are satisfied, failures refuse,
// and what only observes allows.
func (e *Engine) decide(ctx context.Context, p *policy, query *oparego.PreparedEvalQuery, answers []Answer, build func() (ast.Value, time.Time, error)) holdgate.Decision {
	d, observe, err := p.decide(ctx, e.o.Timeout, query, build)
	if err != nil {
		d, observe = e.failure(ctx, err), false
	} else {
		observe = observe || e.o.Observe
	}
	d = satisfied(d, answers)
	if observe && d.Action != holdgate.Allow {
		would := d.Action
		d.Would, d.Action, d.Hold, d.Also = &would, holdgate.Allow, holdgate.HoldSpec{Gate: d.Hold.Gate}, nil
	}
	d.Revision = p.loaded.Revision
	return d
}

// failure is the decision where policy gives none.
func (e *Engine) failure(ctx context.Context, err error) holdgate.Decision {
	err = unquoted(err)
	said := secrets.Conceal(err.Error(), nil)
	e.o.Logger.ErrorContext(ctx, "policy gave no decision", "err", said)
	d := holdgate.Decision{
		Action: holdgate.Deny,
		Rule:   holdgate.RulePolicyError,
		Risk:   holdgate.RiskHigh,
		Reason: fmt.Sprintf("The policy gave no decision, so the call was not let through: %s. %s", said, whatToDo(err)),
	}
	if e.o.OnError == holdgate.Hold {
		d.Action = holdgate.Hold
		d.Hold = verdict.DefaultHold()
	}
	return d
}

// unquoted is an error of policy without the values that it failed on, which
// may be secret.
func unquoted(err error) error {
	f, ok := errors.AsType[*topdown.Error](err)
	if !ok || f.Code != topdown.BuiltinErr {
		return err
	}
	name, _, _ := strings.Cut(f.Message, ":")
	return fmt.Errorf("evaluating policy: %v: %s failed on a value of this call", f.Location, name)
}

// whatToDo ends the reason of a failure.
func whatToDo(err error) string {
	if _, late := errors.AsType[*lateError](err); late {
		return "Where the machine was busy, the same call again will do. Where this comes back, a rule is too slow: whoever keeps the policy can time it with `holdgate policy eval`."
	}
	if errors.Is(err, errBroken) {
		return "Whoever keeps the policy can push another, or go back with `holdgate policy rollback`."
	}
	return "Whoever keeps the policy can look with `holdgate policy check` and `holdgate policy eval`."
}

// decide evaluates one input within the timeout. A panic, whosever it is, is
// an error.
func (p *policy) decide(ctx context.Context, timeout time.Duration, query *oparego.PreparedEvalQuery, build func() (ast.Value, time.Time, error)) (d holdgate.Decision, observe bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			d, observe, err = holdgate.Decision{}, false, fmt.Errorf("evaluating policy: panic: %v", r)
		}
	}()
	if p.loaded.Broken != "" {
		return d, false, fmt.Errorf("%w: %s", errBroken, p.loaded.Broken)
	}
	input, now, err := build()
	if err != nil {
		return d, false, err
	}
	value, err := p.eval(ctx, timeout, query, input, now)
	if _, late := errors.AsType[*lateError](err); late {
		// A machine that is busy for a moment is no slow policy.
		value, err = p.eval(ctx, timeout, query, input, now)
	}
	if err != nil {
		return d, false, err
	}
	if d, observe, err = verdict.Read(value); err != nil {
		err = p.blamed(value, err)
	}
	return d, observe, err
}

// blamed names the rule whose decision cannot be read.
func (p *policy) blamed(decision ast.Value, err error) error {
	o, ok := decision.(ast.Object)
	if !ok {
		return err
	}
	t := o.Get(ast.InternedTerm("rule"))
	if t == nil {
		return err
	}
	id, err2 := verdict.Text(t.Value)
	if err2 != nil {
		return err
	}
	for _, r := range p.rules {
		if slices.Contains(r.IDs, id) {
			return fmt.Errorf("the rule %q (%s): %w", id, r.Location, err)
		}
	}
	return fmt.Errorf("the rule %q: %w", id, err)
}

// A lateError says that policy did not answer in time.
type lateError struct{ timeout time.Duration }

func (e *lateError) Error() string {
	return fmt.Sprintf("evaluating policy: it took longer than %v, twice", e.timeout)
}

// eval returns the value of an entry point.
func (p *policy) eval(ctx context.Context, timeout time.Duration, query *oparego.PreparedEvalQuery, input ast.Value, now time.Time) (ast.Value, error) {
	bound := &bound{ctx: ctx, until: time.Now().Add(timeout)}
	results, err := query.Eval(ctx,
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
		return nil, fmt.Errorf("evaluating policy: %s is undefined for this input", p.entryOf(query))
	case len(results) > 1 || len(results[0].Expressions) != 1:
		return nil, fmt.Errorf("evaluating policy: %s has several results", p.entryOf(query))
	}
	value, ok := results[0].Expressions[0].Value.(ast.Value)
	if !ok {
		return nil, fmt.Errorf("evaluating policy: %s has no value", p.entryOf(query))
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
