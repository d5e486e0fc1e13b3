package gate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	maxHookedCalls = 512  // of one session
	maxTaskText    = 8000 // bytes
)

// hooked remembers what came by at agents' hooks in this process: the calls, so that their
// results can be told from others and nobody is asked twice, and what agents' users asked for.
// All of it is the agents' own word. It is safe for concurrent use.
type hooked struct {
	mu       sync.Mutex
	sessions map[sessionOf]*hookedSession
}

// A hookedSession is one whose agent has a hook.
type hookedSession struct {
	calls []*hookedCall // the oldest first
	task  string
	// begun says that a call of the session, or its task, came by in this process; full, that
	// calls had no room.
	begun, full bool
	used        time.Time
}

// A hookedCall is one that was about to run.
type hookedCall struct {
	names             []callName // as the agent made it, and as it goes on
	goesOn            []callName // those of what people let go on
	is                fate
	where             string // the program, and the folder that it says it is in
	request, exchange string
	people            bool // have let it go on, and its agent has not asked its own user since
	at                time.Time
}

// of returns a session, and makes room for it.
func (h *hooked) of(who approvals.Caller) *hookedSession {
	k := sessionOf{who.Agent.ID, who.Session.ID}
	s := h.sessions[k]
	if s == nil {
		if h.sessions == nil {
			h.sessions = make(map[sessionOf]*hookedSession)
		}
		if len(h.sessions) >= maxSessions {
			var oldest sessionOf
			var at time.Time
			for k, s := range h.sessions {
				if at.IsZero() || s.used.Before(at) {
					oldest, at = k, s.used
				}
			}
			delete(h.sessions, oldest)
		}
		s = new(hookedSession)
		h.sessions[k] = s
	}
	s.used = time.Now()
	return s
}

func (f From) where() string { return f.Program + "\x00" + f.Said }

// came notes a call that was about to run.
func (h *hooked) came(who approvals.Caller, c *hookedCall) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(who)
	s.begun, c.at = true, time.Now()
	if len(s.calls) >= maxHookedCalls {
		s.full, s.calls = true, s.calls[1:]
	}
	s.calls = append(s.calls, c)
}

// find is the place of the call that has one of these names, or -1: the oldest with the first.
func (s *hookedSession) find(names []callName, is func(*hookedCall) bool) int {
	for _, name := range names {
		if i := slices.IndexFunc(s.calls, func(c *hookedCall) bool { return slices.Contains(c.names, name) && is(c) }); i >= 0 {
			return i
		}
	}
	return -1
}

// approved reports whether people have let this very call go on a short time ago, and takes
// that: it spares the agent's user one question.
func (h *hooked) approved(from From, t *holdgate.Tool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(from.Caller)
	very := namesOf(wire.Result{Tool: t.Name, Arguments: t.Arguments})
	i := s.find(very, func(c *hookedCall) bool {
		return c.people && slices.ContainsFunc(very, func(n callName) bool { return slices.Contains(c.goesOn, n) }) && c.where == from.where() && time.Since(c.at) < approvals.AskedOnceFor
	})
	if i < 0 {
		return false
	}
	s.calls[i].people = false
	return true
}

// ended takes out the call that a result is of. A call that is not known was surely not asked
// about where sure says so.
func (h *hooked) ended(who approvals.Caller, r wire.Result) (c *hookedCall, sure bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(who)
	names := namesOf(r)
	i := s.find(names, func(c *hookedCall) bool { return c.is == fateReleased }) // it may have been refused before
	if i < 0 {
		i = s.find(names, func(*hookedCall) bool { return true })
	}
	if i < 0 {
		return nil, s.begun && !s.full
	}
	c = s.calls[i]
	s.calls = slices.Delete(s.calls, i, i+1)
	return c, true
}

// AskedAtHook takes note of what the agent's user has asked for.
func (g *Gate) AskedAtHook(who approvals.Caller, task string) {
	g.hooked.mu.Lock()
	defer g.hooked.mu.Unlock()
	s := g.hooked.of(who)
	s.begun, s.task = true, holdgate.Bounded(task, maxTaskText)
}

