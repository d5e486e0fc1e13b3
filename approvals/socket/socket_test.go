package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestASocketMayLieBelowALongPath(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: a long path of a socket: only Linux has a short name for it")
	}
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "holdgate.sock")
	ln, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := ln.Addr().String(); got != path {
		t.Errorf("it listens at %s", got)
	}
	go func() {
		if c, err := ln.Accept(); err == nil {
			_, _ = io.WriteString(c, "hello")
			_ = c.Close()
		}
	}()
	c, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, is := c.(*net.UnixConn); !is {
		t.Errorf("the connection is a %T", c)
	}
	if got, err := io.ReadAll(c); string(got) != "hello" {
		t.Errorf("it says %q, %v", got, err)
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is there after its end: %v", err)
	}
	if _, err := Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("the error does not name the path: %v", err)
	}
}

func TestANameThatIsTooLongSaysWhatToDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	_, err := Listen(path)
	if _, is := errors.AsType[*TooLongError](err); !is || !strings.Contains(err.Error(), path+" is a path of ") || !strings.Contains(err.Error(), "--state-dir") {
		t.Errorf("%v", err)
	}
	if _, err := Dial(t.Context(), path); err == nil {
		t.Error("it is connected to")
	}
}
