package gate

import (
	"context"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/rego/facts"
)

// twin is the call as it will come by at the door of the MCP server whose tool
// it is, or nil where that is not known: its name stands for not exactly one
// server's tool, or for one whose definition nobody has accepted.
func (x *Exchange) twin(c holdgate.Call) *approvals.Twin {
	c = x.g.informed(c)
	if c.Tool == nil || c.Tool.Arguments == nil {
		return nil
	}
	l, arguments := c.Tool.Learned, c.Tool.Arguments
	if l == nil || l.Changed {
		return nil
	}
	if inner, ok := facts.Wrapped(c.Tool); ok {
		arguments = inner.Arguments
	}
	digest, err := x.g.c.Digester.Tool(&holdgate.Tool{Server: l.Server, Name: l.Tool, Arguments: arguments})
	if err != nil {
		return nil
	}
	return &approvals.Twin{Digest: digest, Definition: l.Definition}
}

// covering is the twin of a call in a model's answer: what an approval of it
// covers besides.
func (x *Exchange) covering(e *Evaluation) *approvals.Twin {
	if x.from.At != InAnswer || e.Call.Tool == nil || e.Call.Tool.Server != "" {
		return nil
	}
	return x.twin(e.Call)
}

// borrow answers a hold of a tool call at its server's door by what a person
// has said of the very call in the model's answer. Policy decides with that
// answer: it may deny all the same, and where it still asks, or asks for more
// than those people gave, a person is asked. It reports whether the call is
// decided.
func (x *Exchange) borrow(ctx context.Context, e *Evaluation, d holdgate.Decision) (bool, error) {
	if x.from.At != AtServer || e.Call.Tool == nil || e.edited != "" || e.Borrowed() {
		return false, nil
	}
	twin := x.twin(e.Call)
	if twin == nil || twin.Digest != e.digest {
		return false, nil
	}
	requests, err := x.held.Borrow(ctx, *twin, d.Risk, e.Hint)
	if err != nil || len(requests) == 0 {
		return false, err
	}
	before, ids := e.approved, make([]string, len(requests))
	e.approved = append([]approval(nil), before...)
	for i, r := range requests {
		ids[i] = r.ID
		e.approved = append(e.approved, approval{
			answer: answerOf(r), approvers: r.Approvers,
			use: approvals.Use{RequestID: r.ID, Digest: e.digest, Twin: twin, Borrowed: true},
		})
	}
	again := x.evaluate(ctx, e, e.answers(-1))
	if again.Action == holdgate.Allow {
		again = x.confirmed(ctx, e, again)
	}
	if again.Action == holdgate.Hold {
		e.approved = before
		x.held.GiveBack()
		return false, nil
	}
	e.rounds++
	e.Remark = "asked once: " + strings.Join(ids, ", ") + " in the model's answer"
	return true, x.settled(ctx, e, again)
}
