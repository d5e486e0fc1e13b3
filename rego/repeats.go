package rego

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
)

// maxRepeats is how many model requests a policy remembers.
const maxRepeats = 256

// repeats remember which model requests a policy has allowed. An agent asks the
// same model with the same tools over and over, which is all that policy sees of
// it; policy depends on nothing but its input, so the same input has the same
// answer until another policy is in force. What looked at the clock is not
// remembered, nor is anything but a plain allow. It is safe for concurrent use.
type repeats struct {
	mu      sync.Mutex
	allowed map[repeat]allowed
}

// A repeat tells apart what alternates: the latest of each is remembered.
type repeat struct{ agent, session, door, model string }

type allowed struct {
	in       Input // all of it must be the same, but for the time
	decision holdgate.Decision
}

// find returns the decision that was made on the same input.
func (r *repeats) find(in Input) (holdgate.Decision, bool) {
	if in.Call.Kind != holdgate.KindModelRequest || in.Call.Model == nil {
		return holdgate.Decision{}, false
	}
	r.mu.Lock()
	a, ok := r.allowed[repeatOf(in)]
	r.mu.Unlock()
	in.Call.Time = time.Time{}
	if !ok || !reflect.DeepEqual(a.in, in) {
		return holdgate.Decision{}, false
	}
	return a.decision, true
}

// keep remembers a decision, unless it is none to be remembered.
func (r *repeats) keep(in Input, d holdgate.Decision) {
	if in.Call.Kind != holdgate.KindModelRequest || in.Call.Model == nil || d.Action != holdgate.Allow || d.Would != nil {
		return
	}
	in.Call.Time = time.Time{}
	in.Call.Model = cloned(in.Call.Model)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.allowed == nil || len(r.allowed) >= maxRepeats {
		r.allowed = make(map[repeat]allowed)
	}
	r.allowed[repeatOf(in)] = allowed{in, d}
}

func repeatOf(in Input) repeat {
	c := in.Call
	return repeat{c.Agent.ID, c.Session.ID, c.Door, c.Model.Name}
}

// cloned is a copy that shares nothing: what is compared with must not change.
func cloned(m *holdgate.Model) *holdgate.Model {
	c := *m
	c.Tools, c.ServerTools = slices.Clone(m.Tools), slices.Clone(m.ServerTools)
	return &c
}

// A clock is input.time. It knows whether the policy has looked at it: OPA
// converts a part of input when a rule reads it, or all of input is read.
type clock struct {
	now    time.Time
	looked *bool
}

// MarshalJSON implements [encoding/json.Marshaler], which is how OPA converts
// what is none of its own types.
func (c clock) MarshalJSON() ([]byte, error) {
	*c.looked = true
	return c.now.UTC().AppendFormat(nil, `"`+time.RFC3339Nano+`"`), nil
}
