package host

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCommandsOfAChannelThatWasKilledAreEnded(t *testing.T) {
	t.Parallel()
	c := newChild(exec.Command(os.Args[0], "leaver"), t.TempDir(), func(r io.Reader) { _, _ = io.Copy(io.Discard, r) })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.closePipes()
	line, err := bufio.NewReader(c.stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	group, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-group, syscall.SIGKILL) })
	if err := c.cmd.Process.Kill(); err != nil { // as the kernel does where memory is short
		t.Fatal(err)
	}
	<-c.done
	for end := time.Now().Add(patience); !errors.Is(syscall.Kill(-group, 0), syscall.ESRCH); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what it started lives on")
		}
	}
}
