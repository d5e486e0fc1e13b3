package takeover

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate/approvals/socket"
	"github.com/holdgate/holdgate/approvals/socket/sockettest"
	"github.com/holdgate/holdgate/cmd/holdgate/handover"
)

const proof = "it has read the secret"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An old is a sidecar with one door, whose place can be taken.
type old struct {
	t    *testing.T
	path string // of its post
	door Door
	post *Post
	log  strings.Builder
	came chan *Successor
}

func newOld(t *testing.T) *old {
	t.Helper()
	dir := sockettest.Folder(t)
	o := &old{t: t, path: filepath.Join(dir, "replace.sock"), came: make(chan *Successor, 1)}
	ln, err := socket.Listen(filepath.Join(dir, "door.sock"))
	must(t, err)
	o.door = Door{Name: "agents", Address: filepath.Join(dir, "door.sock"), Listener: ln}
	o.post, err = Listen(o.path)
	must(t, err)
	o.post.Proof, o.post.Logger = proof, slog.New(slog.NewTextHandler(&o.log, nil))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s, err := o.post.Serve([]Door{o.door})
		if err != nil {
			t.Error(err)
		}
		if s != nil {
			o.came <- s
		}
	}()
	t.Cleanup(func() { _ = o.post.Close(); <-done })
	return o
}

// run is a run that uses the old sidecar, and the end of its own process.
func run(t *testing.T) (r Run, process *net.UnixConn, door string) {
	t.Helper()
	dir := sockettest.Folder(t)
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, "s")})
	must(t, err)
	defer ln.Close()
	process, err = net.DialUnix("unix", nil, ln.Addr().(*net.UnixAddr))
	must(t, err)
	conn, err := ln.AcceptUnix()
	must(t, err)
	t.Cleanup(func() { process.Close(); conn.Close() })
	door = filepath.Join(dir, "d")
	d, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: door})
	must(t, err)
	d.SetUnlinkOnClose(false)
	f, err := d.File()
	must(t, err)
	must(t, d.Close())
	return Run{Agent: "claude", Conn: conn, Unread: []byte(`{"do`), Asked: 7, Doors: []string{handover.Agents}, Files: []*os.File{f}}, process, door
}

// answers reports whether whoever listens at the path says so.
func answers(t *testing.T, ln net.Listener, path, says string) {
	t.Helper()
	c, err := socket.Dial(t.Context(), path)
	must(t, err)
	defer c.Close()
	accepted, err := ln.Accept()
	must(t, err)
	_, err = io.WriteString(accepted, says)
	must(t, errors.Join(err, accepted.Close()))
	if got, err := io.ReadAll(c); string(got) != says {
		t.Errorf("got %q, %v", got, err)
	}
}

// goesOn is the one run that is kept, which is served: its door answers, and its process hears.
func goesOn(t *testing.T, k *Kept, door string, process *net.UnixConn) Run {
	t.Helper()
	got := k.Runs()
	if len(got) != 1 {
		t.Fatalf("the runs are %+v", got)
	}
	doors, err := handover.Open(handover.Doors{Files: got[0].Doors}, got[0].Files)
	must(t, err)
	answers(t, doors.Agents[0], door, "the run's")
	_, err = got[0].Conn.Write([]byte("x"))
	must(t, err)
	if n, err := process.Read(make([]byte, 1)); n != 1 {
		t.Errorf("the run's process hears nothing: %v", err)
	}
	return got[0]
}

// isGone fails the test where a socket is there after its listener's end.
func isGone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is there after its end: %v", err)
	}
}

