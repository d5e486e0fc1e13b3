// Package stdio is the stream between `holdgate mcp`, which stands before an
// MCP server that speaks on its standard streams, and the sidecar, which
// decides. Every line that the client or the server writes goes up to the
// sidecar, which says what is to be written to either:
//
//	client <-> holdgate mcp <-> server
//	                |
//	             sidecar
//
// A line that comes up has a number. It is outstanding until the sidecar says
// that it is done, or that it was sent on. Where the stream breaks, what is
// outstanding comes again on the next one: as it came first where it was not
// sent on ([Client], [Server]), else as something whose answer is awaited
// ([ClientSent]). So a sidecar can end and start anew, and what a
// person was asked is not lost.
//
// The stream begins as an HTTP/1.1 request that asks to switch to [Protocol]
// (RFC 9110 section 7.8). A frame is its kind (one byte), its number (8 bytes),
// the length of its line (4 bytes, both big-endian), and the line without its
// newline. A [Session] is the sidecar's end of it.
package stdio

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Protocol is what the request for a stream asks to switch to.
const Protocol = "holdgate-stdio/1"

// Path begins the path of that request; the server's name follows.
const Path = "/stdio/"

// CommandParam is the parameter of the request that tells servers of one name
// apart: a digest of the server's command line.
const CommandParam = "command"

// ProcessParam is the parameter that tells the streams of one `holdgate mcp` from
// those of others: a secret of that process, so that what was begun on one of its
// streams can be asked about on the next.
const ProcessParam = "process"

// A Kind says what a frame is.
type Kind byte

// The kinds of frames. Those of lines go both ways: up, they say who wrote the
// line, and down, whom it is for.
const (
	Client Kind = 'c' // a line of the client's; a line for it
	Server Kind = 's' // a line of the server's; a line for it

	// ClientSent goes up: a line of the client's that an earlier sidecar sent
	// on, and whose answer has not come.
	ClientSent Kind = 'C'

	// ServerLost goes up: the server wrote a line that is longer than [MaxLine].
	// The frame's line says so in words.
	ServerLost Kind = 'S'

	// Done goes down: the line of this number is over. A frame of a line that
	// goes down says by its number which line was sent on by it; 0 is none.
	Done Kind = 'd'

	// ClientEnd goes up when the client will write no more, and down when
	// everything of it has been sent on: the server's input can be closed.
	// ServerEnd is the same of the server, and the last frame of a stream.
	ClientEnd Kind = 'e'
	ServerEnd Kind = 'E'
)

// A Frame is one message of the stream.
type Frame struct {
	Kind Kind
	Seq  uint64
	Line []byte
}

const headerLength = 1 + 8 + 4

// A Conn is a stream. One goroutine may read while any write.
type Conn struct {
	conn net.Conn
	r    *bufio.Reader

	writers atomic.Int32 // that are at the lock or on their way to it
	mu      sync.Mutex
	w       *bufio.Writer
}

func newConn(c net.Conn, r *bufio.Reader) *Conn {
	return &Conn{conn: c, r: r, w: bufio.NewWriterSize(c, 32<<10)}
}

// writeTimeout is how long the other side may leave what it is sent unread.
const writeTimeout = 2 * time.Minute

// Write sends a frame. Frames that are written at the same time share a
// segment.
func (c *Conn) Write(f Frame) error {
	var h [headerLength]byte
	h[0] = byte(f.Kind)
	binary.BigEndian.PutUint64(h[1:], f.Seq)
	binary.BigEndian.PutUint32(h[9:], uint32(len(f.Line)))
	c.writers.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.writers.Add(-1) == 0
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // a connection that has ended says so below
	_, err := c.w.Write(h[:])
	if err == nil {
		_, err = c.w.Write(f.Line)
	}
	if err == nil && last {
		err = c.w.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing to the stream: %w", err)
	}
	return nil
}

// Read returns the next frame. A line that is longer than limit bytes is passed
// over: its frame comes without it, and with an error that wraps
// [wire.ErrTooLarge]. At the stream's end the error is [io.EOF].
func (c *Conn) Read(limit int64) (Frame, error) {
	var h [headerLength]byte
	if _, err := io.ReadFull(c.r, h[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Kind: Kind(h[0]), Seq: binary.BigEndian.Uint64(h[1:])}
	length := binary.BigEndian.Uint32(h[9:])
	if length > MaxLine {
		return f, fmt.Errorf("the stream is broken: a frame of %d bytes", length)
	}
	if int64(length) > limit {
		if _, err := io.CopyN(io.Discard, c.r, int64(length)); err != nil {
			return f, unexpected(err)
		}
		return f, fmt.Errorf("a message of %d bytes: %w", length, wire.ErrTooLarge)
	}
	f.Line = make([]byte, length)
	_, err := io.ReadFull(c.r, f.Line)
	return f, unexpected(err)
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Close ends the stream. Reads and writes that are under way fail.
func (c *Conn) Close() error { return c.conn.Close() }

// A RefusedError is a sidecar's word that it gives no stream.
type RefusedError struct {
	Status int
	Detail string
}

func (e *RefusedError) Error() string {
	if e.Status == http.StatusNotFound {
		return "the sidecar is of a version without holdgate mcp: update it"
	}
	return fmt.Sprintf("the sidecar refuses (status %d): %s", e.Status, e.Detail)
}

// Dial opens a stream to the sidecar whose door for agents is at addr, for the
// MCP server of this name. command is a digest of how the server is started, and header
// goes along.
// An error is a [*RefusedError] where a sidecar answered.
func Dial(ctx context.Context, addr, name, command, process string, header http.Header) (_ *Conn, err error) {
	nc, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connecting to the sidecar: %w", err)
	}
	defer func() {
		if err != nil {
			_ = nc.Close() // the error is what matters
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) }) // ends what is under way
	defer stop()
	_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
	u := url.URL{Scheme: "http", Host: addr, Path: Path + name, RawQuery: url.Values{CommandParam: {command}, ProcessParam: {process}}.Encode()}
	req := &http.Request{Method: http.MethodGet, URL: &u, Host: addr, Header: http.Header{}}
	maps.Copy(req.Header, header)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", Protocol)
	if err := req.Write(nc); err != nil {
		return nil, fmt.Errorf("asking the sidecar for a stream: %w", err)
	}
	r := bufio.NewReaderSize(nc, 64<<10)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, fmt.Errorf("asking the sidecar for a stream: %w", err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Upgrade") != Protocol {
		defer resp.Body.Close()
		detail, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // for people to read; none is as good
		return nil, &RefusedError{Status: resp.StatusCode, Detail: strings.TrimSpace(string(detail))}
	}
	if !stop() {
		return nil, context.Cause(ctx)
	}
	_ = nc.SetDeadline(time.Time{})
	return newConn(nc, r), nil
}

// Asked reports whether a request asks for a stream.
func Asked(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Upgrade") == Protocol && strings.EqualFold(r.Header.Get("Connection"), "Upgrade")
}

// Accept answers a request for a stream with one.
func Accept(w http.ResponseWriter) (*Conn, error) {
	nc, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("taking the connection over: %w", err)
	}
	_ = nc.SetDeadline(time.Time{}) // net/http's own ones are over
	if _, err := io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+Protocol+"\r\n\r\n"); err != nil {
		return nil, errors.Join(fmt.Errorf("answering a request for a stream: %w", err), nc.Close())
	}
	return newConn(nc, bufio.NewReaderSize(rw.Reader, 64<<10)), nil
}
