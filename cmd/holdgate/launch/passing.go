package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
)

// runPassing runs cmd on the streams as they are, and tells on stderr what
// waits for an answer.
func runPassing(ctx context.Context, o Options, cmd *exec.Cmd, signals Signals) error {
	if err := startPassing(o, cmd); err != nil {
		return err
	}
	var work sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	if !o.Silent {
		work.Go(func() { tellPending(ctx, o) })
	}
	// The agent is in this process's own group, so that it may read a terminal
	// there is; what is typed on that reaches it without our help. In a sandbox it
	// has a session of its own.
	typed := o.Within == nil && (term.IsTerminal(int(o.Stdin.Fd())) || term.IsTerminal(int(o.Stderr.Fd())))
	work.Go(func() {
		signals.Each(ctx, func(s syscall.Signal) {
			if !typed || (s != syscall.SIGINT && s != syscall.SIGQUIT) {
				confine.PassOn(ctx, cmd.Process, s)
			}
		})
	})
	work.Go(func() {
		endWhenStopped(ctx, o, func(s syscall.Signal) { _ = cmd.Process.Signal(s) }) // it may have ended
	})
	err := cmd.Wait()
	cancel()
	work.Wait()
	return err
}

// startPassing starts cmd, or the agent in the sandbox that cmd is.
func startPassing(o Options, cmd *exec.Cmd) error {
	if o.Within != nil {
		return o.begin()
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
	return cmd.Start()
}

// tellPending writes one line for each request that waits, until ctx ends.
func tellPending(ctx context.Context, o Options) {
	told := map[string]bool{}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		list, err := o.Door.List(ctx, approvals.Filter{Status: holdgate.StatusPending, Agent: o.Agent})
		if err == nil { // else it is asked again: a sidecar may start anew
			for _, r := range list {
				if !told[r.ID] {
					told[r.ID] = true
					tellOne(o.Stderr, r, o.Elsewhere(r.ID))
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func tellOne(w *os.File, r approvals.Request, elsewhere string) {
	mark := ""
	if r.Agent.Confinement == unconfined {
		mark = " (UNCONFINED)"
	}
	// One write: the agent writes here too.
	fmt.Fprintf(w, "holdgate: %s%s waits for you: %s; %s; answer with: %s\n", holdgate.Visible(r.Agent.ID), mark, r.Briefing.Summary, silence(r, time.Now()), elsewhere)
}

// unconfined is what an agent's confinement says where there is none.
const unconfined = "unconfined"

// silence says what becomes of a request that nobody answers.
func silence(r approvals.Request, now time.Time) string {
	becomes := "is denied"
	if r.OnTimeout == holdgate.TimeoutApprove.String() {
		becomes = "is APPROVED by itself"
	}
	return fmt.Sprintf("without an answer it %s in %s", becomes, max(r.ExpiresAt.Sub(now), 0).Round(time.Second))
}
