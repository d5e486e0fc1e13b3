package undo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/confine"
)

// attackPrelude is what the attacks in Python begin with: each is tried, and what is
// refused is no error of the attack.
const attackPrelude = `
import ctypes, fcntl, mmap, os, struct, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(n, *args):
    r = libc.syscall(ctypes.c_long(n), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if r < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return r
def trying(fn):
    try: return fn()
    except OSError as e: print(fn, e)
def write(path, text=b"attacked"):
    fd = os.open(path, os.O_WRONLY); os.write(fd, text); os.close(fd)
here = os.getcwd()
`

// attacks are ways to change files so that it is not kept what they were. Those that
// are refused without undo too have no control.
var attacks = []struct {
	name, python string
	refused      bool
}{
	{"a file that is mapped", `fd = os.open("d", os.O_RDWR); m = mmap.mmap(fd, 0); m[0:4] = b"ATCK"; os.close(fd); m.flush()`, false},
	{"holes, ranges and pipes into an open file", `
fd = os.open("d", os.O_RDWR)
trying(lambda: call(285, fd, 3, 0, 50))                                     # fallocate: punch a hole
trying(lambda: os.copy_file_range(os.open("e", os.O_RDONLY), fd, 100, 0, 8))
trying(lambda: os.sendfile(fd, os.open("e", os.O_RDONLY), 0, 100))
r, w = os.pipe(); os.write(w, b"piped"); trying(lambda: os.splice(r, fd, 5, offset_dst=20))
trying(lambda: os.pwritev(fd, [b"vector"], 30)); os.ftruncate(fd, 60)`, false},
	{"descriptors opened anew", `
for flags in (os.O_RDONLY, os.O_PATH):
    fd = os.open("d", flags)
    for path in (f"/proc/self/fd/{fd}", f"/dev/fd/{fd}", f"/proc/thread-self/fd/{fd}", f"/proc/{os.getpid()}/fd/{fd}"):
        trying(lambda: write(path))
trying(lambda: os.truncate(f"/proc/self/fd/{fd}", 3))`, false},
	{"paths through /proc", `
for at in ("/proc/self/root" + here, "/proc/self/cwd", "/proc/1/root" + here):
    trying(lambda: write(at + "/d")); trying(lambda: os.unlink(at + "/e"))`, false},
	{"a file that is removed and still open", `
fd = os.open("d", os.O_RDWR); os.unlink("d"); os.write(fd, b"later"); os.fchmod(fd, 0o777); os.utime(fd, (1, 1)); os.ftruncate(fd, 1)`, false},
	{"emptied by opening it for reading", `os.close(os.open("d", os.O_RDONLY | os.O_TRUNC))`, false},
	{"two paths that change places", `call(316, -100, b"d", -100, b"e", 2); os.rename("a", "b2"); os.rename("b", "a"); write("e")`, false},
	{"a path that changes meanwhile", `
buf = ctypes.create_string_buffer(b"/tmp/own-file"); open("/tmp/own-file", "w").close(); os.makedirs("x"); over = False
def flip():
    while not over:
        buf.raw = b"d\0" + b"x" * 12; buf.raw = b"/tmp/own-file\0"
t = threading.Thread(target=flip); t.start()
for i in range(3000):
    fd = libc.open(buf, os.O_WRONLY)
    if fd >= 0: os.write(fd, b"raced"); os.close(fd)
    libc.unlink(buf) if i % 500 == 499 else libc.truncate(buf, ctypes.c_long(i % 7))
over = True; t.join()`, false},
	{"links to a file from elsewhere", `
for fn in (lambda: os.link("d", "/tmp/linked"), lambda: os.link("d", "linked"), lambda: os.rename("d", "/tmp/linked")): trying(fn)
for path in ("/tmp/linked", "linked"): trying(lambda: write(path))`, false},
	{"by a handle", `
class Handle(ctypes.Structure): _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_char * 128)]
h, mnt = Handle(128), ctypes.c_int()
call(303, -100, b"d", ctypes.byref(h), ctypes.byref(mnt), 0)
for at in ("e", "/", "."):
    for flags in (os.O_RDWR, os.O_RDONLY):
        fd = trying(lambda: os.open(at, flags))
        if fd is not None: trying(lambda: os.write(call(304, fd, ctypes.byref(h), os.O_RDWR), b"handled"))`, true},
	{"mounts in a further namespace", `
for script in ("mount -o remount,rw,bind . && rm d", "mkdir -p /tmp/m && mount --bind . /tmp/m && echo x > /tmp/m/d", "mount -o remount,rw,bind / && rm d", "umount -l . ; rm d", "mount -t tmpfs x /tmp && ln -s $PWD/d /tmp/l && echo x > /tmp/l"):
    print(subprocess.run(["unshare", "-Urm", "sh", "-c", script], capture_output=True))`, true},
	{"mounts by the newer calls", `
sys.stdout.flush()
if os.fork() == 0:
    trying(lambda: call(272, 0x10000000 | 0x20000))                                    # unshare: user and mounts
    def clone():
        fd = call(428, -100, b".", 1 | 0x80000)                                         # open_tree, cloned
        attr = struct.pack("QQQQ", 0, 1, 0, 0)                                          # not read-only
        trying(lambda: call(442, fd, b"", 0x1000, attr, 32))
        f = os.open("d", os.O_WRONLY, dir_fd=fd); os.write(f, b"cloned")
    trying(clone); os._exit(0)
os.wait()`, true},
	{"a root of its own", `
if os.fork() == 0:
    trying(lambda: call(272, 0x10000000)); trying(lambda: os.chroot(".")); trying(lambda: write("/d")); trying(lambda: os.unlink("/e")); os._exit(0)
os.wait()`, false},
	{"a program from memory", `
fd = os.memfd_create("x"); os.write(fd, open("/bin/rm", "rb").read())
subprocess.run(["rm", "d"], executable=f"/proc/self/fd/{fd}", pass_fds=[fd])`, false},
	{"io_uring", `p = ctypes.create_string_buffer(120); trying(lambda: call(425, 4, p))`, true},
	{"calls of 32 bits", `
if os.fork() == 0:
    code = mmap.mmap(-1, 4096, prot=7, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40)    # below 4 GiB
    at = ctypes.addressof(ctypes.c_char.from_buffer(code))
    code[64:66] = b"d\0"
    code[:13] = b"\xb8\x0a\0\0\0\xbb" + struct.pack("<I", at + 64) + b"\xcd\x80\xc3"           # unlink
    ctypes.CFUNCTYPE(ctypes.c_int)(at)(); os._exit(0)
print(os.wait())`, true},
	{"calls of x32", `
if os.fork() == 0: trying(lambda: call(0x40000000 + 87, b"d")); os._exit(0)
os.wait()`, true},
	{"flags of a file", `
for fd in (os.open("d", os.O_RDWR), os.open("e", os.O_RDONLY)):
    for request in (0x40086602, 0x40046602): trying(lambda: fcntl.ioctl(fd, request, struct.pack("q", 0xc0 | 0x80000)))`, false},
	{"a file that can never be written again", `
fd = os.open("d", os.O_RDONLY | os.O_CREAT | os.O_TRUNC)
trying(lambda: fcntl.ioctl(fd, 0x40806685, struct.pack("IIIIQIIQ", 1, 1, 4096, 0, 0, 0, 0, 0) + bytes(88)))
os.close(fd); trying(lambda: write("d"))`, false},
	{"attributes", `
fd = os.open("d", os.O_RDWR)
for at in ("d", fd): trying(lambda: os.setxattr(at, "user.x", b"y"))
trying(lambda: call(469, fd, b"", struct.pack("QIIIIQ", 0x40, 0, 0, 0, 0, 0), 32, 0x1000))   # file_setattr`, false},
	{"a lease that keeps others waiting", `
os.unlink("e"); fd = os.open("d", os.O_RDONLY); trying(lambda: fcntl.fcntl(fd, 1024, 0)); trying(lambda: write("d"))`, false},
	{"what a process has mapped", `
fd = os.open("d", os.O_RDONLY); m = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
for name in os.listdir("/proc/self/map_files")[:3]: trying(lambda: write("/proc/self/map_files/" + name))`, true},
	{"memory of a mapped file", `
fd = os.open("d", os.O_RDONLY); m = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
at = [int(l.split("-")[0], 16) for l in open("/proc/self/maps") if l.rstrip().endswith("/d")]
mem = trying(lambda: os.open("/proc/self/mem", os.O_RDWR))
if mem is not None: trying(lambda: os.pwrite(mem, b"mapped", at[0]))`, true},
	{"threads that race for descriptors", `
stop = False
def swap():
    while not stop:
        for at in (here, "/tmp", here + "/a", here + "/b"):
            fd = os.open(at, os.O_RDONLY); os.dup2(fd, 100); os.close(fd)
os.dup2(os.open(here, os.O_RDONLY), 100)
t = threading.Thread(target=swap); t.start()
for i in range(1500):
    trying(lambda: os.close(os.open("a", os.O_WRONLY | os.O_CREAT, dir_fd=100)))
    trying(lambda: os.unlink(["a", "d", "c"][i % 3], dir_fd=100))
stop = True; t.join()`, false},
}

