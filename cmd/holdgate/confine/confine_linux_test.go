package confine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// self is this test binary.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	return path
}

// A place is where an agent works, and what it must not reach.
type place struct {
	spec                 Spec
	state, token, policy string
}

// newPlace lays out folders as holdgate run does. HOME and /tmp are the test's.
func newPlace(t testing.TB, kind string) place {
	t.Helper()
	root := t.TempDir()
	p := place{state: filepath.Join(root, "state"), policy: filepath.Join(root, "work", "policy.rego")}
	inner := filepath.Join(root, "work", "local", "state", "holdgate") // as where the agent works at home
	rules := filepath.Join(root, "work", "rules", "own")
	p.token = filepath.Join(p.state, "approver.token")
	for _, dir := range []string{p.state, inner, rules, filepath.Join(root, "temp"), filepath.Join(root, "home")} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	must(t, os.WriteFile(p.token, []byte("secret"), 0o600))
	must(t, os.WriteFile(p.policy, []byte("package p"), 0o600))
	p.spec = Spec{Kind: kind, Self: []string{self(t), Command}, Dir: filepath.Join(root, "work"), ReadOnly: []string{p.policy, rules}, Mask: []string{p.state},
		Keep: []string{filepath.Dir(self(t)), p.state, filepath.Join(root, "home")}, Temp: filepath.Join(root, "temp")}
	if kind == Strong { // weak refuses it there
		p.spec.Mask = append(p.spec.Mask, inner)
	}
	return p
}

// needs skips a test where this machine cannot confine.
func needs(t testing.TB, kind string) {
	t.Helper()
	b, err := Start(newPlace(t, kind).spec)
	if missing, ok := errors.AsType[*MissingError](err); ok {
		t.Skipf("SKIPPED, NOT TESTED: %s confinement: %v", kind, missing)
	}
	must(t, err)
	must(t, b.Close())
}

// output is what the process prints that runs in a sandbox: its standard
// streams are this process's.
func (p place) run(t testing.TB, env []string, argv ...string) (code int, out string) {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	must(t, err)
	file, err := os.Create(filepath.Join(p.spec.Temp, "..", "out"))
	must(t, err)
	defer file.Close()
	b := p.start(t, file)
	must(t, b.Begin(Program{Path: path, Args: argv[1:], Env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.spec.Dir}, env...), Dir: p.spec.Dir}))
	_ = b.Process().Wait() // its code says the same
	text, err := os.ReadFile(file.Name())
	must(t, err)
	return b.Process().ProcessState.ExitCode(), string(text)
}

// start starts a sandbox whose output goes to file and whose network answers.
func (p place) start(t testing.TB, file *os.File) *Sandbox {
	t.Helper()
	out, errs := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, file
	b, err := Start(p.spec)
	os.Stdout, os.Stderr = out, errs
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	for _, ln := range append(b.Redirected, b.Agents) {
		if ln != nil {
			go greet(ln, "SIDECAR")
		}
	}
	return b
}

// greet answers every connection with a word until the listener is closed.
func greet(ln net.Listener, word string) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, word)
		_ = c.Close()
	}
}

// hostAddr is an address of this machine that is not loopback.
func hostAddr(t testing.TB) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	t.Skip("SKIPPED, NOT TESTED: this machine has no address but loopback")
	return ""
}

// victim listens for TCP, MPTCP and UDP.
func victim(t testing.TB, network, addr string) string {
	t.Helper()
	switch network {
	case "udp":
		pc, err := net.ListenPacket("udp", addr)
		must(t, err)
		t.Cleanup(func() { pc.Close() })
		go func() {
			buf := make([]byte, 64)
			for {
				_, from, err := pc.ReadFrom(buf)
				if err != nil {
					return
				}
				_, _ = pc.WriteTo([]byte(banner), from)
			}
		}()
		return pc.LocalAddr().String()
	case "unixgram":
		pc, err := net.ListenPacket(network, addr)
		must(t, err)
		t.Cleanup(func() { pc.Close() })
		return addr
	}
	lc := &net.ListenConfig{}
	lc.SetMultipathTCP(network == "tcp")
	ln, err := lc.Listen(t.Context(), network, addr)
	must(t, err)
	t.Cleanup(func() { ln.Close() })
	go greet(ln, banner)
	return ln.Addr().String()
}

