package approvals

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

func waitingMessages(tx store.Tx, k sessionKey) (n int, err error) {
	list, err := sessions.Messages(tx, k.agent, k.id, 0)
	for _, m := range list {
		if m.Waits() {
			n++
		}
	}
	return n, err
}

// Say takes a message of a session's own.
func (q *Queue) Say(ctx context.Context, who Caller, m sessions.Message) (sessions.Message, error) {
	m.Agent, m.Session, m.From = who.Agent.ID, who.Session.ID, ""
	switch m.Type {
	case sessions.MessageQuestion, sessions.MessageAnswer, sessions.MessageStatus:
	default:
		return m, &sessions.FieldError{Field: "type", What: "must be clarification_request, clarification_response or status"}
	}
	err := q.transact(ctx, func(t *transition) error { return t.message(&m, who.Agent.Proven) })
	return m, err
}

// Tell leaves a message of a person's for a session of an agent: it goes into
// the session's next model request, unless the agent fetches it before. An
// empty session is whichever makes the next request. It takes the role to
// approve or to operate. It returns ErrNoAgent, ErrNotEntitled, ErrFull of
// [sessions], or a [*sessions.FieldError].
func (q *Queue) Tell(ctx context.Context, m sessions.Message) (sessions.Message, error) {
	switch m.Type {
	case sessions.MessageGuidance, sessions.MessageQuestion, sessions.MessageAnswer, sessions.MessageRedirect:
	default:
		return m, &sessions.FieldError{Field: "type", What: "must be guidance, clarification_request or clarification_response"}
	}
	if !q.Agents.Knows(m.Agent) {
		return m, fmt.Errorf("%w: %q", agents.ErrNoAgent, m.Agent)
	}
	by := m.From
	err := q.transact(ctx, func(t *transition) error {
		n, err := t.People.MayAnswer(by)
		if err != nil {
			return err
		}
		if m.From = n.Name; m.From == "" {
			m.From = by
		}
		if _, err := t.sessionOf(m.Agent, m.Session); err != nil {
			return err
		}
		if err := t.message(&m, false); err != nil {
			return err
		}
		return t.settleQuestion(&m)
	})
	return m, err
}

// message stores a new message, with its audit entry and event.
func (t *transition) message(m *sessions.Message, proven bool) error {
	if err := sessions.CheckContent(m.Content); err != nil {
		return err
	}
	m.Content, m.At = holdgate.Visible(m.Content), t.Now
	m.Delivered, m.Into, m.To = time.Time{}, "", ""
	if _, err := t.session(m.Agent, m.Session, proven, true); err != nil {
		return err
	}
	if err := t.replies(m); err != nil {
		return err
	}
	e := audit.Entry{Type: audit.TypeMessage, Note: m.Line(), Call: &audit.Call{Agent: m.Agent, Session: m.Session}}
	var err error
	if m.Seq, err = t.Append(e); err != nil {
		return err
	}
	if err := sessions.Add(t.Tx, *m); err != nil {
		return err
	}
	if m.Gate == "" { // else people are told of the answer itself
		if err := t.Note(record.EventMessage, m.Agent, e.Note, m.Seq); err != nil {
			return err
		}
	}
	t.Durable(func() { t.q.mail.came(m.Agent) })
	return nil
}

// ToldGate takes note that the caller has got the answer of a gate by itself: what
// people ask for in it needs not be in its next model request.
func (q *Queue) ToldGate(ctx context.Context, who Caller, request string) error {
	list, err := q.Waiting(ctx, who)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(m sessions.Message) bool { return m.Gate != request })
	_, err = q.Deliver(ctx, who, list, "api")
	return err
}

