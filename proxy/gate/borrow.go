package gate

import (
	"context"
	"encoding/json"
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

// ownCall stands in the place of a definition where no server defines the tool, with the
// folder that people were told.
const ownCall = "the agent's own"

// again is the twin of a call for which permission is asked before it is made.
func (x *Exchange) again(e *Evaluation) *approvals.Twin {
	if e.Comes == nil || e.Comes.Server != "" {
		return nil
	}
	digest, err := x.g.c.Digester.Tool(e.Comes)
	if err != nil {
		return nil
	}
	return &approvals.Twin{Digest: digest, Definition: ownCall + " in " + x.from.Dir}
}

// covering is the twin of a call in a model's answer, or of one for which permission is
// asked: what an approval of it covers besides.
func (x *Exchange) covering(e *Evaluation) *approvals.Twin {
	if twin := x.again(e); twin != nil && twin.Digest != e.digest {
		return twin
	}
	if x.from.At != InAnswer || e.Call.Tool == nil || e.Call.Tool.Server != "" {
		return nil
	}
	return x.twin(e.Call)
}

// hooked is a call of an agent's own tool as it will come by at the agent's hook, or nil
// where that is not known.
func (x *Exchange) hooked(t *holdgate.Tool) *approvals.Twin {
	if t == nil || t.Server != "" {
		return nil
	}
	name, arguments := atHook(t)
	if arguments == nil {
		return nil
	}
	canon, err := holdgate.Canonical(arguments)
	if err != nil {
		return nil
	}
	return &approvals.Twin{Digest: x.g.c.Digester.Fields("hook", name, string(canon)), AtHook: true}
}

// atHook is what a tool and its arguments are at a hook. Codex calls its shells otherwise
// there, and shows their commands alone. A patch, which is text in the model's answer, is a
// command, too. Without arguments nobody knows.
func atHook(t *holdgate.Tool) (name string, arguments json.RawMessage) {
	if t.Arguments == nil && t.Name == "apply_patch" {
		if b, err := json.Marshal(map[string]string{"command": t.ArgumentsRaw}); err == nil {
			return t.Name, b
		}
	}
	var shell struct {
		Cmd string `json:"cmd"`
	}
	if t.Name == "exec_command" && json.Unmarshal(t.Arguments, &shell) == nil && shell.Cmd != "" {
		if b, err := json.Marshal(map[string]string{"command": shell.Cmd}); err == nil {
			return "Bash", b
		}
	}
	return t.Name, t.Arguments
}

// twinHere is the call at the door where it is, if people may have been asked about it
// before, and where they were; else nil.
func (x *Exchange) twinHere(e *Evaluation) (twin *approvals.Twin, where string) {
	switch {
	case x.from.At == AtHook:
		return x.hooked(e.Call.Tool), "in the model's answer"
	case x.from.At != AtServer && e.Comes == nil:
		return nil, ""
	}
	twin, where = x.again(e), "when permission was asked for it"
	if twin == nil {
		twin, where = x.twin(e.Call), "in the model's answer"
	}
	if twin == nil || twin.Digest != e.digest {
		return nil, ""
	}
	return twin, where
}

// borrow answers a hold of a tool call at its server's door, or at a hook of its agent,
// by what a person has said of the very call in the model's answer, or of one that an
// agent makes by what a person has said when permission was asked for it. Policy decides with that
// answer: it may deny all the same, and where it still asks, or asks for more
// than those people gave, a person is asked. It reports whether the call is
// decided.
func (x *Exchange) borrow(ctx context.Context, e *Evaluation, d holdgate.Decision) (bool, error) {
	if e.Call.Tool == nil || e.edited != "" || e.Borrowed() {
		return false, nil
	}
	twin, where := x.twinHere(e)
	if twin == nil {
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
			use: approvals.Use{RequestID: r.ID, Digest: twin.Digest, Twin: twin, Borrowed: true},
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
	e.Remark = "asked once: " + strings.Join(ids, ", ") + " " + where
	return true, x.settled(ctx, e, again)
}
