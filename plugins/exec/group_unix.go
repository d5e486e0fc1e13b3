//go:build !windows

package exec

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a process that is to be started a group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup signals the group that a process leads.
func signalGroup(p *os.Process, s syscall.Signal) error { return syscall.Kill(-p.Pid, s) }
