package differential

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// shells are what scripts run in: a name, and the program with its options.
var shells = []struct {
	name string
	argv []string
}{
	{"dash", []string{"dash"}},
	{"bash", []string{"bash"}},
	{"posix", []string{"bash", "--posix"}},
	{"zsh", []string{"zsh", "-f"}},
}

// real are the programs of the system that scripts may run, because they run
// others. All else on the PATH are recorders.
var real = strings.Fields("env xargs nice nohup timeout sh bash dash zsh")

// fakes are the recorders' names. Those that begin with q fail.
var fakes = strings.Fields("p0 p1 p2 p3 p4 p5 p6 p7 p8 p9 q1 q2 q3 rm git make ls cat curl")

// A batch is a number of scripts to run in one shell. Each runs in a subshell
// of one process, or, where Alone, as the text of -c in a process of its own.
type batch struct {
	Shell   int
	Scripts []string
	Alone   bool
}

// ran are the programs that each script of a batch ran, by its place: the
// arguments of each, its name first.
type ran [][][]string

const (
	roleVariable = "HOLDGATE_DIFFERENTIAL" // what a child of the test is to do
	unfinished   = "UNFINISHED"            // what a jail says that took too long
	patience     = "HOLDGATE_PATIENCE"     // how many seconds a batch may take, where that is not 20
)

// maxSeconds is how long a batch may take. A machine that does other work needs more.
var maxSeconds = cmp.Or(number(os.Getenv(patience)), 20)

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// TestMain is the test, the jail's first process, or a fake program.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "jail":
		if err := jail(); err != nil {
			fmt.Fprintln(os.Stderr, "jail:", err)
			os.Exit(1)
		}
		os.Exit(0)
	case "record":
		os.Exit(record())
	}
	os.Exit(m.Run())
}

// run runs a batch in a jail: own processes, network, users and mounts, where
// the system allows it, and nothing to write to but a folder that is gone
// afterwards.
func run(t testing.TB, b batch) ran {
	t.Helper()
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = []string{roleVariable + "=jail", patience + "=" + os.Getenv(patience), "PATH=" + os.Getenv("PATH"), "RECORDER=" + recorder(t), "ROOM=" + t.TempDir()}
	cmd.Stdin = bytes.NewReader(text)
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	cmd.SysProcAttr = apart
	if jailed(t) {
		cmd.SysProcAttr = namespaces()
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("running the jail: %v\n%s", err, &msg)
	}
	if strings.Contains(msg.String(), unfinished) {
		t.Logf("a batch of %d scripts took more than %d seconds in %s: the rest of it was not run", len(b.Scripts), maxSeconds, shells[b.Shell].name)
	}
	result := make(ran, len(b.Scripts))
	for log := out.Bytes(); len(log) > 0; {
		count, rest := field(log)
		n, err := strconv.Atoi(count)
		cwd, rest := field(rest)
		if err != nil {
			t.Fatalf("the log of the fake programs is torn: %q", log[:min(len(log), 80)])
		}
		argv := make([]string, n)
		for i := range argv {
			argv[i], rest = field(rest)
		}
		log = rest
		if at := place(cwd); at < len(result) {
			for i, a := range argv {
				argv[i] = strings.ReplaceAll(a, home(cwd), "/w")
			}
			result[at] = append(result[at], argv)
		}
	}
	return result
}

func field(log []byte) (string, []byte) {
	text, rest, _ := bytes.Cut(log, []byte{0})
	return string(text), rest
}

// home is the folder of the script whose program stood in cwd: ROOM/w/NUMBER.
func home(cwd string) string {
	before, after, _ := strings.Cut(cwd, "/w/")
	number, _, _ := strings.Cut(after, "/")
	return before + "/w/" + number
}

func place(cwd string) int {
	n, err := strconv.Atoi(filepath.Base(home(cwd)))
	if err != nil {
		return 1 << 30
	}
	return n
}

// apart keeps signals to a group of processes away from the test.
var apart = &syscall.SysProcAttr{Setsid: true}

func namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setsid:      true,
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// jail is the first process in a jail: it makes the room, runs the batch, waits
// for every process that is left, and prints what the fake programs recorded.
func jail() error {
	var b batch
	if err := json.NewDecoder(os.Stdin).Decode(&b); err != nil {
		return fmt.Errorf("reading the batch: %w", err)
	}
	room := os.Getenv("ROOM")
	if os.Getpid() == 1 {
		if err := confine(room); err != nil {
			return err
		}
	} else if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the parent of orphans: %w", err)
	}
	if err := furnish(room); err != nil {
		return err
	}
	over := time.AfterFunc(time.Duration(maxSeconds)*time.Second, func() {
		fmt.Fprintln(os.Stderr, unfinished)
		os.Exit(printLog(room))
	})
	if err := b.start(room); err != nil {
		return err
	}
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); errors.Is(err, syscall.ECHILD) {
			break
		}
	}
	if over.Stop() && printLog(room) != 0 {
		return errors.New("the log cannot be read")
	}
	return nil
}

func printLog(room string) int {
	log, err := os.ReadFile(filepath.Join(room, "bin", "log"))
	if err == nil {
		_, err = os.Stdout.Write(log)
	}
	if err != nil {
		return 1
	}
	return 0
}

