package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/holdgate/holdgate/plugins/sdk"
)

const patience = 3 * time.Minute

// A person sits at a real pseudo-terminal.
type person struct {
	t    *testing.T
	pty  *os.File
	name string // of the device

	mu   sync.Mutex
	seen string
	at   int // what was expected so far ends here
	news chan struct{}
}

// sit opens a terminal. The person's end is closed with the test.
func sit(t *testing.T) *person {
	t.Helper()
	ptm, pts, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pts.Chmod(0o600); err != nil {
		t.Fatal(err)
	}
	ptm = nonblocking(t, ptm)
	p := &person{t: t, pty: ptm, name: pts.Name(), news: make(chan struct{}, 1)}
	read := make(chan struct{})
	go func() { defer close(read); p.read() }()
	t.Cleanup(func() {
		_ = pts.Close()
		_ = ptm.Close()
		<-read
		if t.Failed() {
			t.Logf("screen:\n%s", p.seen)
		}
	})
	return p
}

// nonblocking returns the file in a mode in which closing it ends its reads.
func nonblocking(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	if err := errors.Join(syscall.SetNonblock(fd, true), f.Close()); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}

func (p *person) read() {
	buf := make([]byte, 4096)
	for {
		n, err := p.pty.Read(buf)
		p.mu.Lock()
		p.seen += strings.ReplaceAll(string(buf[:n]), "\r", "")
		p.mu.Unlock()
		select {
		case p.news <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// expect waits until the texts are on the screen, one after the other, after
// what was expected before.
func (p *person) expect(texts ...string) {
	p.t.Helper()
	late := time.After(patience)
	for _, text := range texts {
		for !p.found(text) {
			select {
			case <-p.news:
			case <-late:
				p.t.Fatalf("the screen does not show %q", text)
			}
		}
	}
}

func (p *person) found(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := strings.Index(p.seen[p.at:], text)
	if i >= 0 {
		p.at += i + len(text)
	}
	return i >= 0
}

func (p *person) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// types presses keys; \n is Enter.
func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := p.pty.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// A desk is a channel that asks a person, and what it was answered.
type desk struct {
	*person
	channel *Channel
	answers chan sdk.Answer
	refuse  chan error // what Holdgate says to the next answers; nil: they count
	status  string
	stop    func() error
}

func config(p *person, edit ...func(*Config)) []byte {
	c := Config{TTY: p.name, User: "ada", Colour: "never"}
	for _, e := range edit {
		e(&c)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return raw
}

func nothing(string) string { return "" }

// open starts a channel at a new terminal, for a person who sees quickly. It is
// ended with the test.
func open(t *testing.T) *desk {
	t.Helper()
	return openQuiet(t, 100*time.Millisecond)
}

// openQuiet is open for a person who needs the given time.
func openQuiet(t *testing.T, quiet time.Duration) *desk {
	t.Helper()
	d := &desk{person: sit(t), channel: New(slog.New(slog.DiscardHandler), nothing), answers: make(chan sdk.Answer, 10), refuse: make(chan error, 10), status: "approved"}
	if err := d.channel.Configure(t.Context(), config(d.person)); err != nil {
		t.Fatal(err)
	}
	d.channel.minShown = quiet
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.channel.Answers(ctx, d.take) }()
	d.stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := d.stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("Answers = %v", err)
		}
	})
	return d
}

func (d *desk) take(_ context.Context, a sdk.Answer) (string, error) {
	d.answers <- a
	select {
	case err := <-d.refuse:
		return sdk.StatusPending, err
	default:
		return d.status, nil
	}
}

func (d *desk) notify(n sdk.Notice) {
	d.t.Helper()
	if err := d.channel.Notify(d.t.Context(), n); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) update(n sdk.Notice) {
	d.t.Helper()
	if err := d.channel.Update(d.t.Context(), n); err != nil {
		d.t.Fatal(err)
	}
}

// answered waits for an answer.
func (d *desk) answered() sdk.Answer {
	d.t.Helper()
	select {
	case a := <-d.answers:
		return a
	case <-time.After(patience):
		d.t.Fatal("nothing was answered")
		return sdk.Answer{}
	}
}

// undecided fails the test where something was answered.
func (d *desk) undecided() {
	d.t.Helper()
	select {
	case a := <-d.answers:
		d.t.Errorf("answered %s", fmt.Sprint(a))
	default:
	}
}
