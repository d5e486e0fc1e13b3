package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
)

// IdempotencyHeader names a POST, so that it can be sent again when its answer
// was lost: the same key, person and body within [KeepAnswers] get the same
// answer, and nothing is done twice. It is that of the IETF's draft
// httpapi-idempotency-key-header; a key without its quotes is taken too.
const IdempotencyHeader = "Idempotency-Key"

// ReplayedHeader is "true" on an answer that was given before.
const ReplayedHeader = "Idempotency-Replayed"

// KeepAnswers is how long an answer is kept under its key. Fewer are kept
// where there are more than maxAnswers of them, or more than maxKept bytes: the
// oldest go first.
const KeepAnswers = 24 * time.Hour

const (
	maxAnswers = 10_000
	maxKept    = 64 << 20 // bytes of answers in all
	maxKey     = 255      // bytes of a key
)

// A reply is an answer as it is written.
type reply struct {
	status      int
	contentType string
	body        []byte
}

func (p reply) write(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", p.contentType)
	w.WriteHeader(p.status)
	_, err := w.Write(p.body)
	return err
}

// An idempotency gives requests that are sent again the answer that they had.
// An answer is stored after what it tells of: a process that dies in between
// does the same again when asked again, and an answer to a request that the
// person has answered already is told as such.
type idempotency struct {
	st       store.Store
	digester *holdgate.Digester

	most      int // answers
	mostBytes int64

	mu      sync.Mutex
	running map[holdgate.Digest]bool

	keeping sync.Mutex // one answer is stored at a time
	counted bool
	answers int   // how many are kept
	bytes   int64 // of them
}

func newIdempotency(st store.Store, d *holdgate.Digester) *idempotency {
	return &idempotency{st: st, digester: d, most: maxAnswers, mostBytes: maxKept, running: make(map[holdgate.Digest]bool)}
}

// once does what r asks for, or gives the answer that it had. What do returns
// as an error is a problem that is kept too, unless it is Holdgate's own fault.
func (s *Server) once(w http.ResponseWriter, r *request, body []byte, do func() (any, error)) error {
	key, err := idempotencyKey(r.Header.Values(IdempotencyHeader))
	if err != nil {
		return err
	}
	if key == "" || r.by == "" {
		return s.perform(do, func(p reply) error { return p.write(w) })
	}
	ids := s.idempotency
	id := ids.digester.Fields("idempotency key", r.by, key)
	asked := ids.digester.Fields("idempotent request", r.Method, r.URL.RequestURI(), r.Header.Get(ChannelHeader), string(body))
	if !ids.begin(id) {
		return problem(http.StatusConflict, "in-progress", "In progress", "the request with this key is being worked on: ask again when it is done")
	}
	defer ids.finish(id)
	before, found, err := ids.find(r.Context(), id)
	switch {
	case err != nil:
		return err
	case found && before.Asked != asked:
		return problem(http.StatusUnprocessableEntity, "key-reused", "Key used before", "this key was used for another request: take a new one")
	case found:
		w.Header().Set(ReplayedHeader, "true")
		return reply{before.Status, before.ContentType, before.Body}.write(w)
	}
	return s.perform(do, func(p reply) error {
		// What was done stays done, whether or not its answer can be kept.
		if err := ids.keep(context.WithoutCancel(r.Context()), id, asked, p); err != nil {
			s.c.Logger.ErrorContext(r.Context(), "keeping an answer for its idempotency key", "path", r.URL.Path, "error", err)
		}
		return p.write(w)
	})
}

// perform makes a reply of what do returns. Errors that have no meaning for
// the caller it returns.
func (s *Server) perform(do func() (any, error), tell func(reply) error) error {
	out, err := do()
	if err == nil {
		return tellJSON(http.StatusOK, "application/json", out, tell)
	}
	p, known := asProblem(err)
	if !known || p.Status >= http.StatusInternalServerError {
		return err
	}
	return tellJSON(p.Status, problemType, p, tell)
}

func tellJSON(status int, contentType string, v any, tell func(reply) error) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	return tell(reply{status, contentType, body})
}

// idempotencyKey reads the header: a string of RFC 9651, or one without quotes.
func idempotencyKey(values []string) (string, error) {
	bad := malformed("%s must be one string of 1 to %d visible ASCII characters", IdempotencyHeader, maxKey)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", bad
	}
	key := strings.TrimSpace(values[0])
	if inner, quoted := strings.CutPrefix(key, `"`); quoted {
		if key, quoted = strings.CutSuffix(inner, `"`); !quoted {
			return "", bad
		}
	}
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) {
		return "", bad
	}
	return key, nil
}

// begin reports whether nobody works under the id, and takes it.
func (i *idempotency) begin(id holdgate.Digest) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running[id] {
		return false
	}
	i.running[id] = true
	return true
}

func (i *idempotency) finish(id holdgate.Digest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.running, id)
}
