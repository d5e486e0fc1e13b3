package route

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Refusal says why a request is refused before policy is asked, with what status
// and under which rule.
type Refusal struct {
	Status int
	Rule   string
	Err    error
}

// Error implements [error].
func (e *Refusal) Error() string { return e.Err.Error() }

// PassBuffer is the length up to which a request's body is read before it is
// sent on. What is in memory can be sent again, where a connection that was
// kept turns out to be closed.
const PassBuffer = 1 << 20

// bodyTimeout is how long a client may take to send a body that is read whole.
const bodyTimeout = 2 * time.Minute

// TrustedLength is how much memory a body gets on the word of its
// Content-Length alone.
const TrustedLength = 1 << 20

// ReadRequest reads the request's body, whole, decoded and checked. It is what will
// be judged and what will be sent: from here on there is no other copy.
func ReadRequest(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *wire.Document, *Refusal) {
	body, err := ReadBody(w, r, wire.ContentEncoding(r.Header), limit)
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		return nil, nil, &Refusal{http.StatusRequestEntityTooLarge, holdgate.RuleTooLarge, fmt.Errorf("the request is larger than %d bytes decoded, or swells as only bombs do: raise limits.body, or send less", limit)}
	case errors.Is(err, wire.ErrEncoding):
		return nil, nil, &Refusal{http.StatusUnsupportedMediaType, holdgate.RuleMalformed, err}
	case err != nil:
		return nil, nil, &Refusal{http.StatusBadRequest, holdgate.RuleMalformed, fmt.Errorf("reading the request: %w", err)}
	}
	if _, err := MediaType(r.Header); err != nil {
		return nil, nil, &Refusal{http.StatusUnsupportedMediaType, holdgate.RuleMalformed, fmt.Errorf("the request is refused because two readers could take it differently: %w", err)}
	}
	document, err := wire.ReadDocument(body)
	if err != nil {
		return nil, nil, &Refusal{http.StatusBadRequest, holdgate.RuleMalformed, fmt.Errorf("the request is refused because two readers could take it differently: %w", err)}
	}
	return body, document, nil
}

// ReadBody reads a body of at most limit decoded bytes.
func ReadBody(w http.ResponseWriter, r *http.Request, encoding string, limit int64) ([]byte, error) {
	length := r.ContentLength
	if length > limit && encoding == "" {
		return nil, wire.ErrTooLarge
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every connection has one
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	d, err := wire.Decode(r.Body, encoding, limit)
	if err != nil {
		return nil, err
	}
	if length <= 0 || length > TrustedLength || encoding != "" {
		return io.ReadAll(d)
	}
	b := make([]byte, length)
	if _, err := io.ReadFull(d, b); err != nil {
		return nil, err
	}
	return b, nil
}
