package launch

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/windows"
)

// run does not run on Windows; what it needs of a terminal is not there.
const resizedSignal = syscall.Signal(0x1c)

func readTerminal(*os.File, []byte) (int, error) { return 0, errors.ErrUnsupported }

func signalGroup(int, syscall.Signal) error { return errors.ErrUnsupported }

func waitReadable(*os.File, *os.File) (bool, error) { return false, errors.ErrUnsupported }

var forwarded = []os.Signal{os.Interrupt}

// FlushInput throws away what was typed and not yet read.
func FlushInput(tty *os.File) error { return windows.FlushConsoleInputBuffer(windows.Handle(tty.Fd())) }

func unblocked(*os.File, *exec.Cmd) (*os.File, error) { return nil, errors.ErrUnsupported }

func setSize(*os.File, *pty.Winsize) error { return errors.ErrUnsupported }

func foreground(*os.File) (int, error) { return 0, errors.ErrUnsupported }
