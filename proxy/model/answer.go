package model

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/keepalive"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/upstream"
	"github.com/holdgate/holdgate/proxy/wire"
)

// fetch sends the request upstream, reads its answer, and reports whether
// something of it is left to deliver. The upstream answer is cut off when the
// client goes, unless something in it is held: then it is read to its end, for
// a provider's stream does not last as long as people may take. Nothing of the
// upstream is left when ask returns: people may take hours. converses says that the
// request is of the conversation that people follow.
func (a *answer) fetch(converses bool) (left bool, err error) {
	ctx, cancel := context.WithCancel(trace.Carry(a.f.c.Life, a.R.Context()))
	defer cancel()
	a.cut = cancel
	stop := context.AfterFunc(a.R.Context(), func() {
		if a.held.Load() {
			a.x.Held().Detach()
			return
		}
		cancel()
	})
	defer stop()
	defer a.f.c.Gate.WhenStopped(a.Target.Caller, cancel)()
	unsaid := func() {}
	if converses {
		unsaid = a.instruct(trace.Carry(a.f.c.Life, a.R.Context()))
	}
	body := a.Body
	if a.sent != nil {
		body = a.sent
	}
	resp, err := a.Send(ctx, body)
	if err == nil && resp.StatusCode/100 == 2 || ctx.Err() != nil {
		defer a.lost()
	}
	if err != nil {
		unsaid()
		a.Failed(err)
		return false, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		unsaid()
	}
	resp.Request = nil // it has the request's body, and may be kept as long as the answer's
	typ, err := upstream.AnswerType(resp, true)
	if err != nil {
		a.Malformed(err)
		return false, nil
	}
	src, err := upstream.Decoded(resp, a.f.c.Body)
	if err != nil {
		a.Malformed(fmt.Errorf("reading the upstream answer: %w", err))
		return false, nil
	}
	a.status, a.header = resp.StatusCode, wire.EndToEnd(resp.Header)
	if resp.StatusCode/100 != 2 {
		a.failure(src)
		return false, nil
	}
	st := a.streamAs(typ, a.Stream)
	if st != nil && !a.Stream {
		// A client that asked for JSON reads JSON, whatever it is called.
		var events bool
		if src, events = sniff(src); !events {
			st = nil
		}
	}
	if st != nil {
		return a.readStream(st, src)
	}
	return a.readPlain(src), nil
}

// streamAs returns a reader for an answer of this media type, or nil where it
// is one document. asked says whether the client asked for a stream.
func (e *exchange) streamAs(typ string, asked bool) wire.Stream {
	if typ == route.TypeEvents {
		return e.Target.Codec.Stream()
	}
	if f, ok := e.Target.Codec.(route.Framer); ok && (asked || e.typeTells() && typ == f.StreamType()) {
		return f.StreamAs(typ)
	}
	return nil
}

// typeTells reports whether nothing in the request says if a stream is wanted, so
// that the answer's type does.
func (e *exchange) typeTells() bool {
	p, ok := e.Target.Codec.(route.PathTeller)
	return ok && !p.PathTells(e.Target.URL.Path)
}

// streamType is the media type of what the codec makes of a plain answer.
func (e *exchange) streamType() string {
	if f, ok := e.Target.Codec.(route.Framer); ok {
		return f.StreamType()
	}
	return route.TypeEvents + "; charset=utf-8"
}

// sniff reports whether what is called an event stream may be one. No line of
// one begins like a JSON object or array; a client that looks for calls there
// would find them where a reader of events sees none.
func sniff(src io.Reader) (io.Reader, bool) {
	br := bufio.NewReaderSize(src, 16<<10)
	for n := 1; ; n++ {
		b, err := br.Peek(n)
		if err != nil {
			return br, !errors.Is(err, bufio.ErrBufferFull)
		}
		switch b[n-1] {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // blanks, and the bytes of a byte order mark
		case '{', '[':
			return br, false
		default:
			return br, true
		}
	}
}

