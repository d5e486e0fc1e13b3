package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// A file that never ends is read until the person has enough, and what was in order
// so far is told.
func TestAnInterruptedVerificationSaysHowFarItCame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "export.jsonl")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	code := execute(ctx, []string{"holdgate", "audit", "verify", "--state-dir", t.TempDir(), path}, strings.NewReader(""), &out, &out)
	if code != command.ExitFailed || !strings.Contains(out.String(), "error: interrupted: 0 entries were in order") {
		t.Errorf("exit code %d, printed:\n%s", code, out.String())
	}
}
