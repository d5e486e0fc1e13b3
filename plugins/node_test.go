package plugins_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/sdktest"
)

// nodeChannel is the example in docs/examples/channel-node, beside the packages
// that it needs.
func nodeChannel(t *testing.T) []string {
	t.Helper()
	node, err := exec.LookPath("node")
	packages := filepath.Join(os.Getenv("HOLDGATE_CLIENTS"), "node_modules")
	if _, missing := os.Stat(filepath.Join(packages, "@grpc", "grpc-js")); err != nil || missing != nil {
		t.Skip("SKIPPED: node, or the folder HOLDGATE_CLIENTS with @grpc/grpc-js in it, is not here, so the channel that is written for Node was not run. `.ci/run` installs the packages")
	}
	root := t.TempDir()
	dir := filepath.Join(root, "docs", "examples", "channel-node")
	proto := filepath.Join(root, "plugins", "sdk", "proto")
	for to, from := range map[string]string{dir: "../docs/examples/channel-node", proto: "sdk/proto"} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(packages, filepath.Join(root, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return []string{node, filepath.Join(dir, "channel.js")}
}

func TestTheChannelForNodeConforms(t *testing.T) {
	t.Parallel()
	command := nodeChannel(t)
	sdktest.Run(t, sdktest.Subject{
		Start: func(t *testing.T) *sdk.Remote { return sdktest.Process(t, command...) },
		Good: func(t *testing.T) string {
			raw, err := json.Marshal(map[string]string{"out": filepath.Join(t.TempDir(), "out"), "in": filepath.Join(t.TempDir(), "in")})
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		},
		Bad: map[string]string{"no files": `{}`, "no names": `{"out": 1, "in": 2}`},
	})
}

func TestTheChannelForNodeAsksAndAnswers(t *testing.T) {
	t.Parallel()
	r := sdktest.Process(t, nodeChannel(t)...)
	dir := t.TempDir()
	out, in := filepath.Join(dir, "out"), filepath.Join(dir, "in")
	config, err := json.Marshal(map[string]string{"out": out, "in": in})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	n := sdktest.Notice("r1")
	n.Answers = []string{sdk.Deny, sdk.Steer}
	if err := r.Configure(ctx, config); err != nil {
		t.Fatal(err)
	}
	if err := r.Notify(ctx, n); err != nil {
		t.Fatal(err)
	}
	if asked, err := os.ReadFile(out); err != nil || !strings.Contains(string(asked), "medium risk") || !strings.Contains(string(asked), n.Summary) {
		t.Errorf("%v: %s", err, asked)
	}
	if err := os.WriteFile(in, []byte("approve r1 ada\nsteer r1 ada use the trash\ndeny r1 bob not today\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []sdk.Answer
	done := context.Canceled
	answering, stop := context.WithCancelCause(ctx)
	_ = r.Answers(answering, func(_ context.Context, a sdk.Answer) (string, error) {
		if got = append(got, a); len(got) == 2 {
			stop(done)
			return "steered", &sdk.Refused{Reason: "it has been steered"}
		}
		return "steered", nil
	})
	steer, deny := n.Answer(sdk.Steer, "ada"), n.Answer(sdk.Deny, "bob")
	steer.Instructions, deny.Reason = "use the trash", "not today"
	if len(got) != 2 || got[0] != steer || got[1] != deny {
		t.Errorf("answers %+v", got)
	}
	if err := r.Update(ctx, sdktest.Ended(n)); err != nil {
		t.Fatal(err)
	}
	told, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(told), "r1 cannot be answered so") || !strings.Contains(string(told), "r1 is denied by ada") {
		t.Errorf("%v: %s", err, told)
	}
}
