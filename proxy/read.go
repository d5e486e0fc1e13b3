package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

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

// read returns a request's body, whole, decoded and checked. It is what will
// be judged and what will be sent: from here on there is no other copy.
func (s *Server) read(r *http.Request) ([]byte, *readError) {
	body, err := readBody(r.Body, contentEncoding(r.Header), r.ContentLength, s.c.Limits.Body)
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		return nil, &readError{http.StatusRequestEntityTooLarge, holdgate.RuleTooLarge, fmt.Errorf("the request is larger than %d MiB decoded: raise limits.body, or send less", s.c.Limits.Body>>20)}
	case errors.Is(err, wire.ErrEncoding):
		return nil, &readError{http.StatusUnsupportedMediaType, holdgate.RuleMalformed, err}
	case err != nil:
		return nil, &readError{http.StatusBadRequest, holdgate.RuleMalformed, fmt.Errorf("reading the request: %w", err)}
	}
	if ct := r.Header.Get("Content-Type"); !utf8ContentType(ct) {
		return nil, &readError{http.StatusUnsupportedMediaType, holdgate.RuleMalformed, fmt.Errorf("the request's charset is not UTF-8: %s", ct)}
	}
	if err := wire.Strict(body); err != nil {
		return nil, &readError{http.StatusBadRequest, holdgate.RuleMalformed, fmt.Errorf("the request is refused because two readers could take it differently: %w", err)}
	}
	return body, nil
}

// readBody reads a body of at most limit decoded bytes.
func readBody(r io.Reader, encoding string, length, limit int64) ([]byte, error) {
	if length > limit && encoding == "" {
		return nil, wire.ErrTooLarge
	}
	d, err := wire.Decode(r, encoding, limit)
	if err != nil {
		return nil, err
	}
	if length > 0 && encoding == "" {
		b := make([]byte, length)
		n, err := io.ReadFull(d, b)
		if err != nil {
			return nil, err
		}
		return b[:n], nil
	}
	return io.ReadAll(d)
}

// contentEncoding joins repeated headers, so that a doubled coding is seen as
// the list that it is.
func contentEncoding(h http.Header) string {
	return strings.Join(h.Values("Content-Encoding"), ",")
}

func utf8ContentType(ct string) bool {
	low := strings.ToLower(ct)
	i := strings.Index(low, "charset=")
	if i < 0 {
		return true
	}
	v := strings.Trim(strings.TrimSpace(low[i+len("charset="):]), `"`)
	return strings.HasPrefix(v, "utf-8") || strings.HasPrefix(v, "utf8") || strings.HasPrefix(v, "us-ascii")
}
