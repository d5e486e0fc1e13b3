package rego

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
)

// againTimeout bounds working out a past call's facts again: nobody waits for
// it, and facts that were cut off by a busy machine would not be the same.
const againTimeout = 10 * time.Second

// Again decides a past call by the policy in force. The error is an
// [*UnjudgedError] where the log does not have all that the policy reads, or
// the policy gave no answer in time: nothing is guessed. No decision log has it.
func (e *Engine) Again(ctx context.Context, past Past) (holdgate.Decision, error) {
	d, _, err := e.again(ctx, e.current.Load(), past)
	return d, err
}

func (e *Engine) again(ctx context.Context, p *policy, past Past) (holdgate.Decision, *rebuiltCall, error) {
	r, err := p.remake(ctx, past)
	if err != nil {
		return holdgate.Decision{}, nil, err
	}
	d, observe, err := p.decide(ctx, againTimeout, &p.query, func() (ast.Value, time.Time, error) { return r.input, past.Call.Time, nil })
	if _, late := errors.AsType[*lateError](err); late || ctx.Err() != nil {
		return d, nil, &UnjudgedError{"the policy did not answer in time"}
	}
	if err != nil {
		d, observe = e.failure(ctx, err), false
	}
	d = satisfied(d, r.in.Answers)
	if (observe || e.o.Observe) && d.Action != holdgate.Allow {
		would := d.Action
		d.Would, d.Action, d.Hold, d.Also = &would, holdgate.Allow, holdgate.HoldSpec{Gate: d.Hold.Gate}, nil
	}
	d.Revision = p.loaded.Revision
	r.facts.Effects = p.shown(past.Call, r.facts)
	d.Facts = &r.facts
	return d, r, nil
}

// rebuiltCall is a past call as policy would see it now.
type rebuiltCall struct {
	in    Input
	facts facts.Facts
	input ast.Value
	clock clock // of input
}

func (p *policy) remake(ctx context.Context, past Past) (*rebuiltCall, error) {
	in, f, err := p.rebuilt(past, func(in Input) facts.Facts {
		f, err := p.facts(ctx, in)
		if err != nil {
			f.ParseErrors = []string{err.Error()} // not what was found then
		}
		return f
	})
	if err != nil {
		return nil, err
	}
	in = p.relevant(in)
	input, at, err := p.input(in, f)
	if err != nil {
		return nil, &UnjudgedError{"its arguments cannot be read"}
	}
	return &rebuiltCall{in, f, input, at}, nil
}

// An Explanation says why the policy in force decides a past call as it does.
type Explanation struct {
	Decision holdgate.Decision
	// Fired are the rules that have something to say of the call, the strictest
	// first. It is empty for a policy that replaces the shipped pack, which says
	// no more than its decision.
	Fired []Fired
	Input any    // all that policy saw, as JSON's own types
	Trace string // of the evaluation, where it was asked for
}

// Fired is what one rule says of a call.
type Fired struct {
	Rule   string   `json:"rule"`
	Action string   `json:"action"`
	Risk   string   `json:"risk,omitempty"`
	Reason string   `json:"reason,omitempty"`
	About  []string `json:"about,omitempty"` // what of the call it is about
	Gate   string   `json:"gate,omitempty"`
	// Required says that no grant and no silence answers its question, and Choice
	// that it is none of yes or no.
	Required bool `json:"required,omitempty"`
	Choice   bool `json:"choice,omitempty"`
	// Lifted says why it does not count: "answered" by people, "contained"
	// because the run is, or by an "exception" of the settings; empty where it does.
	Lifted      string `json:"lifted,omitempty"`
	Observes    bool   `json:"observes,omitempty"` // it only observes
	Title       string `json:"title,omitempty"`    // of the rule, by its METADATA
	Description string `json:"description,omitempty"`
	Location    string `json:"location,omitempty"` // file:line
}

// Explain says why the policy in force decides a past call as it does. Errors
// are those of [Engine.Again].
func (e *Engine) Explain(ctx context.Context, past Past, trace bool) (Explanation, error) {
	p := e.current.Load()
	d, r, err := e.again(ctx, p, past)
	if err != nil {
		return Explanation{}, err
	}
	x := Explanation{Decision: d}
	if x.Input, err = plain(r.input); err != nil {
		return x, fmt.Errorf("explaining a call: %w", err)
	}
	if x.Fired, err = p.fired(ctx, r, past.Call.Time); err != nil {
		return x, fmt.Errorf("explaining a call: %w", err)
	}
	if trace {
		x.Trace, err = p.trace(ctx, r, past.Call.Time)
	}
	return x, err
}

