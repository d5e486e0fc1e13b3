package model

import (
	"context"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// instruct puts what people have to say to the session into the request, as it
// will be sent: guidance, questions, answers, and where the work is to go instead.
// Each message counts as delivered from then on, whatever becomes of the request,
// unless its upstream refuses it. What is signed over its body stays as it is, and
// so does a request that clients make beside the conversation: the messages wait.
func (e *exchange) instruct(ctx context.Context) (undo func()) {
	undo = func() {}
	codec, ok := e.Target.Codec.(route.Instructor)
	q := e.f.c.Queue
	if !ok || len(e.Body) == 0 || signed(e.R.Header) || !q.Sessions.HasMail(e.Target.Caller.Agent.ID) {
		return undo
	}
	list, err := q.Sessions.Waiting(ctx, e.Target.Caller)
	if err != nil || len(list) == 0 {
		if err != nil {
			e.f.c.Logger.ErrorContext(ctx, "reading messages for an agent", "err", err)
		}
		return undo
	}
	body := e.Body
	if e.sent != nil {
		body = e.sent
	}
	if _, ok := codec.Instruct(body, ""); !ok {
		return undo
	}
	if list, err = q.Sessions.Deliver(ctx, e.Target.Caller, list, "request"); err != nil || len(list) == 0 {
		if err != nil {
			e.f.c.Logger.ErrorContext(ctx, "delivering messages to an agent", "err", err)
		}
		return undo
	}
	undo = func() {
		if err := q.Sessions.Undeliver(context.WithoutCancel(ctx), e.Target.Caller, list); err != nil {
			e.f.c.Logger.ErrorContext(ctx, "taking messages back that did not reach the model", "err", err)
		}
	}
	told, ok := codec.Instruct(body, instruction(list))
	if !ok || wire.Strict(told) != nil {
		undo()
		return func() {}
	}
	e.sent, e.told = told, true
	return undo
}

// instruction says to the model what people have to say, and who speaks.
func instruction(list []sessions.Message) string {
	var b strings.Builder
	for i, m := range list {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(wire.Mark)
		who := holdgate.OneLine(m.From, 100)
		switch m.Type {
		case sessions.MessageNotice:
			b.WriteString("Holdgate, the proxy that lets your calls go on, says: ")
		case sessions.MessageRedirect:
			b.WriteString("The person who oversees this work (" + who + ") redirects it. Leave what you planned, and do this instead: ")
		case sessions.MessageQuestion:
			b.WriteString("The person who oversees this work (" + who + ") asks: ")
		case sessions.MessageAnswer:
			b.WriteString("The person who oversees this work (" + who + ") answers: ")
		default:
			b.WriteString("Guidance of the person who oversees this work (" + who + "): ")
		}
		b.WriteString(holdgate.Bounded(m.Content, gate.MaxWords))
	}
	return b.String()
}
