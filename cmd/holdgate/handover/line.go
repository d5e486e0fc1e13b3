package handover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
)

// A Line is what goes over the connection once the run is served, a line of JSON each.
//
//	sidecar -> run  Let, Ended: what a call may change of what runs later, and that it has ended
//	run -> sidecar  Done: that was done; Refused: what was not changed since the last Done
//	run -> sidecar  Lapsed: what the agent changes cannot be undone any longer
type Line struct {
	N       int64           `json:"n,omitempty"`    // of the sidecar's; Done has the same
	Call    string          `json:"call,omitempty"` // of Let
	Let     *holdgate.Later `json:"let,omitempty"`
	Ended   []string        `json:"ended,omitempty"` // calls
	Done    bool            `json:"done,omitempty"`
	Refused []string        `json:"refused,omitempty"` // paths in the agent's folder
	Lapsed  bool            `json:"lapsed,omitempty"`
}

// Lines are both sides of a connection. Writing is safe for concurrent use; reading is
// for one goroutine.
type Lines struct {
	conn *net.UnixConn
	read *json.Decoder
	mu   sync.Mutex
}

// NewLines goes on with a connection over which a run was handed over. read is what was
// read of it and not yet taken: see [Lines.Unread].
func NewLines(c *net.UnixConn, read ...byte) *Lines {
	return &Lines{conn: c, read: json.NewDecoder(io.MultiReader(bytes.NewReader(read), c))}
}

// Unread is what was read of the connection and is no line yet, for another process that
// goes on with it. Nothing can be read here afterwards.
func (l *Lines) Unread() ([]byte, error) { return io.ReadAll(l.read.Buffered()) }

// Write writes a line.
func (l *Lines) Write(line Line) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.conn.Write(append(text, '\n'))
	return err
}

// Read reads the next line.
func (l *Lines) Read() (line Line, err error) {
	err = l.read.Decode(&line)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("reading what the other side of a run says: %w", err)
	}
	return line, err
}

// Asked are the sidecar's lines that wait for a Done. It is safe for concurrent use.
type Asked struct {
	lines *Lines
	mu    sync.Mutex
	last  int64
	wait  map[int64]chan Line
}

// NewAsked asks over lines, with numbers behind last.
func NewAsked(l *Lines, last int64) *Asked {
	return &Asked{lines: l, last: last, wait: map[int64]chan Line{}}
}

// Last is the number of the line that was asked last.
func (a *Asked) Last() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

// patience is how long the run's side may take: it does nothing that takes time.
const patience = 10 * time.Second

// Ask sends a line and waits until the run has done as it says.
func (a *Asked) Ask(line Line) (Line, error) {
	done := make(chan Line, 1)
	a.mu.Lock()
	a.last++
	line.N = a.last
	a.wait[line.N] = done
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.wait, line.N)
	}()
	if err := a.lines.Write(line); err != nil {
		return Line{}, err
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case got := <-done:
		return got, nil
	case <-late.C:
		return Line{}, errors.New("the run does not answer")
	}
}

// Done hands a Done to whoever waits for it.
func (a *Asked) Done(line Line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if done := a.wait[line.N]; done != nil {
		done <- line
		delete(a.wait, line.N)
	}
}
