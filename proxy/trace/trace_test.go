package trace_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/trace"
)

var tool = holdgate.Call{Kind: holdgate.KindToolCall, ID: "toolu_1", Tool: &holdgate.Tool{Name: "Bash", Arguments: []byte(`{"command":"ls"}`)}}

// follow takes a request the way that one of an agent takes.
func follow(r *http.Request, t oteltrace.Tracer, answer http.Header) {
	r, end := trace.Begin(r, t, answer, "base-url")
	defer end()
	trace.From(r.Context(), holdgate.Agent{ID: "default"}, "default", "anthropic", "anthropic")
	for range 2 {
		_, p := trace.Evaluate(r.Context(), tool, false)
		p.Decided(holdgate.Decision{Action: holdgate.Allow, Rule: "default"})
	}
	_, answered := trace.Sent(r, "anthropic")
	answered(200, nil)
}

func posted() *http.Request { return httptest.NewRequest("POST", "/up/anthropic/v1/messages", nil) }

// Without traces a request costs as little as docs/operations.md says.
func TestWithoutTracesItCostsLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short, as the race detector runs: it has allocations of its own")
	}
	r, h := posted(), http.Header{}
	says := fmt.Sprintf("Without traces a request costs %.0f allocations", testing.AllocsPerRun(100, func() { follow(r, nil, h) }))
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), says) {
		t.Errorf("docs/operations.md does not say: %s", says)
	}
}

func TestARequestThatIsKeptEndsLater(t *testing.T) {
	to := tracetest.NewInMemoryExporter()
	tracer := trace.NewTracer(sdk.NewTracerProvider(sdk.WithSyncer(to)))
	r, end := trace.Begin(httptest.NewRequest("GET", "/", nil), tracer, http.Header{}, "base-url")
	kept := trace.Carry(context.Background(), r.Context())
	done := trace.Keep(kept)
	end()
	if n := len(to.GetSpans()); n != 0 {
		t.Fatalf("%d spans have ended", n)
	}
	if trace.ID(kept) == "" || trace.ID(kept) != trace.ID(r.Context()) {
		t.Errorf("it is of the trace %q, not %q", trace.ID(kept), trace.ID(r.Context()))
	}
	done()
	if n := len(to.GetSpans()); n != 1 {
		t.Errorf("%d spans have ended", n)
	}
}

func TestLinesAboutARequestSaySo(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(trace.LogHandler(slog.NewTextHandler(&out, nil))).With("door", "x")
	off, _ := trace.Begin(httptest.NewRequest("GET", "/", nil), nil, http.Header{}, "base-url")
	on, _ := trace.Begin(httptest.NewRequest("GET", "/", nil), trace.NewTracer(sdk.NewTracerProvider()), http.Header{}, "base-url")
	log.Info("of nothing")
	log.InfoContext(off.Context(), "without a trace")
	log.InfoContext(on.Context(), "with a trace")
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{`of nothing" door=x$`, `without a trace" door=x request=[0-9a-z]{13}$`, `with a trace" door=x request=[0-9a-z]{13} trace=[0-9a-f]{32}$`} {
		if !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("got %s, want %s", lines[i], want)
		}
	}
}

func BenchmarkOff(b *testing.B) {
	r, h := posted(), http.Header{}
	b.ReportAllocs()
	for b.Loop() {
		follow(r, nil, h)
	}
}

func BenchmarkOn(b *testing.B) {
	p := sdk.NewTracerProvider(sdk.WithBatcher(tracetest.NewNoopExporter()))
	b.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	r, h, t := posted(), http.Header{}, trace.NewTracer(p)
	b.ReportAllocs()
	for b.Loop() {
		follow(r, t, h)
	}
}
