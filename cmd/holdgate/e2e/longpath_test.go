package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A person whose folders have long names, as on build machines, notices nothing of the
// bound that the kernel has for the path of a socket.
func TestLongPathsOfFoldersAreNoHindrance(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: a long path of a socket: only Linux has a short name for it")
	}
	t.Parallel()
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"TMPDIR=" + long, "HOLDGATE_STATE_DIR=" + filepath.Join(long, "state")}
	told := filepath.Join(t.TempDir(), "told")
	file := write(t, "holdgate.yaml", "plugins:\n  bell:\n    command: ["+binary+", plugin, serve, exec]\n"+
		"    config: {command: [/bin/sh, -c, \"cat >> "+told+"; echo\"]}\n")
	s := serveIn(t, filepath.Join(long, "state"), env, "--config", file)
	resp, err := http.Post("http://"+s.agents+"/v1/gates", "application/json", strings.NewReader(`{"type":"plan","message":"May I?"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	until(t, "the channel", func() bool {
		text, err := os.ReadFile(told)
		return err == nil && strings.Contains(string(text), "May I?")
	})
	s.answer(s.pending()[0].ID, "deny") // what the channel was told of is pending
	for _, args := range [][]string{
		{"run", "--unconfined", "--", "sh", "-c", "true"},
		{"run", "--unconfined", "--state-dir", filepath.Join(long, "another"), "--", "sh", "-c", "true"},
		{"demo", "--decide", "deny"},
	} {
		if r := holdgate(t, env, args...); r.code != 0 {
			t.Errorf("holdgate %s: %v", strings.Join(args, " "), r)
		}
	}
	if code := s.stop(); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.log())
	}
}
