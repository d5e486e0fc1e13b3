package tracks

import (
	"errors"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/sessions"
)

// asked changes the session of a request that is asked now.
func (p *Keeper) asked(c *record.Change, r *record.StoredRequest) error {
	s, err := p.record(c, r.Agent, r.Session, r.Proven, halts(r))
	if err != nil {
		return err
	}
	s.Counts.Asked++
	if !halts(r) {
		return nil
	}
	s.Halt = &sessions.Halt{Request: r.ID, At: c.Now, Reason: "it waits for a person to answer request " + r.ID}
	return p.tell(c, s, "paused: "+s.Halt.Reason)
}

// halts reports whether the session waits for the request.
func halts(r *record.StoredRequest) bool {
	return r.Call.Kind == holdgate.KindGate && r.Gate == sessions.GateDiagnostics
}

// ended changes the session of a request that has ended.
func (p *Keeper) ended(c *record.Change, r *record.StoredRequest) error {
	s, err := p.record(c, r.Agent, r.Session, r.Proven, r.Passes || halts(r))
	if err != nil {
		return err
	}
	s.Counts.Ended(r.Status)
	if err := p.leaveAnswer(c, r); err != nil {
		return err
	}
	if s.Halt != nil && s.Halt.Request == r.ID {
		if err := p.answerHalt(c, s, r); err != nil {
			return err
		}
	}
	if !r.Passes || r.Gate == sessions.GateQuestion || r.Outcome.Decision == holdgate.AnswerCancel {
		return nil
	}
	s.Answer(sessions.Answered{Gate: r.Gate, Request: r.ID, Outcome: *r.Outcome})
	again := p.c.Gates().Of(r.Gate).Lasts > 0 // work comes by here again and again
	if r.Status != holdgate.StatusApproved || !r.Answered() || again && r.Call.Kind != holdgate.KindGate {
		return nil
	}
	s.Pass(sessions.Passed{Gate: r.Gate, At: c.Now, By: r.Outcome.By, Request: r.ID, Silent: r.Outcome.Decision == holdgate.AnswerTimeout})
	return p.anew(c, r)
}

// answerHalt takes a halted session on from what a person said. Silence leaves
// it as it is.
func (p *Keeper) answerHalt(c *record.Change, s *sessions.Record, r *record.StoredRequest) error {
	switch r.Status {
	case holdgate.StatusApproved, holdgate.StatusSteered:
		s.Halt, s.Report = nil, nil
		return p.tell(c, s, "goes on: request "+r.ID+" was "+string(r.Status)+" by "+r.Outcome.By)
	case holdgate.StatusDenied:
		s.Halt.Stopped, s.Halt.Reason = true, "request "+r.ID+" was denied by "+r.Outcome.By
		return p.tell(c, s, "stopped: "+s.Halt.Reason)
	}
	return nil
}

// anew takes back the other questions of the session that wait for the same
// gate: policy decides those calls once more, now that it is passed.
func (p *Keeper) anew(c *record.Change, passed *record.StoredRequest) error {
	var ids []string
	err := record.EachAsked(c.Tx, func(a record.StoredAsked) {
		if a.Agent == passed.Agent && a.Session == passed.Session && a.ID != passed.ID {
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
		if r.Status.Final() || !r.Passes || r.Gate != passed.Gate || r.Call.Kind == holdgate.KindGate {
			continue
		}
		r.Anew = true
		if err := c.Cancel(r, people.ByHoldgate, "the session has passed the gate "+r.Gate+": the call is decided anew"); err != nil {
			return err
		}
	}
	return nil
}

// Resume lets the sessions of an agent go on, or of all.
func (p *Keeper) Resume(c *record.Change, agent, by string) error {
	var halted []sessionKey
	err := sessions.Each(c.Tx, func(r *sessions.Record) error {
		if r.Halt != nil && (agent == agents.Everybody || r.Agent == agent) {
			halted = append(halted, sessionKey{r.Agent, r.ID})
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range halted {
		s, err := p.of(c, k.agent, k.id)
		if err != nil {
			return err
		}
		request := s.Halt.Request
		s.Halt, s.Report = nil, nil
		if err := p.tell(c, s, "goes on: resumed by "+by); err != nil {
			return err
		}
		r, err := c.Request(request)
		if errors.Is(err, record.ErrNotFound) || err == nil && r.Status.Final() {
			continue
		}
		if err == nil {
			err = c.Cancel(r, by, "the session was resumed")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
