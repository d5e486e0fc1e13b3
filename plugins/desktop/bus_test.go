package desktop

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
)

// A bus is a private message bus: the real dbus-daemon.
type bus struct {
	t      *testing.T
	socket string
	conf   string
	stop   func()
}

func newBus(t *testing.T) *bus {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		t.Skip("SKIPPED: no dbus-daemon is here, so nothing of the desktop is tested (Debian has it in the package dbus-daemon)")
	}
	dir := sockettest.Folder(t)
	b := &bus{t: t, socket: filepath.Join(dir, "s"), conf: filepath.Join(dir, "conf")}
	conf := `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=` + b.socket + `</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`
	if err := os.WriteFile(b.conf, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start()
	t.Cleanup(func() {
		b.stop()
		_ = os.RemoveAll(dir)
	})
	return b
}

// start starts the daemon and returns when it listens; stop ends it.
func (b *bus) start() {
	b.t.Helper()
	_ = os.Remove(b.socket)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "dbus-daemon", "--config-file="+b.conf, "--nofork", "--nopidfile", "--print-address=1")
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		b.t.Fatal(err)
	}
	late := time.AfterFunc(patience, cancel)
	line, err := bufio.NewReader(out).ReadString('\n')
	late.Stop()
	b.stop = sync.OnceFunc(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	if err != nil || !strings.HasPrefix(line, "unix:") {
		b.stop()
		b.t.Fatalf("the bus says %q: %v", line, err)
	}
}

func (b *bus) address() string { return "unix:path=" + b.socket }

// dial connects somebody to the bus, until the test is over.
func (b *bus) dial() *dbus.Conn {
	b.t.Helper()
	conn, err := dbus.Dial(b.address())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	late := time.AfterFunc(patience, func() { _ = conn.Close() })
	defer late.Stop()
	if err := errors.Join(conn.Auth(nil), conn.Hello()); err != nil {
		b.t.Fatal(err)
	}
	return conn
}
