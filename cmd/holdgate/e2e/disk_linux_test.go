package e2e_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
)

// ownDisk mounts a small disk for a state folder.
func ownDisk(t *testing.T, size string) (dir string) {
	t.Helper()
	dir = sockettest.Folder(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		_ = os.Remove(dir)
		t.Skipf("THE DISK IS NOT TESTED: mounting one of its own takes rights that this user does not have: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	return dir
}

// leave fills the disk until no more than so many MiB are free.
func leave(t *testing.T, dir string, mib int64) {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "ballast"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.CopyN(f, zeros{}, int64(s.Bavail)*s.Bsize-mib<<20); err != nil {
		t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// As a disk fills up, first nothing new is held, then agents may do nothing any
// more, and people still decide. With room again all goes on.
func TestADiskThatFillsUpLetsNothingThroughAndLosesNothing(t *testing.T) {
	t.Parallel()
	disk := ownDisk(t, "400m")
	p := newProvider(t)
	s := serveIn(t, filepath.Join(disk, "s"), nil, "--upstream", "anthropic="+p.URL)
	ended := []<-chan struct{}{hold(t, s, "rm -rf one"), hold(t, s, "rm -rf two")}
	one, two := s.held("rm -rf one"), s.held("rm -rf two")

	leave(t, disk, 80+50)
	if got := turnOf(t, s, "rm -rf three"); !strings.Contains(got, "the disk is nearly full") || !strings.Contains(got, "limits.disk_reserve") || strings.Contains(got, "tool_use") {
		t.Errorf("in the reserve a call that would be held got %s", got)
	}
	if got := turnOf(t, s, "ls"); !strings.Contains(got, "tool_use") {
		t.Errorf("in the reserve a call that policy allows got %s", got)
	}
	leave(t, disk, 80+20)
	if got := turnOf(t, s, "ls"); !strings.Contains(got, "the disk is nearly full") || strings.Contains(got, "tool_use") {
		t.Errorf("with half the reserve gone a call got %s", got)
	}
	s.must("deny", one.ID, "--reason", "no")
	<-ended[0]

	leave(t, disk, 5)
	if got := turnOf(t, s, "ls"); strings.Contains(got, "tool_use") {
		t.Errorf("with the disk full a call got %s", got)
	}
	s.stop()
	<-ended[1]
	refusesToStart(t, s.dir, s.dir, "full")

	if err := os.Remove(filepath.Join(disk, "ballast")); err != nil {
		t.Fatal(err)
	}
	s = serveIn(t, s.dir, nil, "--upstream", "anthropic="+p.URL)
	if got := s.held("rm -rf two"); got.ID != two.ID {
		t.Errorf("held is %s, want %s", got.ID, two.ID)
	}
	s.answer(two.ID, "approve")
	if got := turnOf(t, s, "ls"); !strings.Contains(got, "tool_use") {
		t.Errorf("with room again a call got %s", got)
	}
	for id, want := range map[string]string{one.ID: "denied", two.ID: "approved"} {
		if got := parse[request](t, s.must("show", id, "--json")); got.Status != want {
			t.Errorf("request %s is %s, want %s", id, got.Status, want)
		}
	}
	s.must("audit", "verify")
}

// refusesToStart starts a sidecar that must not come up, and returns what it
// says.
func refusesToStart(t *testing.T, dir string, want ...string) {
	t.Helper()
	r := holdgate(t, []string{"HOLDGATE_STATE_DIR=" + dir}, "serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0")
	if r.code != 1 {
		t.Errorf("it should end with 1: %v", r)
	}
	for _, w := range want {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("it should say %q: %v", w, r)
		}
	}
}

func TestADiskThatIsReadOnlyIsNamedAndLosesNothing(t *testing.T) {
	t.Parallel()
	disk := ownDisk(t, "400m")
	dir := filepath.Join(disk, "s")
	p := newProvider(t)
	s := serveIn(t, dir, nil, "--upstream", "anthropic="+p.URL)
	ended := hold(t, s, "rm -rf one")
	held := s.held("rm -rf one")
	s.stop()
	<-ended
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	refusesToStart(t, dir, dir, "read-only")
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	s = serveIn(t, dir, nil, "--upstream", "anthropic="+p.URL)
	if got := s.held("rm -rf one"); got.ID != held.ID {
		t.Errorf("held is %s, want %s", got.ID, held.ID)
	}
}
