package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// stdioTargets are an MCP server that is started by its client, and the same
// behind `holdgate mcp`. Each connection is a process of its own, as it is for
// agents.
func (p *processes) stdioTargets(request []byte) []target {
	server := []string{p.exe, "bench", "--peer", "stdio"}
	through := append([]string{p.exe, "--config", filepath.Join(p.dir, "holdgate.yaml"), "--state-dir", filepath.Join(p.dir, "state"), "mcp", "--name", "bench-stdio", "--"}, server...)
	var straight, relays children
	return []target{
		{direct, straight.dial(server), request, func() time.Duration { return 0 }, true, nil},
		{relayed, relays.dial(through), request, func() time.Duration { return p.holdgate.cpu() + relays.cpu() }, true, nil},
	}
}

// children are the processes that a target's connections are. The server that
// `holdgate mcp` starts is none of them. It is safe for concurrent use.
type children struct {
	mu   sync.Mutex
	pids []int
}

func (c *children) cpu() (sum time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pid := range c.pids {
		sum += cpuOf(pid)
	}
	return sum
}

// dial starts a process and returns the other end of its standard streams.
func (c *children) dial(args []string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		ours, theirs, err := streams()
		if err != nil {
			return nil, fmt.Errorf("making streams: %w", err)
		}
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = 10 * time.Second
		if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
			return nil, errors.Join(fmt.Errorf("starting %s: %w", args[0], err), ours.Close())
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pids = append(c.pids, cmd.Process.Pid)
		return &child{Conn: ours, of: c, cmd: cmd}, nil
	}
}

// A child is a process as a connection to it. Closing it ends the process.
type child struct {
	net.Conn
	of  *children
	cmd *exec.Cmd
}

// Close implements [net.Conn].
func (c *child) Close() error {
	err := c.Conn.Close()
	_ = c.cmd.Wait() // it was told to end by the end of its input
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	for i, pid := range c.of.pids {
		if pid == c.cmd.Process.Pid {
			c.of.pids = append(c.of.pids[:i], c.of.pids[i+1:]...)
			break
		}
	}
	return err
}

// serveLines answers each line with the result of a tool.
func serveLines(stdin io.Reader, stdout io.Writer) error {
	answer := []byte(mcpFormat().Plain + "\n")
	in := bufio.NewReaderSize(stdin, 64<<10)
	for {
		if _, err := in.ReadSlice('\n'); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		if _, err := stdout.Write(answer); err != nil {
			return err
		}
	}
}
