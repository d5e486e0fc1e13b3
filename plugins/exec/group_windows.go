package exec

import (
	"os"
	"os/exec"
	"syscall"
)

// Windows has no groups of processes in this sense, and serve does not run there.
func ownGroup(*exec.Cmd) {}

func signalGroup(p *os.Process, _ syscall.Signal) error { return p.Kill() }
