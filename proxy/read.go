package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A readError says why a body was refused.
type readError struct {
	status int
	rule   string
	err    error
}

func (e *readError) Error() string { return e.err.Error() }

// bodyTimeout is how long a client may take to send a body that is read whole.
const bodyTimeout = 2 * time.Minute

// trustedLength is how much memory a body gets on the word of its
// Content-Length alone.
const trustedLength = 1 << 20

// read reads the request's body, whole, decoded and checked. It is what will
// be judged and what will be sent: from here on there is no other copy.
func (e *exchange) read() (*wire.Document, *readError) {
	limit := e.s.c.Limits.Body
	body, err := e.readBody(wire.ContentEncoding(e.r.Header))
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		return nil, &readError{http.StatusRequestEntityTooLarge, holdgate.RuleTooLarge, fmt.Errorf("the request is larger than %d bytes decoded, or swells as only bombs do: raise limits.body, or send less", limit)}
	case errors.Is(err, wire.ErrEncoding):
		return nil, &readError{http.StatusUnsupportedMediaType, holdgate.RuleMalformed, err}
	case err != nil:
		return nil, &readError{http.StatusBadRequest, holdgate.RuleMalformed, fmt.Errorf("reading the request: %w", err)}
	}
	if _, err := mediaType(e.r.Header); err != nil {
		return nil, &readError{http.StatusUnsupportedMediaType, holdgate.RuleMalformed, fmt.Errorf("the request is refused because two readers could take it differently: %w", err)}
	}
	document, err := wire.ReadDocument(body)
	if err != nil {
		return nil, &readError{http.StatusBadRequest, holdgate.RuleMalformed, fmt.Errorf("the request is refused because two readers could take it differently: %w", err)}
	}
	e.body = body
	return document, nil
}

// readBody reads a body of at most Limits.Body decoded bytes.
func (e *exchange) readBody(encoding string) ([]byte, error) {
	length, limit := e.r.ContentLength, e.s.c.Limits.Body
	if length > limit && encoding == "" {
		return nil, wire.ErrTooLarge
	}
	rc := http.NewResponseController(e.w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every connection has one
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	d, err := wire.Decode(e.r.Body, encoding, limit)
	if err != nil {
		return nil, err
	}
	if length <= 0 || length > trustedLength || encoding != "" {
		return io.ReadAll(d)
	}
	b := make([]byte, length)
	if _, err := io.ReadFull(d, b); err != nil {
		return nil, err
	}
	return b, nil
}
