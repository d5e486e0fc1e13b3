package model

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Continuer is a [route.Codec] of a format in which Holdgate can answer the model
// itself, in the place of the agent whose calls were refused.
type Continuer interface {
	route.Rehydrator

	// Continue returns the request that goes on from an answer to body, plain
	// and as it came from the model: with the answer's turn, and the notices as
	// the results of its calls, in their order. It reports false where the
	// request cannot go on, or the answer has other calls.
	Continue(body, answer []byte, refused []wire.Refused) ([]byte, bool)

	// Join makes one plain answer of two, as clients see them.
	Join(first, next []byte) ([]byte, error)

	// Continuation begins to do so for streamed ones.
	Continuation() *wire.Continuation
}

// A continuation is the client's side of an answer that may go on: what several
// exchanges write to it becomes one response. Each of them writes after the one
// before has ended.
type continuation struct {
	http.ResponseWriter
	codec    Continuer
	stream   string             // the media type of a streamed answer
	header   http.Header        // that the exchange under way sets
	round    int                // how often the answer has gone on
	streamed *wire.Continuation // of a streamed answer, once its header is out
	failed   bool               // the exchange under way has no answer that could be joined
	passes   bool               // there is nothing to join: all passes as it is
	again    bool               // the client is to ask again: the exchange under way waits for people
	ended    bool

	// Of an answer that is a document: what was written in this round, in those
	// before, joined, and the header that goes with it.
	plain, whole []byte
	first        http.Header
}

// join makes the client's side of the exchange one that can go on, where the
// format, the request and the configuration let it.
func (e *exchange) join() {
	codec, ok := e.Target.Codec.(Continuer)
	if !ok || e.joined != nil || e.f.c.Rounds <= 0 || signed(e.R.Header) || e.Target.Message != nil {
		return // a provider keeps what was last said on a connection, which would then be another
	}
	typ := route.TypeEvents
	if f, ok := codec.(route.Framer); ok {
		typ = f.StreamType()
		if typ == route.TypeEvents && e.Stream && e.Target.URL.Query().Get("alt") != "sse" {
			return // an array that comes piece by piece
		}
	}
	e.joined = &continuation{ResponseWriter: e.W, codec: codec, stream: typ, header: make(http.Header)}
	e.W = e.joined
}

// Unwrap lets deadlines and flushes through.
func (j *continuation) Unwrap() http.ResponseWriter { return j.ResponseWriter }

// Header implements [http.ResponseWriter].
func (j *continuation) Header() http.Header { return j.header }

// WriteHeader implements [http.ResponseWriter]. The client gets one header: that
// of the first answer, at once where it is streamed.
func (j *continuation) WriteHeader(status int) {
	typ, err := route.MediaType(j.header)
	streams := err == nil && typ == j.stream
	switch {
	case j.round > 0:
		j.again = status == http.StatusServiceUnavailable && j.streamed == nil && j.header.Get("Retry-After") != ""
		j.failed = !j.again && (status != http.StatusOK || streams != (j.streamed != nil))
	case status != http.StatusOK || !streams && typ != "application/json":
		j.passes = true
		wire.WriteHeader(j.ResponseWriter, status, j.header)
	case streams:
		j.streamed = j.codec.Continuation()
		wire.WriteHeader(j.ResponseWriter, status, j.header)
	default:
		j.first = j.header
	}
}

// Write implements [http.ResponseWriter].
func (j *continuation) Write(p []byte) (int, error) {
	switch {
	case j.failed:
	case j.passes:
		return j.ResponseWriter.Write(p)
	case j.streamed == nil:
		j.plain = append(j.plain, p...)
	default:
		if out := j.streamed.Push(p); len(out) > 0 {
			if _, err := j.ResponseWriter.Write(out); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// FlushError keeps a document back until it is whole: flushed, its header would be
// out before it is set.
func (j *continuation) FlushError() error {
	if j.streamed == nil && !j.passes {
		return nil
	}
	return http.NewResponseController(j.ResponseWriter).Flush()
}

// next says that another exchange writes from now on.
func (j *continuation) next() {
	j.settle()
	j.round++
	j.header = make(http.Header)
	if j.streamed != nil {
		_, _ = j.ResponseWriter.Write(j.streamed.Next()) // a client that has gone is noticed by what comes next
	}
}

// settle joins what was written in this round to what was before. What cannot
// be joined is left away: the answer then ends as it stood.
func (j *continuation) settle() {
	switch {
	case j.failed || j.again || j.streamed != nil || j.plain == nil:
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

// finish sends what is left of the answer.
func (j *continuation) finish() error {
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
	case j.streamed != nil:
		_, err = j.ResponseWriter.Write(j.streamed.End())
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
	j := a.joined
	if j == nil || a.gone || j.passes {
		return nil
	}
	a.gone = true
	if a.out != nil {
		a.out.Close() // the next exchange gives signs of life of its own
	}
	if body, document, ok := a.nextRequest(); ok && a.R.Context().Err() == nil && (a.out == nil || a.out.Failed() == nil) {
		j.next()
		if err := a.again(body, document); errors.Is(err, steps.ErrCut) {
			return err
		}
	}
	return j.finish()
}

// again asks the model once more, in an exchange of its own.
func (a *answer) again(body []byte, document *wire.Document) error {
	r := a.R.Clone(a.R.Context())
	r.Header.Del("Content-Encoding")
	e := a.Steps.Begin(a.joined, r, a.Target)
	e.Body, e.Began = body, a.Began
	round := a.round + 1
	e.Remark = fmt.Sprintf("round %d of %d, in which Holdgate answers the model", round, a.f.c.Rounds)
	asked, err := Parse(e.Target.Codec, e.Target.URL.Path, document)
	if err != nil {
		e.Reject(http.StatusBadRequest, holdgate.RuleMalformed, err.Error())
		return nil
	}
	n := &exchange{Request: Request{e, asked}, f: a.f, round: round, joined: a.joined}
	return n.run()
}

// nextRequest returns the request that goes on from the answer; false where the
// answer is to end.
func (a *answer) nextRequest() ([]byte, *wire.Document, bool) {
	if a.round >= a.f.c.Rounds || a.basis == nil || a.came == nil || a.AgentStatus().Stopped() {
		return nil, nil, false
	}
	var refused []wire.Refused
	for _, it := range a.judged {
		if it.q.Undecided() || it.q.Released() {
			return nil, nil, false
		}
		r, ok := a.joined.codec.Refused(it.part, it.q.Verdict().Notice)
		if !ok {
			return nil, nil, false
		}
		refused = append(refused, r)
	}
	if len(refused) == 0 {
		return nil, nil, false
	}
	answer := a.came
	if a.st != nil {
		var err error
		if answer, err = a.Target.Codec.Collect(answer); err != nil {
			return nil, nil, false
		}
	}
	body, ok := a.joined.codec.Continue(a.basis, answer, refused)
	if !ok {
		a.f.c.Logger.InfoContext(a.R.Context(), "the agent's turn ends with the refusal: this request, or what the model said, is none that Holdgate can go on from", "format", a.Target.Codec.Name())
	}
	if !ok || int64(len(body)) > a.f.c.Body {
		return nil, nil, false
	}
	document, err := wire.ReadDocument(body)
	return body, document, err == nil
}

// noteCame keeps what is needed to go on from an answer with calls.
func (a *answer) noteCame(raw []byte) {
	if a.joined == nil || a.seen == 0 || a.round >= a.f.c.Rounds {
		return
	}
	a.basis, a.came = a.Body, bytes.Clone(raw)
	if a.told {
		a.basis = a.sent
	}
}
