package gate

import (
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/trace"
)

// TraceHold makes the span of a request to people that has ended; a nil tracer makes none.
func TraceHold(t oteltrace.Tracer, e approvals.Ended) {
	if t == nil {
		return
	}
	votes := make([]trace.Vote, 0, len(e.Votes))
	for _, v := range e.Votes {
		votes = append(votes, trace.Vote{At: v.At, Decision: string(v.Decision), Channel: v.Channel})
	}
	trace.Held(t, trace.Hold{Asking: e.Trace, ID: e.ID, Rule: e.Rule, Status: string(e.Status), Asked: e.Asked, Ended: e.At, Votes: votes})
}
