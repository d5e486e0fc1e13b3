package relay

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A link is the way to the sidecar, over one stream after the other.
type link struct {
	o        Options
	toClient *outbox
	toServer *outbox

	// sending keeps the lines of a stream in order. It is taken before mu, and
	// not by who reads from the stream: what is written may wait for that.
	sending sync.Mutex

	mu       sync.Mutex
	notFull  *sync.Cond // there may be room for another line
	seq      uint64
	open     map[uint64]*line // that are not over, by number
	held     int              // bytes of these
	conn     *stdio.Conn      // nil while there is none
	refusing string           // why what the client asks is refused; empty where it is not
	finished bool             // the server has ended
}

// A line is one of the client's or the server's, or the end of either's.
type line struct {
	frame stdio.Frame
	sent  bool // the sidecar sent it on
}

// maxHeld bounds the lines that are not over, in bytes.
const maxHeld = 4 * stdio.MaxLine

func newLink(o Options, stdin, out *os.File) *link {
	l := &link{o: o, open: map[uint64]*line{}}
	l.notFull = sync.NewCond(&l.mu)
	l.toServer = newOutbox(stdin, func() {}) // the server's own matter
	l.toClient = newOutbox(o.Stdout, func() {
		_ = out.Close() // as if the client had closed the server's output
		l.toServer.closeWhenWritten()
	})
	return l
}

// lines takes what the client or the server writes, to its end.
func (l *link) lines(kind stdio.Kind, r io.Reader, end stdio.Kind) {
	lines := stdio.NewLines(r, stdio.MaxLine)
	for {
		text, err := lines.Next()
		switch {
		case errors.Is(err, wire.ErrTooLarge):
			l.o.Tell("a message was dropped: " + err.Error())
			if kind == stdio.Server { // it may be what a request waits for
				l.up(stdio.Frame{Kind: stdio.ServerLost, Line: []byte(err.Error())})
				continue
			}
			l.toClient.put(mcp.Error(nil, mcp.CodeInvalidRequest, err.Error()))
		case err != nil:
			l.up(stdio.Frame{Kind: end})
			return
		default:
			l.up(stdio.Frame{Kind: kind, Line: text})
		}
	}
}

// up sends a line to the sidecar, or keeps it until there is one.
func (l *link) up(f stdio.Frame) {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	for l.held+len(f.Line) > maxHeld && l.held > 0 {
		l.notFull.Wait()
	}
	l.seq++
	f.Seq = l.seq
	l.open[f.Seq] = &line{frame: f}
	l.held += len(f.Line)
	conn := l.conn
	if l.refusing != "" {
		l.refuse(f)
	}
	l.mu.Unlock()
	if conn != nil {
		_ = conn.Write(f) // a stream that has broken is noticed by who reads it, and the line comes again
	}
}

// over forgets a line. mu is held.
func (l *link) over(seq uint64) {
	if at := l.open[seq]; at != nil {
		l.held -= len(at.frame.Line)
		delete(l.open, seq)
		l.notFull.Broadcast()
	}
}

// serve serves the streams, one after the other, until the server has ended.
func (l *link) serve(ctx context.Context, conn *stdio.Conn) {
	for conn != nil {
		l.resend(conn)
		l.down(conn)
		l.mu.Lock()
		l.conn = nil
		finished := l.finished
		l.mu.Unlock()
		_ = conn.Close() // it has broken, or is done with
		if finished {
			return
		}
		conn = l.again(ctx)
	}
}

// resend begins a stream with what is not over.
func (l *link) resend(conn *stdio.Conn) {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	l.conn, l.refusing = conn, ""
	var frames []stdio.Frame
	for _, seq := range slices.Sorted(maps.Keys(l.open)) {
		at := l.open[seq]
		f := at.frame
		if at.sent && f.Kind == stdio.Client {
			f.Kind = stdio.ClientSent
		}
		frames = append(frames, f)
	}
	l.mu.Unlock()
	for _, f := range frames {
		if conn.Write(f) != nil {
			return // noticed by who reads
		}
	}
}

// down does what the sidecar says until the stream breaks or is over.
func (l *link) down(conn *stdio.Conn) {
	for {
		f, err := conn.Read(stdio.MaxLine)
		if err != nil {
			return
		}
		l.mu.Lock()
		switch f.Kind {
		case stdio.Client:
			l.toClient.put(f.Line)
		case stdio.Server:
			l.toServer.put(f.Line)
			if at := l.open[f.Seq]; at != nil {
				at.sent = true
			}
		case stdio.Done:
			l.over(f.Seq)
		case stdio.ClientEnd:
			l.over(f.Seq)
			l.toServer.closeWhenWritten()
		case stdio.ServerEnd:
			l.finished = true
		}
		finished := l.finished
		l.mu.Unlock()
		if finished {
			return
		}
	}
}

// again opens the next stream. It returns nil where the server has ended and
// no sidecar can be had.
func (l *link) again(ctx context.Context) *stdio.Conn {
	began := time.Now()
	l.o.Tell("the sidecar has gone; nothing passes until there is one again")
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for {
		conn, err := l.o.Connect(ctx)
		if err == nil {
			l.o.Tell("the sidecar is there again")
			return conn
		}
		if time.Since(began) >= patience && !l.giveUp(err) {
			return nil
		}
		<-tick.C
	}
}

// giveUp refuses what the client has asked and will ask, until the sidecar is
// there again. It returns false where the server has ended.
func (l *link) giveUp(why error) bool {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusing = "[holdgate] This call was not run: Holdgate's sidecar, which decides about it, cannot be reached (" + why.Error() +
		"). Tell the user to start it (holdgate serve), and call again then."
	for _, seq := range slices.Sorted(maps.Keys(l.open)) {
		if at := l.open[seq]; !at.sent {
			l.refuse(at.frame)
		}
	}
	for _, at := range l.open {
		if at.frame.Kind == stdio.ServerEnd {
			return false
		}
	}
	return true
}

// refuse answers a line of the client's in the sidecar's place. What the server
// wrote waits. mu is held.
func (l *link) refuse(f stdio.Frame) {
	switch f.Kind {
	case stdio.Client:
		if wire.Strict(f.Line) == nil {
			msgs, _, _ := mcp.Parse(f.Line) // what cannot be read asks for nothing
			for _, m := range msgs {
				if m.IsRequest() {
					l.toClient.put(m.Refusal(l.refusing))
				}
			}
		}
	case stdio.ClientEnd:
		l.toServer.closeWhenWritten()
	default:
		return
	}
	l.over(f.Seq)
}