// TaskAtHook is what the agent's user asked for last.
func (g *Gate) TaskAtHook(who approvals.Caller) string {
	g.hooked.mu.Lock()
	defer g.hooked.mu.Unlock()
	return g.hooked.of(who).task
}

// ApprovedAtHook reports whether people have just let the very call go on about which the
// agent is going to ask its own user. It does so once for each call.
func (g *Gate) ApprovedAtHook(from From, c *holdgate.Call) bool {
	return g.hooked.approved(from, c.Tool)
}

// CameAtHook notes what has become of a call that has reached its agent's hook, before the
// agent is told. own is the call as the agent made it.
func (x *Exchange) CameAtHook(own *holdgate.Call, e *Evaluation) {
	c := &hookedCall{is: fateReleased, where: x.from.where(), request: e.request.ID, people: e.ByPeople()}
	switch {
	case e.Undecided():
		c.is = fateHeld
	case !e.Released():
		c.is = fateRefused
	}
	if x.stored.Load() {
		c.exchange = x.held.ID()
	}
	for _, t := range []*holdgate.Tool{own.Tool, e.Call.Tool} {
		c.names = append(c.names, namesOf(wire.Result{ID: own.ID, Tool: t.Name, Arguments: t.Arguments})...)
	}
	c.goesOn = namesOf(wire.Result{Tool: e.Call.Tool.Name, Arguments: e.Call.Tool.Arguments})
	x.g.hooked.came(x.from.Caller, c)
}

// EndedAtHook takes note of what has come of a call, as its agent tells its hook. It is in the
// log with the call. Of a call that was not let go on, or that never came by, people are told;
// what it has brought counts for the session as it does in a model's request.
func (g *Gate) EndedAtHook(ctx context.Context, from From, call *holdgate.Call, how wire.Ended, evidence string) {
	r := wire.Result{ID: call.ID, Tool: call.Tool.Name, Arguments: call.Tool.Arguments, Ended: how}
	x := g.Begin(from, nil)
	c, sure := g.hooked.ended(from.Caller, r)
	inAnswer := g.provenance.answered(from.Caller, r)
	is := inAnswer
	if c != nil {
		is = c.is
	}
	if is < fateReleased {
		x.brings(ctx, r)
		if sure && how != wire.EndedBadly { // some agents take a refusal for a tool that has failed
			g.ranUnapproved(ctx, from.Caller, call, is)
		}
	} else if inAnswer != fateAnswered && how != wire.EndedUnknown { // else a model's request has told of it
		x.ToolsEnded(ctx, sessions.Results("").And(how == wire.EndedWell))
	}
	if c == nil {
		return
	}
	entry := x.entry(audit.TypeResult, from.Call(*call))
	entry.RequestID, entry.Exchange, entry.Note = c.request, c.exchange, "by the agent's word: "+evidence
	if digest, err := g.c.Digester.Tool(call.Tool); err == nil {
		entry.Call.Digest = digest
	}
	if _, err := g.c.Log.Write(context.WithoutCancel(ctx), entry, false); err != nil {
		g.c.Logger.ErrorContext(ctx, "writing what came of a call to the audit log", "err", err)
	}
}

// ranUnapproved tells people of a call that has run without being let.
func (g *Gate) ranUnapproved(ctx context.Context, who approvals.Caller, c *holdgate.Call, is fate) {
	why := map[fate]string{
		fateRefused: "that was refused", fateHeld: "that waits for people to decide", fateAsked: "that was not decided",
	}[is]
	if why == "" {
		why = "that its hook has not asked about"
	}
	name := holdgate.Bounded(c.Tool.Name, 200)
	call := &audit.Call{ID: holdgate.Bounded(c.ID, 200), Kind: holdgate.KindToolCall, Tool: &audit.Tool{Name: name}}
	if err := g.Find(trace.Carry(g.life, ctx), who, call, "unapproved: the agent has run a call of "+name+" "+why); err != nil {
		g.c.Logger.ErrorContext(ctx, "writing a finding", "err", err)
	}
}
