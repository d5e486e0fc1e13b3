package undo

import (
	"cmp"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// costScript does what agents do, and says how long each took.
const costScript = `
import os, shutil, subprocess, sys, time
n = int(sys.argv[1])
def timed(what, fn):
    began = time.monotonic(); fn(); print(f"{what:34} {time.monotonic() - began:8.3f}")
def fill(dir, n):
    for i in range(n):
        if i % 100 == 0: os.makedirs(f"{dir}/{i // 100}")
        with open(f"{dir}/{i // 100}/{i}", "wb") as f: f.write(content)
def rewrite():
    for i in range(n // 20):
        with open(f"old/{i // 100}/{i}", "r+b") as f: f.write(b"new")
def git(*args): subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0", *args], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def repository():
    os.makedirs("repo"); os.chdir("repo"); git("init"); fill("src", n // 10); git("add", "-A"); git("commit", "-m", "one"); git("checkout", "-b", "other")
    for i in range(n // 10): open(f"src/{i // 100}/{i}", "ab").write(b"x")
    git("commit", "-am", "two")
content = b"0123456789abcdef" * 128
timed(f"install {n // 2} files", lambda: fill("node_modules", n // 2))
timed(f"write {n // 20} old files", rewrite)
timed(f"rm -rf {n} old files", lambda: subprocess.run(["rm", "-rf", "old"], check=True))
repository()
timed(f"git checkout of {n // 10} files", lambda: git("checkout", "-"))
timed("git status", lambda: git("status"))
`

// TestWhatUndoCosts prints the costs beside those without, and checks that all is
// brought back. HOLDGATE_UNDO_FILES=100000 says of how many files.
func TestWhatUndoCosts(t *testing.T) {
	for _, tool := range []string{"python3", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED, NOT TESTED: %s is not here", tool)
		}
	}
	n := cmp.Or(os.Getenv("HOLDGATE_UNDO_FILES"), "2000")
	files, err := strconv.Atoi(n)
	must(t, err)
	with, without := newSetting(t), newSetting(t)
	without.spec.Undo = false
	for _, s := range []*setting{without, with} {
		for i := range files {
			dir := s.root + "/old/" + strconv.Itoa(i/100)
			if i%100 == 0 {
				must(t, os.MkdirAll(dir, 0o755))
			}
			must(t, os.WriteFile(dir+"/"+strconv.Itoa(i), []byte(strings.Repeat("before", 900)), 0o644))
		}
	}
	before := manifest(t, with.root)
	began := time.Now()
	t.Logf("without undo:\n%s(and start and end: %v)", without.without(t, "python3", "-c", costScript, n), time.Since(began))
	began = time.Now()
	e := with.shell(t, "python3 -c '"+costScript+"' "+n)
	t.Logf("with undo:\n%s(and start and end: %v)", e.out, time.Since(began))
	began = time.Now()
	undone(t, with.store, e.id)
	t.Logf("undo: %v", time.Since(began))
	same(t, before, manifest(t, with.root))
}
