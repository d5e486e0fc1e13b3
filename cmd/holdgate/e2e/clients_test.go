package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clientsDir is where real clients are installed. Without them the test is
// skipped, and says how to get them.
func clientsDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HOLDGATE_CLIENTS")
	if dir == "" {
		t.Skip("HOLDGATE_CLIENTS is not set, so no real client was driven. `.ci/run` installs them (it needs node and npm) and sets it.")
	}
	return dir
}

// A process is a client that runs beside the test.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr strings.Builder
	ended          chan struct{}
}

// start starts cmd. It ends with the test, or after some patience, and as long as
// calls are held.
func start(t *testing.T, build func(ctx context.Context) *exec.Cmd) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience+2*longHold())
	p := &process{t: t, cmd: build(ctx), ended: make(chan struct{})}
	if p.cmd.Stderr = &p.stderr; p.cmd.Stdout == nil {
		p.cmd.Stdout = &p.stdout
	}
	p.cmd.WaitDelay = patience / 10 // a grandchild may hold the pipes
	if err := p.cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.ended) }()
	t.Cleanup(func() { cancel(); <-p.ended })
	return p
}

// end waits until the process has ended by itself.
func (p *process) end() result {
	p.t.Helper()
	<-p.ended
	return result{p.cmd.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
}

// output waits for the process and returns what it printed; it must have
// succeeded.
func (p *process) output() string {
	p.t.Helper()
	r := p.end()
	if r.code != 0 {
		p.t.Fatalf("%s: %v", p.cmd, r)
	}
	return r.stdout
}

// running reports whether the process has not ended yet.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// node starts a script of testdata/clients.
func node(t *testing.T, env []string, script string, args ...string) *process {
	t.Helper()
	file := filepath.Join(clientsDir(t), script)
	return start(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "node", append([]string{file}, args...)...)
		cmd.Env = append(environment(), env...)
		return cmd
	})
}
