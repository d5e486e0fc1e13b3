package e2e_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Whoever took the sidecar's place learns nothing from a command: no token and no
// argument, and the command says what is wrong.
func TestAFakeSidecarLearnsNothing(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	token := strings.Repeat("feedface", 6)
	put(t, filepath.Join(dir, "approver.token"), token+"\n")
	ln, err := net.Listen("unix", filepath.Join(dir, "holdgate.sock"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var heard strings.Builder
	fake := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		heard.WriteString(r.Method + " " + r.RequestURI + "\n")
		_ = r.Header.Write(&heard)     // to memory
		_, _ = io.Copy(&heard, r.Body) // what comes is what counts
		writeJSON(w, `{"proof":"00","listeners":[]}`)
	})}
	go func() { _ = fake.Serve(ln) }() // ends with the test
	t.Cleanup(func() { _ = fake.Close() })
	for _, command := range []string{
		"pending", "show ID", "approve ID --digest ARGUMENT", "deny ID --reason ARGUMENT", "steer ID ARGUMENT", "choose ID ARGUMENT", "agents", "pause ARGUMENT",
		"resume ARGUMENT", "stop ARGUMENT", "redirect ARGUMENT ARGUMENT", "grants list", "grants revoke ARGUMENT", "audit query --text ARGUMENT", "audit verify",
		"audit export", "sessions show ARGUMENT", "sessions set ARGUMENT --mode manual", "stats", "plugin list", "plugin send ARGUMENT", "claim ARGUMENT",
		"config", "config accept " + strings.Repeat("a", 64), "deny ID --row",
		"run --unconfined -- true", "mcp --self", "mcp -- true",
	} {
		r := holdgate(t, []string{"HOLDGATE_STATE_DIR=" + dir}, strings.Fields(command)...)
		if r.code != 1 || !strings.Contains(r.stderr, "your token is not known to what listens at") {
			t.Errorf("holdgate %s: %v", command, r)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(heard.String(), "POST /v1/prove\n") {
		t.Error("no command asked it for a proof")
	}
	for line := range strings.Lines(heard.String()) {
		if strings.Contains(line, token) || strings.Contains(line, "ARGUMENT") || strings.HasPrefix(line, "GET ") {
			t.Errorf("it heard %q", line)
		}
	}
}
