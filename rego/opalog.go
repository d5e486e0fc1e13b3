package rego

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/logging"
)

// An opaLogger lets OPA's plugins log to Holdgate's log.
type opaLogger struct{ log *slog.Logger }

var _ logging.Logger = opaLogger{}

func (l opaLogger) Debug(format string, a ...any) { l.say(slog.LevelDebug, format, a) }
func (l opaLogger) Warn(format string, a ...any)  { l.say(slog.LevelWarn, format, a) }

// Error is told at debug where it is of a bundle: what becomes of fetching those is
// told once, by whoever waits for them.
func (l opaLogger) Error(format string, a ...any) {
	level := slog.LevelError
	if strings.HasPrefix(format, "Bundle download failed") {
		level = slog.LevelDebug
	}
	l.say(level, format, a)
}

// Info is told at debug: what OPA's plugins say of themselves is no news.
func (l opaLogger) Info(format string, a ...any) { l.say(slog.LevelDebug, format, a) }

func (l opaLogger) say(level slog.Level, format string, a []any) {
	if ctx := context.Background(); l.log.Enabled(ctx, level) {
		l.log.Log(ctx, level, "opa: "+fmt.Sprintf(format, a...))
	}
}

// WithFields implements [logging.Logger].
func (l opaLogger) WithFields(fields map[string]any) logging.Logger {
	var attrs []any
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		attrs = append(attrs, k, fields[k])
	}
	return opaLogger{l.log.With(attrs...)}
}

// GetLevel implements [logging.Logger]. OPA asks it before it does what costs.
func (l opaLogger) GetLevel() logging.Level {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		return logging.Debug
	}
	return logging.Warn
}

// SetLevel implements [logging.Logger]: the level is that of Holdgate's log.
func (opaLogger) SetLevel(logging.Level) {}
