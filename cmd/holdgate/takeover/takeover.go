// Package takeover is how one sidecar takes the place of another that runs on the same
// state folder. Both sides speak over a unix socket in that folder, in messages of package
// handover, each an answer to the one before:
//
//	new -> old  claim: a proof that it may
//	old -> new  offer: the listening sockets
//	new -> old  taken
//	            the old one stops, and closes its store
//	old -> new  released, with a run: an agent that `holdgate run` has started; new -> old  taken; and so on
//	old -> new  released, without one: the store is closed
//	            the new one opens the store, and serves
//	new -> old  taken: it is ready
//
// Where the connection ends before that, the other side has ended, and whoever is left
// serves the sockets. The store's lock keeps two from deciding, whatever is said here.
package takeover

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/socket"
	"github.com/holdgate/holdgate/cmd/holdgate/handover"
)

// A Door is a listening socket, by its name and the address that the configuration gives
// it: a successor with another address listens anew. The address of a unix socket is
// its path.
type Door struct {
	Name    string `json:"name"`
	Address string `json:"address"`

	Listener net.Listener `json:"-"` // of the process that passes it
}

// A Run is an agent that another process has started, and that uses the sidecar.
type Run struct {
	Agent       string            `json:"agent"` // its name here
	Program     string            `json:"program"`
	Confinement string            `json:"confinement"`
	Dir         string            `json:"dir"`
	Writable    []string          `json:"writable"`
	By          string            `json:"by"` // the person who has started it
	Proofs      holdgate.Proofs   `json:"proofs"`
	Lapsed      bool              `json:"lapsed"`   // what it changes cannot be undone any longer
	Accounts    []holdgate.Digest `json:"accounts"` // that are its own; nil: none is known yet
	Names       map[string]uint32 `json:"names"`    // the addresses that it was given for names
	NextName    uint32            `json:"next_name"`
	Asked       int64             `json:"asked"`  // the number of the newest line to it
	Unread      []byte            `json:"unread"` // of its lines
	Doors       []string          `json:"doors"`  // what each of Files is, as in [handover.Doors]

	Conn  *net.UnixConn `json:"-"` // the way to its process
	Files []*os.File    `json:"-"`
}

// close closes what the run is reached by.
func (r *Run) close() {
	if r.Conn != nil {
		_ = r.Conn.Close()
	}
	closeFiles(r.Files)
}

// Kept is what one sidecar leaves to the next. It is safe for concurrent use.
type Kept struct {
	mu      sync.Mutex
	doors   []Door
	files   []*os.File // of doors; nil once taken
	adopted []net.Listener
	runs    []Run
}

// keep keeps doors open, whatever becomes of their listeners.
func keep(doors []Door) (*Kept, error) {
	k := &Kept{doors: doors}
	for _, d := range doors {
		l, ok := d.Listener.(interface{ File() (*os.File, error) })
		if !ok {
			k.Close()
			return nil, fmt.Errorf("the %s door is no socket of its own, but a %T", d.Name, d.Listener)
		}
		f, err := l.File()
		if err != nil {
			k.Close()
			return nil, fmt.Errorf("keeping the %s door: %w", d.Name, err)
		}
		k.files = append(k.files, f)
	}
	return k, nil
}

// Listener takes the door of this name and address; it returns nil where there is none.
func (k *Kept) Listener(name, address string) (net.Listener, error) {
	if k == nil {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, d := range k.doors {
		f := k.files[i]
		if d.Name != name || d.Address != address || f == nil {
			continue
		}
		k.files[i] = nil
		ln, err := net.Listener(nil), error(nil)
		if d.unix() {
			ln, err = socket.Adopt(f, address)
		} else {
			ln, err = net.FileListener(f)
			_ = f.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("taking the %s door: %w", name, err)
		}
		k.adopted = append(k.adopted, ln)
		return ln, nil
	}
	return nil, nil
}

func (d Door) unix() bool { return len(d.Address) > 0 && d.Address[0] == '/' }

// Runs are the agents that go on.
func (k *Kept) Runs() []Run {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.runs
}

// Served is for when what is left is served here, and nowhere else from now on: sockets go
// with their listeners, and doors that nobody has taken are closed.
func (k *Kept) Served() {
	k.Close()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, ln := range k.adopted {
		socket.Stay(ln, false)
	}
	k.adopted = nil
}

// Close closes the doors that nobody has taken. Runs are whoever's who serves them.
func (k *Kept) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	closeFiles(k.files)
	clear(k.files)
}

// closeAll closes the runs too.
func (k *Kept) closeAll() {
	k.Close()
	for i := range k.runs {
		k.runs[i].close()
	}
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// What the two sides say.
type (
	claim struct {
		Proof   string `json:"proof"`
		Version string `json:"version"`
		PID     int    `json:"pid"`
	}
	offer struct {
		Error   string `json:"error,omitempty"`
		Version string `json:"version"`
		Doors   []Door `json:"doors"`
	}
	taken    struct{}
	released struct {
		Run *Run `json:"run,omitempty"`
	}
)

// sendRun passes a run on.
func sendRun(c *net.UnixConn, r *Run) error {
	conn, err := r.Conn.File()
	if err != nil {
		return err
	}
	defer conn.Close()
	files := append([]*os.File{conn}, r.Files...)
	if len(files) > handover.MaxFiles {
		return fmt.Errorf("it has %d listeners", len(r.Files))
	}
	return handover.Send(c, released{Run: r}, files...)
}

// takeRun makes a run of what has come.
func takeRun(r *Run, files []*os.File) error {
	if len(files) != len(r.Doors)+1 {
		closeFiles(files)
		return fmt.Errorf("%d files came with a run of %d doors", len(files), len(r.Doors))
	}
	conn, err := net.FileConn(files[0])
	_ = files[0].Close()
	unix, ok := conn.(*net.UnixConn)
	if err == nil && !ok {
		err = errors.Join(fmt.Errorf("a run's connection is a %T", conn), conn.Close())
	}
	if err != nil {
		closeFiles(files[1:])
		return err
	}
	r.Conn, r.Files = unix, files[1:]
	return nil
}

// log is a logger that is never nil.
func logTo(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
