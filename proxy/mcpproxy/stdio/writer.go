package stdio

import (
	"bytes"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A writer makes lines for the client of the answer to its message: of a
// document one, and of an event stream one for each event.
type writer struct {
	c      *Call
	header http.Header
	status int
	events bool
	buf    []byte // the document, or the event that is not whole
	data   []byte // of the event that is not whole
}

// Header implements [http.ResponseWriter].
func (w *writer) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter]. An event stream begins where
// the message waits, or with its answer.
func (w *writer) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	w.events = w.header.Get("Content-Type") == route.TypeEvents
	if w.events {
		w.c.move()
	}
}

// Flush implements [http.Flusher]: a line is written as soon as it is whole.
func (w *writer) Flush() {}

// Write implements [http.ResponseWriter].
func (w *writer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.buf = append(w.buf, b...)
	if w.events {
		w.eachEvent()
	}
	return len(b), nil
}

// eachEvent writes the events that are whole. They come from [mcp.Event] and
// [mcp.Comment], whose lines end with LF, and from nowhere else.
func (w *writer) eachEvent() {
	for {
		line, rest, ok := bytes.Cut(w.buf, []byte("\n"))
		if !ok {
			return
		}
		w.buf = rest
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			w.data = append(append(w.data, data...), '\n')
		} else if len(line) == 0 {
			w.line(w.data)
			w.data = nil
		}
	}
}

// line writes a message to the client, unless that wants none any more or the
// sidecar ends, and leaves the message to the next one.
func (w *writer) line(text []byte) {
	if len(bytes.TrimSpace(text)) == 0 || w.c.ss.ending() || w.c.isUnwanted() {
		return
	}
	w.c.ss.write(Frame{Kind: Client, Line: Line(text)})
}

// finish writes what there is to write at the end. whole is false where the
// exchange broke off: then each request gets an error.
func (w *writer) finish(whole bool) {
	switch {
	case w.c.isUnwanted():
	case !whole:
		w.c.refuse(mcp.CodeRefused, "this request failed inside Holdgate")
	case w.events || len(w.buf) == 0:
	case w.header.Get("Content-Type") != "application/json":
		w.c.refuse(mcp.CodeRefused, holdgate.Bounded(string(w.buf), 2000))
	default:
		w.line(w.document())
	}
}

// document is the answer that came as one. An error to a message that could not
// be read gets the message's id, where that can be told.
func (w *writer) document() []byte {
	id := w.c.unreadID()
	if id == nil || w.status < http.StatusBadRequest {
		return w.buf
	}
	return wire.RewriteMembers(w.buf, func(m wire.Member) []byte {
		if string(m.Name) == "id" {
			return id
		}
		return m.Value
	})
}
