package app

import (
	"cmp"
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/holdgate/holdgate/proxy/trace"
)

// openTraces has spans sent by OTLP where OpenTelemetry's variables of the environment name
// a place. The exporters and the sampler read the variables themselves.
func (a *App) openTraces(ctx context.Context) error {
	protocol, on, err := tracesBy(a.o.Getenv)
	if err != nil || !on {
		return err
	}
	var out *otlptrace.Exporter
	if protocol == "grpc" {
		out, err = otlptracegrpc.New(ctx)
	} else {
		out, err = otlptracehttp.New(ctx)
	}
	if err != nil {
		return fmt.Errorf("traces by OTLP: %w", err)
	}
	// What the environment says of the resource counts over what is said here.
	of, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "holdgate"), attribute.String("service.version", a.o.Version)), resource.WithFromEnv())
	if err != nil {
		return fmt.Errorf("traces by OTLP: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { a.log.Warn("traces could not be sent", "err", err) }))
	p := sdk.NewTracerProvider(sdk.WithBatcher(out), sdk.WithResource(of))
	a.onStop("traces", p.Shutdown)
	a.tracer = trace.NewTracer(p)
	return nil
}

// tracesBy reads which protocol traces are sent by, and whether they are.
func tracesBy(getenv func(string) string) (protocol string, on bool, err error) {
	if getenv == nil || getenv("OTEL_SDK_DISABLED") == "true" {
		return "", false, nil
	}
	switch exporter := getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "none":
		return "", false, nil
	case "":
		on = cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) != ""
	case "otlp":
		on = true
	default:
		return "", false, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not known: use otlp or none", exporter)
	}
	protocol = cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	if protocol != "grpc" && protocol != "http/protobuf" && on {
		return "", false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not known: use http/protobuf or grpc", protocol)
	}
	return protocol, on, nil
}
