package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/acp"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A heldCall is a request of the agent's that is not decided.
type heldCall struct {
	msg acp.Message
	end context.CancelFunc // of asking about it

	// These are guarded by the link's mu.
	request  string // that people see; empty where they are not asked
	digest   holdgate.Digest
	question string // the id of what the editor shows; empty where it shows nothing
	shown    string // the latest such id, also once it was answered
	over     bool
}

// judge asks the sidecar about a request, and returns when it is decided or people are
// asked: what follows is not to come before it.
func (a *agentLink) judge(m acp.Message) {
	ctx, end := context.WithCancel(a.ctx)
	h := &heldCall{msg: m, end: end}
	if m.IsRequest() {
		a.mu.Lock()
		_, twice := a.held[m.Key()]
		if !twice {
			a.held[m.Key()] = h
		}
		a.mu.Unlock()
		if twice {
			end()
			a.toAgent.put(acp.Error(m.ID, acp.CodeInvalidRequest, wire.Mark+"a request with this id is not answered yet"))
			return
		}
	}
	known := make(chan struct{})
	a.work.Go(func() {
		defer end()
		once := func() {
			select {
			case <-known:
			default:
				close(known)
			}
		}
		defer once()
		a.settle(ctx, h, once)
	})
	<-known
}

// settle asks until the request is decided, over as many sidecars as it takes. known is
// called when people are asked.
func (a *agentLink) settle(ctx context.Context, h *heldCall, known func()) {
	gone := time.Now() // since when nothing was heard of a sidecar
	for {
		var final *acp.Event
		heard := false
		err := a.ask(ctx, h, func(e acp.Event) {
			if e.Status == acp.StatusWaiting {
				a.show(h, e)
				known()
				return
			}
			final = &e
		}, func() { heard = true; a.reached() })
		if heard {
			gone = time.Now()
		}
		refused, _ := errors.AsType[*askError](err)
		switch {
		case final != nil:
			a.decided(h, *final)
			return
		case ctx.Err() != nil:
			return
		case refused != nil:
			a.decided(h, acp.Event{Status: acp.StatusDeny, Text: wire.Mark + "This call was not run: the sidecar refuses to decide it: " + refused.Error()})
			return
		case a.isAway(gone):
			a.decided(h, acp.Event{Status: acp.StatusDeny, Text: wire.Mark + "This call was not run: Holdgate's sidecar, which decides about it, cannot be reached (" +
				err.Error() + "). Tell the user to start it (holdgate serve), and try again then."})
			return
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

// isAway reports whether the sidecar has been gone for so long that calls are refused.
func (a *agentLink) isAway(since time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.away && time.Since(since) >= patience {
		a.away = true
		a.o.Tell("the sidecar has gone; what the agent asks for is refused until there is one again")
	}
	return a.away
}

func (a *agentLink) reached() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		a.away = false
		a.o.Tell("the sidecar is there again")
	}
}

// show asks the editor's user what people are asked as well.
func (a *agentLink) show(h *heldCall, e acp.Event) {
	a.mu.Lock()
	if h.over || e.Request == "" || e.Request == h.request {
		a.mu.Unlock()
		return
	}
	hidden := a.hide(h, true)
	h.request, h.digest, h.question = e.Request, e.Digest, "holdgate-"+rand.Text()
	h.shown = h.question
	a.questions[wire.Quote(h.question)] = h
	line := h.msg.Question(acp.Question{ID: h.question, Request: e.Request, Summary: e.Summary, Text: e.Text, Approve: e.Approve && a.o.Vote != nil})
	a.mu.Unlock()
	a.tell(hidden...)
	a.tell(line)
}

// tell writes lines to the editor. mu is not held, for the editor may be slow to read.
func (a *agentLink) tell(lines ...[]byte) {
	for _, line := range lines {
		a.toEditor.put(line)
	}
}

// hide returns what takes back what the editor shows of a call. mu is held.
func (a *agentLink) hide(h *heldCall, goesOn bool) (lines [][]byte) {
	if h.question != "" {
		id := wire.Quote(h.question)
		delete(a.questions, id)
		lines, h.question = append(lines, acp.Withdraw([]byte(id))), ""
	}
	if h.shown != "" {
		lines = append(lines, acp.Ended(h.msg.Session(), h.shown, goesOn))
	}
	return lines
}

// finish takes a call out of those that are undecided, and reports whether it was there.
func (a *agentLink) finish(h *heldCall, goesOn bool) bool {
	a.mu.Lock()
	if h.over {
		a.mu.Unlock()
		return false
	}
	h.over = true
	if a.held[h.msg.Key()] == h {
		delete(a.held, h.msg.Key())
	}
	hidden := a.hide(h, goesOn)
	a.mu.Unlock()
	a.tell(hidden...)
	return true
}

// decided does what was decided.
func (a *agentLink) decided(h *heldCall, e acp.Event) {
	if !a.finish(h, e.Status == acp.StatusAllow) {
		return
	}
	m := h.msg
	if e.Status == acp.StatusAllow {
		if e.Text != "" {
			a.toEditor.put(acp.Says(m.Session(), e.Text))
		}
		switch answer, ok := m.Allowed(); {
		case ok && !m.Asks():
			a.toAgent.put(answer)
			return
		case m.Method == acp.MethodPermission && m.Asks():
			a.toEditor.put(m.Asked())
			return
		case m.Method == acp.MethodPermission:
			e.Text = wire.Mark + "This call was not run: the agent offers no answer that allows it once."
		case e.Arguments == nil:
			a.toEditor.put(m.Raw)
			return
		default:
			line, err := m.WithArguments(e.Arguments)
			if err == nil {
				a.toEditor.put(line)
				return
			}
			e.Text = wire.Mark + "This call was not run: its edited arguments cannot be sent: " + err.Error()
		}
	}
	if m.IsRequest() {
		a.toAgent.put(m.Refused(e.Text))
	}
	if s := m.Session(); s != "" {
		a.toEditor.put(acp.Says(s, e.Text))
	}
}

// drop ends a call that nobody needs to decide any more.
func (a *agentLink) drop(h *heldCall, why string, answer []byte) {
	if !a.finish(h, false) {
		return
	}
	a.toAgent.put(answer)
	a.work.Go(func() {
		defer h.end()
		a.withdraw(h, why)
	})
}

// answered is the call that an answer of the editor's is about; nil where it is not about
// a question of Holdgate's.
func (a *agentLink) answered(m acp.Message) *heldCall {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.questions[m.Key()]
	if h != nil {
		delete(a.questions, m.Key())
		h.question = ""
	}
	return h
}

// chosen takes the answer of the editor's user to a vote. An answer that does not count
// leaves the question to the others.
func (a *agentLink) chosen(h *heldCall, m acp.Message) {
	a.mu.Lock()
	request, digest, over := h.request, h.digest, h.over
	a.mu.Unlock()
	choice := m.Chosen()
	switch {
	case over:
		return
	case m.Cancels():
		a.drop(h, "the turn was cancelled in the editor", h.msg.Cancelled())
		return
	case choice == acp.ChoseNothing:
		return
	}
	err := errors.New("there is no token of a person")
	if a.o.Vote != nil {
		ctx, cancel := context.WithTimeout(a.ctx, patience)
		defer cancel()
		err = a.o.Vote(ctx, request, digest, choice == acp.ChoseAllow)
	}
	switch {
	case err == nil: // what becomes of it comes from the sidecar
	case choice == acp.ChoseReject:
		why := wire.Mark + "This call was not run: it was rejected in the editor (request " + request + ")."
		a.drop(h, "rejected in the editor", h.msg.Refused(why))
	default:
		a.toEditor.put(acp.Says(h.msg.Session(), wire.Mark+"Your answer does not count: "+strings.TrimSpace(err.Error())+
			". The call still waits. To approve it: holdgate open "+request))
	}
}
