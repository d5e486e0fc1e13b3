package mcpproxy_test

import (
	"regexp"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/holdgate/holdgate/proxy"
	"github.com/holdgate/holdgate/proxy/mcpproxy/stdio"
	"github.com/holdgate/holdgate/proxy/proxytest"
	"github.com/holdgate/holdgate/proxy/trace"
)

const callersTrace = "0af7651916cd43dd8448eb211c80319c"

// On standard streams, where there are no headers, a trace is in _meta: the client's is taken
// up, and the server is told of the span of Holdgate's request to it.
func TestATraceGoesThroughOverStdio(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, params, want string }{
		{"of the client", `"params":{"name":"f","_meta":{"traceparent":"00-` + callersTrace + `-b7ad6b7169203331-01","tracestate":"a=1"}}`,
			`"params":{"name":"f","_meta":{"traceparent":"00-(` + callersTrace + `)-([0-9a-f]{16})-01","tracestate":"a=1"}}`},
		{"of nobody", `"params":{"name":"f"}`, `"params":{"name":"f","_meta":{"traceparent":"00-([0-9a-f]{32})-([0-9a-f]{16})-01"}}`},
		{"of a client whose word is no trace", `"params":{"name":"f","_meta":{"traceparent":"00-1\r\nX: y","progressToken":1}}`,
			`"params":{"name":"f","_meta":{"traceparent":"00-([0-9a-f]{32})-([0-9a-f]{16})-01","progressToken":1}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			to := tracetest.NewInMemoryExporter()
			p := newPipe(t, func(c *proxy.Config) {
				c.Tracer = trace.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(to)))
			})
			seq := p.from(stdio.Client, `{"jsonrpc":"2.0","id":1,"method":"tools/call",`+tt.params+`}`)
			line := next(p, p.server)
			told := regexp.MustCompile(`^\{"jsonrpc":"2.0","id":1,"method":"tools/call",` + tt.want + `\}$`).FindStringSubmatch(line)
			if told == nil {
				t.Fatalf("the server got %s", line)
			}
			p.from(stdio.Server, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
			p.over(seq)
			proxytest.Await(t, "the span of the request to the server", func() (bool, any) {
				for _, s := range to.GetSpans() {
					if s.SpanKind == oteltrace.SpanKindClient && s.SpanContext.TraceID().String() == told[1] && s.SpanContext.SpanID().String() == told[2] {
						return true, nil
					}
				}
				return false, to.GetSpans()
			})
		})
	}
}
