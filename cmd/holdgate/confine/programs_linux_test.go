package confine

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// What users have on their machines would lead an agent out: servers that do what
// they are told over a socket of the user's, and programs that heed no proxy. Each
// is tried without confinement first, where it must work, on sockets in the very
// folder that the agent works in.
func TestProgramsThatLeadOut(t *testing.T) {
	for _, kind := range []string{Strong, Weak} {
		t.Run(kind, func(t *testing.T) {
			needs(t, kind)
			for name, serve := range map[string]func(t *testing.T, dir string) (attack string){
				"tmux": tmux, "D-Bus": dbus, "docker": docker, "no proxy": noProxy, "no variables": noVariables, "a second agent": secondAgent(kind),
			} {
				t.Run(name, func(t *testing.T) {
					p := newPlace(t, kind)
					attack := serve(t, p.spec.Dir)
					control := exec.CommandContext(t.Context(), "sh", "-c", attack)
					control.Dir = p.spec.Dir
					if out, err := control.CombinedOutput(); err != nil {
						t.Skipf("SKIPPED, NOT TESTED: without confinement it ends with %v: %s", err, out)
					}
					if code, out := p.run(t, nil, "sh", "-c", attack); code == 0 {
						t.Errorf("it worked: %s", out)
					}
				})
			}
		})
	}
}

// has skips a test where a program is not here.
func has(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("SKIPPED, NOT TESTED: %s is not here", program)
	}
	return path
}

// tmux is a person's session, into which keys are typed.
func tmux(t *testing.T, dir string) string {
	t.Helper()
	has(t, "tmux")
	sock := filepath.Join(dir, "t")
	start := exec.CommandContext(t.Context(), "tmux", "-S", sock, "-f", "/dev/null", "new-session", "-d", "-s", "person", "cat")
	start.Env = append(os.Environ(), "TERM=dumb", "TMUX=")
	if out, err := start.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: tmux does not start here: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", sock, "kill-server").Run() })
	return "tmux -S " + sock + " send-keys -t person approve Enter"
}

// dbus is a session's bus, over which other programs are started.
func dbus(t *testing.T, dir string) string {
	t.Helper()
	daemon := has(t, "dbus-daemon")
	has(t, "dbus-send")
	at := "unix:path=" + filepath.Join(dir, "d")
	out, ready, err := os.Pipe()
	must(t, err)
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), daemon, "--session", "--nofork", "--nopidfile", "--address="+at, "--print-address=3")
	cmd.ExtraFiles = []*os.File{ready}
	must(t, cmd.Start())
	_ = ready.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: dbus-daemon does not start here: %v", err)
	}
	return "dbus-send --bus=" + at + " --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames"
}

// docker stands for a daemon that mounts whatever it is told to.
func docker(t *testing.T, dir string) string {
	t.Helper()
	has(t, "curl")
	sock := filepath.Join(dir, "docker.sock")
	ln, err := net.Listen("unix", sock)
	must(t, err)
	serveVictim(t, ln)
	return "curl -sf --unix-socket " + sock + " http://docker/version | grep -q " + banner
}

func serveVictim(t *testing.T, ln net.Listener) {
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, banner) })}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
}

func noProxy(t *testing.T, _ string) string {
	t.Helper()
	return "http_proxy=http://127.0.0.1:7300 curl -s --noproxy '*' " + web(t) + " | grep -q " + banner
}

func noVariables(t *testing.T, _ string) string {
	t.Helper()
	return "env -i " + has(t, "curl") + " -s " + web(t) + " | grep -q " + banner
}

// web is the URL of a server on this machine, by an address that is not loopback.
func web(t *testing.T) string {
	t.Helper()
	has(t, "curl")
	ln, err := net.Listen("tcp", net.JoinHostPort(hostAddr(t), "0"))
	must(t, err)
	serveVictim(t, ln)
	return "http://" + ln.Addr().String() + "/"
}

// secondAgent is another agent of the user's, which is confined as this one is.
func secondAgent(kind string) func(*testing.T, string) string {
	return func(t *testing.T, _ string) string {
		t.Helper()
		p := newPlace(t, kind)
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		must(t, err)
		defer null.Close()
		b := p.start(t, null)
		must(t, b.Begin(Program{Path: has(t, "sleep"), Args: []string{"600"}, Dir: p.spec.Dir}))
		pid := b.Process().Process.Pid
		t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL); _ = b.Process().Wait() })
		return fmt.Sprintf("kill -CONT %s || kill -CONT -- -%[1]s", strconv.Itoa(pid))
	}
}
