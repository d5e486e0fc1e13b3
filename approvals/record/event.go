package record

import (
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// EventType says what happened to a request.
type EventType string

// The events.
const (
	EventRequested EventType = "approval.requested"
	EventVoted     EventType = "approval.voted"
	EventDecided   EventType = "approval.decided"
	EventClaimed   EventType = "approval.claimed"   // silence does not end it for now
	EventUnclaimed EventType = "approval.unclaimed" // its window begins anew
	EventDelegated EventType = "approval.delegated"
	EventDeferred  EventType = "approval.deferred"  // for one person: it goes on for all others
	EventLeft      EventType = "approval.left"      // nobody waits for it, or somebody does again
	EventExtended  EventType = "approval.extended"  // nobody was told in time: silence denies it, and later
	EventEscalated EventType = "approval.escalated" // more people may approve it, and should be told
	EventPolicy    EventType = "policy.changed"     // of no request: another policy is in force, or one was refused
	EventConfig    EventType = "config.changed"     // of no request: people, agents and the like were replaced, or a file of them was refused
	EventPaused    EventType = "agent.paused"       // of an agent, or of all, as the next two
	EventResumed   EventType = "agent.resumed"
	EventStopped   EventType = "agent.stopped"
	EventSession   EventType = "session.changed" // of an agent's session
	EventMessage   EventType = "message.sent"    // to an agent, or by it
	EventPasskey   EventType = "passkey.changed" // of no request: a person's passkey was registered, admitted or removed
	EventFinding   EventType = "finding"         // of an agent: something in the log that somebody should look at
)

// storedEvent is an event without what its request says anyway.
type StoredEvent struct {
	Header

	Time    time.Time         `json:"time"`
	Type    EventType         `json:"type"`
	Request string            `json:"request"`
	Status  holdgate.Status   `json:"status"`
	Votes   int               `json:"votes,omitempty"`
	Outcome *holdgate.Outcome `json:"outcome,omitempty"`

	Claim       *Claim `json:"claim,omitempty"`
	Delegations int    `json:"delegations,omitempty"`
	Escalated   int    `json:"escalated,omitempty"`

	Agent string `json:"agent,omitempty"`
	Note  string `json:"note,omitempty"`
}

// Tell puts an event about the request into the outbox.
func (c *Change) Tell(typ EventType, r *StoredRequest, seq uint64) error {
	return Write(c.Tx, PrefixOutbox+store.Seq(seq), StoredEvent{
		Header: Current(), Time: c.Now, Type: typ, Request: r.ID, Status: r.Status, Votes: len(r.Votes), Outcome: r.Outcome,
		Claim: r.Claim, Delegations: len(r.Delegations), Escalated: r.Escalated,
	})
}

// Note puts an event that is no request's into the outbox: of an agent, or of none.
func (c *Change) Note(typ EventType, agent, note string, seq uint64) error {
	return Write(c.Tx, PrefixOutbox+store.Seq(seq), StoredEvent{Header: Current(), Time: c.Now, Type: typ, Agent: agent, Note: note})
}

// Record logs what happened to a request, in words, and tells channels of it.
func (c *Change) Record(r *StoredRequest, typ audit.Type, event EventType, note string) error {
	e := r.Entry(typ)
	e.Note = note
	seq, err := c.Append(e)
	if err != nil {
		return err
	}
	return c.Tell(event, r, seq)
}
