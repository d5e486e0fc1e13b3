package launch_test

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/api"
)

func TestAStoppedAgentIsEnded(t *testing.T) {
	for _, tt := range []struct {
		name, role string
		code       int
		says       string
	}{
		{"by SIGTERM, which it can heed", "signals", 7, "got terminated"},
		{"by SIGKILL where it does not", "stubborn", 128 + 9, "still here"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, tt.role)
			out, err := r.cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var stderr strings.Builder
			r.cmd.Stderr = &stderr
			if err := r.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			if _, err := lines.ReadString('\n'); err != nil { // it is there
				t.Fatal(err)
			}
			if _, err := r.client().Intervene(t.Context(), "testagent", api.Intervention{Action: agents.Stop, Reason: "enough"}); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(lines)
			if err != nil || !strings.Contains(string(rest), tt.says) {
				t.Errorf("it says %q, %v", rest, err)
			}
			if code := r.code(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if got := stderr.String(); !strings.Contains(got, "holdgate: testagent was stopped by ") || !strings.Contains(got, ": enough\n") {
				t.Errorf("stderr says %q", got)
			}
		})
	}
}
