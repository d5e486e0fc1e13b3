// Package relay stands between an MCP client and a server that speaks on its
// standard streams: the client starts `holdgate mcp -- SERVER` in the server's
// place. What either writes goes to the sidecar, line by line, and only what
// the sidecar says is written to the other; package stdio is the stream to it.
//
// The relay decides nothing. Where the sidecar is gone nothing passes: for
// [patience] everything waits, for a sidecar may start anew; then what the
// client asks is refused, in words that a model can read, until there is one
// again. What a person was asked meanwhile is not lost: the lines that are not
// over come again on the next stream.
//
// To the server it looks as if the client had started it: its standard error is
// its own, signals are passed on, its input ends when the client's does, and
// its exit code is the relay's.
package relay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/holdgate/holdgate/cmd/holdgate/launch"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
)

// Options say what to run, and where the sidecar is. All fields must be set.
type Options struct {
	Program string   // the path of the server's program; see [exec.LookPath]
	Args    []string // its arguments, without its own name
	Env     []string // of which what begins with HOLDGATE_ is kept from it

	Stdin, Stdout, Stderr *os.File

	// Connect opens a stream to the sidecar. It is called again whenever the
	// stream has broken.
	Connect func(context.Context) (*stdio.Conn, error)
	// Tell tells the person, on a line of its own, how the sidecar is.
	Tell func(text string)
}

const (
	// patience is how long a sidecar that has gone is waited for before the
	// client hears of it.
	patience = 10 * time.Second
	// retryEvery is the time between two attempts to reach it.
	retryEvery = 250 * time.Millisecond
	// lingering is how long a server's output may stay open when the server
	// itself has ended: other processes may hold it.
	lingering = 2 * time.Second
)

// Run runs the server to its end and returns its exit code, 128 and the
// signal's number where a signal ended it. It fails, and starts nothing, where
// there is no sidecar. One goroutine may be left behind: it reads the client's
// input, which cannot be interrupted. ctx carries values only.
func Run(ctx context.Context, o Options) (code int, err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	conn, err := o.Connect(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	signals := launch.GetSignals()
	defer signals.Stop()
	s, err := start(o)
	if err != nil {
		return 0, err
	}
	l := newLink(o, s.stdin, s.out)
	var work sync.WaitGroup
	work.Go(func() { signals.Each(ctx, s.signal) })
	work.Go(func() { l.lines(stdio.Server, s.out, stdio.ServerEnd) })
	go l.lines(stdio.Client, o.Stdin, stdio.ClientEnd)
	l.serve(ctx, conn)
	l.toClient.close()
	l.toServer.close()
	code, err = s.wait()
	cancel()
	work.Wait()
	return code, err
}

// A server is the process.
type server struct {
	cmd   *exec.Cmd
	stdin *os.File // our end
	out   *os.File // our end of its output
	typed bool     // there is a terminal, whose keys reach it without our help

	done chan struct{} // closed when it has ended
	err  error         // of its end
}

func start(o Options) (*server, error) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe: %w", err), in.Close(), stdin.Close())
	}
	cmd := exec.Command(o.Program, o.Args...)
	cmd.Env = slices.DeleteFunc(slices.Clone(o.Env), func(v string) bool { return strings.HasPrefix(v, "HOLDGATE_") })
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, stdout, o.Stderr
	err = cmd.Start()
	err = errors.Join(err, in.Close(), stdout.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", o.Program, err), stdin.Close(), out.Close())
	}
	s := &server{cmd: cmd, stdin: stdin, out: out, done: make(chan struct{}),
		typed: term.IsTerminal(int(o.Stdin.Fd())) || term.IsTerminal(int(o.Stderr.Fd()))}
	go func() { // wait waits for it
		s.err = cmd.Wait()
		close(s.done)
		time.Sleep(lingering)
		_ = out.Close() // the reading may be over
	}()
	return s, nil
}

func (s *server) signal(sig syscall.Signal) {
	if !s.typed || (sig != syscall.SIGINT && sig != syscall.SIGQUIT) {
		_ = s.cmd.Process.Signal(sig) // it may have ended
	}
}

func (s *server) wait() (code int, err error) {
	<-s.done
	if exit, ok := errors.AsType[*exec.ExitError](s.err); ok {
		return launch.ExitCode(exit.ProcessState), nil
	}
	return 0, s.err
}
