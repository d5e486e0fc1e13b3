package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A Continuer is a [Codec] of a format in which Holdgate can answer the model
// itself, in the place of the agent whose calls were refused.
type Continuer interface {
	Rehydrator

	// Continue returns the request that goes on from an answer to body, plain
	// and as it came from the model: with the answer's turn, and the notices as
	// the results of its calls, in their order. It reports false where the
	// request cannot go on, or the answer has other calls.
	Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool)

	// Join makes one plain answer of two, as clients see them.
	Join(first, next []byte) ([]byte, error)

	// Seam begins to do so for streamed ones.
	Seam() *wire.Seam
}

// A joint is the client's side of an answer that may go on: what several
// exchanges write to it becomes one response. Each of them writes after the one
// before has ended.
type joint struct {
	http.ResponseWriter
	codec  Continuer
	stream string      // the media type of a streamed answer
	header http.Header // that the exchange under way sets
	round  int         // how often the answer has gone on
	seam   *wire.Seam  // of a streamed answer, once its header is out
	failed bool        // the exchange under way has no answer that could be joined
	passes bool        // there is nothing to join: all passes as it is
	again  bool        // the client is to ask again: the exchange under way waits for people
	ended  bool

	// Of an answer that is a document: what was written in this round, in those
	// before, joined, and the header that goes with it.
	plain, whole []byte
	first        http.Header
}

// join makes the client's side of the exchange one that can go on, where the
// format, the request and the configuration let it.
func (e *exchange) join(stream bool) {
	codec, ok := e.t.codec.(Continuer)
	if !ok || e.joint != nil || e.s.c.Rounds <= 0 || signed(e.r.Header) {
		return
	}
	typ := typeEvents
	if f, ok := codec.(Framer); ok {
		typ = f.StreamType()
		if typ == typeEvents && stream && e.t.url.Query().Get("alt") != "sse" {
			return // an array that comes piece by piece
		}
	}
	e.joint = &joint{ResponseWriter: e.w, codec: codec, stream: typ, header: make(http.Header)}
	e.w = e.joint
}

// Unwrap lets deadlines and flushes through.
func (j *joint) Unwrap() http.ResponseWriter { return j.ResponseWriter }

// Header implements [http.ResponseWriter].
func (j *joint) Header() http.Header { return j.header }

// WriteHeader implements [http.ResponseWriter]. The client gets one header: that
// of the first answer, at once where it is streamed.
func (j *joint) WriteHeader(status int) {
	typ, err := mediaType(j.header)
	streams := err == nil && typ == j.stream
	switch {
	case j.round > 0:
		j.again = status == http.StatusServiceUnavailable && j.seam == nil && j.header.Get("Retry-After") != ""
		j.failed = !j.again && (status != http.StatusOK || streams != (j.seam != nil))
	case status != http.StatusOK || !streams && typ != "application/json":
		j.passes = true
		wire.WriteHeader(j.ResponseWriter, status, j.header)
	case streams:
		j.seam = j.codec.Seam()
		wire.WriteHeader(j.ResponseWriter, status, j.header)
	default:
		j.first = j.header
	}
}

