package app_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/store/audit"
)

// rfc5424 is a message of RFC 5424 with our structured data.
var rfc5424 = regexp.MustCompile(`^<109>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \S+ holdgate \d+ checkpoint \[holdgate@32473 size="(\d+)" root="[^"]+" checkpoint="([^"]+)"\] audit log checkpoint: \d+ entries$`)

// Checkpoints reach a log server over UDP, TCP and both kinds of unix socket, and
// a program; what arrives is signed with the log's key.
func TestCheckpointsGoToLogServersAndWitnesses(t *testing.T) {
	folder := sockettest.Folder(t)
	for name, listen := range map[string]func(t *testing.T) (string, func() string){
		"udp": func(t *testing.T) (string, func() string) { return datagrams(t, "udp", "127.0.0.1:0") },
		"a datagram socket": func(t *testing.T) (string, func() string) {
			return datagrams(t, "unixgram", filepath.Join(folder, "d"))
		},
		"tcp":             func(t *testing.T) (string, func() string) { return streams(t, "tcp", "127.0.0.1:0") },
		"a stream socket": func(t *testing.T) (string, func() string) { return streams(t, "unix", filepath.Join(folder, "s")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config.Default(t.TempDir(), "ada")
			c.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0"}
			var next func() string
			c.Audit.Checkpoints.Syslog, next = listen(t)
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			var message string
			if said := run(t, c, func() { message = next() }); strings.Contains(said, "did not get out") {
				t.Error(said)
			}
			parts := rfc5424.FindStringSubmatch(message)
			if parts == nil {
				t.Fatalf("not a message of RFC 5424: %q", message)
			}
			text, err := base64.StdEncoding.DecodeString(parts[2])
			if err != nil {
				t.Fatal(err)
			}
			if cp := opened(t, c.StateDir, string(text)); fmt.Sprint(cp.Size) != parts[1] {
				t.Errorf("size %s, the checkpoint has %d", parts[1], cp.Size)
			}
		})
	}
	t.Run("a program", func(t *testing.T) {
		t.Parallel()
		c := config.Default(t.TempDir(), "ada")
		c.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0"}
		file := filepath.Join(t.TempDir(), "got")
		c.Audit.Checkpoints.Command = []string{"/bin/sh", "-c", `cat >"$0".new && mv "$0".new "$0"`, file}
		run(t, c, func() {})
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		opened(t, c.StateDir, string(got))
	})
	t.Run("a program that fails, and nobody who listens", func(t *testing.T) {
		t.Parallel()
		c := config.Default(t.TempDir(), "ada")
		c.Listen = config.Listen{Agents: "127.0.0.1:0", Approvers: "127.0.0.1:0"}
		c.Audit.Checkpoints.Command = []string{"/bin/sh", "-c", "echo no room >&2; exit 3"}
		c.Audit.Checkpoints.Syslog = "unix://" + filepath.Join(folder, "nobody")
		said := run(t, c, func() {})
		if !strings.Contains(said, "no room") || !strings.Contains(said, "syslog at unix:") {
			t.Error(said)
		}
	})
}

// opened is the checkpoint in a text, signed with the key of the state folder.
func opened(t *testing.T, stateDir, text string) audit.Checkpoint {
	t.Helper()
	s, err := app.AuditSigner(stateDir)
	if err != nil {
		t.Fatal(err)
	}
	key, err := note.NewVerifier(s.Public())
	if err != nil {
		t.Fatal(err)
	}
	list, err := audit.OpenCheckpoints(text, key)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d checkpoints, %v, in %q", len(list), err, text)
	}
	return list[0]
}

// datagrams listens for messages, each a datagram. next is the next one.
func datagrams(t *testing.T, network, addr string) (to string, next func() string) {
	t.Helper()
	conn, err := net.ListenPacket(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	to = "udp://" + conn.LocalAddr().String()
	if network == "unixgram" {
		to = "unix://" + addr
	}
	return to, func() string {
		b := make([]byte, 64<<10)
		if err := conn.SetReadDeadline(time.Now().Add(3 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, _, err := conn.ReadFrom(b)
		if err != nil {
			t.Error(err)
		}
		return string(b[:n])
	}
}

// streams listens for messages with their length before them.
func streams(t *testing.T, network, addr string) (to string, next func() string) {
	t.Helper()
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	to = network + "://" + ln.Addr().String()
	return to, func() string {
		conn, err := ln.Accept()
		if err != nil {
			t.Error(err)
			return ""
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		var n int
		if _, err := fmt.Fscanf(r, "%d ", &n); err != nil {
			t.Error(err)
		}
		b, err := io.ReadAll(r)
		if err != nil || len(b) != n {
			t.Errorf("%d bytes follow, not %d: %v", len(b), n, err)
		}
		return string(b)
	}
}
