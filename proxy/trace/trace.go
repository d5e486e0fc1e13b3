// Package trace follows a request of an agent on its way: an id for each request, for log
// lines, and spans of OpenTelemetry where there is a tracer. It travels in contexts.
//
//	request                  from the agent's request to the end of its answer
//	  policy                 one evaluation of a call, and what it decided
//	    facts                what is found out about the call
//	  hold                   from the question to people to its end; votes are events
//	  chat, execute_tool     the request to the upstream, to the head of its answer
//
// Spans have names, ids and rules, and never arguments, texts or answers. The attributes
// of models and tools are in genai.go alone, for their names are not settled yet.
//
// Without a tracer all that is left is the id: the functions for spans do nothing.
package trace

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
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
	tracer trace.Tracer // nil: there are no spans
	root   trace.Span
	users  atomic.Int32 // the span ends with the last one
	asks   atomic.Pointer[operation]
}

type key struct{}

func of(ctx context.Context) *followed {
	f, _ := ctx.Value(key{}).(*followed)
	return f
}

// Begin begins to follow a request, which comes by a door. A nil tracer makes no spans.
// What is returned ends it.
func Begin(r *http.Request, t trace.Tracer, h http.Header, door string) (*http.Request, func()) {
	f := &followed{id: strconv.FormatUint(rand.Uint64()|1<<63, 36), tracer: t}
	ctx := context.WithValue(r.Context(), key{}, f)
	if t == nil {
		return r.WithContext(ctx), func() {}
	}
	ctx = w3c.Extract(ctx, propagation.HeaderCarrier(r.Header))
	ctx, f.root = t.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", holdgate.Bounded(r.Method, maxName)), attribute.String("holdgate.request", f.id), attribute.String("holdgate.door", door)))
	if c := f.root.SpanContext(); c.IsValid() { // W3C Trace Context, level 2
		h.Set("Traceresponse", "00-"+c.TraceID().String()+"-"+c.SpanID().String()+"-"+c.TraceFlags().String())
	}
	f.users.Store(1)
	return r.WithContext(ctx), f.end
}

// w3c reads and writes traceparent and tracestate.
var w3c propagation.TraceContext

func (f *followed) end() {
	if f.users.Add(-1) == 0 {
		f.root.End()
	}
}

// Keep keeps the request from ending until what it returns is called.
func Keep(ctx context.Context) (done func()) {
	f := of(ctx)
	if f == nil || f.tracer == nil {
		return func() {}
	}
	f.users.Add(1)
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
	return trace.ContextWithSpan(ctx, f.root)
}

// From says who makes the request, where to, in which format. Names that agents choose
// are bounded.
func From(ctx context.Context, agent holdgate.Agent, session, upstream, format string) {
	f := of(ctx)
	if f == nil || f.tracer == nil || !f.root.IsRecording() {
		return
	}
	f.root.SetAttributes(caller(agent.ID, session)...)
	f.root.SetAttributes(provider(format)...)
	f.root.SetAttributes(attribute.Bool("holdgate.agent.proven", agent.Proven), attribute.String("holdgate.upstream", upstream), attribute.String("holdgate.format", format))
}

// ID is that of the trace, where the trace is recorded, and else empty.
func ID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.IsSampled() {
		return c.TraceID().String()
	}
	return ""
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
	op := operationOf(c)
	if request && op.name != "" {
		f.asks.Store(&op)
		f.root.SetName(op.span())
		f.root.SetAttributes(op.attributes...)
	}
	ctx, span := f.tracer.Start(ctx, "policy", trace.WithAttributes(op.attributes...), trace.WithAttributes(attribute.String("holdgate.call.kind", string(c.Kind))))
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

// A Vote is one answer of a person.
type Vote struct {
	At                time.Time
	Decision, Channel string
}

// Held adds the span of a question to people that has ended. It began before this
// connection where the agent has come back for the answer.
func Held(ctx context.Context, id, rule, status string, asked, ended time.Time, votes []Vote) {
	f := of(ctx)
	if f == nil || f.tracer == nil {
		return
	}
	_, span := f.tracer.Start(ctx, "hold", trace.WithTimestamp(asked), trace.WithAttributes(
		attribute.String("holdgate.approval.id", id), attribute.String("holdgate.decision.rule", holdgate.Bounded(rule, maxName)), attribute.String("holdgate.approval.status", status)))
	for _, v := range votes {
		span.AddEvent("vote", trace.WithTimestamp(v.At), trace.WithAttributes(attribute.String("holdgate.vote.decision", v.Decision), attribute.String("holdgate.vote.channel", v.Channel)))
	}
	span.End(trace.WithTimestamp(ended))
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
	ctx, span := f.tracer.Start(r.Context(), name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...), trace.WithAttributes(
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
