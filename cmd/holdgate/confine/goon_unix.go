//go:build !windows

package confine

import (
	"os"
	"syscall"
)

// goOn has a process that was stopped go on.
func goOn(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
