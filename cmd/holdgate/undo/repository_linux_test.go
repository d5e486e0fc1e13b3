package undo

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdgate/holdgate/cmd/holdgate/confine"
)

const (
	wreckCommand     = "wreck"
	superviseCommand = "supervise"
)

// wreck is a compiled program that wrecks the folder that it is in, on several threads.
func wreck() int {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			_ = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
				switch {
				case err != nil || d.IsDir():
				case i%4 == 0:
					_ = os.Truncate(path, 1)
				case i%4 == 1:
					_ = os.WriteFile(path, []byte("wrecked"), 0o644)
				case i%4 == 2:
					_ = os.Rename(path, path+".moved")
				default:
					_ = os.Remove(path)
				}
				return nil
			})
		})
	}
	all.Wait()
	_ = os.RemoveAll("nested")
	return 0
}

// plantRepository makes a repository with all that snapshots by git do not keep.
func plantRepository(t testing.TB, root string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED, NOT TESTED: git is not here")
	}
	cmd := exec.Command("bash", "-ec", `
git() { command git -c user.name=a -c user.email=a@b -c protocol.file.allow=always -c init.defaultBranch=main "$@" >/dev/null 2>&1; }
git init library; (cd library; echo lib > lib.c; git add -A; git commit -m lib)
git init work; cd work; mkdir -p src/deep empty build
for i in $(seq 60); do echo "source $i" > src/deep/$i.c; echo "object $i" > build/$i.o; done
printf 'build/\n.env\n' > .gitignore; echo SECRET=1 > .env; chmod 600 .env; ln -s src/deep/1.c first; ln src/deep/2.c build/second; chmod 755 src/deep/3.c; touch -d 2001-02-03 src/deep/4.c
git submodule add ../library sub; git add -A; git commit -m one
git init nested; (cd nested; echo n > n; git add -A; git commit -m n; echo changed > n)
echo uncommitted >> src/deep/5.c; git add src/deep/5.c; echo more >> src/deep/5.c; rm src/deep/6.c; git stash list; git branch other
`)
	cmd.Dir = filepath.Dir(root)
	must(t, os.RemoveAll(root))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestARepositoryIsTakenBack(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	for name, script := range map[string]string{
		"rm":                "rm -rf ./* .git .env .gitignore .gitmodules",
		"git clean":         "git clean -ffdxq",
		"git reset":         "git reset -q --hard; git checkout -q other; git branch -qD main; git gc -q --prune=now",
		"find":              "find . -mindepth 1 -delete",
		"overwritten":       "for f in $(git ls-files); do [ -f $f ] && echo x > $f; done; truncate -s 0 .env build/*.o",
		"the submodule":     "git submodule -q deinit -f sub; git rm -qrf sub; rm -rf .git/modules",
		"python":            "python3 -c 'import shutil, os\nfor d in os.listdir(\".\"): shutil.rmtree(d, ignore_errors=True)'",
		"a program":         self + " " + wreckCommand,
		"moved and emptied": "mv src x; mv nested src; mv x nested; for f in nested/deep/*; do : > $f; done; mv .git git; rmdir empty",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetting(t)
			plantRepository(t, s.root)
			before := manifest(t, s.root)
			e := s.run(t, "bash", "-c", script)
			if strings.Join(before, "") == strings.Join(manifest(t, s.root), "") {
				t.Fatalf("nothing was changed: %s", e.out)
			}
			undone(t, s.store, e.id)
			same(t, before, manifest(t, s.root))
		})
	}
}

// supervise runs an agent that wrecks its folder, and is killed when it is about to
// make a change of a number, or kills the agent then.
func supervise(root, dir, temp, whom string, number int64) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	s, err := Open(dir, Options{Key: testKey})
	if err != nil {
		return 1
	}
	run, err := s.Begin(root, "test")
	if err != nil {
		return 1
	}
	box, err := confine.Start(confine.Spec{
		Kind: confine.Strong, Self: []string{self, confine.Command}, Dir: root, Mask: []string{dir},
		Keep: []string{filepath.Dir(self), dir}, Temp: temp, Undo: true,
	})
	if err != nil {
		return 1
	}
	victim := os.Getpid()
	if whom == "the agent" {
		victim = box.Process().Process.Pid
	}
	run.tree.journal.step = func(written bool) {
		if written && run.tree.journal.last == number {
			_ = unix.Kill(victim, unix.SIGKILL)
		}
	}
	broker, err := run.Serve(box.Calls, box.Process().Process.Pid, Terms{Protected: []string{dir}, Lapsed: func() {}})
	if err != nil {
		return 1
	}
	path, err := exec.LookPath("bash")
	if err == nil {
		err = box.Begin(confine.Program{Path: path, Args: []string{"-c", "while :; do rm -rf *; mkdir n; cp /etc/passwd n/p; mv n m; " + self + " " + wreckCommand + "; done"}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: root})
	}
	if err != nil {
		return 1
	}
	_ = box.Process().Wait()
	_ = box.Close()
	if broker.Close() != nil || run.Finish() != nil {
		return 1
	}
	return 0
}

func TestEitherSideIsKilledInTheMiddle(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	for _, whom := range []string{"the supervisor", "the agent"} {
		for _, number := range []int{1, 7, 40, 90, 150} {
			t.Run(fmt.Sprintf("%s at change %d", whom, number), func(t *testing.T) {
				t.Parallel()
				s := newSetting(t)
				s.shell(t, "true") // or it is skipped
				plantRepository(t, s.root)
				before := manifest(t, s.root)
				alive, theirs, err := os.Pipe() // which all that runs holds
				must(t, err)
				cmd := exec.Command(self, superviseCommand, s.root, s.dir, s.spec.Temp, whom, strconv.Itoa(number))
				cmd.Stdout, cmd.Stderr = theirs, theirs
				must(t, cmd.Start())
				must(t, theirs.Close())
				out, err := io.ReadAll(alive) // until the last has ended
				must(t, err)
				err = cmd.Wait()
				if killed := cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled(); killed != (whom == "the supervisor") {
					t.Fatalf("it ended with %v: %s", err, out)
				}
				list, err := s.store.Entries()
				must(t, err)
				if len(list) != 1 {
					t.Fatalf("the runs are %v", list)
				}
				undone(t, s.store, list[0].ID)
				same(t, before, manifest(t, s.root))
			})
		}
	}
}
