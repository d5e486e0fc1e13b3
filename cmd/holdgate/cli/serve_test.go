package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// alone is how holdgate begins that runs in the test's own process: whoever runs
// the test may have a configuration.
var alone = []string{"holdgate", "--config", ""}

// ran runs holdgate and returns the exit code and what it printed.
func ran(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	code := execute(ctx, slices.Concat(alone, args), strings.NewReader(""), &out, &out)
	return code, out.String()
}

// served runs serve with the arguments until the test or stop ends it, on
// ports of its own.
func served(t *testing.T, args ...string) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, slices.Concat(alone, []string{"serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0"}, args),
			strings.NewReader(""), w, os.Stderr)
		w.Close()
	}()
	lines := bufio.NewScanner(out)
	for _, want := range []string{"agents", "approvers"} {
		var l struct{ Listening, Addr string }
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &l) != nil || l.Listening != want {
			t.Fatalf("serve printed %q, want a line for %s", lines.Text(), want)
		}
		if _, port, err := net.SplitHostPort(l.Addr); err != nil || port == "0" {
			t.Errorf("%s listen at %s", want, l.Addr)
		}
	}
	var rest sync.WaitGroup
	rest.Go(func() { _, _ = io.Copy(io.Discard, out) }) // until serve closes it
	stop = sync.OnceValue(func() int {
		cancel()
		defer rest.Wait()
		return <-code
	})
	t.Cleanup(func() { stop() })
	return stop
}

// stateFolder is a new one whose name is short enough for a socket's path.
func stateFolder(t *testing.T) string {
	t.Helper()
	dir := sockettest.Folder(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// The commands find a sidecar that serve started by its state folder alone,
// and read its log in the same way when it has ended.
func TestCommandsFindWhatServeServes(t *testing.T) {
	dir := stateFolder(t)
	stop := served(t, "--state-dir", dir)

	if got, text := ran(t, "pending", "--state-dir", dir); got != command.ExitNothing {
		t.Errorf("pending: exit code %d\n%s", got, text)
	}
	got, online := ran(t, "audit", "verify", "--state-dir", dir)
	if got != command.ExitDone || !strings.Contains(online, "entries in order") {
		t.Errorf("audit verify: exit code %d\n%s", got, online)
	}
	if got := stop(); got != command.ExitDone {
		t.Errorf("serve: exit code %d", got)
	}
	got, text := ran(t, "audit", "verify", "--state-dir", dir)
	if got != command.ExitDone || text != online {
		t.Errorf("audit verify without the sidecar: exit code %d\n%s\nwith it:\n%s", got, text, online)
	}
	if got, text := ran(t, "pending", "--state-dir", dir); got != command.ExitFailed || !strings.Contains(text, "hint: start one with") {
		t.Errorf("pending without a sidecar: exit code %d\n%s", got, text)
	}
}

// A person who was added comes with a token of their own, and nobody comes with
// one that was taken out again.
func TestServeKnowsThePeopleOfItsConfiguration(t *testing.T) {
	dir := stateFolder(t)
	file, token := filepath.Join(dir, "holdgate.yaml"), filepath.Join(dir, "bob.token")
	if err := os.WriteFile(file, []byte("approver: ada\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, text := ran(t, "people", "add", "bob", "--role", "approve", "--write", "--json", "--config", file, "--state-dir", dir)
	var bob struct{ Token string }
	if err := json.Unmarshal([]byte(text), &bob); err != nil || code != command.ExitDone {
		t.Fatalf("adding bob: exit code %d, %v\n%s", code, err, text)
	}
	if err := os.WriteFile(token, []byte(bob.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := served(t, "--config", file, "--state-dir", dir)
	for name, args := range map[string][]string{"the local approver": nil, "bob": {"--token-file", token}} {
		if got, text := ran(t, append([]string{"pending", "--state-dir", dir}, args...)...); got != command.ExitNothing {
			t.Errorf("%s: exit code %d\n%s", name, got, text)
		}
	}
	stop()
	served(t, "--state-dir", dir)
	if got, text := ran(t, "pending", "--state-dir", dir, "--token-file", token); got != command.ExitFailed || !strings.Contains(text, "your token is not known") {
		t.Errorf("bob, whom nobody knows any more: exit code %d\n%s", got, text)
	}
}

func TestServeRefusesPeopleThatItAnswersFor(t *testing.T) {
	dir := stateFolder(t)
	file := filepath.Join(dir, "holdgate.yaml")
	if err := os.WriteFile(file, []byte("approver: ada\npeople: {ada: {roles: [approve]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, text := ran(t, "serve", "--auto", "approve", "--config", file, "--state-dir", dir); got != command.ExitFailed || !strings.Contains(text, "none of the people") {
		t.Errorf("exit code %d\n%s", got, text)
	}
}

func TestATakenAddressComesWithAHint(t *testing.T) {
	t.Setenv("HOLDGATE_STATE_DIR", t.TempDir())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	code, out := ran(t, "serve", "--agents", taken.Addr().String(), "--approvers", "127.0.0.1:0")
	if code != command.ExitFailed || !strings.Contains(out, "address already in use") || !strings.Contains(out, "hint: does another sidecar run") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// A sidecar with a channel says how the channel does, and shows people a test
// message in it.
func TestServeTellsHowItsChannelsDo(t *testing.T) {
	holdgate, err := exec.LookPath("holdgate")
	if err != nil {
		t.Fatal(err)
	}
	dir := stateFolder(t)
	file, heard := filepath.Join(dir, "holdgate.yaml"), filepath.Join(dir, "heard")
	text := fmt.Sprintf("routes: [{tell: [bell]}]\nplugins: {bell: {command: [%q, plugin, serve, exec], per_minute: 6, quiet: {from: \"00:00\", to: \"00:00\", zone: UTC},\n"+
		"  config: {command: [/bin/sh, -c, 'cat > %s'], user: ada}}}\n", holdgate, heard)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	served(t, "--config", file, "--state-dir", dir)
	var list []api.Plugin
	for deadline := time.Now().Add(3 * time.Minute); ; {
		code, text := ran(t, "plugin", "list", "--json", "--state-dir", dir)
		if err := json.Unmarshal([]byte(text), &list); err != nil || code != command.ExitDone || len(list) != 1 {
			t.Fatalf("exit code %d, %v\n%s", code, err, text)
		}
		if list[0].State == "running" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the channel is %+v", list[0])
		}
	}
	if p := list[0]; p.Name != "bell" || p.Assurance != "interactive" || p.Quiet.IsZero() {
		t.Errorf("the channel is %+v", p)
	}
	if code, text := ran(t, "plugin", "list", "--state-dir", dir); code != command.ExitDone || !strings.Contains(text, "quiet until") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if code, text := ran(t, "plugin", "send", "bell", "--state-dir", dir); code != command.ExitDone || !strings.Contains(text, "bell has shown a test message") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if code, text := ran(t, "plugin", "send", "nope", "--state-dir", dir); code != command.ExitFailed || !strings.Contains(text, "configured: nope; there are bell") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if text, err := os.ReadFile(heard); err != nil || !strings.Contains(string(text), "A test of this channel") {
		t.Errorf("people heard %q, %v", text, err)
	}
}
