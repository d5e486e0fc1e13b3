package mcphost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/proxy/wire"
)

const (
	// grace is how long a process may take to end when its input has, and then
	// when it was told to by SIGTERM.
	grace = 2 * time.Second
	// writeTimeout is how long a process may take to read a message.
	writeTimeout = time.Minute
	// maxStderr is the greatest length of what the log shows of a line of its
	// standard error.
	maxStderr = 2000
)

// A process is a server that runs. It leads a process group of its own, which
// ends with it: launchers such as npx leave their children behind.
type process struct {
	o      Options
	cmd    *exec.Cmd
	out    *os.File // our ends
	errs   *os.File
	taking func(line []byte)
	said   atomic.Bool

	stopping chan struct{} // closed when it is to end
	once     sync.Once

	mu    sync.Mutex // of writing
	stdin *os.File
}

// startProcess starts a server; run must be called. taking gets its lines, one
// after the other.
func startProcess(o Options, taking func(line []byte)) (*process, error) {
	program, err := lookPath(o.Command[0], o.Env)
	if err != nil {
		return nil, err
	}
	var ends [6]*os.File
	for i := 0; i < len(ends); i += 2 {
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			closeAll(ends[:i])
			return nil, fmt.Errorf("making a pipe: %w", err)
		}
	}
	cmd := exec.Command(program, o.Command[1:]...)
	cmd.Env, cmd.Dir = o.Env, o.Dir
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would be our own
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ends[0], ends[3], ends[5]
	ownGroup(cmd)
	err = cmd.Start()
	closeAll([]*os.File{ends[0], ends[3], ends[5]})
	if err != nil {
		closeAll([]*os.File{ends[1], ends[2], ends[4]})
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return &process{o: o, cmd: cmd, stdin: ends[1], out: ends[2], errs: ends[4], taking: taking, stopping: make(chan struct{})}, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// lookPath finds a program as the process itself would: by its own PATH.
func lookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	for _, v := range env {
		list, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if at := filepath.Join(dir, name); filepath.IsAbs(at) && isProgram(at) {
				return at, nil
			}
		}
	}
	return "", fmt.Errorf("finding the program %s: it is in no folder of PATH", name)
}

func isProgram(at string) bool {
	info, err := os.Stat(at)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// write sends a line. It may be called by many at a time. A process that does not
// read is ended: half of a line may have reached it.
func (p *process) write(line []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.stdin.SetWriteDeadline(time.Now().Add(writeTimeout)) // a pipe has one
	_, err := p.stdin.Write(append(line[:len(line):len(line)], '\n'))
	if err != nil {
		p.stop()
	}
	return err
}

// stop tells the process to end.
func (p *process) stop() { p.once.Do(func() { close(p.stopping) }) }

func (p *process) ending() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

// spoke reports whether the process has ever said anything.
func (p *process) spoke() bool { return p.said.Load() }

// run serves the process to its end, which is when it ends by itself, or stop
// is called, or ctx ends. It returns when nothing of it is left.
func (p *process) run(ctx context.Context) {
	var reading sync.WaitGroup
	reading.Go(p.readLines)
	reading.Go(p.readErrors)
	exited := make(chan struct{})
	var err error
	reading.Go(func() {
		err = p.cmd.Wait()
		close(exited)
	})
	select {
	case <-exited:
	case <-ctx.Done():
	case <-p.stopping:
	}
	p.stop()
	_ = p.stdin.Close() // its input ends; a write under way fails
	for _, sig := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
		if sig != 0 {
			p.signal(sig)
		}
		select {
		case <-exited:
		case <-time.After(grace):
			continue
		}
		break
	}
	<-exited
	p.signal(syscall.SIGKILL) // what it has started and left behind
	done := make(chan struct{})
	go func() { reading.Wait(); close(done) }() // waited for below
	select {
	case <-done:
	case <-time.After(grace): // somebody else holds its streams
	}
	closeAll([]*os.File{p.out, p.errs})
	<-done
	p.o.Logger.InfoContext(ctx, "an MCP server has ended", "server", p.o.Name, "how", howItEnded(err))
}

func howItEnded(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// signal signals the process's whole group, which has its number.
func (p *process) signal(sig syscall.Signal) { _ = signalGroup(p.cmd.Process, sig) }

func (p *process) readLines() {
	lines := stdio.NewLines(p.out, p.o.Message)
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, wire.ErrTooLarge):
			// It may have been an answer: whoever waits for one would wait for ever.
			p.o.Logger.Warn("an MCP server is ended: it sent too long a message; raise limits.body, or have it send less", "server", p.o.Name, "err", err)
			p.stop()
			_, _ = io.Copy(io.Discard, p.out)
			return
		case err != nil:
			return
		}
		p.said.Store(true)
		p.taking(line)
	}
}

func (p *process) readErrors() {
	lines := stdio.NewLines(p.errs, 64<<10)
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, wire.ErrTooLarge):
			line = []byte("(a line too long to show)")
		case err != nil:
			return
		}
		text := strings.ToValidUTF8(string(line[:min(len(line), maxStderr)]), "?")
		p.o.Logger.LogAttrs(context.Background(), slog.LevelInfo, "an MCP server says", slog.String("server", p.o.Name), slog.String("stderr", text))
	}
}
