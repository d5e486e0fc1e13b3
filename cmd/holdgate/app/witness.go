package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/holdgate/holdgate/store/audit"
)

// runWitness gives a checkpoint to a program on its standard input. Where it
// fails, the checkpoint did not get out. It sees nothing of the environment but
// PATH and HOME.
func runWitness(ctx context.Context, command []string, c audit.Checkpoint) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = strings.NewReader(c.Text)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the witness %s: %w: %.200q", command[0], err, out.String())
	}
	return nil
}
