package trace

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdgate/holdgate"
)

// header is the header of W3C Trace Context that names a span.
const header = "Traceparent"

// Asking is the request's span as a traceparent, to be kept with what people are asked;
// empty without a tracer.
func Asking(ctx context.Context) string {
	f := of(ctx)
	if f == nil || f.tracer == nil {
		return ""
	}
	h := http.Header{}
	w3c.Inject(trace.ContextWithSpan(context.Background(), f.span()), propagation.HeaderCarrier(h))
	return h.Get(header)
}

// within is a context in the span that a traceparent names; in none where it names none.
func within(parent string) context.Context {
	return w3c.Extract(context.Background(), propagation.HeaderCarrier{header: {parent}})
}

// Asked notes that people are asked, on the span of the request that has them asked.
func Asked(ctx context.Context, id, rule string) {
	if f := of(ctx); f != nil && f.tracer != nil {
		f.span().AddEvent("asked", trace.WithAttributes(question(id, rule)...))
	}
}

func question(id, rule string) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("holdgate.approval.id", id), attribute.String("holdgate.decision.rule", holdgate.Bounded(rule, maxName))}
}

// A Vote is one answer of a person.
type Vote struct {
	At                time.Time
	Decision, Channel string
}

// A Hold is a question to people that has ended.
type Hold struct {
	Asking           string // what [Asking] was of the request that had people asked; empty: not known
	ID, Rule, Status string
	Asked, Ended     time.Time
	Votes            []Vote
}

// Held makes the span of a hold. Where it is not known what had people asked, the span is in
// a trace of its own.
func Held(t trace.Tracer, h Hold) {
	_, span := t.Start(within(h.Asking), "hold", trace.WithTimestamp(h.Asked), trace.WithAttributes(question(h.ID, h.Rule)...),
		trace.WithAttributes(attribute.String("holdgate.approval.status", h.Status)))
	for _, v := range h.Votes {
		span.AddEvent("vote", trace.WithTimestamp(v.At), trace.WithAttributes(attribute.String("holdgate.vote.decision", v.Decision), attribute.String("holdgate.vote.channel", v.Channel)))
	}
	span.End(trace.WithTimestamp(h.Ended))
}

// TakenUp notes on the request's span that it takes an answer of people up, and links it to
// the span that had them asked, where that is another.
func TakenUp(ctx context.Context, id, asking string) {
	f := of(ctx)
	if f == nil || f.tracer == nil {
		return
	}
	root := f.span()
	root.AddEvent("answered", trace.WithAttributes(attribute.String("holdgate.approval.id", id)))
	if asked := trace.SpanContextFromContext(within(asking)); asked.IsValid() && asked.SpanID() != root.SpanContext().SpanID() {
		root.AddLink(trace.Link{SpanContext: asked})
	}
}
