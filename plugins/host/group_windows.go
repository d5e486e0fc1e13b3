package host

import (
	"os"
	"os/exec"
)

// Windows has no groups of processes in this sense, and serve does not run there.
func apart(*exec.Cmd) {}

func killAll(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return nil // it has ended
	}
	return p.Kill()
}
