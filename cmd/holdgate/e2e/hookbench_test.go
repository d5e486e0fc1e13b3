package e2e_test

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
)

// BenchmarkAnAllowedCallAtAHook is what an agent waits for at a call that policy allows: the
// start of the hook, its question, the sidecar's proof and its end. It tells the median and the slowest tenth;
// the time that a program which does nothing takes to start and end is in them.
//
//	go test ./cmd/holdgate/e2e -run '^$' -bench AtAHook -benchtime 200x
func BenchmarkAnAllowedCallAtAHook(b *testing.B) {
	serve := exec.Command(binary, "serve", "--agents", "127.0.0.1:0", "--approvers", "127.0.0.1:0")
	state := sockettest.Folder(b) + "/s"
	serve.Env = append(environment(), "HOLDGATE_STATE_DIR="+state)
	out, err := serve.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = serve.Process.Kill(); _ = serve.Wait() }()
	var door struct{ Listening, Addr string }
	for lines := bufio.NewScanner(out); door.Listening != "agents" && lines.Scan(); {
		if err := json.Unmarshal(lines.Bytes(), &door); err != nil {
			b.Fatal(err)
		}
	}
	const told = `{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"/srv/app","tool_use_id":"toolu_1","tool_name":"Bash","tool_input":{"command":"ls -la"}}`
	env := append(environment(), "HOME="+b.TempDir())
	var took []time.Duration
	for b.Loop() {
		cmd := exec.Command(binary, "hook", "run", "claude", "--agents", door.Addr, "--key", state+"/hook.key")
		cmd.Env, cmd.Stdin = env, strings.NewReader(told)
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1000, "p90-ms")
}
