package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/holdgate/holdgate/cmd/holdgate/confine"
)

// A session is an agent on a pty of its own, and the person's terminal.
type session struct {
	o        Options
	cmd      *exec.Cmd
	pty      *os.File
	screen   *screen
	keyboard *keyboard
	resized  chan struct{} // of one: the person's terminal has another size
}

// runAsking runs cmd on a pty, and asks on the person's terminal.
func runAsking(ctx context.Context, o Options, cmd *exec.Cmd, signals Signals) error {
	size, err := pty.GetsizeFull(o.Stdout)
	if err != nil {
		return fmt.Errorf("reading the terminal's size: %w", err)
	}
	master, err := startAsking(o, cmd, size)
	if err != nil {
		return err
	}
	defer master.Close()
	before, err := term.MakeRaw(int(o.Stdin.Fd()))
	if err != nil {
		giveUp(cmd)
		return fmt.Errorf("taking the terminal over: %w", err)
	}
	defer func() { _ = term.Restore(int(o.Stdin.Fd()), before) }() // nothing is left to do for it
	s := &session{
		o: o, cmd: cmd, pty: master, screen: newScreen(o.Stdout, o.Plain),
		keyboard: &keyboard{tty: o.Stdin, agent: master}, resized: make(chan struct{}, 1),
	}
	return s.run(ctx, signals)
}

// drainFor is how long output is still waited for once the agent has ended:
// processes that it leaves behind may hold its terminal open.
const drainFor = 100 * time.Millisecond

// run starts what copies and asks, waits for the agent, and ends the rest in
// the order in which the parts depend on each other.
func (s *session) run(ctx context.Context, signals Signals) error {
	stop, stopper, err := os.Pipe()
	if err != nil {
		giveUp(s.cmd)
		return fmt.Errorf("making a pipe: %w", err)
	}
	defer stop.Close()
	ctx, cancel := context.WithCancel(ctx)
	var asking, copying, typing sync.WaitGroup
	if !s.o.Silent {
		asking.Go(func() { s.askAll(ctx) })
	}
	pass := func(sig syscall.Signal) { s.pass(ctx, sig) }
	asking.Go(func() { signals.Each(ctx, pass) })
	asking.Go(func() { endWhenStopped(ctx, s.o, pass) })
	copying.Go(s.copyOutput)
	typing.Go(func() {
		if err := s.keyboard.run(stop); err != nil {
			end(ctx, syscall.SIGHUP, pass) // the terminal has gone, and nobody sees the agent any more
		}
	})
	err = s.cmd.Wait()
	cancel()
	asking.Wait()
	_ = s.pty.SetReadDeadline(time.Now().Add(drainFor))
	copying.Wait()
	_ = stopper.Close()
	typing.Wait()
	return err
}

// copyOutput copies what the agent prints, until nobody has its terminal open
// any longer.
func (s *session) copyOutput() {
	buf := make([]byte, 32<<10)
	for {
		n, err := s.pty.Read(buf)
		if n > 0 {
			_, _ = s.screen.Write(buf[:n]) // a terminal that has gone shows on the keyboard
		}
		if err != nil {
			return
		}
	}
}

// pass passes a signal on to the agent.
func (s *session) pass(ctx context.Context, sig syscall.Signal) {
	if sig != resizedSignal {
		confine.PassOn(ctx, s.cmd.Process, sig)
		return
	}
	s.resize(0)
	select {
	case s.resized <- struct{}{}:
	default:
	}
}

// resize gives the agent's terminal the person's size, less some rows. The
// kernel tells the agent where that is a change.
func (s *session) resize(less uint16) {
	size, err := pty.GetsizeFull(s.o.Stdout)
	if err != nil {
		return // the terminal has gone
	}
	if size.Rows > less+1 {
		size.Rows -= less
	}
	_ = setSize(s.pty, size) // the agent may have gone
}

// repaint tells the agent's foreground processes to paint their screen anew.
func (s *session) repaint() {
	s.resize(0)
	if group, err := foreground(s.pty); err == nil && group > 1 {
		_ = signalGroup(group, resizedSignal) // they may have ended
	}
}
