//go:build !windows

package host

import (
	"os/exec"
	"syscall"

	"github.com/holdgate/holdgate/plugins/sdk/session"
)

// apart gives a process that is to be started a session and a group of its own.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killAll ends the group that a process leads, and the groups that were begun in its
// session: a channel may give each command that it starts a group of its own.
// What one of them has begun just before it ended is met when they are listed again.
func killAll(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	met := make(map[int]bool)
	for more := true; more && len(met) < maxKilled; {
		more = false
		for _, member := range session.Members(pid) {
			_ = syscall.Kill(member, syscall.SIGKILL) // it may have ended meanwhile
			more = more || !met[member]
			met[member] = true
		}
	}
	return err
}

// maxKilled bounds how many processes of a session are followed, which may begin more and more.
const maxKilled = 10_000
