package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"
)

// drain is how long the output of a process is read after it has ended. What
// it started and left behind may hold the pipes open for ever.
const drain = 250 * time.Millisecond

// A child is a channel's process and what it started: one session. It is
// go-plugin's view of the process too.
type child struct {
	cmd    *exec.Cmd
	dir    string // where its socket has to be
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	log    func(io.Reader) // reads stderr to its end

	mu     sync.Mutex
	pid    int  // 0: not started
	killed bool // perhaps before it was started

	reading sync.WaitGroup
	done    chan struct{} // closed when the process has ended
	err     error         // how it ended; set before done is closed
}

var _ runner.Runner = (*child)(nil)

func newChild(cmd *exec.Cmd, dir string, log func(io.Reader)) *child {
	// A session of its own keeps it from Holdgate's terminal, and can be ended as
	// a whole.
	apart(cmd)
	return &child{cmd: cmd, dir: dir, log: log, done: make(chan struct{})}
}

// Start implements [runner.Runner].
func (c *child) Start(context.Context) (err error) {
	var theirs [3]*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // nil, or a duplicate that only the child needs
		}
		if err != nil {
			c.closePipes()
		}
	}()
	for _, p := range []struct{ r, w **os.File }{{&theirs[0], &c.stdin}, {&c.stdout, &theirs[1]}, {&c.stderr, &theirs[2]}} {
		if *p.r, *p.w, err = os.Pipe(); err != nil {
			return fmt.Errorf("making a pipe: %w", err)
		}
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if err := c.launch(); err != nil {
		return fmt.Errorf("starting the process: %w", err)
	}
	c.reading.Go(func() { c.log(c.stderr) })
	go c.reap()
	return nil
}

func (c *child) launch() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed {
		return errors.New("it was ended before")
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	c.pid = c.cmd.Process.Pid
	return nil
}

// started reports whether there is, or was, a process.
func (c *child) started() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pid != 0
}

// reap waits for the process, ends what it left behind, and lets go of its
// output. Whoever waits for it waits for done.
func (c *child) reap() {
	err := c.cmd.Wait()
	_ = killAll(c.pid) // mostly there is nobody
	until := time.Now().Add(drain)
	_ = c.stdout.SetReadDeadline(until)
	_ = c.stderr.SetReadDeadline(until)
	c.reading.Wait()
	c.err = err
	close(c.done)
}

// gone says how the process has ended, once it has.
func (c *child) gone() error {
	if c.err == nil {
		return errors.New("the process has ended by itself")
	}
	return fmt.Errorf("the process has ended: %w", c.err)
}

// ended reports whether the process has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Kill implements [runner.AttachedRunner]: it ends the whole session at once, and
// keeps it from being started later.
func (c *child) Kill(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	if c.pid == 0 || c.ended() {
		return nil
	}
	if err := killAll(c.pid); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("ending the process: %w", err)
	}
	return nil
}

// Wait implements [runner.AttachedRunner].
func (c *child) Wait(context.Context) error {
	<-c.done
	return c.err
}

func (c *child) closePipes() {
	for _, f := range []*os.File{c.stdin, c.stdout, c.stderr} {
		_ = f.Close() // nil, or a pipe without anything to flush
	}
}

// ID implements [runner.AttachedRunner].
func (c *child) ID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pid == 0 {
		return ""
	}
	return strconv.Itoa(c.pid)
}

// Name implements [runner.Runner].
func (c *child) Name() string { return c.cmd.Path }

// Stdout implements [runner.Runner].
func (c *child) Stdout() io.ReadCloser { return c.stdout }

// Stderr implements [runner.Runner]. It is empty: go-plugin would parse what
// the process writes there, and panics on JSON of an unexpected type.
func (c *child) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Diagnose implements [runner.Runner].
func (c *child) Diagnose(context.Context) string { return "" }

// PluginToHost implements [runner.AddrTranslator]. The process names the
// address; only a socket in its own folder is connected to.
func (c *child) PluginToHost(network, addr string) (string, string, error) {
	if network != "unix" || filepath.Dir(filepath.Clean(addr)) != filepath.Clean(c.dir) {
		return "", "", &net.AddrError{Err: "not a socket in the folder that the process was given", Addr: network + " " + addr}
	}
	return network, addr, nil
}

// HostToPlugin implements [runner.AddrTranslator].
func (c *child) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