func TestNoAttackGetsPastTheBroker(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED, NOT TESTED: python3 is not here (apt-get install python3)")
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			s := newSetting(t)
			plantOpen(t, s.root)
			before := manifest(t, s.root)
			e := s.run(t, "python3", "-c", attackPrelude+a.python)
			r, err := s.store.Undo(e.id, Selection{})
			if err == nil && len(r.Conflicts) > 0 {
				t.Errorf("conflicts: %v", r.Conflicts)
			}
			if err != nil && !strings.Contains(err.Error(), "no run") {
				t.Error(err)
			}
			same(t, before, manifest(t, s.root))
			if t.Failed() || os.Getenv("SHOW") != "" {
				t.Log(e.out)
			}
			if a.refused {
				return
			}
			c := newSetting(t)
			c.spec.Undo = false
			plantOpen(t, c.root)
			before = manifest(t, c.root)
			out := c.without(t, "python3", "-c", attackPrelude+a.python)
			if slices.Equal(before, manifest(t, c.root)) {
				t.Errorf("without undo the attack changes nothing, so that it shows nothing:\n%s", out)
			}
		})
	}
}

// plantOpen fills a folder with files that the agent may write.
func plantOpen(t testing.TB, root string) {
	t.Helper()
	plant(t, rand.New(rand.NewPCG(1, 2)), root)
	for _, name := range []string{"d", "e"} {
		must(t, os.Chmod(root+"/"+name, 0o644))
		must(t, os.WriteFile(root+"/"+name, []byte(strings.Repeat(fmt.Sprintf("%s before\n", name), 20)), 0o644))
	}
}

// without runs a program as the agent, without undo.
func (s *setting) without(t testing.TB, argv ...string) string {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	must(t, err)
	box, text := s.start(t)
	defer box.Close()
	must(t, box.Begin(confine.Program{Path: path, Args: argv[1:], Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.root, "TMPDIR=/tmp"}, Dir: s.root}))
	_ = box.Process().Wait() // attacks may fail
	return text()
}
