package launch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/approvals/socket/sockettest"
)

// binary is the program under test: the one that HOLDGATE_BINARY names, or one that TestMain builds.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv("TEST_AGENT") != "" {
		os.Exit(agent(os.Args[1:]))
	}
	// Where the tests were started with SIGHUP ignored, as nohup does, the
	// programs that they start would ignore it too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	if binary = os.Getenv("HOLDGATE_BINARY"); binary != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "holdgate-launch-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "holdgate")
	build := exec.Command("go", "build", "-o", binary, "github.com/holdgate/holdgate/cmd/holdgate")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building holdgate:", err)
		return 1
	}
	return m.Run()
}

const (
	// patience bounds everything that a test waits for; nothing is slow
	// because of it.
	patience = 3 * time.Minute
	// settled is longer than a question takes nothing that is typed.
	settled = 800 * time.Millisecond
	// asks begins every question.
	asks = "HOLDGATE ASKS"
	// prompt ends it.
	prompt = "then Enter: "
)

// A run is a `holdgate run` with the test's agent.
type run struct {
	t        *testing.T
	dir      string // the state folder
	cmd      *exec.Cmd
	provider *provider
}

func newRun(t *testing.T, role ...string) *run {
	t.Helper()
	return newRunWith(t, "--unconfined", role...)
}

// newRunWith is newRun of an agent that is confined as the flag says.
func newRunWith(t *testing.T, confinement string, role ...string) *run {
	t.Helper()
	base := sockettest.Folder(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(base, "testagent")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	r := &run{t: t, dir: filepath.Join(base, "state"), provider: newProvider(t)}
	args := append([]string{"run", confinement, "--base-url", "--upstream", "anthropic=" + r.provider.URL, "--", program}, role...)
	r.cmd = exec.CommandContext(t.Context(), binary, args...)
	r.cmd.Dir = base
	r.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base, "TERM=xterm", "TEST_AGENT=1", "HOLDGATE_STATE_DIR=" + r.dir,
		`EDITOR=sh -c 'echo editing; read x; sed -i s/data/tmp/ "$1"' edit`}
	return r
}

// client speaks to the sidecar that the run has started.
func (r *run) client() *client.Client {
	r.t.Helper()
	c, err := client.New(client.Options{StateDir: r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// pending waits until n requests wait.
func (r *run) pending(n int) []approvals.Request {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(patience); ; {
		c, err := client.New(client.Options{StateDir: r.dir}) // no token yet: not ready
		if err == nil {
			list, err := c.List(r.t.Context(), approvals.Filter{Status: holdgate.StatusPending})
			c.Close()
			if err == nil && len(list) == n {
				return list
			}
		}
		select {
		case <-tick.C:
		case <-over:
			r.t.Fatalf("waited in vain for %d requests", n)
		}
	}
}

// code waits for the end of the run.
func (r *run) code() int {
	r.t.Helper()
	late := time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() })
	defer late.Stop()
	err := r.cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		r.t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

// A terminal is a person's, with a run in it.
type terminal struct {
	*run

	pty    *os.File
	before *term.State

	mu      sync.Mutex
	shown   []byte
	changed chan struct{} // closed with each change of shown
	mark    int           // up to where shown was looked at
}

// inTerminal starts a run of the agent in this role, in a terminal.
func inTerminal(t *testing.T, role ...string) *terminal {
	t.Helper()
	return attach(newRun(t, role...))
}

// attach starts a run in a terminal of its own.
func attach(r *run) *terminal {
	t := r.t
	t.Helper()
	tm := &terminal{run: r, changed: make(chan struct{})}
	blocking, err := pty.StartWithSize(tm.cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err := errors.Join(err, unix.SetNonblock(fd, true), blocking.Close()); err != nil {
		t.Fatal(err)
	}
	tm.pty = os.NewFile(uintptr(fd), "pty") // else Close would wait for a read
	tm.before = tm.modes()
	var reading sync.WaitGroup
	reading.Go(tm.read)
	t.Cleanup(func() {
		_ = tm.cmd.Process.Kill() // it may have ended
		tm.pty.Close()
		reading.Wait()
	})
	return tm
}

func (tm *terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := tm.pty.Read(buf)
		tm.mu.Lock()
		tm.shown = append(tm.shown, buf[:n]...)
		close(tm.changed)
		tm.changed = make(chan struct{})
		tm.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// modes are the terminal's own.
func (tm *terminal) modes() *term.State {
	tm.t.Helper()
	var modes *term.State
	tm.control(func(fd int) (err error) {
		modes, err = term.GetState(fd)
		return err
	})
	return modes
}

// resize gives the terminal another size.
func (tm *terminal) resize(rows, cols uint16) {
	tm.t.Helper()
	tm.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
}

func (tm *terminal) control(fn func(fd int) error) {
	tm.t.Helper()
	conn, err := tm.pty.SyscallConn()
	if err != nil {
		tm.t.Fatal(err)
	}
	var fnErr error
	if err := conn.Control(func(fd uintptr) { fnErr = fn(int(fd)) }); err != nil || fnErr != nil {
		tm.t.Fatal(errors.Join(err, fnErr))
	}
}

// sees waits until text is shown, after what was looked at before, and returns
// what was shown up to its end.
func (tm *terminal) sees(text string) string {
	tm.t.Helper()
	ctx, cancel := context.WithTimeout(tm.t.Context(), patience)
	defer cancel()
	for {
		tm.mu.Lock()
		fresh, changed := string(tm.shown[tm.mark:]), tm.changed
		if i := strings.Index(fresh, text); i >= 0 {
			tm.mark += i + len(text)
			tm.mu.Unlock()
			return fresh[:i+len(text)]
		}
		tm.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			tm.t.Fatalf("waited in vain for %q in %q", text, fresh)
		}
	}
}

// types types at once.
func (tm *terminal) types(text string) {
	tm.t.Helper()
	if _, err := tm.pty.WriteString(text); err != nil {
		tm.t.Fatal(err)
	}
}

// answers waits for a question's prompt and, as people do, some time more.
func (tm *terminal) answers(line string) {
	tm.t.Helper()
	tm.sees(prompt)
	<-time.After(settled)
	tm.types(line + "\r")
}

// ended waits for the end, and checks that the terminal is as it was.
func (tm *terminal) ended(want int) {
	tm.t.Helper()
	if got := tm.code(); got != want {
		tm.t.Errorf("exit code %d, want %d", got, want)
	}
	if after := tm.modes(); *after != *tm.before {
		tm.t.Errorf("the terminal's modes are %+v afterwards, and were %+v", after, tm.before)
	}
}
