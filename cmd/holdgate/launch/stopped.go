package launch

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// stopGrace is how long an agent that was told to end may take.
const stopGrace = 5 * time.Second

// endWhenStopped ends the agent once people have stopped it: by SIGTERM, and by
// SIGKILL where it is there after the grace. It returns when ctx ends, which is
// when the agent has. Processes that the agent started are its own to end.
func endWhenStopped(ctx context.Context, o Options, signal func(syscall.Signal)) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		s, err := o.Door.AgentStatus(ctx, o.Agent)
		if err == nil && s.Stopped() {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	end(ctx, syscall.SIGTERM, signal)
}

// end tells the agent to end by this signal, and kills it where it is there after the
// grace. It returns before that when ctx ends.
func end(ctx context.Context, by syscall.Signal, signal func(syscall.Signal)) {
	signal(by)
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-grace.C:
		signal(syscall.SIGKILL)
	case <-ctx.Done():
	}
}

// tellStopped says on stderr that people have stopped the agent, where they
// have.
func tellStopped(ctx context.Context, o Options) {
	s, err := o.Door.AgentStatus(ctx, o.Agent)
	if err == nil && s.Stopped() {
		fmt.Fprintf(o.Stderr, "holdgate: %s was %s\n", holdgate.Visible(o.Agent), holdgate.Visible(s.String()))
	}
}

// AwaitResumed waits while people have stopped the agent, and tells what it waits
// for, each time that changes.
func AwaitResumed(ctx context.Context, d Door, agent string, tell func(approvals.AgentStatus)) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var told approvals.AgentStatus
	for {
		s, err := d.AgentStatus(ctx, agent)
		if err != nil || !s.Stopped() {
			return err
		}
		if s != told {
			tell(s)
			told = s
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