// replies makes sure that what a message answers was said: in its session, or
// to whichever of the agent's came next.
func (t *transition) replies(m *sessions.Message) error {
	if m.InReplyTo == 0 {
		return nil
	}
	for _, session := range slices.Compact([]string{"", m.Session}) {
		list, err := sessions.Messages(t.Tx, m.Agent, session, m.InReplyTo-1)
		if err != nil {
			return fmt.Errorf("looking up message %d: %w", m.InReplyTo, err)
		}
		if slices.ContainsFunc(list, func(o sessions.Message) bool { return o.Seq == m.InReplyTo }) {
			return nil
		}
	}
	return &sessions.FieldError{Field: "in_reply_to", What: fmt.Sprintf("must be the number of a message of this session, and none has %d", m.InReplyTo)}
}

// Messages returns the messages of a session, those for whichever session of the
// agent comes next included, with higher numbers than after, in order.
func (q *Queue) Messages(ctx context.Context, agent, session string, after uint64) ([]sessions.Message, error) {
	list := []sessions.Message{}
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		for _, id := range slices.Compact([]string{"", session}) {
			more, err := sessions.Messages(tx, agent, id, after)
			if err != nil {
				return err
			}
			for _, m := range more {
				if m.Session == session || m.To == "" || m.To == session {
					list = append(list, m)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading messages: %w", err)
	}
	slices.SortFunc(list, func(a, b sessions.Message) int {
		if a.Seq < b.Seq {
			return -1
		}
		return 1
	})
	return list, nil
}

// HasMail reports whether messages may wait for a session of the agent. It costs
// nothing.
func (q *Queue) HasMail(agent string) bool {
	q.mail.mu.Lock()
	defer q.mail.mu.Unlock()
	return q.mail.agents[agent]
}

// Deliver marks messages as delivered to a session, and returns those that were
// not before: to each once, whoever asks. into says how: see
// [sessions.Message].
func (q *Queue) Deliver(ctx context.Context, who Caller, list []sessions.Message, into string) ([]sessions.Message, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var got []sessions.Message
	err := q.transact(ctx, func(t *transition) error {
		got = nil
		for _, m := range list {
			now, err := sessions.Messages(t.Tx, m.Agent, m.Session, m.Seq-1)
			if err != nil {
				return err
			}
			if len(now) == 0 || now[0].Seq != m.Seq || !now[0].Waits() {
				continue
			}
			m = now[0]
			m.Delivered, m.Into, m.To = t.Now, into, who.Session.ID
			if err := sessions.PutMessage(t.Tx, m); err != nil {
				return err
			}
			note := fmt.Sprintf("delivered message %d (%s of %s) by %s", m.Seq, m.Type, m.From, into)
			if _, err := t.Append(audit.Entry{Type: audit.TypeMessage, Door: who.Door, Note: holdgate.Visible(note), Call: &audit.Call{Agent: who.Agent.ID, Session: who.Session.ID}}); err != nil {
				return err
			}
			got = append(got, m)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recording that messages were delivered: %w", err)
	}
	return got, nil
}

// Undeliver takes back that messages were delivered: they did not arrive.
func (q *Queue) Undeliver(ctx context.Context, who Caller, list []sessions.Message) error {
	return q.transact(ctx, func(t *transition) error {
		for _, m := range list {
			m.Delivered, m.Into, m.To = time.Time{}, "", ""
			if err := sessions.PutMessage(t.Tx, m); err != nil {
				return err
			}
			note := fmt.Sprintf("message %d did not arrive, and waits again", m.Seq)
			if _, err := t.Append(audit.Entry{Type: audit.TypeMessage, Door: who.Door, Note: note, Call: &audit.Call{Agent: who.Agent.ID, Session: who.Session.ID}}); err != nil {
				return err
			}
			t.Durable(func() { t.q.mail.came(m.Agent) })
		}
		return nil
	})
}

// Waiting returns the messages that the caller's session has still to get, in
// order.
func (q *Queue) Waiting(ctx context.Context, who Caller) ([]sessions.Message, error) {
	if !q.HasMail(who.Agent.ID) {
		return nil, nil
	}
	list, err := q.Messages(ctx, who.Agent.ID, who.Session.ID, 0)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(m sessions.Message) bool { return !m.Waits() }), nil
}
