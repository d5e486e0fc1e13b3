package confine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// A process that was told to end, and was seen to stand at each of so many looks,
// hears nothing: it was stopped, or a debugger holds it.
const (
	haltedChecks = 20
	haltedEvery  = 250 * time.Millisecond
)

// PassOn passes a signal on to a process. One that is told to end and was stopped
// goes on, so that it hears of it; one that stands all the same is killed 5 seconds
// later. PassOn returns before that. ctx ends when the process has.
func PassOn(ctx context.Context, p *os.Process, s syscall.Signal) {
	_ = p.Signal(s) // it may have ended
	if s == syscall.SIGTERM || s == syscall.SIGHUP {
		go endHalted(ctx, p)
	}
}

func endHalted(ctx context.Context, p *os.Process) {
	tick := time.NewTicker(haltedEvery)
	defer tick.Stop()
	stood := 0
	for range 2 * haltedChecks {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if !stands(p.Pid) {
			stood = 0
			continue
		}
		if stood++; stood == haltedChecks {
			_ = p.Kill()
			return
		}
		_ = goOn(p) // a debugger keeps it all the same
	}
}

// stands reports whether the process was stopped, or a debugger holds it:
// proc_pid_stat(5).
func stands(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	after := bytes.LastIndexByte(stat, ')')
	if err != nil || after < 0 || after+2 >= len(stat) {
		return false
	}
	return slices.Contains([]byte("Tt"), stat[after+2])
}
