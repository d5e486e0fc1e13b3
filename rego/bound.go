package rego

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
)

// A bound ends one evaluation, when its time is over or its context is done.
// OPA asks it at each step; a context with a deadline in its place would cost
// a timer and a goroutine each time.
type bound struct {
	ctx    context.Context
	until  time.Time
	steps  atomic.Uint32
	ending atomic.Bool
}

var _ topdown.Cancel = (*bound)(nil)

// Cancel ends the evaluation at its next step.
func (b *bound) Cancel() { b.ending.Store(true) }

// Cancelled reports whether to end. It looks at the clock at every 32nd step.
func (b *bound) Cancelled() bool {
	if b.steps.Add(1)%32 == 0 && (b.ctx.Err() != nil || time.Now().After(b.until)) {
		b.ending.Store(true)
	}
	return b.ending.Load()
}
