//go:build !windows

package sdk

import (
	"os"
	"syscall"

	"github.com/holdgate/holdgate/plugins/sdk/session"
)

// endStarted ends what this process has started, where it leads a session, as a channel of
// Holdgate's does.
func endStarted() {
	own := os.Getpid()
	for range 10 { // a process may start another one meanwhile
		others := 0
		for _, pid := range session.Members(own) {
			if pid != own && syscall.Kill(pid, syscall.SIGKILL) == nil {
				others++
			}
		}
		if others == 0 {
			return
		}
	}
}
