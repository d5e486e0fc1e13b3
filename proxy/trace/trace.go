// Package trace follows a request of an agent on its way: an id for each request, for log
// lines, and spans of OpenTelemetry where there is a tracer. It travels in contexts.
//
//	request                  from what the agent asks to the end of its answer
//	  policy                 one evaluation of a call, and what it decided
//	    facts                what is found out about the call
//	  hold                   from the question to people to its end; votes are events
//	  chat, execute_tool     the request to the upstream, to the head of its answer
//
// Spans have names, ids and rules, and never arguments, texts or answers. The attributes
// of models and tools are in genai.go alone, for their names are not settled yet.
//
// A hold is within the span of the request that had people asked, which may be over: it is
// made when the question ends, whether or not the agent is there to take the answer up.
// What takes the answer up is linked to it. What only looks how a question stands has no
// span.
//
// Without a tracer all that is left is the id: the functions for spans do nothing.
package trace

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdgate/holdgate"
)

// Scope names Holdgate among those that make spans.
const Scope = "github.com/holdgate/holdgate"

// NewTracer returns what [Begin] makes spans with.
func NewTracer(p trace.TracerProvider) trace.Tracer {
	return p.Tracer(Scope, trace.WithSchemaURL(SchemaURL))
}

// A followed request is in the context of all that is done for it.
type followed struct {
	id     string
	tracer trace.Tracer    // nil: there are no spans
	within context.Context // the caller's trace; nil without a tracer
	method string
	answer http.Header // is told of the trace; nil: nobody is
	began  time.Time
	asks   atomic.Pointer[operation]

	mu    sync.Mutex
	root  trace.Span // nil until something is asked
	users int        // the span ends with the last one
	used  holdgate.Usage
}

type key struct{}

func of(ctx context.Context) *followed {
	f, _ := ctx.Value(key{}).(*followed)
	return f
}

// Begin begins to follow a request, which came to a door and asks for something: it has a
// span from now on. A nil tracer makes no spans. What is returned ends it.
func Begin(r *http.Request, t trace.Tracer, h http.Header, door string) (*http.Request, func()) {
	ctx, end := Follow(r.Context(), t, r.Method, r.Header, h)
	if t == nil {
		return r.WithContext(ctx), end
	}
	root := of(ctx).span()
	root.SetAttributes(attribute.String("holdgate.door", door))
	return r.WithContext(trace.ContextWithSpan(ctx, root)), end
}

// Follow begins to follow what may ask for something, or only look how a question stands.
// It has a span once policy is asked, or the answer of people is taken up. asked has the
// caller's trace, and answer is told of it; either may be nil. What is returned ends it.
func Follow(ctx context.Context, t trace.Tracer, method string, asked, answer http.Header) (context.Context, func()) {
	f := &followed{id: strconv.FormatUint(rand.Uint64()|1<<63, 36), tracer: t}
	if t == nil {
		return context.WithValue(ctx, key{}, f), func() {}
	}
	ctx = w3c.Extract(ctx, propagation.HeaderCarrier(asked))
	f.within, f.method, f.answer, f.began, f.users = ctx, method, answer, time.Now(), 1
	return context.WithValue(ctx, key{}, f), f.end
}

// Each follows one of several questions of a request by itself: it has the request's id,
// and a span of its own. What is returned ends it.
func Each(ctx context.Context) (context.Context, func()) {
	f := of(ctx)
	if f == nil || f.tracer == nil {
		return ctx, func() {}
	}
	one := &followed{id: f.id, tracer: f.tracer, within: f.within, method: f.method, began: time.Now(), users: 1}
	return context.WithValue(ctx, key{}, one), one.end
}

// w3c reads and writes traceparent and tracestate.
var w3c propagation.TraceContext

