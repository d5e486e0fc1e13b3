package model

import (
	"fmt"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An exchange is one model request and its answer.
type exchange struct {
	Request

	f       *Flow
	x       *gate.Exchange
	sent    []byte         // the body as it goes on, where something was put in; else nil
	told    bool           // people's words are in sent
	answers []wire.Refused // calls in the conversation that have their results in this request
	joined  *continuation  // the client's side, where the answer may go on
	round   int            // how often it has
}

// run takes the exchange to its end: all that can be done without people, and then
// what is left once they have decided.
func (e *exchange) run() error {
	a := &answer{exchange: e, cut: func() {}}
	parked := false
	defer func() {
		if !parked {
			a.close()
		}
	}()
	left, err := a.get()
	if left {
		a.x.Waits(a.rung(), a.calls()...)
		if parked, err = a.park(); parked || err != nil {
			return err
		}
		err = a.deliver()
	}
	if err != nil {
		return err
	}
	return cutOnly(a.goOn()) // nothing of it is stored, so there is no end to record
}

// get has the request permitted and sent, reads its answer, and reports whether
// something of that is left to deliver. Otherwise the client has been answered, or has
// gone.
func (a *answer) get() (left bool, err error) {
	if !a.Admit() {
		return false, nil
	}
	a.join()
	x, err := a.f.c.Gate.Enter(a.R.Context(), a.From(), a.Key)
	if err != nil {
		a.Reject(http.StatusServiceUnavailable, holdgate.RuleStore, a.f.c.Unable(a.R.Context(), "the queue cannot be read", err))
		return false, nil
	}
	a.x = x
	kept, whole, err := x.Held().Kept(a.R.Context())
	if err != nil {
		a.Reject(http.StatusServiceUnavailable, holdgate.RuleStore, a.f.c.Unable(a.R.Context(), "the stored answer cannot be read", err))
		return false, nil
	}
	if whole {
		return a.replay(kept)
	}
	a.rehydrate(a.R.Context())
	converses := false
	if m := a.Call.Model; m != nil {
		if s, err := x.Session(a.f.c.Life); err == nil {
			converses = s.Converses(len(m.Tools) > 0)
		}
	}
	a.match()
	if !a.Permitted(a.Asked.Call) {
		return false, nil
	}
	if m := a.Call.Model; m != nil {
		x.WentOn(m)
	}
	return a.fetch(converses)
}

// orStopped is why an answer broke off, where that is not Holdgate's own doing.
func (e *exchange) orStopped(err error) error {
	if s := e.AgentStatus(); s.Stopped() {
		return fmt.Errorf("%w (%s)", errStopped, holdgate.OneLine(s.String(), gate.MaxWords))
	}
	return err
}
