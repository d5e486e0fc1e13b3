package trace

import (
	"sync"

	"go.opentelemetry.io/otel/trace"
)

// maxAsked bounds the questions whose spans are remembered.
const maxAsked = 10_000

// A tracer remembers which spans had people asked, until the answers are taken up. A sidecar
// that starts anew, or has too many questions, has hold spans without a link.
type tracer struct {
	trace.Tracer

	mu    sync.Mutex
	asked map[string]trace.SpanContext // by the id of what people are asked
}

func remember(t trace.Tracer, id string, c trace.SpanContext) {
	own, ok := t.(*tracer)
	if !ok || !c.IsValid() {
		return
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	if len(own.asked) >= maxAsked {
		for any := range own.asked {
			delete(own.asked, any)
			break
		}
	}
	own.asked[id] = c
}

// linked links what takes an answer up, a span, to the one that had people asked, where that
// is another.
func linked(t trace.Tracer, id string, span trace.SpanContext) trace.SpanStartOption {
	own, ok := t.(*tracer)
	if !ok {
		return trace.WithLinks()
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	c, ok := own.asked[id]
	delete(own.asked, id)
	if !ok || c.Equal(span) {
		return trace.WithLinks()
	}
	return trace.WithLinks(trace.Link{SpanContext: c})
}
