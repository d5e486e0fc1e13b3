package launch

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// EachSignal calls fn for each signal that is meant for the agent, or that
// tells of the terminal's size, until ctx ends.
func EachSignal(ctx context.Context, fn func(syscall.Signal)) {
	got := make(chan os.Signal, 8)
	signal.Notify(got, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH)
	defer signal.Stop(got)
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
