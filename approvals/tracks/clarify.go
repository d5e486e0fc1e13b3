package tracks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
)

// About is the context of the request in which people see an agent's question, the
// message with the number.
func About(message uint64) json.RawMessage { return fmt.Appendf(nil, `{"message":%d}`, message) }

// Shown is a gate as people see it: what [About] says is no word of the agent's.
func Shown(g *holdgate.Gate) *holdgate.Gate {
	if g == nil || g.Type != sessions.GateQuestion || !bytes.Equal(g.Context, About(asked(g.Context))) {
		return g
	}
	shown := *g
	shown.Context = nil
	return &shown
}

// asked is the number of a message in what [About] says; 0 in anything else.
func asked(context json.RawMessage) uint64 {
	var about struct {
		Message uint64 `json:"message"`
	}
	if json.Unmarshal(context, &about) != nil {
		return 0
	}
	return about.Message
}

// question is the number of the message that the request asks people to answer; 0
// where it asks something else, or where policy hides what.
func question(r *record.StoredRequest) uint64 {
	if g := r.Call.Gate; g != nil && g.Type == sessions.GateQuestion {
		return asked(g.Context)
	}
	return 0
}

// leaveAnswer leaves what people say at a gate for the session's next model request,
// unless the agent asks for the gate's answer before. An agent that names no session
// makes its model requests in any.
func (p *Keeper) leaveAnswer(c *record.Change, r *record.StoredRequest) error {
	if r.Call.Kind != holdgate.KindGate {
		return nil
	}
	o := r.Outcome
	m := sessions.Message{Agent: r.Agent, Session: r.Session, From: o.By, Gate: r.ID}
	said := o.Instructions
	switch seq := question(r); {
	case seq != 0 && o.Decision != holdgate.AnswerTimeout && o.Decision != holdgate.AnswerCancel:
		m.Type, m.InReplyTo = sessions.MessageAnswer, seq
		if r.Status != holdgate.StatusSteered {
			said = strings.TrimSuffix(map[holdgate.Status]string{
				holdgate.StatusApproved: "Go on as you think best. ", holdgate.StatusDenied: "This is not answered. ",
			}[r.Status]+o.Reason, " ")
		}
	case r.Status == holdgate.StatusSteered:
		m.Type = sessions.MessageRedirect
	default:
		return nil
	}
	if m.Session == holdgate.SessionDefault && m.InReplyTo == 0 {
		m.Session = ""
	}
	m.Content = holdgate.Bounded(said, sessions.MaxContent/2)
	if about := strings.Join(o.Artifacts, ", "); about != "" {
		m.Content += " (about " + holdgate.Bounded(about, sessions.MaxContent/4) + ")"
	}
	if p.replies(c, &m) != nil { // the question is forgotten already
		m.InReplyTo = 0
	}
	return p.message(c, &m, r.Proven)
}

// settleQuestion takes back the request about a question that a person has answered
// with a message.
func (p *Keeper) settleQuestion(c *record.Change, m *sessions.Message) error {
	if m.InReplyTo == 0 {
		return nil
	}
	var ids []string
	err := record.EachAsked(c.Tx, func(a record.StoredAsked) {
		if a.Agent == m.Agent {
			ids = append(ids, a.ID)
		}
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		r, err := c.Request(id)
		if err != nil {
			return err
		}
		if r.Status.Final() || question(r) != m.InReplyTo {
			continue
		}
		if err := c.Cancel(r, m.From, fmt.Sprintf("answered with message %d", m.Seq)); err != nil {
			return err
		}
	}
	return nil
}