// replay takes up an answer that an earlier connection asked for, and reports
// whether something of it is left to deliver. The client may want it in the
// other form now.
func (a *answer) replay(k approvals.Answer) (left bool, err error) {
	stream := a.Stream
	body := k.Body
	header := k.Header.Clone()
	if a.typeTells() {
		stream = k.Streamed
	}
	if k.Streamed != stream {
		if stream {
			body, err = a.Target.Codec.Expand(k.Body)
			header.Set("Content-Type", a.streamType())
		} else {
			body, err = a.Target.Codec.Collect(k.Body)
			header.Set("Content-Type", "application/json")
		}
		header.Del("Content-Length")
	}
	if err != nil {
		a.Malformed(fmt.Errorf("turning the stored answer into the form asked for: %w", err))
		return false, nil
	}
	a.status, a.header, a.kept = k.Status, header, true
	if !stream {
		return a.readPlain(bytes.NewReader(body)), nil
	}
	typ, err := route.MediaType(header)
	st := a.streamAs(typ, true)
	if err != nil || st == nil {
		a.Malformed(fmt.Errorf("the stored answer of type %q is no stream: %w", typ, err))
		return false, nil
	}
	return a.readStream(st, bytes.NewReader(body))
}

// rung is how the client waits for what is held of the answer.
func (a *answer) rung() gate.Rung {
	if a.out != nil {
		return gate.RungStream
	}
	return gate.RungLine
}

// deliver waits until all of the answer is decided, and takes it to the client.
func (a *answer) deliver() error {
	if a.out != nil {
		return a.deliverStream()
	}
	return a.deliverPlain()
}

// close ends the connection's part in the answer, and what a streamed one does by
// itself.
func (a *answer) close() {
	if a.out != nil {
		a.out.Close()
	}
	if a.x != nil {
		a.x.Leave()
	}
}

// An answer is a model's answer on its way to the client.
type answer struct {
	*exchange
	status int
	header http.Header
	held   atomic.Bool // something in it is held, or may be in a moment: it must be read to its end
	cut    func()      // ends the reading of it
	kept   bool        // it is in the store already

	counted bool // what it has used is noted

	// Of an answer that was read, one of two: how it goes on to the client as a
	// stream, or whole.
	st  wire.Stream
	out *keepalive.Sender
	doc wire.Answer

	seen   int // how many calls there have been
	judged []item

	// Of an answer that may go on: the request, and what came.
	basis, came []byte
	gone        bool // whether it does is settled
	items       []item
}

// An item is what waits behind the first held call: parts in their order.
type item struct {
	part wire.Part
	q    *gate.Evaluation // nil where the part is no call to decide
}

// stored reports whether the exchange is in the store, so that its end must be
// recorded there.
func (a *answer) stored() bool { return a.kept || a.held.Load() }

// calls returns those among the items.
func (a *answer) calls() []*gate.Evaluation {
	var qs []*gate.Evaluation
	for _, it := range a.items {
		if it.q != nil {
			qs = append(qs, it.q)
		}
	}
	return qs
}

// judgePart decides a part that is a call. A call that could not be written
// down is refused.
func (a *answer) judgePart(p wire.Part) *gate.Evaluation {
	c := a.Complete(*p.Call)
	c.Position = a.seen
	a.seen++
	q := &gate.Evaluation{Call: c, Fixed: p.Fixed}
	if a.joined != nil {
		a.judged = append(a.judged, item{part: p, q: q})
	}
	before := a.held.Swap(true) // while it is being decided, for the client may leave at any moment
	a.x.Asked(p.Call)
	if err := a.x.Decide(trace.Carry(a.f.c.Life, a.R.Context()), q); err != nil {
		a.x.Fail(a.R.Context(), q, err)
	}
	if q.Undecided() {
		a.x.Became(p.Call, q)
	}
	if q.Undecided() || before {
		return q
	}
	a.held.Store(false)
	if a.R.Context().Err() != nil {
		a.cut()
	}
	return q
}

// keep stores the whole answer and withdraws what an earlier, unfinished
// answer had asked.
func (a *answer) keep(raw []byte, streamed bool) error {
	ctx := context.WithoutCancel(a.R.Context())
	if !a.kept {
		kept, err := a.x.Keep(ctx, approvals.Answer{Status: a.status, Header: a.header, Body: raw, Streamed: streamed}, a.calls())
		if err != nil || !kept {
			return err
		}
		a.kept = true
	}
	if err := a.x.CatchUp(ctx, a.calls()...); err != nil {
		return err
	}
	var ids []string
	for _, q := range a.calls() {
		if q.Request().ID != "" {
			ids = append(ids, q.Request().ID)
		}
	}
	if err := a.x.Held().Settle(ctx, ids); err != nil {
		return err
	}
	a.slim()
	return nil
}

