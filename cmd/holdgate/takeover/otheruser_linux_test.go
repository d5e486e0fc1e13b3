package takeover

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
)

// asAnother runs this test alone as another user, who knows the proof and may reach the
// socket: as the one who claims, or as the one whose place is claimed.
func asAnother(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err)
	place, err := os.MkdirTemp("", "hg") // which the other user can reach, as the test's own folder is not
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(place) })
	self = filepath.Join(place, "another.test")
	must(t, errors.Join(os.WriteFile(self, program, 0o755), os.Chmod(place, 0o755), os.Chmod(dir, 0o755)))
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), asAnotherDir+"="+dir, "TMPDIR="+os.TempDir())
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
	return cmd
}

const (
	asAnotherDir = "HOLDGATE_TEST_TAKEOVER"
	other        = 65534
)

// Who may take a place is the same user, whatever else another one has got hold of.
func TestAnotherUserTakesNoPlace(t *testing.T) {
	if dir := os.Getenv(asAnotherDir); dir != "" {
		_, err := Claim(t.Context(), filepath.Join(dir, "replace.sock"), proof, "2", nil)
		t.Logf("told: %v", err)
		return
	}
	o := newOld(t)
	dir := filepath.Dir(o.path)
	cmd := asAnother(t, t.Name(), dir)
	must(t, os.Chmod(o.path, 0o777))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "told: ") || strings.Contains(string(out), "told: <nil>") {
		t.Errorf("another user is told: %s (%v)", out, err)
	}
	p, err := Claim(t.Context(), o.path, proof, "2", nil) // the post goes on
	must(t, err)
	must(t, p.Close())
	must(t, (<-o.came).conn.Close())
	if !strings.Contains(o.log.String(), "runs as the user 65534") {
		t.Errorf("the log says %s", o.log.String())
	}
}

// A sidecar gives its proof to nobody who listens as another user in its folder.
func TestAnotherUserIsToldNoProof(t *testing.T) {
	if dir := os.Getenv(asAnotherDir); dir != "" {
		ln, err := net.Listen("unix", filepath.Join(dir, "replace.sock"))
		must(t, err)
		must(t, os.Chmod(filepath.Join(dir, "replace.sock"), 0o777))
		fmt.Println("listening")
		c, err := ln.Accept()
		must(t, err)
		got, _ := io.ReadAll(c)
		t.Logf("heard %q", got)
		return
	}
	dir := sockettest.Folder(t)
	cmd := asAnother(t, t.Name(), dir)
	must(t, os.Chmod(dir, 0o777))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "listening" {
	}
	if _, err := Claim(t.Context(), filepath.Join(dir, "replace.sock"), proof, "2", nil); err == nil || !strings.Contains(err.Error(), "runs as the user 65534") {
		t.Errorf("claiming another user's place: %v", err)
	}
	heard := ""
	for lines.Scan() {
		heard += lines.Text() + "\n"
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(heard, `heard ""`) {
		t.Errorf("the other user: %v\n%s", err, heard)
	}
}
