//go:build !windows

package host

import (
	"os/exec"
	"syscall"
)

// apart gives a process that is to be started a session and a group of its own.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killGroup ends the group that a process leads.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
