package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Sandbox is a confined process that waits for its program.
type Sandbox struct {
	// What the agent's network leads to; of a weak confinement nothing. Whoever
	// serves them closes them, and Close does otherwise.
	Agents     net.Listener
	Redirected []net.Listener
	Names      []net.PacketConn
	// Calls is where the kernel tells of calls that change files, with
	// [Spec.Undo]. Whoever serves it closes it.
	Calls *os.File
	// Shared says why [Spec.Private] is not private; empty: it is.
	Shared string

	cmd      *exec.Cmd
	control  *net.UnixConn
	terminal *os.File
}

// setupFor is how long a sandbox may take to set itself up: milliseconds, on a
// machine that has nothing else to do.
const setupFor = 60 * time.Second

// Start sets a sandbox up. Its process is a child of this one, and ends where
// this one does. A process that is not dumpable cannot start one.
func Start(s Spec) (_ *Sandbox, err error) {
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, err
	}
	b := &Sandbox{control: ours}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	b.cmd = exec.Command(s.Self[0], s.Self[1:]...)
	b.cmd.Env = []string{}
	b.cmd.ExtraFiles = []*os.File{theirs}
	if !s.Terminal {
		b.cmd.Stdin, b.cmd.Stdout, b.cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	}
	// A session of its own: signals come from us alone, and once.
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.Kind == Strong {
		b.cmd.SysProcAttr = &syscall.SysProcAttr{
			Setsid:      true,
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN},
		}
		if len(s.Private) > 0 { // overlayfs works as who mounted it, in folders that are closed to their owner
			b.cmd.SysProcAttr.AmbientCaps = append(b.cmd.SysProcAttr.AmbientCaps, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN)
		}
	}
	err = b.cmd.Start()
	_ = theirs.Close() // else we would not see the process end
	if err != nil {
		b.cmd.Process = nil
		if s.Kind == Strong {
			return nil, &MissingError{Part: partNamespaces, Err: whyNoNamespaces(err), Hint: namespacesHint()}
		}
		return nil, fmt.Errorf("starting the confined process: %w", err)
	}
	if err := b.handshake(s); err != nil {
		return nil, err
	}
	return b, nil
}

func socketpair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a socket pair: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "control")
	f := os.NewFile(uintptr(fds[0]), "control")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return c.(*net.UnixConn), theirs, nil
}

// handshake tells the process what to be, and takes what it made.
func (b *Sandbox) handshake(s Spec) error {
	if err := b.control.SetDeadline(time.Now().Add(setupFor)); err != nil {
		return err
	}
	if err := json.NewEncoder(b.control).Encode(s); err != nil {
		return fmt.Errorf("setting up the confinement: %w", err)
	}
	made, files, err := receive(b.control)
	if err != nil {
		return fmt.Errorf("setting up the confinement: %w", err)
	}
	if err := made.failure(); err != nil {
		return err
	}
	if err := b.adoptListeners(made, files); err != nil {
		return err
	}
	b.Shared = made.Shared
	if _, err := b.control.Write([]byte("true\n")); err != nil {
		return fmt.Errorf("confining: %w", err)
	}
	if s.Undo {
		if err := b.takeCalls(); err != nil {
			return err
		}
	}
	done, _, err := receive(b.control)
	if err != nil {
		return fmt.Errorf("confining: %w", err)
	}
	if err := done.failure(); err != nil {
		return err
	}
	return b.control.SetDeadline(time.Time{})
}

// takeCalls takes the listener that the process made once it was confined.
func (b *Sandbox) takeCalls() error {
	r, files, err := receive(b.control)
	if err == nil {
		err = r.failure()
	}
	if err == nil && (len(files) != 1 || len(r.Files) != 1 || r.Files[0] != fileCalls) {
		err = errors.New("the confined process did not send its calls")
	}
	if err != nil {
		return fmt.Errorf("confining: %w", err)
	}
	b.Calls = files[0]
	if _, err := b.control.Write([]byte("true\n")); err != nil {
		return fmt.Errorf("confining: %w", err)
	}
	return nil
}

// adoptListeners makes listeners of the files that came.
func (b *Sandbox) adoptListeners(r report, files []*os.File) (err error) {
	if len(files) != len(r.Files) {
		err = fmt.Errorf("the confined process sent %d files and named %d", len(files), len(r.Files))
		files = files[:min(len(files), len(r.Files))]
	}
	for i, f := range files {
		var ferr error
		switch name := r.Files[i]; {
		case name == fileTerminal:
			b.terminal = f
			continue
		case name == fileAgents:
			b.Agents, ferr = net.FileListener(f)
		case name == fileRedirected:
			var ln net.Listener
			if ln, ferr = net.FileListener(f); ferr == nil {
				b.Redirected = append(b.Redirected, ln)
			}
		case name == fileNames:
			var pc net.PacketConn
			if pc, ferr = net.FilePacketConn(f); ferr == nil {
				b.Names = append(b.Names, pc)
			}
		}
		err = errors.Join(err, ferr, f.Close())
	}
	return err
}

// Terminal is the other side of the agent's terminal, or nil. It is the
// caller's to close.
func (b *Sandbox) Terminal() *os.File { return b.terminal }

// Process stands for the agent: signals that it gets are passed on, and it ends
// with the agent's exit code, or 128 and the number of the signal that ended it.
func (b *Sandbox) Process() *exec.Cmd { return b.cmd }

// Begin starts the program.
func (b *Sandbox) Begin(p Program) error {
	if err := json.NewEncoder(b.control).Encode(p); err != nil {
		return fmt.Errorf("starting %s: %w", p.Path, err)
	}
	r, _, err := receive(b.control)
	if err == nil {
		err = r.failure()
	}
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.Path, err)
	}
	return nil
}

// Close ends whatever still runs inside and closes what nobody has taken. It
// may be called more than once, and after Process was waited for.
func (b *Sandbox) Close() error {
	if b.control != nil {
		_ = b.control.Close() // the process ends where its control does
	}
	if b.cmd != nil && b.cmd.Process != nil && b.cmd.ProcessState == nil {
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait() // that it was killed is no news
	}
	if b.Agents != nil {
		_ = b.Agents.Close()
	}
	for _, ln := range b.Redirected {
		_ = ln.Close()
	}
	for _, pc := range b.Names {
		_ = pc.Close()
	}
	for _, f := range []*os.File{b.terminal, b.Calls} {
		if f != nil {
			_ = f.Close()
		}
	}
	return nil
}

// whyNoNamespaces says what the kernel means: its errors are those of files.
func whyNoNamespaces(err error) error {
	for errno, means := range map[syscall.Errno]string{
		unix.ENOSPC: "the system lets you have none, or no more of them",
		unix.EPERM:  "the system does not let you have any",
		unix.EACCES: "the system does not let you have any",
		unix.EINVAL: "the kernel was built without some of them",
		unix.EUSERS: "they are nested too deeply",
	} {
		if errors.Is(err, errno) {
			return errors.New(means)
		}
	}
	return err
}

// namespacesHint says what keeps users from having namespaces, where the system
// says so.
func namespacesHint() string {
	for _, sysctl := range []struct{ path, off, hint string }{
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor keeps programs without a profile from having them: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for holdgate with `userns,`"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"},
	} {
		if v, err := os.ReadFile(sysctl.path); err == nil && strings.TrimSpace(string(v)) == sysctl.off {
			return sysctl.hint
		}
	}
	return "a container needs to be started so that it may have namespaces of its own"
}