// span is the request's own, which begins with the first who needs it.
func (f *followed) span() trace.Span {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root != nil {
		return f.root
	}
	_, f.root = f.tracer.Start(f.within, "request", trace.WithTimestamp(f.began), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", holdgate.Bounded(f.method, maxName)), attribute.String("holdgate.request", f.id)))
	if c := f.root.SpanContext(); c.IsValid() && f.answer != nil { // W3C Trace Context, level 2
		f.answer.Set("Traceresponse", "00-"+c.TraceID().String()+"-"+c.SpanID().String()+"-"+c.TraceFlags().String())
	}
	if f.users == 0 {
		f.root.End()
	}
	return f.root
}

// begun is the request's span, nil where nothing was asked yet.
func (f *followed) begun() trace.Span {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.root
}

func (f *followed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 {
		f.answer = nil // it has been written
		if f.root != nil {
			f.root.End()
		}
	}
}

// Keep keeps the request from ending until what it returns is called.
func Keep(ctx context.Context) (done func()) {
	f := of(ctx)
	if f == nil || f.tracer == nil {
		return func() {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users++
	return f.end
}

// Carry returns ctx with the request that another context is of.
func Carry(ctx, from context.Context) context.Context {
	f := of(from)
	if f == nil {
		return ctx
	}
	ctx = context.WithValue(ctx, key{}, f)
	if f.tracer == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, trace.SpanFromContext(from))
}

// From says who makes the request, where to, in which format. Names that agents choose
// are bounded.
func From(ctx context.Context, agent holdgate.Agent, session, upstream, format string) {
	f := of(ctx)
	if f == nil || f.tracer == nil {
		return
	}
	root := f.span()
	if !root.IsRecording() {
		return
	}
	root.SetAttributes(caller(agent, session)...)
	root.SetAttributes(provider(format)...)
	root.SetAttributes(attribute.String("holdgate.upstream", upstream), attribute.String("holdgate.format", format))
}

// Request is the id of the request, as log lines have it; empty where none is followed.
func Request(ctx context.Context) string {
	if f := of(ctx); f != nil {
		return f.id
	}
	return ""
}

// ID is that of the trace, where the trace is recorded, and else empty.
func ID(ctx context.Context) string {
	c := trace.SpanContextFromContext(ctx)
	if f := of(ctx); f != nil && f.tracer != nil && !c.IsSampled() {
		if root := f.begun(); root != nil {
			c = root.SpanContext()
		}
	}
	if !c.IsSampled() {
		return ""
	}
	return c.TraceID().String()
}

// Policy is the span of one evaluation.
type Policy struct{ span trace.Span }

// Evaluate begins the span of an evaluation of a call. Call [Policy.Decided]. request says
// that the call is what the agent's request is as a whole.
func Evaluate(ctx context.Context, c holdgate.Call, request bool) (context.Context, Policy) {
	f := of(ctx)
	if f == nil || f.tracer == nil {
		return ctx, Policy{}
	}
	op, root := operationOf(c), f.span()
	if request {
		root.SetAttributes(caller(c.Agent, c.Session.ID)...)
		root.SetAttributes(attribute.String("holdgate.door", c.Door))
	}
	if request && op.name != "" {
		f.asks.Store(&op)
		root.SetName(op.span())
		root.SetAttributes(op.attributes...)
	}
	ctx, span := f.tracer.Start(trace.ContextWithSpan(ctx, root), "policy", trace.WithAttributes(op.attributes...), trace.WithAttributes(attribute.String("holdgate.call.kind", string(c.Kind))))
	return ctx, Policy{span}
}

// Decided ends the span.
func (p Policy) Decided(d holdgate.Decision) {
	if p.span == nil {
		return
	}
	p.span.SetAttributes(attribute.String("holdgate.decision.action", d.Action.String()), attribute.String("holdgate.decision.rule", holdgate.Bounded(d.Rule, maxName)),
		attribute.String("holdgate.decision.risk", string(d.Risk)), attribute.String("holdgate.policy.revision", d.Revision))
	if d.Rule == holdgate.RulePolicyError {
		p.span.SetStatus(codes.Error, "the policy gave no decision")
	}
	p.span.End()
}

// Used notes on the request's span what its answer has used. Where one request of an agent
// has several answers, the span has the sums.
func Used(ctx context.Context, u holdgate.Usage) {
	f := of(ctx)
	if f == nil || f.tracer == nil || u.Metered == 0 {
		return
	}
	f.mu.Lock()
	f.used = f.used.Plus(u)
	u = f.used
	f.mu.Unlock()
	f.span().SetAttributes(usage(u)...)
}

// Sent begins the span of a request to an upstream, which gets the trace along. Call what
// is returned with the status of its answer, 0 where none came.
func Sent(r *http.Request, upstream string) (_ *http.Request, answered func(status int, err error)) {
	f := of(r.Context())
	if f == nil || f.tracer == nil {
		return r, func(int, error) {}
	}
	name, attributes := "upstream", []attribute.KeyValue(nil)
	if op := f.asks.Load(); op != nil {
		name, attributes = op.span(), op.attributes
	}
	ctx, span := f.tracer.Start(trace.ContextWithSpan(r.Context(), f.span()), name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...), trace.WithAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("server.address", r.URL.Hostname()), attribute.String("holdgate.upstream", upstream)))
	r = r.WithContext(ctx)
	r.Header = r.Header.Clone() // a transport does not change what it was given
	w3c.Inject(ctx, propagation.HeaderCarrier(r.Header))
	return r, func(status int, err error) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if err != nil || status >= http.StatusBadRequest {
			span.SetStatus(codes.Error, "") // an error may quote what was sent
		}
		span.End()
	}
}

// LogHandler adds to each line about a request its id, and its trace where there is one.
// The line must be logged with the request's context.
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if f := of(ctx); f != nil {
		r = r.Clone()
		r.AddAttrs(slog.String("request", f.id))
		if id := ID(ctx); id != "" {
			r.AddAttrs(slog.String("trace", id))
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(a []slog.Attr) slog.Handler { return logHandler{h.Handler.WithAttrs(a)} }

// WithGroup implements [slog.Handler].
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
