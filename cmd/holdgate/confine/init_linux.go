package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const controlFD = 3

// stageRun marks the second of the two stages, which is confined. Behind it
// stands the descriptor of the agent's terminal, or noTerminal.
const (
	stageRun   = "run"
	noTerminal = 0
)

// Init is the process inside. args are those after [Command]. It returns the
// agent's exit code.
func Init(args []string) (int, error) {
	control := os.NewFile(controlFD, "control")
	if _, err := unix.GetsockoptInt(controlFD, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return 0, errors.New("this command is for holdgate run's own use")
	}
	if len(args) == 2 && args[0] == stageRun {
		terminal, err := strconv.Atoi(args[1])
		if err != nil {
			return 0, err
		}
		return runInside(control, terminal)
	}
	err := setUp(control)
	_ = send(control, failed(err)) // where who started this is gone, nobody reads it
	return 1, err
}

// setUp makes the confinement and ends, where it succeeds, in the second stage.
func setUp(control *os.File) error {
	var s Spec
	told := json.NewDecoder(control)
	if err := told.Decode(&s); err != nil {
		return fmt.Errorf("reading what to set up: %w", err)
	}
	// Capabilities and seccomp filters are a thread's own, and this thread's are
	// those of the next stage.
	runtime.LockOSThread()
	m := &passedFiles{}
	if s.Kind == Strong {
		if err := setUpNamespaces(m, s); err != nil {
			return err
		}
	}
	terminal := noTerminal
	if s.Terminal {
		var err error
		if terminal, err = openTerminal(m); err != nil {
			return fmt.Errorf("opening a terminal: %w", err)
		}
	}
	if err := send(control, report{Files: m.names, Shared: m.shared}, m.files...); err != nil {
		return fmt.Errorf("sending the listeners: %w", err)
	}
	var goOn bool // two reports at once would be read as one
	if err := told.Decode(&goOn); err != nil {
		return fmt.Errorf("waiting to go on: %w", err)
	}
	if err := confineThread(s, terminal); err != nil {
		return err
	}
	if s.Undo {
		calls, err := listenCalls()
		if err == nil {
			err = errors.Join(send(control, report{Files: []string{fileCalls}}, calls), calls.Close())
		}
		if err == nil {
			err = told.Decode(&goOn)
		}
		if err != nil {
			return err
		}
	}
	argv := append(slices.Clone(s.Self), stageRun, strconv.Itoa(terminal))
	return fmt.Errorf("starting the confined stage: %w", syscall.Exec("/proc/self/exe", argv, []string{}))
}

// confineThread takes from this thread, and the program that it becomes, what
// the agent must not have.
func confineThread(s Spec, terminal int) error {
	// Nothing is passed on but what is meant to be. Descriptors may have been
	// inherited from whoever called this program.
	if err := unix.CloseRange(controlFD+1, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("closing inherited files: %w", err)
	}
	for _, fd := range []int{controlFD, terminal} {
		if fd == noTerminal {
			continue
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return &MissingError{Part: partSeccomp, Err: fmt.Errorf("setting no_new_privs: %w", err)}
	}
	if err := restrictFiles(s, terminal); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	return filterCalls(s.Kind)
}

// dropCapabilities gives up what setting up took, on this thread.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clearing ambient capabilities: %w", err)
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("giving capabilities up: %w", err)
	}
	return nil
}

// runInside starts the program and is its first process, until it ends.
func runInside(control *os.File, terminal int) (int, error) {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // the agent gains nothing here: it is confined alike
	unix.CloseOnExec(controlFD)
	if err := send(control, report{}); err != nil {
		return 0, err
	}
	d := json.NewDecoder(control)
	var p Program
	if err := d.Decode(&p); err != nil {
		return 0, fmt.Errorf("reading what to run: %w", err)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH)
	pid, err := start(p, terminal)
	if err != nil {
		_ = send(control, failed(err))
		return 0, err
	}
	if err := send(control, report{}); err != nil {
		return 0, err
	}
	agent, err := os.FindProcess(pid)
	if err != nil {
		return 0, err
	}
	go func() { // ends with the process
		for s := range signals {
			PassOn(context.Background(), agent, s.(syscall.Signal))
		}
	}()
	go func() { // so does this
		_, _ = io.Copy(io.Discard, control)
		_ = unix.Kill(pid, unix.SIGKILL)
		os.Exit(128 + int(unix.SIGKILL)) // who started this is gone, and what runs here ends with us
	}()
	return reap(pid)
}

// start starts the program, in a session of its own.
func start(p Program, terminal int) (pid int, err error) {
	attr := &syscall.ProcAttr{Dir: p.Dir, Env: p.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}}
	if terminal != noTerminal {
		unix.CloseOnExec(terminal)
		defer unix.Close(terminal) // else it would outlive the agent
		attr.Files = []uintptr{uintptr(terminal), uintptr(terminal), uintptr(terminal)}
		attr.Sys.Setctty = true
	}
	return syscall.ForkExec(p.Path, append([]string{p.Path}, p.Args...), attr)
}

// reap waits for all that ends, until the program has.
func reap(pid int) (int, error) {
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("waiting for the program: %w", err)
		case got == pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case got == pid && status.Exited():
			return status.ExitStatus(), nil
		}
	}
}