// Write implements [http.ResponseWriter].
func (j *joint) Write(p []byte) (int, error) {
	switch {
	case j.failed:
	case j.passes:
		return j.ResponseWriter.Write(p)
	case j.seam == nil:
		j.plain = append(j.plain, p...)
	default:
		if out := j.seam.Push(p); len(out) > 0 {
			if _, err := j.ResponseWriter.Write(out); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// FlushError keeps a document back until it is whole: flushed, its header would be
// out before it is set.
func (j *joint) FlushError() error {
	if j.seam == nil && !j.passes {
		return nil
	}
	return http.NewResponseController(j.ResponseWriter).Flush()
}

// next says that another exchange writes from now on.
func (j *joint) next() {
	j.settle()
	j.round++
	j.header = make(http.Header)
	if j.seam != nil {
		_, _ = j.ResponseWriter.Write(j.seam.Next()) // a client that has gone is noticed by what comes next
	}
}

// settle joins what was written in this round to what was before. What cannot
// be joined is left away: the answer then ends as it stood.
func (j *joint) settle() {
	switch {
	case j.failed || j.again || j.seam != nil || j.plain == nil:
	case j.whole == nil:
		j.whole = j.plain
	default:
		if both, err := j.codec.Join(j.whole, j.plain); err == nil {
			j.whole = both
		}
	}
	j.plain, j.failed = nil, false
}

// errAgain says that the client was told to ask again.
var errAgain = errors.New("the answer goes on once people have decided, and the client was told to ask again")

// end sends what is left of the answer.
func (j *joint) end() error {
	if j.again {
		if !j.ended {
			j.ended = true
			wire.WriteHeader(j.ResponseWriter, http.StatusServiceUnavailable, j.header)
			_, _ = j.ResponseWriter.Write(j.plain) // a client that has gone asks again all the same
		}
		return errAgain
	}
	if j.ended || j.passes {
		return nil
	}
	j.ended = true
	j.settle()
	var err error
	switch {
	case j.seam != nil:
		_, err = j.ResponseWriter.Write(j.seam.End())
	case j.whole != nil:
		j.first.Set("Content-Length", strconv.Itoa(len(j.whole)))
		wire.WriteHeader(j.ResponseWriter, http.StatusOK, j.first)
		_, err = j.ResponseWriter.Write(j.whole)
	}
	if err != nil {
		return fmt.Errorf("sending the end of an answer: %w", err)
	}
	return http.NewResponseController(j.ResponseWriter).Flush()
}

// goOn answers the model in the agent's place where all calls of the answer were
// refused, and lets what it says then follow, in an exchange of its own. Then
// the client gets the end of the answer. It does nothing the second time.
func (a *answer) goOn() error {
	j := a.joint
	if j == nil || a.gone || j.passes {
		return nil
	}
	a.gone = true
	if a.out != nil {
		a.out.Close() // the next exchange gives signs of life of its own
	}
	if body, ok := a.nextRequest(); ok && a.r.Context().Err() == nil && (a.out == nil || a.out.Failed() == nil) {
		j.next()
		r := a.r.Clone(a.r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Del("Content-Encoding")
		n := &exchange{s: a.s, w: j, r: r, t: a.t, began: a.began, round: a.round + 1, joint: j}
		n.remark = fmt.Sprintf("round %d of %d, in which Holdgate answers the model", n.round, a.s.c.Rounds)
		n.model()
	}
	return j.end()
}

// nextRequest returns the request that goes on from the answer; false where the
// answer is to end.
func (a *answer) nextRequest() ([]byte, bool) {
	if a.round >= a.s.c.Rounds || a.basis == nil || a.came == nil || a.standing().Stopped() {
		return nil, false
	}
	var refused []wire.Refused
	for _, it := range a.judged {
		if it.q.Open() || it.q.Released() {
			return nil, false
		}
		r, ok := a.joint.codec.Refused(it.part, it.q.Verdict().Notice)
		if !ok {
			return nil, false
		}
		refused = append(refused, r)
	}
	if len(refused) == 0 {
		return nil, false
	}
	answer := a.came
	if a.st != nil {
		var err error
		if answer, err = a.t.codec.Collect(answer); err != nil {
			return nil, false
		}
	}
	body, ok := a.joint.codec.Continue(a.basis, answer, refused)
	if !ok {
		a.s.c.Logger.Info("the agent's turn ends with the refusal: this request, or what the model said, is none that Holdgate can go on from", "format", a.t.codec.Name())
	}
	if !ok || wire.Strict(body) != nil || int64(len(body)) > a.s.c.Limits.Body {
		return nil, false
	}
	return body, true
}

// noteCame keeps what is needed to go on from an answer with calls.
func (a *answer) noteCame(raw []byte) {
	if a.joint == nil || a.calls == 0 || a.round >= a.s.c.Rounds {
		return
	}
	a.basis, a.came = a.body, bytes.Clone(raw)
	if a.told {
		a.basis = a.sent
	}
}
