// Package budget bounds the work on one call.
//
// What reads the text of an attacker counts its steps. Once there are too many,
// or the time is over, the work ends from any depth by a panic with [Spent],
// for the one who began it to recover.
package budget

import (
	"context"
	"time"
)

const (
	// MaxText bounds one shell text. The parser recurses, at worst with
	// several KiB of stack for each byte, and a goroutine's stack that
	// overflows cannot be recovered from.
	MaxText = 64 << 10
	// MaxSteps bounds the work on one call, so that the same call has the same
	// facts on a busy machine as on an idle one. The deadline is for what steps
	// do not count. It is far from what any call takes: a call that looks
	// unreadable because other programs had the processor asks people for
	// nothing.
	MaxSteps = 20_000
)

// Spent is what the work on a call panics with that takes too much.
type Spent struct{ What string }

// A Budget is the work that is left for one call. It belongs to one goroutine.
type Budget struct {
	ctx      context.Context
	deadline time.Time
	steps    int
}

// New lasts as long as ctx does, and no longer than d.
func New(ctx context.Context, d time.Duration) *Budget {
	return &Budget{ctx: ctx, deadline: time.Now().Add(d)}
}

// Steps is how many steps were counted.
func (b *Budget) Steps() int { return b.steps }

// GiveUp ends the work on the call.
func (b *Budget) GiveUp(what string) { panic(Spent{what}) }

// Tick counts a step of work and gives up after too many, or once the time is
// over.
func (b *Budget) Tick() {
	if b.steps++; b.steps > MaxSteps {
		b.GiveUp("too much work")
	}
	if b.steps%32 == 0 && b.Late() {
		b.GiveUp("out of time")
	}
}

// Work counts n steps at once.
func (b *Budget) Work(n int) {
	b.steps += n
	if b.Late() {
		b.GiveUp("out of time")
	}
	b.Tick()
}

// Grown counts the work on a text of so many bytes to which more are added:
// values that hold themselves twice would soon fill the memory.
func (b *Budget) Grown(bytes, more int) {
	if bytes+more > MaxText {
		b.GiveUp("a word is too long")
	}
	if more > 1024 {
		b.Work(more / 256)
	}
}

// Late reports whether the time is over.
func (b *Budget) Late() bool {
	return b.ctx.Err() != nil || time.Now().After(b.deadline)
}
