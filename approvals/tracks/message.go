package tracks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
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
func (p *Keeper) Say(ctx context.Context, who record.Caller, m sessions.Message) (sessions.Message, error) {
	m.Agent, m.Session, m.From = who.Agent.ID, who.Session.ID, ""
	switch m.Type {
	case sessions.MessageQuestion, sessions.MessageAnswer, sessions.MessageStatus:
	default:
		return m, &sessions.FieldError{Field: "type", What: "must be clarification_request, clarification_response or status"}
	}
	err := p.b.Change(ctx, func(c *record.Change) error { return p.message(c, &m, who.Agent.Proven) })
	return m, err
}

// Tell leaves a message of a person's for a session of an agent: it goes into
// the session's next model request, unless the agent fetches it before. An
// empty session is whichever makes the next request. It takes the role to
// approve or to operate. It returns ErrNoAgent, ErrNotEntitled, ErrFull of
// [sessions], or a [*sessions.FieldError].
func (p *Keeper) Tell(ctx context.Context, m sessions.Message) (sessions.Message, error) {
	switch m.Type {
	case sessions.MessageGuidance, sessions.MessageQuestion, sessions.MessageAnswer, sessions.MessageRedirect:
	default:
		return m, &sessions.FieldError{Field: "type", What: "must be guidance, clarification_request or clarification_response"}
	}
	if !p.c.Knows(m.Agent) {
		return m, fmt.Errorf("%w: %q", record.ErrNoAgent, m.Agent)
	}
	by := m.From
	err := p.b.Change(ctx, func(c *record.Change) error {
		n, err := c.People.MayAnswer(by)
		if err != nil {
			return err
		}
		if m.From = n.Name; m.From == "" {
			m.From = by
		}
		if _, err := p.of(c, m.Agent, m.Session); err != nil {
			return err
		}
		if err := p.message(c, &m, false); err != nil {
			return err
		}
		return p.settleQuestion(c, &m)
	})
	return m, err
}

// Remark leaves a message of Holdgate's own for the session: what it has done. It goes with
// those of people.
func (p *Keeper) Remark(ctx context.Context, who record.Caller, what string) error {
	m := sessions.Message{Agent: who.Agent.ID, Session: who.Session.ID, Type: sessions.MessageNotice, From: "Holdgate", Content: holdgate.Bounded(what, sessions.MaxContent)}
	return p.b.Change(ctx, func(c *record.Change) error { return p.message(c, &m, who.Agent.Proven) })
}

// Redirect leaves an instruction of a person's for whichever session of the agent
// makes the next model request.
func (p *Keeper) Redirect(c *record.Change, agent, by, what string) error {
	return p.message(c, &sessions.Message{Agent: agent, Type: sessions.MessageRedirect, From: by, Content: what}, false)
}

// message stores a new message, with its audit entry and event.
func (p *Keeper) message(c *record.Change, m *sessions.Message, proven bool) error {
	if err := sessions.CheckContent(m.Content); err != nil {
		return err
	}
	m.Content = p.b.Words(m.Content)
	if m.FromPerson() { // into a model's conversation: the agent's own words are shown to people alone
		m.Content = holdgate.Bounded(m.Content, sessions.MaxContent)
	}
	m.At, m.Delivered, m.Into, m.To = c.Now, time.Time{}, "", ""
	if _, err := p.record(c, m.Agent, m.Session, proven, true); err != nil {
		return err
	}
	if err := p.replies(c, m); err != nil {
		return err
	}
	e := audit.Entry{Type: audit.TypeMessage, Note: m.Line(), Call: &audit.Call{Agent: m.Agent, Session: m.Session}}
	var err error
	if m.Seq, err = c.Append(e); err != nil {
		return err
	}
	if err := sessions.Add(c.Tx, *m); err != nil {
		return err
	}
	if m.Gate == "" { // else people are told of the answer itself
		if err := c.Note(record.EventMessage, m.Agent, e.Note, m.Seq); err != nil {
			return err
		}
	}
	c.Durable(func() { p.mail.came(m.Agent) })
	return nil
}

// ToldGate takes note that the caller has got the answer of a gate by itself: what
// people ask for in it needs not be in its next model request.
func (p *Keeper) ToldGate(ctx context.Context, who record.Caller, request string) error {
	list, err := p.Waiting(ctx, who)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(m sessions.Message) bool { return m.Gate != request })
	_, err = p.Deliver(ctx, who, list, "api")
	return err
}

// replies makes sure that what a message answers was said: in its session, or
// to whichever of the agent's came next.
func (p *Keeper) replies(c *record.Change, m *sessions.Message) error {
	if m.InReplyTo == 0 {
		return nil
	}
	for _, session := range slices.Compact([]string{"", m.Session}) {
		list, err := sessions.Messages(c.Tx, m.Agent, session, m.InReplyTo-1)
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
func (p *Keeper) Messages(ctx context.Context, agent, session string, after uint64) ([]sessions.Message, error) {
	list := []sessions.Message{}
	err := p.b.Store.View(ctx, func(tx store.Tx) error {
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
func (p *Keeper) HasMail(agent string) bool {
	p.mail.mu.Lock()
	defer p.mail.mu.Unlock()
	return p.mail.agents[agent]
}

// Deliver marks messages as delivered to a session, and returns those that were
// not before: to each once, whoever asks. into says how: see
// [sessions.Message].
func (p *Keeper) Deliver(ctx context.Context, who record.Caller, list []sessions.Message, into string) ([]sessions.Message, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var got []sessions.Message
	err := p.b.Change(ctx, func(c *record.Change) error {
		got = nil
		for _, m := range list {
			now, err := sessions.Messages(c.Tx, m.Agent, m.Session, m.Seq-1)
			if err != nil {
				return err
			}
			if len(now) == 0 || now[0].Seq != m.Seq || !now[0].Waits() {
				continue
			}
			m = now[0]
			m.Delivered, m.Into, m.To = c.Now, into, who.Session.ID
			if err := sessions.PutMessage(c.Tx, m); err != nil {
				return err
			}
			note := fmt.Sprintf("delivered message %d (%s of %s) by %s", m.Seq, m.Type, m.From, into)
			if _, err := c.Append(audit.Entry{Type: audit.TypeMessage, Door: who.Door, Note: holdgate.Visible(note), Call: &audit.Call{Agent: who.Agent.ID, Session: who.Session.ID}}); err != nil {
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
func (p *Keeper) Undeliver(ctx context.Context, who record.Caller, list []sessions.Message) error {
	return p.b.Change(ctx, func(c *record.Change) error {
		for _, m := range list {
			m.Delivered, m.Into, m.To = time.Time{}, "", ""
			if err := sessions.PutMessage(c.Tx, m); err != nil {
				return err
			}
			note := fmt.Sprintf("message %d did not arrive, and waits again", m.Seq)
			if _, err := c.Append(audit.Entry{Type: audit.TypeMessage, Door: who.Door, Note: note, Call: &audit.Call{Agent: who.Agent.ID, Session: who.Session.ID}}); err != nil {
				return err
			}
			c.Durable(func() { p.mail.came(m.Agent) })
		}
		return nil
	})
}

// Waiting returns the messages that the caller's session has still to get, in
// order.
func (p *Keeper) Waiting(ctx context.Context, who record.Caller) ([]sessions.Message, error) {
	if !p.HasMail(who.Agent.ID) {
		return nil, nil
	}
	list, err := p.Messages(ctx, who.Agent.ID, who.Session.ID, 0)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(m sessions.Message) bool { return !m.Waits() }), nil
}
