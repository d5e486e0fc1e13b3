package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// bodyTimeout bounds the time in which a body must have come.
const bodyTimeout = 10 * time.Second

// A request is one by somebody whose credential was checked.
type request struct {
	*http.Request

	by    string // the person's name; empty at an open endpoint
	token TokenHash
}

// A handler serves requests that came past the gate.
type handler func(http.ResponseWriter, *request)

// answer serves an endpoint without a body.
func answer[Out any](s *Server, fn func(*request) (Out, error)) handler {
	return stream(s, func(w http.ResponseWriter, r *request) error {
		out, err := fn(r)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, "application/json", out)
	})
}

// answerPage serves an endpoint that answers with a part of a list. Where there
// is more, next is its cursor, and the answer has a link to it (RFC 8288).
func answerPage[Item any](s *Server, fn func(*request) (page []Item, next string, err error)) handler {
	return stream(s, func(w http.ResponseWriter, r *request) error {
		page, next, err := fn(r)
		if err != nil {
			return err
		}
		if page == nil {
			page = []Item{}
		}
		if next != "" {
			q := r.URL.Query()
			q.Del("from") // a cursor takes its place
			q.Set("cursor", next)
			w.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.EscapedPath(), q.Encode()))
		}
		return writeJSON(w, http.StatusOK, "application/json", page)
	})
}

// answerBody serves an endpoint whose request carries a JSON body. It may carry
// an idempotency key too.
func answerBody[In, Out any](s *Server, fn func(*request, In) (Out, error)) handler {
	return answerLarge(s, MaxBody, fn)
}

// answerLarge is answerBody for bodies of at most so many bytes.
func answerLarge[In, Out any](s *Server, most int64, fn func(*request, In) (Out, error)) handler {
	return stream(s, func(w http.ResponseWriter, r *request) error {
		body, err := s.readBody(w, r, most)
		if err != nil {
			return err
		}
		return s.once(w, r, body, func() (any, error) {
			in, err := decode[In](body)
			if err != nil {
				return nil, err
			}
			return fn(r, in)
		})
	})
}

// decode reads a body of JSON, in which nothing unknown may stand.
func decode[In any](body []byte) (in In, err error) {
	if err := jsonv2.Unmarshal(body, &in, jsonv2.RejectUnknownMembers(true)); err != nil {
		return in, malformed("the body: %s", plain(err))
	}
	return in, nil
}

// stream serves an endpoint that writes its answer itself. An error after the
// first byte cuts the connection, so that nobody takes a part for the whole.
func stream(s *Server, fn func(http.ResponseWriter, *request) error) handler {
	return func(w http.ResponseWriter, r *request) {
		sw := &startedWriter{ResponseWriter: w}
		err := fn(sw, r)
		switch {
		case err == nil:
		case sw.started:
			s.c.Logger.WarnContext(r.Context(), "cutting an answer short", "path", r.URL.Path, "error", err)
			panic(http.ErrAbortHandler)
		default:
			s.fail(w, r.Request, err)
		}
	}
}

// A startedWriter knows whether the answer has begun.
type startedWriter struct {
	http.ResponseWriter
	started bool
}

func (w *startedWriter) WriteHeader(code int) {
	w.started = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *startedWriter) Write(b []byte) (int, error) {
	w.started = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets an [http.ResponseController] reach the connection.
func (w *startedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// readBody reads a body of JSON whole, of at most so many bytes. Only
// application/json is taken: it is a content type that no web page can send
// elsewhere without asking first. No body at all counts as an object without
// members. The caller's token must still be known when it has come.
func (s *Server) readBody(w http.ResponseWriter, r *request, most int64) ([]byte, error) {
	if r.ContentLength == 0 && r.Header.Get("Content-Type") == "" {
		return []byte("{}"), nil
	}
	typ, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || typ != "application/json" {
		return nil, problem(http.StatusUnsupportedMediaType, "content-type", "Wrong content type", "the body must be application/json")
	}
	// A body that never ends holds nobody up. The deadline is taken away again,
	// for one that passes later would end the request.
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
		return nil, fmt.Errorf("bounding the time of a body: %w", err)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err := rc.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("reading a body: %w", err)
	}
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, problem(http.StatusRequestEntityTooLarge, "too-large", "Body too large", fmt.Sprintf("the body is over %d bytes", most))
		}
		return nil, malformed("the body broke off")
	}
	return body, s.stillKnown(r)
}

// plain says what is wrong with JSON without naming Go types or packages.
func plain(err error) string {
	if e, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		where := ""
		if e.JSONPointer != "" {
			where = " at " + string(e.JSONPointer)
		}
		if errors.Is(e, jsonv2.ErrUnknownName) {
			return "unknown member" + where
		}
		return "wrong type of value" + where
	}
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "jsontext: "), "json: ")
}

// writeJSON writes v as the whole answer.
func writeJSON(w http.ResponseWriter, status int, contentType string, v any) error {
	return tellJSON(status, contentType, v, func(p reply) error { return p.write(w) })
}

// encode is v as JSON.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("writing an answer: %w", err)
	}
	return buf.Bytes(), nil
}
