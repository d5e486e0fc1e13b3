package handover

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/socket/sockettest"
)

// pair are the two ends of a connection between a run and a sidecar.
func pair(t *testing.T) (run, sidecar *net.UnixConn) {
	t.Helper()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder(t), "s"), Net: "unix"})
	must(t, err)
	defer ln.Close()
	run, err = net.DialUnix("unix", nil, ln.Addr().(*net.UnixAddr))
	must(t, err)
	sidecar, err = ln.AcceptUnix()
	must(t, err)
	t.Cleanup(func() { run.Close(); sidecar.Close() })
	for _, c := range []*net.UnixConn{run, sidecar} {
		must(t, c.SetDeadline(time.Now().Add(3*time.Minute)))
	}
	return run, sidecar
}

// folder is a folder whose path leaves room for a socket's.
func folder(t *testing.T) string {
	t.Helper()
	dir := sockettest.Folder(t)
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listening is the file of a listener that nothing else holds. It is a path's, for
// a port could be another's by the time it is looked at.
func listening(t *testing.T) (f *os.File, path string) {
	t.Helper()
	path = filepath.Join(folder(t), "l")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	ln.SetUnlinkOnClose(false)
	f, err = ln.File()
	must(t, err)
	must(t, ln.Close())
	return f, path
}

// listens reports whether anybody listens at a path.
func listens(path string) bool {
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

func TestDoorsAreHandedOver(t *testing.T) {
	t.Parallel()
	run, sidecar := pair(t)
	f, path := listening(t)
	agents, err := net.FileListener(f)
	must(t, err)
	agents.(*net.UnixListener).SetUnlinkOnClose(false)
	must(t, f.Close())
	names, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	o := Opened{Agents: []net.Listener{agents}, Names: []net.PacketConn{names}}
	d, files, err := o.Files()
	must(t, err)
	o.Close()
	must(t, Send(run, d, files...))
	closeAll(files)
	var got Doors
	received, err := Receive(sidecar, &got)
	must(t, err)
	opened, err := Open(got, received)
	must(t, err)
	if len(opened.Agents) != 1 || len(opened.Names) != 1 || opened.Names[0].LocalAddr().String() != names.LocalAddr().String() || len(opened.Redirected) != 0 || !listens(path) {
		t.Errorf("got %+v", opened)
	}
	opened.Close()
	if listens(path) {
		t.Error("somebody listens on: the run or the sidecar has kept a file")
	}
}

// What a run that means ill, or another program of its user's, may hand over: the
// sidecar says what is wrong, and keeps none of the files.
func TestWhatIsNoDoorIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files int
		named []string
		says  string
	}{
		{"more files than named", 2, []string{Agents}, "2 files came, and 1 were named"},
		{"fewer files than named", 1, []string{Agents, Redirected}, "1 files came, and 2 were named"},
		{"something else", 1, []string{"approvers"}, `nobody knows what "approvers" is`},
		{"no agents' door", 1, []string{Redirected}, "no agents' door came"},
		{"too many", MaxFiles + 1, nil, "more files came than a run has"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run, sidecar := pair(t)
			var files []*os.File
			var addrs []string
			for range tt.files {
				f, addr := listening(t)
				files, addrs = append(files, f), append(addrs, addr)
			}
			must(t, Send(run, Doors{Files: tt.named}, files...))
			closeAll(files)
			var d Doors
			received, err := Receive(sidecar, &d)
			if err == nil {
				_, err = Open(d, received)
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v", err)
			}
			for _, addr := range addrs {
				if listens(addr) {
					t.Errorf("the file of %s was kept", addr)
				}
			}
		})
	}
}

func TestAMessageIsBounded(t *testing.T) {
	t.Parallel()
	run, sidecar := pair(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = run.Write(bytes.Repeat([]byte(" "), maxMessage+64<<10)) // it may not be read to its end
		_ = run.Close()
	}()
	var d Doors
	if _, err := Receive(sidecar, &d); err == nil || !strings.Contains(err.Error(), "over 262144 bytes") {
		t.Errorf("got %v", err)
	}
	_ = sidecar.Close()
	<-done
}

func TestAMessageThatIsCutIsNone(t *testing.T) {
	t.Parallel()
	run, sidecar := pair(t)
	_, err := run.Write([]byte(`{"error":"`))
	must(t, err)
	must(t, run.Close())
	var s Served
	if _, err := Receive(sidecar, &s); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("got %v and %+v", err, s)
	}
}