func TestOneTakesAnothersPlace(t *testing.T) {
	t.Parallel()
	o := newOld(t)
	p, err := Claim(t.Context(), o.path, proof, "2", nil)
	must(t, err)
	defer p.Close()
	by := <-o.came
	must(t, o.door.Listener.Close())
	waits, err := socket.Dial(t.Context(), o.door.Address) // nobody accepts, and nobody refuses
	must(t, err)
	defer waits.Close()

	r, process, door := run(t)
	type end struct {
		kept *Kept
		err  error
	}
	over := make(chan end, 1)
	go func() {
		kept, err := by.Release(context.Background(), []Run{r})
		over <- end{kept, err}
	}()
	must(t, p.Await(t.Context()))
	ln, err := p.Kept.Listener("agents", o.door.Address)
	must(t, err)
	first, err := ln.Accept()
	must(t, err)
	must(t, first.Close())
	answers(t, ln, o.door.Address, "the new one")
	if other, err := p.Kept.Listener("agents", "127.0.0.1:1"); other != nil || err != nil {
		t.Errorf("another address has a door: %v, %v", other, err)
	}
	if got := goesOn(t, p.Kept, door, process); got.Agent != "claude" || got.Asked != 7 || string(got.Unread) != `{"do` {
		t.Errorf("the run is %+v", got)
	}
	p.Ready()
	if e := <-over; e.kept != nil || e.err != nil {
		t.Errorf("the old one goes on: %v, %v", e.kept, e.err)
	}
	must(t, ln.Close())
	isGone(t, o.door.Address)
}

// Wherever the new one ends before it is ready, the old one goes on.
func TestASuccessorThatEnds(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]func(*testing.T, *Predecessor){
		"when it has the doors": func(*testing.T, *Predecessor) {},
		"when the store is closed": func(t *testing.T, p *Predecessor) {
			must(t, p.Await(t.Context()))
		},
		"when it has taken the doors": func(t *testing.T, p *Predecessor) {
			must(t, p.Await(t.Context()))
			for _, d := range p.Kept.doors {
				ln, err := p.Kept.Listener(d.Name, d.Address)
				must(t, err)
				must(t, ln.Close()) // as its own end does
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOld(t)
			p, err := Claim(t.Context(), o.path, proof, "2", nil)
			must(t, err)
			by := <-o.came
			must(t, o.door.Listener.Close())
			r, process, door := run(t)
			kept := make(chan *Kept, 1)
			go func() {
				k, err := by.Release(context.Background(), []Run{r})
				if err != nil {
					t.Error(err)
				}
				kept <- k
			}()
			until(t, p)
			for _, r := range p.Kept.Runs() {
				r.close() // as the kernel does
			}
			must(t, p.Close())
			k := <-kept
			if k == nil {
				t.Fatal("nothing is kept")
			}
			ln, err := k.Listener("agents", o.door.Address)
			must(t, err)
			answers(t, ln, o.door.Address, "the old one")
			goesOn(t, k, door, process)
			k.Served()
			must(t, ln.Close())
			isGone(t, o.door.Address)
		})
	}
}

// Where the old one ends first, the new one has the doors.
func TestAPredecessorThatEnds(t *testing.T) {
	t.Parallel()
	o := newOld(t)
	p, err := Claim(t.Context(), o.path, proof, "2", nil)
	must(t, err)
	defer p.Close()
	by := <-o.came
	must(t, errors.Join(by.conn.Close(), o.door.Listener.Close()))
	by.kept.closeAll()
	must(t, p.Await(t.Context()))
	ln, err := p.Kept.Listener("agents", o.door.Address)
	must(t, err)
	answers(t, ln, o.door.Address, "the new one")
	p.Ready()
	must(t, ln.Close())
}

func TestOnlyWhoHasReadTheSecretTakesThePlace(t *testing.T) {
	t.Parallel()
	o := newOld(t)
	if info, err := os.Stat(o.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
	if _, err := Claim(t.Context(), o.path, "", "2", nil); err == nil || !strings.Contains(err.Error(), "secret.key is another") {
		t.Errorf("without a proof: %v", err)
	}
	c, err := socket.Dial(t.Context(), o.path)
	must(t, err)
	_, err = io.WriteString(c, "nonsense\n")
	must(t, errors.Join(err, c.Close()))
	p, err := Claim(t.Context(), o.path, proof, "2", nil) // the post goes on
	must(t, err)
	must(t, p.Close())
	must(t, (<-o.came).conn.Close())
}

func TestNobodyRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(sockettest.Folder(t), "replace.sock")
	for _, left := range []bool{false, true} {
		if left { // by one that was killed
			ln, err := socket.Listen(path)
			must(t, err)
			socket.Stay(ln, true)
			must(t, ln.Close())
		}
		if _, err := Claim(t.Context(), path, proof, "2", nil); !errors.Is(err, ErrNobody) {
			t.Errorf("got %v", err)
		}
	}
}
