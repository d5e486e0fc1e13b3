package gate

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tracks"
	"github.com/holdgate/holdgate/store/audit"
)

// A Queue is the door of the approvals queue, as the gate knows it; see
// [approvals.Queue] for each method. [QueueOf] makes one.
type Queue interface {
	Enter(ctx context.Context, who approvals.Caller, key Key) (Held, error)
	Granted(ctx context.Context, c holdgate.Call, d holdgate.Decision, digest holdgate.Digest, turns func() []string) (approvals.Grant, bool, error)
	GoesOn(ctx context.Context, who approvals.Caller, turns func() []string) error
	Strained() error

	StatusOf(agent, session string) (approvals.AgentStatus, <-chan struct{})
	WhenStopped(agent string, fn func()) (forget func())

	Track(ctx context.Context, agent, session string) (Session, error)
	KeepBound(ctx context.Context, who approvals.Caller) error
	Taint(ctx context.Context, who approvals.Caller, words []string, by string) error
	Left(ctx context.Context, who approvals.Caller, at string) error
	Find(ctx context.Context, who approvals.Caller, call *audit.Call, note string) error
	Remark(ctx context.Context, who approvals.Caller, what string) error

	Gates() sessions.Gates
	GatesNeeded(r *sessions.Record) []string
	GateDecided(ctx context.Context, who approvals.Caller, gate string, o holdgate.Outcome, passes bool) (sessions.Answered, error)
}

// A Key names a request of an agent, so that the same request asked again joins
// what an earlier connection left waiting. It is called where the name is needed.
type Key = func() (holdgate.Digest, error)

// Held is an exchange in the queue, as one live connection takes part in it;
// see [approvals.Exchange] for each method.
type Held interface {
	ID() string
	Digest(c holdgate.Call) (holdgate.Digest, error)
	RequestApproval(ctx context.Context, q approvals.HeldCall) (approvals.Request, error)
	Await(ctx context.Context, request string) error
	Wait(ctx context.Context, request string) (approvals.Request, error)
	AfterEnd(ctx context.Context, requests []string, wake func()) (forget func())
	Edited(ctx context.Context, request string) (json.RawMessage, error)
	Borrow(ctx context.Context, twin approvals.Twin, risk holdgate.Risk, hint string) ([]approvals.Request, error)
	GiveBack()
	Use(ctx context.Context, uses []approvals.Use) error
	Done(ctx context.Context, delivered bool, note string) error

	Keep(ctx context.Context, a approvals.Answer) error
	Kept(ctx context.Context) (a approvals.Answer, ok bool, err error)
	Settle(ctx context.Context, keep []string) error
	Detach()
	Leave()
}

// A Session is what is known of an agent's run; see [tracks.Track].
type Session interface {
	Record() *sessions.Record
	Setting() sessions.Setting
	Taint() []string
	Counts() sessions.Counts
	Results() sessions.Results
	Ended(how sessions.Results)
	Called(d holdgate.Digest, now time.Time) (same, lately int)
	Decided(a holdgate.Action)
	Usage() holdgate.Usage
	Used(u holdgate.Usage, proven bool)
	Converses(offersTools bool) bool
}

// QueueOf is the door of a queue.
func QueueOf(q *approvals.Queue) Queue { return door{q, q.Sessions} }

type door struct {
	*approvals.Queue
	*tracks.Keeper
}

// Enter implements [Queue].
func (d door) Enter(ctx context.Context, who approvals.Caller, key Key) (Held, error) {
	x, err := d.Queue.Enter(ctx, who, key)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Granted implements [Queue].
func (d door) Granted(ctx context.Context, c holdgate.Call, dec holdgate.Decision, digest holdgate.Digest, turns func() []string) (approvals.Grant, bool, error) {
	return d.Grants.Granted(ctx, c, dec, digest, turns)
}

// GoesOn implements [Queue].
func (d door) GoesOn(ctx context.Context, who approvals.Caller, turns func() []string) error {
	return d.Grants.GoesOn(ctx, who.Agent.ID, who.Session.ID, turns)
}

// StatusOf implements [Queue].
func (d door) StatusOf(agent, session string) (approvals.AgentStatus, <-chan struct{}) {
	return d.Agents.StatusOf(agent, session)
}

// WhenStopped implements [Queue].
func (d door) WhenStopped(agent string, fn func()) (forget func()) {
	return d.Agents.WhenStopped(agent, fn)
}

// Track implements [Queue].
func (d door) Track(ctx context.Context, agent, session string) (Session, error) {
	s, err := d.Keeper.Track(ctx, agent, session)
	if err != nil {
		return nil, err
	}
	return s, nil
}
