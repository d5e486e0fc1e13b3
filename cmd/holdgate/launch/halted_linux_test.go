package launch_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdgate/holdgate/cmd/holdgate/confine"
)

// A signal ends a run whose agent stands: stopped, or held by a debugger.
func TestARunWhoseAgentStandsEndsOnASignal(t *testing.T) {
	for _, kind := range []string{confine.Unconfined, confine.Strong} {
		for _, how := range []struct {
			name string
			halt func(pid int) error
			code int
		}{
			{"stopped", func(pid int) error { return unix.Kill(pid, unix.SIGSTOP) }, 7}, // it goes on, and hears of the signal
			{"held by a debugger", hold, 128 + 9},
		} {
			t.Run(kind+", "+how.name, func(t *testing.T) {
				t.Parallel()
				needs(t, kind)
				flag := "--unconfined"
				if kind != confine.Unconfined {
					flag = "--confine=" + kind
				}
				r := newRunWith(t, flag, "signals").inFolder()
				out, err := r.cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := r.cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it is there
					t.Fatal(err)
				}
				if err := how.halt(agentOf(t, r.cmd.Process.Pid)); err != nil {
					t.Fatal(err)
				}
				if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				if code := r.code(); code != how.code {
					t.Errorf("exit code %d, want %d", code, how.code)
				}
			})
		}
	}
}

// hold holds a process as a debugger does, until it ends. No thread of it runs when
// hold returns: one that did could hear of a signal, and make threads that nobody holds.
func hold(pid int) error {
	held := make(chan error)
	go func() {
		runtime.LockOSThread() // the kernel knows the debugger by its thread
		var tids []int
		err := errNoThread
		for fresh := true; fresh; {
			fresh = false
			tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
			for _, task := range tasks {
				tid, _ := strconv.Atoi(filepath.Base(task))
				if slices.Contains(tids, tid) || unix.PtraceAttach(tid) != nil { // else the thread has ended
					continue
				}
				if s := await(tid); s.Stopped() {
					tids, fresh, err = append(tids, tid), true, nil
				}
			}
		}
		held <- err
		for _, tid := range slices.Backward(tids) { // a debugger hears of the end before the parent does
			for await(tid).Stopped() {
			}
		}
	}()
	return <-held
}

var errNoThread = errors.New("no thread of the process can be held")

// await is what a thread that is held does next: the zero value where it is gone.
func await(tid int) (s unix.WaitStatus) {
	for {
		s = 0
		if _, err := unix.Wait4(tid, &s, unix.WALL, nil); !errors.Is(err, unix.EINTR) {
			return s
		}
	}
}

// agentOf finds the test's agent below a run.
func agentOf(t *testing.T, run int) int {
	t.Helper()
	for _, pid := range append(below(run), run) {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if path, _, _ := strings.Cut(string(name), "\x00"); filepath.Base(path) == "testagent" {
			return pid
		}
	}
	t.Fatal("there is no agent")
	return 0
}

// below are the processes that a process has started, and those that they have.
func below(parent int) (all []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, task := range tasks {
		list, _ := os.ReadFile(task)
		for _, word := range strings.Fields(string(list)) {
			if pid, err := strconv.Atoi(word); err == nil {
				all = append(append(all, pid), below(pid)...)
			}
		}
	}
	return all
}
