package mcpproxy

import (
	"net/http"

	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A taskWriter takes the answer to a call whose client does not wait for it: the
// one response among what comes, in a document or in events. It is for one
// goroutine at a time.
type taskWriter struct {
	header http.Header
	events wire.EventScanner
	status int
	doc    []byte
	answer []byte // nil until there is one
}

func newTaskWriter(limit int64) *taskWriter {
	return &taskWriter{header: http.Header{}, events: wire.EventScanner{Limit: int(limit)}}
}

// Header implements [http.ResponseWriter].
func (w *taskWriter) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *taskWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Flush implements [http.Flusher].
func (w *taskWriter) Flush() {}

// Write implements [http.ResponseWriter]. A document comes in one piece.
func (w *taskWriter) Write(b []byte) (int, error) {
	if w.header.Get("Content-Type") != route.TypeEvents {
		w.doc = append(w.doc, b...)
		w.store(w.doc)
		return len(b), nil
	}
	w.events.Push(b)
	for {
		ev, ok, err := w.events.Next()
		if err != nil || !ok {
			return len(b), err
		}
		w.store(ev.Data)
	}
}

// store keeps a message that is a response. It shares no memory with it.
func (w *taskWriter) store(message []byte) {
	if wire.Strict(message) != nil {
		return
	}
	msgs, batch, err := mcp.Parse(message)
	if err != nil || batch || !msgs[0].IsResponse() {
		return
	}
	w.answer = append([]byte(nil), msgs[0].Raw...)
}
