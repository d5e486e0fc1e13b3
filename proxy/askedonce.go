package proxy

import (
	"context"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// twin is the call as it will come by at the door of the MCP server whose tool
// it is, or nil where that is not known: its name stands for not exactly one
// server's tool, or for one whose definition nobody has accepted.
func (e *exchange) twin(c holdgate.Call) *approvals.Twin {
	c = e.s.informed(c)
	if c.Tool == nil || c.Tool.Arguments == nil {
		return nil
	}
	l := c.Tool.Learned
	if l == nil || l.Changed {
		return nil
	}
	digest, err := e.s.c.Digester.Tool(&holdgate.Tool{Server: l.Server, Name: l.Tool, Arguments: c.Tool.Arguments})
	if err != nil {
		return nil
	}
	return &approvals.Twin{Digest: digest, Definition: l.Definition}
}

// covering is the twin of a call in a model's answer: what an approval of it
// covers besides.
func (e *exchange) covering(q *question) *approvals.Twin {
	if e.t.mcp || e.t.codec == nil || q.call.Tool == nil || q.call.Tool.Server != "" {
		return nil
	}
	return e.twin(q.call)
}

// askedOnce answers a hold of a tool call at its server's door by what a person
// has said of the very call in the model's answer. Policy decides with that
// answer: it may deny all the same, and where it still asks, or asks for more
// than those people gave, a person is asked. It reports whether the question is
// decided.
func (e *exchange) askedOnce(ctx context.Context, q *question, d holdgate.Decision) (bool, error) {
	if !e.t.mcp || q.call.Tool == nil || q.edited != "" || q.borrowed() {
		return false, nil
	}
	twin := e.twin(q.call)
	if twin == nil || twin.Digest != q.digest {
		return false, nil
	}
	requests, err := e.x.Borrow(ctx, *twin, d.Risk, q.hint)
	if err != nil || len(requests) == 0 {
		return false, err
	}
	before, ids := q.approved, make([]string, len(requests))
	q.approved = append([]approval(nil), before...)
	for i, r := range requests {
		ids[i] = r.ID
		q.approved = append(q.approved, approval{
			answer: answerOf(r), approvers: r.Approvers,
			use: approvals.Use{RequestID: r.ID, Digest: q.digest, Twin: twin, Borrowed: true},
		})
	}
	again := e.evaluate(q, q.answers(-1))
	if again.Action == holdgate.Allow {
		again = e.confirmed(q, again)
	}
	if again.Action == holdgate.Hold {
		q.approved = before
		e.x.GiveBack()
		return false, nil
	}
	q.rounds++
	q.remark = "asked once: " + strings.Join(ids, ", ") + " in the model's answer"
	return true, e.settled(ctx, q, again)
}

// borrowed reports whether the call rests on what a person said of it in a
// model's answer.
func (q *question) borrowed() bool {
	for _, a := range q.approved {
		if a.use.Borrowed {
			return true
		}
	}
	return false
}