// confine makes all files read-only but those in a new file system at room.
func confine(room string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("making mounts read-only: %w", err)
	}
	if err := unix.Mount("room", room, "tmpfs", 0, "size=256m"); err != nil {
		return fmt.Errorf("mounting the room: %w", err)
	}
	return nil
}

// furnish makes the PATH of the jail in room: the recorders, which are links to
// one program, and the programs that run others.
func furnish(room string) error {
	bin := filepath.Join(room, "bin")
	for _, dir := range []string{bin, filepath.Join(room, "s"), filepath.Join(room, "w"), filepath.Join(room, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making the room: %w", err)
		}
	}
	program, err := os.ReadFile(os.Getenv("RECORDER"))
	if err != nil {
		return fmt.Errorf("reading the recorder: %w", err)
	}
	// The log lies beside the program, so the program must lie in the room.
	if err := errors.Join(os.WriteFile(filepath.Join(bin, "recorder"), program, 0o755), os.WriteFile(filepath.Join(bin, "log"), nil, 0o644)); err != nil {
		return fmt.Errorf("making the recorder: %w", err)
	}
	for _, name := range fakes {
		err = errors.Join(err, os.Link(filepath.Join(bin, "recorder"), filepath.Join(bin, name)))
	}
	for _, name := range real {
		if path, found := exec.LookPath(name); found == nil {
			err = errors.Join(err, os.Symlink(path, filepath.Join(bin, name)))
		}
	}
	if err != nil {
		return fmt.Errorf("filling the PATH: %w", err)
	}
	return nil
}

// start runs the scripts, each in a folder of its own, which is its home, too.
func (b batch) start(room string) error {
	var drive strings.Builder
	argv := shells[b.Shell].argv
	environ := []string{
		"PATH=" + filepath.Join(room, "bin"), "LC_ALL=C.UTF-8", "FUNCNEST=20", roleVariable + "=record",
		"TMPDIR=" + filepath.Join(room, "tmp"), "TMPPREFIX=" + filepath.Join(room, "tmp", "z"),
	}
	for i, script := range b.Scripts {
		dir, file := filepath.Join(room, "w", strconv.Itoa(i)), filepath.Join(room, "s", strconv.Itoa(i))
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(file, []byte(script), 0o644)); err != nil {
			return fmt.Errorf("writing a script: %w", err)
		}
		fmt.Fprintf(&drive, "( ulimit -t 1; ulimit -f 2000; cd %s && HOME=$PWD && export HOME && . %s ) </dev/null >/dev/null 2>&1\n", dir, file)
		if b.Alone && !strings.Contains(script, "\x00") {
			ctx, stop := context.WithTimeout(context.Background(), time.Duration(maxSeconds)*time.Second/10)
			cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], "-c", script)...)
			cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, append(environ, "HOME="+dir), apart
			cmd.Run() //nolint:errcheck // scripts may fail
			stop()
		}
	}
	if b.Alone {
		return nil
	}
	driver := filepath.Join(room, "drive")
	if err := os.WriteFile(driver, []byte(drive.String()), 0o644); err != nil {
		return fmt.Errorf("writing the driver: %w", err)
	}
	cmd := exec.Command(argv[0], append(argv[1:], driver)...)
	cmd.Env, cmd.SysProcAttr = environ, apart
	cmd.Run() //nolint:errcheck // a script may end it
	return nil
}

// record is a fake program. See testdata/recorder.c.
func record() int {
	cwd, err := os.Getwd()
	if err != nil {
		return 125
	}
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 125
	}
	log, err := os.OpenFile(filepath.Join(filepath.Dir(program), "log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return 125
	}
	name := filepath.Base(program) // exec -a may have given it another
	entry := append([]string{strconv.Itoa(len(os.Args)), cwd, name}, os.Args[1:]...)
	if _, err := log.WriteString(strings.Join(entry, "\x00") + "\x00"); err != nil {
		return 125
	}
	if strings.HasPrefix(name, "q") {
		return 1
	}
	return 0
}

// recorder is the program behind all fakes: the C program where there is a
// compiler, and this test binary else.
func recorder(t testing.TB) string {
	t.Helper()
	buildRecorder.Do(func() {
		dir, err := os.MkdirTemp("", "recorder")
		if err != nil {
			t.Fatal(err)
		}
		recorderPath = filepath.Join(dir, "recorder")
		if msg, err := exec.Command("cc", "-O1", "-static", "-o", recorderPath, "testdata/recorder.c").CombinedOutput(); err != nil {
			t.Logf("SLOW: no C compiler makes the recorder, the test binary records: %v %s", err, msg)
			recorderPath = "/proc/self/exe"
		}
	})
	return recorderPath
}

var (
	buildRecorder sync.Once
	recorderPath  string
)

// jailed reports whether the system lets the test make a jail.
func jailed(t testing.TB) bool {
	t.Helper()
	tryJail.Do(func() {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{roleVariable + "=jail", "RECORDER=" + recorder(t), "ROOM=" + t.TempDir()}
		cmd.Stdin = strings.NewReader("{}")
		cmd.SysProcAttr = namespaces()
		msg, err := cmd.CombinedOutput()
		if canJail = err == nil; !canJail {
			t.Logf("SKIPPED: no jail: %v %s. Scripts run in a folder of their own", err, msg)
		}
	})
	return canJail
}

var (
	tryJail sync.Once
	canJail bool
)
