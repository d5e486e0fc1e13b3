package launch

import (
	"errors"
	"os"
	"os/exec"

	"github.com/creack/pty"
)

// startAsking starts the agent in a session and on a pseudo-terminal of its own,
// and returns the terminal's other side.
func startAsking(o Options, cmd *exec.Cmd, size *pty.Winsize) (*os.File, error) {
	if o.Within == nil {
		master, err := pty.StartWithSize(cmd, size)
		if err != nil {
			return nil, err
		}
		return unblocked(master, cmd)
	}
	master, err := unblocked(o.Within.Terminal(), cmd)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(setSize(master, size), o.begin()); err != nil {
		giveUp(cmd)
		return nil, errors.Join(err, master.Close())
	}
	return master, nil
}

// giveUp ends an agent that cannot be run after all. That it was killed is not
// what there is to say.
func giveUp(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// control calls fn with the file's descriptor, and leaves its mode alone.
func control(f *os.File, fn func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var fnErr error
	err = conn.Control(func(fd uintptr) { fnErr = fn(int(fd)) })
	return errors.Join(err, fnErr)
}
