package rego

import (
	"bytes"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego/facts"
	"github.com/holdgate/holdgate/rego/facts/secrets"
)

// maxRepeats is how many calls a policy remembers, and maxRepeatArguments how
// many bytes of arguments one of them may have to be remembered.
const (
	maxRepeats         = 256
	maxRepeatArguments = 16 << 10
)

// repeats remember which model requests and tool calls a policy has allowed. An
// agent asks the same model with the same tools over and over, and calls the same
// tools, of which policy sees little but names and facts; policy depends on
// nothing but its input, so the same input has the same answer until another
// policy is in force. What looked at the clock is not remembered, nor is anything
// but a plain allow. It is safe for concurrent use.
type repeats struct {
	mu      sync.Mutex
	allowed map[repeat]*allowed
}

// A repeat tells apart what alternates: the latest of each is remembered.
type repeat struct{ agent, session, door, server, name string }

// An allowed call does not change once it is remembered.
type allowed struct {
	in       Input // all of it must be the same, but for what distinguish takes out
	like     Input // in without the arguments of a tool call
	facts    facts.Facts
	decision holdgate.Decision
}

// find returns the decision that was made on the same call.
func (r *repeats) find(in Input) (holdgate.Decision, bool) {
	a := r.latest(in)
	if a == nil {
		return holdgate.Decision{}, false
	}
	if t, was := in.Call.Tool, a.in.Call.Tool; t != nil && was != nil && !bytes.Equal(t.Arguments, was.Arguments) {
		return holdgate.Decision{}, false
	}
	in = distinguish(in)
	if !reflect.DeepEqual(&a.in, &in) {
		return holdgate.Decision{}, false
	}
	return a.decision, true
}

// findLike returns the decision that was made on a tool call with other
// arguments and the same facts, which are the same input to a policy that cannot
// see arguments.
func (r *repeats) findLike(in Input, f *facts.Facts) (holdgate.Decision, bool) {
	if in.Call.Tool == nil || len(f.ParseErrors) > 0 || secrets.Mentions(in.Call.Tool.Arguments) { // what is hidden is in no fact
		return holdgate.Decision{}, false
	}
	a := r.latest(in)
	if a == nil || slices.Contains(a.decision.Redact, holdgate.RedactCredentials) || !reflect.DeepEqual(&a.facts, f) {
		return holdgate.Decision{}, false
	}
	in = withoutArguments(distinguish(in))
	if !reflect.DeepEqual(&a.like, &in) {
		return holdgate.Decision{}, false
	}
	return a.decision, true
}

// latest is the call of the kind that was allowed last, or nil.
func (r *repeats) latest(in Input) *allowed {
	k, ok := repeatOf(in)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.allowed[k]
}

// keep remembers a decision, unless it is none to be remembered: where facts
// are missing, the next time they may not be.
func (r *repeats) keep(in Input, f facts.Facts, d holdgate.Decision) {
	k, ok := repeatOf(in)
	if !ok || d.Action != holdgate.Allow || d.Would != nil || len(f.ParseErrors) > 0 {
		return
	}
	in = distinguish(in)
	in.Call.Model, in.Call.Tool = clonedModel(in.Call.Model), clonedTool(in.Call.Tool)
	a := &allowed{in: in, facts: f, decision: d}
	if in.Call.Tool != nil {
		a.like = withoutArguments(in)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.allowed == nil || len(r.allowed) >= maxRepeats {
		r.allowed = make(map[repeat]*allowed)
	}
	r.allowed[k] = a
}

// repeatOf reports false where a call is none to be remembered.
func repeatOf(in Input) (repeat, bool) {
	c := in.Call
	k := repeat{agent: c.Agent.ID, session: c.Session.ID, door: c.Door}
	switch {
	case c.Result != nil:
		return k, false
	case c.Kind == holdgate.KindModelRequest && c.Model != nil:
		k.name = c.Model.Name
	case c.Kind == holdgate.KindToolCall && c.Tool != nil && c.Tool.Arguments != nil && len(c.Tool.Arguments) <= maxRepeatArguments:
		k.server, k.name = "tool "+c.Tool.Server, c.Tool.Name
	default:
		return k, false
	}
	return k, true
}

// distinguish leaves out of a call what policy does not see of it, and the time,
// of which is known whether policy has looked at it.
func distinguish(in Input) Input {
	in.Call.Time, in.Call.ID, in.Call.Position = time.Time{}, "", 0
	return in
}

func withoutArguments(in Input) Input {
	t := *in.Call.Tool
	t.Arguments = nil
	in.Call.Tool = &t
	return in
}

// clonedModel is a copy that shares nothing: what is compared with must not
// change.
func clonedModel(m *holdgate.Model) *holdgate.Model {
	if m == nil {
		return nil
	}
	c := *m
	c.Tools, c.ServerTools = slices.Clone(m.Tools), slices.Clone(m.ServerTools)
	return &c
}

func clonedTool(t *holdgate.Tool) *holdgate.Tool {
	if t == nil {
		return nil
	}
	c := *t
	c.Arguments = slices.Clone(t.Arguments)
	return &c
}

// A clock is input.time. It knows whether the policy has looked at it: OPA
// converts a part of input when a rule reads it, or all of input is read.
type clock struct {
	now  time.Time
	read *bool
}

// MarshalJSON implements [encoding/json.Marshaler], which is how OPA converts
// what is none of its own types.
func (c clock) MarshalJSON() ([]byte, error) {
	*c.read = true
	return c.now.UTC().AppendFormat(nil, `"`+time.RFC3339Nano+`"`), nil
}
