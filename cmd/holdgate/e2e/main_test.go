// Package e2e_test drives the built binary as its users do: real processes,
// real sockets, real state folders, and real clients where those are
// installed. Only the model's provider is a stand-in, and everything stays on
// the loopback interface.
//
// What is parsed here is parsed as a user's script would parse it, from the
// JSON that is printed, never with the types of the product itself: a test
// that shared them could not see a name change.
//
// Three variables set what runs. HOLDGATE_CLIENTS is a folder with the scripts
// of testdata/clients and their packages, as .ci/run makes it; without it the
// tests of real clients are skipped. HOLDGATE_CRASH_ROUNDS is how often the
// crash test kills the sidecar. HOLDGATE_BINARY is the absolute path of a
// program to test instead of one built from here, such as a release.
package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// binary is the program under test. TestMain builds it before anything runs.
var binary = os.Getenv("HOLDGATE_BINARY")

func TestMain(m *testing.M) {
	if os.Getenv(goServerVariable) != "" {
		_ = goServer().Run(context.Background(), &gosdk.StdioTransport{}) // ends with its input
		return
	}
	if os.Getenv(askerVariable) != "" {
		beAsker(os.Stdin, os.Stdout)
		return
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	if binary != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "holdgate-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "holdgate")
	build := exec.Command("go", "build", "-o", binary, "github.com/holdgate/holdgate/cmd/holdgate")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building holdgate:", err)
		return 1
	}
	return m.Run()
}

// patience bounds everything that a test waits for. It is long because the
// machine may be busy; nothing is slow because of it.
const patience = 3 * time.Minute

// A result is how a command ended.
type result struct {
	code           int
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("exit code %d\nstdout: %s\nstderr: %s", r.code, r.stdout, r.stderr)
}

// holdgate runs the binary to its end, with an empty standard input.
func holdgate(t *testing.T, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(environment(), env...)
	cmd.Dir = t.TempDir()
	return finish(t, cmd)
}

// finish runs cmd to its end.
func finish(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !exit.Exited()) {
		t.Fatalf("running %s: %v\n%s%s", cmd, err, stdout.String(), stderr.String())
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// environment is what every process gets: nothing of the developer's own that
// could change what is tested.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir(), "USER=ada"}
}

// unusedAddr is an address for a program that must be told one. Its port is below those that the kernel gives
// away: one that was closed just now is soon another test's.
func unusedAddr(t *testing.T) string {
	t.Helper()
	for {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		if ln, err := net.Listen("tcp", addr); err == nil {
			ln.Close()
			return addr
		}
	}
}

// until asks again and again until fn says that it is so: ever less often, for the longer it takes the more there is
// that has use for the processor.
func until(t *testing.T, what string, fn func() bool) {
	t.Helper()
	wait, over := 10*time.Millisecond, time.After(patience)
	for ; !fn(); wait = min(wait+wait/4, 200*time.Millisecond) {
		select {
		case <-time.After(wait):
		case <-over:
			t.Fatalf("waited %v in vain for %s", patience, what)
		}
	}
}