// outside runs an attack without confinement: the control.
func outside(t testing.TB, dir string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(self(t), append([]string{attackCommand}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// The address of something in this process, for who reads its memory.
var inMemory = [8]byte{1, 2, 3}

// TestAttacks runs each way around that is known, first without confinement,
// which must work, and then within, which must not.
func TestAttacks(t *testing.T) {
	pid := strconv.Itoa(os.Getpid())
	memory := fmt.Sprintf("%#x", uintptr(unsafe.Pointer(&inMemory)))
	host := hostAddr(t)
	sock := filepath.Join(t.TempDir(), "s")
	must(t, os.Chmod(filepath.Dir(sock), 0o755))
	tcp, tcp4, udp := victim(t, "tcp", "127.0.0.1:0"), victim(t, "tcp", host+":0"), victim(t, "udp", host+":0")
	path, gram, abstract := victim(t, "unix", sock), victim(t, "unixgram", sock+"g"), victim(t, "unix", "@holdgate-test-"+pid)
	open, err := os.Open(self(t))
	must(t, err)
	defer open.Close()
	inherited, err := unix.Dup(int(open.Fd())) // programs that are started get it
	must(t, err)
	defer unix.Close(inherited)
	type row struct {
		name    string
		attack  func(p place) []string
		weak    string // why the weak confinement lets it pass; empty: it does not
		control int    // what the control ends with
	}
	fixed := func(args ...string) func(place) []string { return func(place) []string { return args } }
	token := func(attack string) func(place) []string {
		return func(p place) []string { return []string{attack, p.token, p.spec.Dir} }
	}
	rows := []row{
		{name: "TCP to loopback", attack: fixed("tcp", tcp)},
		{name: "TCP to this host", attack: fixed("tcp", tcp4)},
		{name: "MPTCP", attack: fixed("mptcp", tcp4)},
		{name: "TCP fast open", attack: fixed("fastopen", tcp4)},
		{name: "MPTCP fast open", attack: fixed("mptcp-fastopen", tcp4)},
		{name: "UDP", attack: fixed("udp", udp)},
		{name: "io_uring", attack: fixed("io_uring")},
		{name: "vsock", attack: fixed("socket", "40", "1", "0")},
		{name: "netfilter netlink", attack: fixed("socket", "16", "3", "12")},
		{name: "path socket", attack: fixed("unix", path)},
		{name: "datagrams to a path socket", attack: fixed("unixgram", gram)},
		{name: "datagrams from a pair of sockets", attack: fixed("pair-dgram", gram)},
		{name: "abstract socket", attack: fixed("unix", abstract)},
		{name: "the user's keys", attack: fixed("keyring")},
		{name: "the token by its path", attack: token("read")},
		{name: "the token by a symbolic link", attack: token("symlink")},
		{name: "the token by a hard link", attack: token("link")},
		{name: "the token by renaming", attack: token("rename")},
		{name: "the token by O_PATH", attack: token("opath")},
		{name: "the token by /proc/PID/root", attack: func(p place) []string { return []string{"read", "/proc/" + pid + "/root" + p.token} }},
		{name: "the token by /proc/PID/cwd", attack: func(p place) []string {
			return []string{"read", "/proc/" + pid + "/cwd/" + relativeToHere(t, p.token)}
		}},
		{name: "stat of the token", attack: token("stat"), weak: "Landlock does not hide names"},
		{name: "chmod of the state folder", attack: func(p place) []string { return []string{"chmod", p.state} }, weak: "Landlock does not keep modes"},
		{name: "listing the state folder", attack: func(p place) []string { return []string{"list", p.state} }},
		{name: "writing policy that lies where it works", attack: func(p place) []string { return []string{"write", p.policy} }, weak: "Landlock cannot subtract; run refuses such a policy"},
		{name: "removing policy that lies where it works", attack: func(p place) []string { return []string{"remove", p.policy} }, weak: "as above"},
		{name: "moving the state folder where it works", attack: func(p place) []string {
			return []string{"move", filepath.Join(p.spec.Dir, "local", "state", "holdgate")}
		}, weak: "run refuses a state folder there"},
		{name: "moving what leads to the state folder", attack: func(p place) []string { return []string{"move", filepath.Join(p.spec.Dir, "local", "state")} }, weak: "as above"},
		{name: "moving what leads to that", attack: func(p place) []string { return []string{"move", filepath.Join(p.spec.Dir, "local")} }, weak: "as above"},
		{name: "moving what leads to policy", attack: func(p place) []string { return []string{"move", filepath.Join(p.spec.Dir, "rules")} }, weak: "as above"},
		{name: "writing at home", attack: func(p place) []string { return []string{"write", filepath.Join(p.spec.Temp, "..", "home", ".bashrc")} }},
		{name: "truncating in the state folder", attack: token("truncate")},
		{name: "environment of another process", attack: fixed("read", "/proc/"+pid+"/environ")},
		{name: "files of another process", attack: fixed("list", "/proc/"+pid+"/fd"), weak: "their numbers, not what they are"},
		{name: "a file of another process", attack: fixed("read", fmt.Sprintf("/proc/%s/fd/%d", pid, open.Fd()))},
		{name: "command line of another process", attack: fixed("read", "/proc/"+pid+"/cmdline"), weak: "Landlock does not hide /proc"},
		{name: "memory of another process", attack: fixed("open", "/proc/"+pid+"/mem")},
		{name: "process_vm_readv", attack: fixed("vm_readv", pid, memory)},
		{name: "ptrace", attack: fixed("ptrace", pid)},
		{name: "pidfd_getfd", attack: fixed("pidfd_getfd", pid)},
		{name: "a signal", attack: fixed("signal", pid)},
		{name: "a signal by pidfd", attack: fixed("pidfd", pid)},
		{name: "prlimit", attack: fixed("prlimit", pid)},
		{name: "setpriority", attack: fixed("setpriority", pid)},
		{name: "sched_setaffinity", attack: fixed("affinity", pid)},
		{name: "the network of another process", attack: fixed("setns", pid)},
		{name: "unmasking in a user namespace", attack: func(p place) []string { return []string{"unmask", p.state, p.token} }, control: 1, weak: "nothing is mounted there"},
		{name: "an inherited file", attack: fixed("inherit", strconv.Itoa(inherited))},
		{name: "x32", attack: fixed("x32")},
		{name: "a 32-bit program", attack: fixed("i386", i386(t))},
	}
	for _, kind := range []string{Strong, Weak} {
		t.Run(kind, func(t *testing.T) {
			needs(t, kind)
			for _, r := range rows {
				t.Run(r.name, func(t *testing.T) {
					p := newPlace(t, kind)
					args := r.attack(p)
					code, out := outside(t, p.spec.Dir, args...)
					if code != r.control {
						t.Skipf("SKIPPED, NOT TESTED: without confinement the attack ends with %d: %s", code, out)
					}
					p = newPlace(t, kind)
					args = r.attack(p)
					code, out = p.run(t, nil, append([]string{self(t), attackCommand}, args...)...)
					switch {
					case code == 2 || code == 99:
						t.Fatalf("the attack was not made: %s", out)
					case kind == Weak && r.weak != "":
						t.Logf("open: %s (%d, %s)", r.weak, code, out)
					case code == 0:
						t.Errorf("it worked: %s", out)
					default:
						t.Logf("blocked: %s", strings.TrimSpace(out))
					}
				})
			}
		})
	}
}

func relativeToHere(t testing.TB, path string) string {
	t.Helper()
	dir, err := os.Getwd()
	must(t, err)
	rel, err := filepath.Rel(dir, path)
	must(t, err)
	return rel
}

// What a program needs to work is there.
func TestWhatWorksInside(t *testing.T) {
	needs(t, Strong)
	for _, script := range []string{
		"echo hello | sort | cat > file && test -s file",
		"test \"$(id -u)\" = " + strconv.Itoa(os.Getuid()),
		"mktemp && touch /tmp/x /dev/shm/x && test ! -e /tmp/nothing",
		"echo x > /dev/null && head -c4 /dev/urandom | wc -c",
		"test \"$(ls /proc | grep -c '^[0-9]')\" -lt 8",
		"grep -q 'CapEff:.0000000000000000' /proc/self/status && grep -q 'NoNewPrivs:.1' /proc/self/status",
		"git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | grep x",
		"python3 -c 'import multiprocessing as m; p=m.Pool(2); print(p.map(abs,[-1,2]))'",
		"node -e 'require(\"child_process\").execSync(\"true\"); require(\"net\").createServer().listen(3000,()=>process.exit(0))'",
		"npm --version",
		"curl -s http://127.0.0.1:7300 | grep SIDECAR || curl -s --http0.9 http://127.0.0.1:7300 | grep SIDECAR",
	} {
		t.Run(script, func(t *testing.T) {
			program, _, _ := strings.Cut(script, " ")
			if _, err := exec.LookPath(program); err != nil && program != "test" {
				t.Skipf("SKIPPED, NOT TESTED: %v", err)
			}
			if code, out := newPlace(t, Strong).run(t, nil, "bash", "-ec", script); code != 0 {
				t.Errorf("exit code %d: %s", code, out)
			}
		})
	}
}

func TestExitCodesAndSignals(t *testing.T) {
	needs(t, Strong)
	for script, want := range map[string]int{"exit 7": 7, "kill -TERM $$": 143, "exit 0": 0} {
		if code, out := newPlace(t, Strong).run(t, nil, "sh", "-c", script); code != want {
			t.Errorf("%s: %d, want %d: %s", script, code, want, out)
		}
	}
	p := newPlace(t, Strong)
	file, err := os.Create(filepath.Join(p.spec.Temp, "..", "out"))
	must(t, err)
	b := p.start(t, file)
	must(t, b.Begin(Program{Path: "/bin/sh", Args: []string{"-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done"}, Dir: p.spec.Dir}))
	waitFor(t, func() bool { text, _ := os.ReadFile(file.Name()); return bytes.Contains(text, []byte("ready")) })
	must(t, b.Process().Process.Signal(unix.SIGTERM))
	_ = b.Process().Wait()
	if code := b.Process().ProcessState.ExitCode(); code != 5 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	deadline := time.After(3 * time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen")
		}
	}
}

// What an agent leaves behind ends with it.
func TestNothingOutlivesTheAgent(t *testing.T) {
	needs(t, Strong)
	file := func(p place) string { return filepath.Join(p.spec.Dir, "outlived") }
	exists := func(p place) bool { _, err := os.Stat(file(p)); return err == nil }
	control := newPlace(t, Strong)
	if code, out := outside(t, control.spec.Dir, "outlive", file(control)); code != 0 {
		t.Fatal(out)
	}
	p := newPlace(t, Strong)
	if code, out := p.run(t, nil, self(t), attackCommand, "outlive", file(p)); code != 0 {
		t.Fatal(out)
	}
	waitFor(t, func() bool { return exists(control) }) // it was started earlier
	if exists(p) {
		t.Error("it went on")
	}
}

// Typing into a terminal works where the system allows it at all, but not from
// within.
func TestTypingIntoATerminal(t *testing.T) {
	for _, kind := range []string{Strong, Weak} {
		t.Run(kind, func(t *testing.T) {
			needs(t, kind)
			p := newPlace(t, kind)
			p.spec.Terminal = true
			b, err := Start(p.spec)
			must(t, err)
			t.Cleanup(func() { must(t, b.Close()) })
			must(t, b.Begin(Program{Path: self(t), Args: []string{attackCommand, "tiocsti"}, Dir: p.spec.Dir}))
			out := make([]byte, 256)
			n, _ := b.Terminal().Read(out) // EIO once the agent has ended
			_ = b.Process().Wait()
			// Linux 6.2 and later may refuse it to all with EIO.
			if text := string(out[:n]); !strings.Contains(text, "operation not permitted") {
				t.Errorf("exit code %d: %q", b.Process().ProcessState.ExitCode(), text)
			}
		})
	}
}

// Where a part is missing nothing starts, and the error says which part.
func TestWhatIsMissingIsSaid(t *testing.T) {
	tests := []struct {
		name   string
		kind   string
		number int
		errno  unix.Errno
		part   string // and what the kernel's error means
	}{
		{"Landlock", Strong, unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS, partLandlock},
		{"Landlock that does not bind", Strong, unix.SYS_LANDLOCK_RESTRICT_SELF, unix.EPERM, partLandlock},
		{"seccomp", Strong, unix.SYS_SECCOMP, unix.EINVAL, partSeccomp},
		{"mounts", Strong, unix.SYS_MOUNT, unix.EPERM, partMounts},
		{"read-only mounts", Strong, unix.SYS_MOUNT_SETATTR, unix.ENOSYS, partMounts},
		{"netlink", Strong, unix.SYS_SENDMSG, unix.EPERM, ""},
		{"namespaces", Strong, unix.SYS_CLONE, unix.EPERM, partNamespaces + " cannot be had here: the system does not let you have any"},
		{"namespaces, turned off", Strong, unix.SYS_CLONE, unix.ENOSPC, partNamespaces + " cannot be had here: the system lets you have none, or no more of them"},
		{"Landlock, weak", Weak, unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS, partLandlock},
		{"seccomp, weak", Weak, unix.SYS_SECCOMP, unix.EINVAL, partSeccomp},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			needs(t, tt.kind)
			dir := t.TempDir()
			code, out := outside(t, dir, "start", tt.kind, dir)
			if code != 0 {
				t.Fatalf("with everything there: %s", out)
			}
			code, out = outside(t, dir, "without", strconv.Itoa(tt.number), strconv.Itoa(int(tt.errno)), self(t), attackCommand, "start", tt.kind, dir)
			if code == 0 || !strings.Contains(out, "start: "+tt.part) {
				t.Errorf("exit code %d: %s", code, out)
			}
		})
	}
}

// i386 builds a program of another architecture.
func i386(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "i386"), filepath.Join(dir, "main.go"))
	cmd.Env = append(os.Environ(), "GOARCH=386", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("no 32-bit program: %v: %s", err, out)
	}
	return filepath.Join(dir, "i386")
}

// TestAsAnotherUser runs the other tests without root, which hides faults.
func TestAsAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is another user already")
	}
	dir, err := os.MkdirTemp("", "holdgate-user-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	const uid = 2000
	binary := filepath.Join(dir, "confine.test")
	text, err := os.ReadFile(self(t))
	must(t, err)
	must(t, errors.Join(os.WriteFile(binary, text, 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o700), os.Mkdir(filepath.Join(dir, "cwd"), 0o755)))
	must(t, errors.Join(os.Chmod(dir, 0o755), os.Chown(filepath.Join(dir, "tmp"), uid, uid), os.Chown(filepath.Join(dir, "cwd"), uid, uid)))
	args := []string{"-test.run", "TestAttacks|TestWhat|TestExit|TestNothing|TestTyping"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = filepath.Join(dir, "cwd")
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin", "TMPDIR=" + filepath.Join(dir, "tmp"), "HOME=" + filepath.Join(dir, "tmp")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	must(t, err)
}
