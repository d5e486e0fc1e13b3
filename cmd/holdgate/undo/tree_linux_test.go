package undo

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A player makes random changes through a tree.
type player struct {
	rnd   *rand.Rand
	tree  *tree
	files []int // open for writing
}

var names = []string{"a", "b", "c", "d", "e"}

func (p *player) path() string {
	parts := make([]string, 1+p.rnd.IntN(3))
	for i := range parts {
		parts[i] = names[p.rnd.IntN(len(names))]
	}
	return strings.Join(parts, "/")
}

// step makes a change, which may be one that cannot be made.
func (p *player) step() error {
	at, err := p.tree.at(p.path())
	if err != nil {
		return nil
	}
	defer at.close()
	switch p.rnd.IntN(13) {
	case 0:
		return p.tree.mkdir(at, 0o755)
	case 1:
		return p.tree.symlink(p.path(), at)
	case 2:
		return p.tree.mknod(at, unix.S_IFIFO|0o600)
	case 3, 4:
		return p.tree.unlink(at)
	case 5:
		return p.tree.rmdir(at)
	case 6, 7, 8:
		return p.other(at)
	case 9:
		if st, err := at.stat(); err == nil && st.kind() != unix.S_IFLNK {
			return p.tree.chmod(at, []uint32{0o600, 0o640, 0o444, 0o755}[p.rnd.IntN(4)]|(st.was.Mode&unix.S_IFDIR>>14)*0o700)
		}
	case 10:
		return p.tree.utimes(at, []unix.Timespec{{Sec: 7, Nsec: 7}, {Sec: p.rnd.Int64N(1e9), Nsec: 123}})
	default:
		return p.write(at)
	}
	return nil
}

// other changes something with a second path.
func (p *player) other(at place) error {
	to, err := p.tree.at(p.path())
	if err != nil {
		return nil
	}
	defer to.close()
	if p.rnd.IntN(3) == 0 {
		if st, err := at.stat(); err != nil || st.folder() {
			return nil
		}
		return p.tree.link(at, to)
	}
	return p.tree.rename(at, to, []uint{0, 0, unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE}[p.rnd.IntN(4)])
}

// write opens a file, makes one where there is none, and writes; now and then to
// one that was opened before.
func (p *player) write(at place) error {
	flags := []int{unix.O_WRONLY, unix.O_RDWR | unix.O_CREAT, unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC, unix.O_WRONLY | unix.O_APPEND}[p.rnd.IntN(4)]
	fd, err := p.tree.openForWriting(at, flags, 0o644)
	if err != nil {
		return err
	}
	p.files = append(p.files, fd)
	for range 2 {
		fd := p.files[p.rnd.IntN(len(p.files))]
		if _, err := unix.Write(fd, []byte(strconv.Itoa(p.rnd.Int()))); err != nil {
			return err
		}
	}
	return nil
}

