package launch

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signals are those that are meant for the agent, or that tell of the terminal's size,
// from now on. A signal that came while nobody had asked for it would be lost, so it is
// asked for before the agent is started.
type Signals chan os.Signal

// GetSignals begins to get them, until Stop is called.
func GetSignals() Signals {
	got := make(Signals, 16)
	signal.Notify(got, forwarded...)
	return got
}

// Stop ends it.
func (got Signals) Stop() { signal.Stop(got) }

// Each calls fn for each signal, until ctx ends.
func (got Signals) Each(ctx context.Context, fn func(syscall.Signal)) {
	for {
		select {
		case s := <-got:
			if s, ok := s.(syscall.Signal); ok {
				fn(s)
			}
		case <-ctx.Done():
			return
		}
	}
}