// firedQuery asks the pack for all that its rules say.
const firedQuery = `all := data.holdgate.decisions; standing := data.holdgate.standing; answered := {d | some d in all; data.holdgate.answered(d)}; spared := {d | some d in all; data.holdgate.spared(d)}`

// fired lists what the rules of the pack, and those over it, say.
func (p *policy) fired(ctx context.Context, r *rebuiltCall, now time.Time) ([]Fired, error) {
	if p.loaded.Whole {
		return nil, nil
	}
	prepared, err := p.firing(ctx)
	if err != nil {
		return nil, err
	}
	results, err := evaluate(ctx, prepared, r, now)
	if err != nil || len(results) != 1 {
		return nil, err
	}
	set := func(name string) ast.Set {
		v, _ := results[0].Bindings[name].(ast.Set)
		return v
	}
	all, standing, answered, spared := set("all"), set("standing"), set("answered"), set("spared")
	if all == nil || standing == nil || answered == nil || spared == nil {
		return nil, errors.New("the policy's decisions are no set")
	}
	var list []Fired
	err = all.Iter(func(t *ast.Term) error {
		f, err := p.firedRule(t)
		if err != nil {
			return err
		}
		switch {
		case standing.Contains(t):
		case answered.Contains(t):
			f.Lifted = "answered"
		case spared.Contains(t):
			f.Lifted = "contained"
		default:
			f.Lifted = "exception"
		}
		list = append(list, f)
		return nil
	})
	rank := map[string]int{"deny": 0, "hold": 1, "allow": 2}
	slices.SortStableFunc(list, func(a, b Fired) int {
		if d := len(a.Lifted) - len(b.Lifted); (a.Lifted == "") != (b.Lifted == "") {
			return d
		}
		if d := rank[a.Action] - rank[b.Action]; d != 0 {
			return d
		}
		return strings.Compare(a.Rule, b.Rule)
	})
	return list, err
}

// firedRule reads one member of the pack's decisions.
func (p *policy) firedRule(t *ast.Term) (Fired, error) {
	v, err := ast.JSON(t.Value)
	if err != nil {
		return Fired{}, err
	}
	o, _ := v.(object)
	word := func(o object, name string) string { s, _ := o[name].(string); return s }
	hold, _ := o["hold"].(object)
	f := Fired{Rule: word(o, "rule"), Action: word(o, "action"), Risk: word(o, "risk"), Reason: word(o, "reason"), Gate: word(hold, "gate")}
	f.Observes = o["observe"] == true
	f.Required = hold["required"] == true
	f.Choice = word(hold, "kind") == string(holdgate.RequestChoice)
	about, _ := o["about"].([]any)
	for _, thing := range about {
		f.About = append(f.About, fmt.Sprint(thing))
	}
	for _, r := range p.rules {
		if slices.Contains(r.IDs, f.Rule) {
			f.Title, f.Description, f.Location = r.Title, r.Description, r.Location
			break
		}
	}
	return f, nil
}

// trace is the policy's own way to its decision, as `opa eval --explain=full`
// shows it.
func (p *policy) trace(ctx context.Context, r *rebuiltCall, now time.Time) (string, error) {
	tracer := topdown.NewBufferTracer()
	if _, err := evaluate(ctx, p.query, r, now, oparego.EvalQueryTracer(tracer)); err != nil {
		return "", fmt.Errorf("tracing a call: %w", err)
	}
	var b bytes.Buffer
	topdown.PrettyTraceWithLocation(&b, *tracer)
	return b.String(), nil
}

// firing prepares firedQuery, once.
func (p *policy) firing(ctx context.Context) (oparego.PreparedEvalQuery, error) {
	p.firedMu.Lock()
	defer p.firedMu.Unlock()
	if p.firedQuery != nil {
		return *p.firedQuery, nil
	}
	prepared, err := prepare(ctx, p.compiler, p.store, firedQuery)
	if err != nil {
		return prepared, fmt.Errorf("preparing the query for all rules: %w", err)
	}
	p.firedQuery = &prepared
	return prepared, nil
}

// evaluate evaluates a query that nobody waits for.
func evaluate(ctx context.Context, prepared oparego.PreparedEvalQuery, r *rebuiltCall, now time.Time, o ...oparego.EvalOption) (oparego.ResultSet, error) {
	ctx, cancel := context.WithTimeout(ctx, againTimeout)
	defer cancel()
	return prepared.Eval(ctx, append(o, oparego.EvalParsedInput(r.input), oparego.EvalTime(now), oparego.EvalGenerateJSON(asValue))...)
}
