package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a channel has started ends with a sidecar that is killed.
func TestCommandsOfChannelsEndWithAKilledSidecar(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "pid")
	command := write(t, "command", "#!/bin/sh\necho $$ > "+at+".new && mv "+at+".new "+at+"\nexec sleep 1000\n")
	if err := os.Chmod(command, 0o700); err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil, "--upstream", "anthropic="+newProvider(t).URL, "--config", write(t, "holdgate.yaml", "plugins: {exec: {config: {command: ["+quoted(command)+"]}}}\n"))
	ended := hold(t, s, "rm -rf one")
	var pid string
	until(t, "the command of the channel", func() bool {
		text, err := os.ReadFile(at)
		pid = strings.TrimSpace(string(text))
		return err == nil
	})
	if !lives(pid) {
		t.Fatal("the control: the command has ended by itself")
	}
	s.kill()
	<-ended
	until(t, "the end of the command", func() bool { return !lives(pid) })
}

// lives reports whether a process runs. One that has ended, and that nobody has waited for,
// does not.
func lives(pid string) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}