// slim lets go of what nobody needs while people decide, which may take hours:
// the request was sent, what was asked is in the store, and what was read of
// the answer may lie in a buffer of many times its size.
func (a *answer) slim() {
	a.Asked, a.sent, a.cut = Asked{Conversation: a.Conversation}, nil, func() {}
	if a.out != nil {
		a.header = nil // the client has it
	}
	a.items = slices.Clone(a.items)
	for i := range a.items {
		a.items[i].part.Bytes = bytes.Clone(a.items[i].part.Bytes)
		if q := a.items[i].q; q != nil {
			q.Slim()
		}
	}
}

// readPlain reads an answer that is one JSON document, judges its calls, and
// reports whether it is to be delivered.
func (a *answer) readPlain(src io.Reader) bool {
	raw, err := io.ReadAll(src)
	if err != nil {
		a.broken(err)
		return false
	}
	if err := wire.Strict(raw); err != nil {
		a.Malformed(fmt.Errorf("the upstream answer is refused because two readers could take it differently: %w", err))
		return false
	}
	doc, err := a.Target.Codec.Answer(raw)
	if err != nil {
		a.Malformed(fmt.Errorf("the upstream answer cannot be understood: %w", err))
		return false
	}
	a.used(doc.Usage(), true)
	if c, ok := a.Target.Codec.(route.Converser); ok && len(a.answers) > 0 && c.Took(raw) {
		a.taken()
	}
	for _, p := range doc.Calls() {
		if p.Observed {
			if err := a.x.Observe(a.Complete(*p.Call)); err != nil {
				a.Unable("a call that the provider runs could not be noted", err)
				return false
			}
			a.items = append(a.items, item{part: p})
			continue
		}
		a.items = append(a.items, item{part: p, q: a.judgePart(p)})
	}
	a.noteCame(raw)
	if a.stored() {
		if err := a.keep(raw, false); err != nil {
			a.Unable("the answer could not be stored", err)
			return false
		}
	}
	a.doc = doc
	return true
}

// deliverPlain takes an answer that is one JSON document to the client.
func (a *answer) deliverPlain() error {
	if (a.stored() || !a.AgentStatus().Running()) && !a.await() {
		return nil
	}
	if err := a.x.Use(a.R.Context(), a.calls()...); err != nil {
		a.Unable("the approval could not be used", err)
		return nil
	}
	verdicts := make([]holdgate.Verdict, len(a.items))
	for i, it := range a.items {
		verdicts[i] = holdgate.Verdict{Release: true}
		if it.q != nil {
			verdicts[i] = it.q.Verdict()
		}
	}
	a.remember(a.items)
	return a.finish(a.writePlain(a.doc.Render(verdicts)))
}

// await waits for what is held of an answer that is one document, before any header
// has been sent.
func (a *answer) await() bool {
	ctx, end := a.Patience()
	defer end()
	err := a.x.Wait(ctx, a.calls()...)
	switch {
	case err == nil:
		return true
	case a.R.Context().Err() != nil: // the client has gone; what is pending stays
	case ctx.Err() != nil:
		a.x.Waits(gate.RungAgain, a.calls()...)
		a.W.Header().Set("Retry-After", "1") // clients ask again on this, and on the status
		a.Refuse(http.StatusServiceUnavailable, a.x.WaitsFor(a.calls())+": ask again")
	default:
		a.Unable("the answer of people could not be waited for", err)
	}
	return false
}

func (a *answer) writePlain(body []byte) error {
	a.header.Set("Content-Length", strconv.Itoa(len(body)))
	wire.WriteHeader(a.W, a.status, a.header)
	if _, err := a.W.Write(body); err != nil {
		return err
	}
	return http.NewResponseController(a.W).Flush()
}

// finish records the end of an exchange of which something was stored.
func (a *answer) finish(err error) error {
	if err == nil {
		err = a.goOn()
	}
	if !a.stored() {
		return cutOnly(err)
	}
	if err == nil {
		err = a.R.Context().Err()
	}
	if err != nil {
		a.x.Done(a.R.Context(), false, "the connection broke while the answer was sent: "+err.Error())
		return cutOnly(err)
	}
	a.x.Done(a.R.Context(), true, "")
	return nil
}

// cutOnly is an error that the door must know of.
func cutOnly(err error) error {
	if errors.Is(err, steps.ErrCut) {
		return err
	}
	return nil
}

// broken ends a plain answer whose upstream failed before it was whole.
func (a *answer) broken(err error) {
	if errors.Is(err, wire.ErrTooLarge) {
		a.Reject(http.StatusBadGateway, holdgate.RuleTooLarge, fmt.Sprintf("the upstream answer is larger than %d MiB decoded", a.f.c.Body>>20))
		return
	}
	a.Failed(err)
}
