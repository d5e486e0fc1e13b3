package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// A keyboard reads the person's terminal. What is typed goes to the agent, or
// to a question while one is open.
type keyboard struct {
	tty   *os.File
	agent *os.File // the agent's pty

	mu  sync.Mutex
	to  chan<- stroke // nil: the agent
	ctx context.Context
}

// A stroke is what was typed at once, and when.
type stroke struct {
	text []byte
	at   time.Time
}

// agentPatience is how long the agent may take to read what is typed. After
// that it is thrown away, as a terminal does whose queue is full.
const agentPatience = time.Second

// divert sends what is typed from now on to a question, until ctx ends. What
// is already waiting is thrown away.
func (k *keyboard) divert(ctx context.Context) <-chan stroke {
	to := make(chan stroke)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.to, k.ctx = to, ctx
	_ = k.agent.SetWriteDeadline(time.Now()) // what is being written there waits no longer
	_ = FlushInput(k.tty)                    // what it leaves comes too early, and is passed over
	return to
}

// run reads until stop can be read from, or the terminal has gone.
func (k *keyboard) run(stop *os.File) error {
	buf := make([]byte, 4<<10)
	for {
		typed, err := waitReadable(k.tty, stop)
		if err != nil || !typed {
			return err
		}
		n, err := readTerminal(k.tty, buf)
		switch {
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EAGAIN):
			continue
		case err != nil:
			return fmt.Errorf("reading the terminal: %w", err)
		case n == 0:
			return fmt.Errorf("reading the terminal: %w", io.EOF)
		}
		k.pass(stroke{append([]byte(nil), buf[:n]...), time.Now()})
	}
}

// pass gives what was typed to whom it is for.
func (k *keyboard) pass(s stroke) {
	k.mu.Lock()
	to, ctx := k.to, k.ctx
	if to != nil && ctx.Err() != nil {
		k.to, to = nil, nil
	}
	if to == nil {
		_ = k.agent.SetWriteDeadline(s.at.Add(agentPatience))
	}
	k.mu.Unlock()
	if to == nil {
		_, _ = k.agent.Write(s.text) // an agent that has ended reads nothing
		return
	}
	select {
	case to <- s:
	case <-ctx.Done(): // it was typed for the question, which has closed
	}
}