// plant fills a folder with what is to be brought back.
func plant(t testing.TB, rnd *rand.Rand, root string) {
	t.Helper()
	for _, dir := range []string{"a", "a/b", "a/c", "b", "c", "c/d", "c/d/e"} {
		must(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	for i, file := range []string{"a/a", "a/b/a", "b/a", "b/b", "c/d/a", "d"} {
		must(t, os.WriteFile(filepath.Join(root, file), []byte(strings.Repeat(file, rnd.IntN(3000))), 0o644))
		must(t, os.Chmod(filepath.Join(root, file), []os.FileMode{0o600, 0o755, 0o444}[i%3]))
	}
	must(t, os.Link(filepath.Join(root, "b/a"), filepath.Join(root, "b/c")))
	must(t, os.Link(filepath.Join(root, "b/a"), filepath.Join(root, "c/c")))
	must(t, os.Symlink("../d", filepath.Join(root, "b/d")))
	must(t, unix.Mkfifo(filepath.Join(root, "b/e"), 0o640))
	sparse, err := os.Create(filepath.Join(root, "e"))
	must(t, err)
	_, err = sparse.WriteAt([]byte("end"), 70_000)
	must(t, errors.Join(err, sparse.Close()))
	for _, path := range []string{"d", "b", "a/b", "b/d"} {
		must(t, unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(root, path), []unix.Timespec{{Sec: 5, Nsec: 5}, {Sec: 1e9, Nsec: rnd.Int64N(1e9)}}, unix.AT_SYMLINK_NOFOLLOW))
	}
}

// play makes random changes with a seed, in an entry of its own.
func play(t testing.TB, s *Store, root string, seed uint64, steps int) string {
	t.Helper()
	run, err := s.Begin(root, "test")
	must(t, err)
	p := &player{rnd: rand.New(rand.NewPCG(seed, 1)), tree: run.tree}
	for range steps {
		var refused unix.Errno
		if err := p.step(); err != nil && !errors.As(err, &refused) && !errors.Is(err, errNative) {
			t.Fatal(err)
		}
	}
	for _, fd := range p.files {
		must(t, unix.Close(fd))
	}
	must(t, run.Finish())
	return run.ID
}

func undone(t testing.TB, s *Store, id string) Report {
	t.Helper()
	r, err := s.Undo(id, Selection{})
	must(t, err)
	if len(r.Conflicts) > 0 {
		t.Errorf("conflicts: %v", r.Conflicts)
	}
	return r
}

// seeds are the first third of a random test's seeds, some thousand changes, or all
// with HOLDGATE_WHOLE.
func seeds(t *testing.T, all uint64) uint64 {
	n := all / 3
	if os.Getenv("HOLDGATE_WHOLE") != "" {
		n = all
	}
	t.Logf("%d of %d seeds", n, all)
	return n
}

func TestRandomChangesAreTakenBack(t *testing.T) {
	for seed := range seeds(t, 60) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			root, dir := folders(t)
			plant(t, rand.New(rand.NewPCG(seed, 2)), root)
			s, err := Open(dir, Options{Key: testKey})
			must(t, err)
			before := manifest(t, root)
			id := play(t, s, root, seed, 300)
			changed := manifest(t, root)
			r := undone(t, s, id)
			same(t, before, manifest(t, root))
			again := undone(t, s, r.ID)
			same(t, changed, manifest(t, root))
			undone(t, s, again.ID)
			same(t, before, manifest(t, root))
		})
	}
}

// Parts that are taken back one after the other, some of them in vain, leave nothing in
// the way of the rest.
func TestRandomPartsAreTakenBack(t *testing.T) {
	for seed := range seeds(t, 40) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			root, dir := folders(t)
			plant(t, rnd, root)
			s, err := Open(dir, Options{Key: testKey})
			must(t, err)
			before := manifest(t, root)
			id := play(t, s, root, seed+1000, 100)
			for range 5 {
				list, err := s.Plan(id, Selection{})
				must(t, err)
				if len(list) == 0 {
					break
				}
				part := Selection{Paths: []string{list[rnd.IntN(len(list))].Path}}
				changed := manifest(t, root)
				r, err := s.Undo(id, part)
				must(t, err)
				if _, err := s.entry(r.ID); err == nil && rnd.IntN(2) == 0 {
					undone(t, s, r.ID)
					same(t, changed, manifest(t, root))
				}
			}
			undone(t, s, id)
			same(t, before, manifest(t, root))
		})
	}
}

const (
	killedCommand = "killed"
	killedBefore  = "before a record"
	killedAfter   = "after a record"
)

// killed makes changes until it has written so many records, and is killed then.
func killed(args []string) int {
	seed, _ := strconv.ParseUint(args[2], 10, 64)
	steps, _ := strconv.Atoi(args[3])
	s, err := Open(args[1], Options{Key: testKey})
	if err != nil {
		return 1
	}
	run, err := s.Begin(args[0], "test")
	if err != nil {
		return 1
	}
	p := &player{rnd: rand.New(rand.NewPCG(seed, 1)), tree: run.tree}
	if args[4] != "" {
		run.tree.journal.step = func(written bool) {
			if written == (args[4] == killedAfter) && run.tree.journal.last == int64(steps)/2+int64(seed) {
				_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			}
		}
	}
	for range steps {
		_ = p.step()
	}
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	return 1
}

func TestARunThatWasKilledIsTakenBack(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	for _, at := range []string{killedBefore, killedAfter} {
		for seed := range uint64(20) {
			t.Run(fmt.Sprintf("%s %d", at, seed), func(t *testing.T) {
				root, dir := folders(t)
				plant(t, rand.New(rand.NewPCG(seed, 2)), root)
				before := manifest(t, root)
				cmd := exec.Command(self, killedCommand, root, dir, strconv.FormatUint(seed, 10), "120", at)
				if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.Exited() {
					t.Fatalf("it was not killed: %v", err)
				}
				s, err := Open(dir, Options{Key: testKey})
				must(t, err)
				list, err := s.Entries()
				must(t, err)
				undone(t, s, list[0].ID)
				same(t, before, manifest(t, root))
			})
		}
	}
}
