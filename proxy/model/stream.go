package model

import (
	"errors"
	"fmt"
	"io"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/keepalive"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A noticer is a stream that can show the agent's user a line while it waits.
type noticer interface {
	Notice(text string) []byte
}

// errStopped ends an answer whose agent is stopped.
var errStopped = errors.New("the agent is stopped")

// errUnwritten ends a stream whose calls could not be stored or logged.
var errUnwritten = errors.New("holdgate cannot store or log at the moment")

// readStream reads a streamed answer and reports whether something of it is left
// to deliver. What comes before the first held call flows at once; what follows
// it keeps its place and waits.
func (a *answer) readStream(st wire.Stream, src io.Reader) (left bool, err error) {
	out := keepalive.New(a.R.Context(), a.W, a.f.c.Logger, st.Idle, a.f.c.Idle)
	a.st, a.out = st, out
	a.header.Del("Content-Length")
	out.Start(a.status, a.header)

	mem := keepalive.NewMemory()
	err = a.flow(st, out, src, mem)
	if !a.counted {
		a.used(st.Usage(), false)
	}
	if err != nil {
		return false, a.failStream(err)
	}
	a.noteCame(mem.Raw.Bytes())
	if a.stored() {
		if err := a.keep(mem.Raw.Bytes(), true); err != nil {
			return false, a.failStream(errors.Join(errUnwritten, err))
		}
	}
	mem.Give()
	return len(a.items) > 0 || a.stored(), nil
}

// deliverStream waits for the people while the client is kept in line, and then
// lets the rest of the answer go on.
func (a *answer) deliverStream() error {
	err := a.waitStream()
	switch {
	case a.R.Context().Err() != nil, a.out.Failed() != nil:
		return nil // nothing has been used yet: the outcome waits for the same call
	case err != nil && a.f.c.Waits.Err() != nil:
		return a.interrupted()
	case err == nil:
		err = a.x.Use(a.R.Context(), a.calls()...)
	}
	if err != nil {
		return a.failStream(errors.Join(errUnwritten, err))
	}
	a.remember(a.items)
	a.out.Render(func() []byte { return renderAll(a.st, a.items) })
	err = a.out.Failed()
	a.out.Close() // nothing comes after the end
	return a.finish(err)
}

// interrupted ends a stream that waits when the sidecar ends. Nothing of what waits
// has been sent or used, so that the client is to ask again: where its way to do so
// is known to be another than that of a stream which is cut off, it ends in that.
func (a *answer) interrupted() error {
	if a.joined == nil && steps.AsksAfterEnd(a.R) {
		return nil
	}
	a.f.c.Logger.WarnContext(a.R.Context(), "cutting off an answer that waits for people: its client asks again, or its agent has to be started again",
		"agent", a.Target.Caller.Agent.ID, "client", a.R.UserAgent())
	return steps.ErrCut
}

// flow reads the answer to its end, judges its calls, and sends on what comes
// before the first one that is held.
func (a *answer) flow(st wire.Stream, out *keepalive.Sender, src io.Reader, mem *keepalive.Memory) error {
	come := keepalive.ReadBurst(src, mem)
	defer come.Stop(a.cut)
	for {
		buf, rerr := come.Next()
		if rerr != nil && !errors.Is(rerr, io.EOF) {
			return a.orStopped(fmt.Errorf("the upstream answer broke off: %w", rerr))
		}
		mem.Raw.Write(buf)
		var parts []wire.Part
		var err error
		out.Exclusively(func() {
			if rerr == nil {
				parts, err = st.Push(buf)
			} else {
				parts, err = st.End()
			}
		})
		if over := err == nil && rerr != nil; !a.counted && (over || st.UsedAll()) {
			a.used(st.Usage(), true) // before the client, which may ask again at once, has the last of it
		}
		if t, ok := st.(route.Taker); ok && len(a.answers) > 0 && t.Took() {
			a.taken() // before the client knows that it may go on
		}
		if err := errors.Join(a.takeAll(st, out, parts), err); err != nil || rerr != nil {
			return err
		}
	}
}

func (a *answer) takeAll(st wire.Stream, out *keepalive.Sender, parts []wire.Part) error {
	if len(parts) == 0 {
		return nil
	}
	flowing := make([]item, 0, len(parts))
	for _, p := range parts {
		it := item{part: p}
		switch {
		case p.Call != nil && p.Observed:
			if err := a.x.Observe(a.Complete(*p.Call)); err != nil {
				return errors.Join(errUnwritten, err)
			}
		case p.Call != nil:
			it.q = a.judgePart(p)
		}
		waits := it.q != nil && (it.q.Undecided() || a.x.MustWait(a.f.c.Life, it.q))
		if waits && len(a.items) == 0 {
			// Everything before the first call that waits goes out before it does.
			a.send(st, out, flowing)
			flowing = nil
			a.notice(st, out, it.q)
		}
		if waits || len(a.items) > 0 || a.held.Load() {
			a.items = append(a.items, it)
		} else {
			flowing = append(flowing, it)
		}
	}
	a.send(st, out, flowing)
	return nil
}

func (a *answer) send(st wire.Stream, out *keepalive.Sender, items []item) {
	if len(items) == 0 {
		return
	}
	a.remember(items)
	out.Render(func() []byte { return renderAll(st, items) })
}

func (a *answer) notice(st wire.Stream, out *keepalive.Sender, q *gate.Evaluation) {
	if n, ok := st.(noticer); ok && a.f.c.Notice && q.Undecided() {
		out.Render(func() []byte { return n.Notice(gate.NoticeWaiting(q)) })
	}
}

func renderAll(st wire.Stream, items []item) []byte {
	if len(items) == 1 {
		return renderOne(st, items[0])
	}
	size := 0
	for _, it := range items {
		size += len(it.part.Bytes)
	}
	b := make([]byte, 0, size)
	for _, it := range items {
		b = append(b, renderOne(st, it)...)
	}
	return b
}

func renderOne(st wire.Stream, it item) []byte {
	v := holdgate.Verdict{Release: true}
	if it.q != nil {
		v = it.q.Verdict()
	}
	return st.Render(it.part, v)
}

// waitStream waits until every call is decided, the client goes, or the server
// shuts down.
func (a *answer) waitStream() error {
	ctx, end := a.Steps.Waiting(a.R.Context())
	defer end()
	a.out.OnFail(end)
	return a.x.Wait(ctx, a.calls()...)
}

// failStream tells the client in mid-stream that the rest does not come. What
// was held so far stays pending: the client will ask again.
func (a *answer) failStream(err error) error {
	a.came = nil // it does not go on
	if a.R.Context().Err() != nil {
		return nil
	}
	rule, told := holdgate.RuleMalformed, err.Error()
	switch {
	case errors.Is(err, errStopped):
		rule = holdgate.RuleStopped
	case errors.Is(err, errUnwritten):
		rule, told = holdgate.RuleStore, a.f.c.Unable(a.R.Context(), errUnwritten.Error(), err)
	case errors.Is(err, wire.ErrTooLarge):
		rule = holdgate.RuleTooLarge
	}
	a.Report(rule, err.Error())
	message := "holdgate ended this answer: " + holdgate.Bounded(told, 300)
	a.out.Render(func() []byte { return a.st.Fail(message) })
	if a.out.Failed() == nil {
		return nil
	}
	return steps.ErrCut
}
