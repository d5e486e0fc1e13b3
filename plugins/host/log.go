package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/plugins/sdk"
)

// What a channel can put into the log: lines a second in the long run, lines at
// once, bytes of a line, fields of a line.
const (
	logRate   = 10
	logBurst  = 100
	logLine   = 4 << 10
	logFields = 20
)

// logOutput logs what a process writes to standard error, until it ends. Lines
// in the form of [sdk.Logger] keep their level and fields.
func logOutput(log *slog.Logger, r io.Reader) {
	in := bufio.NewReaderSize(r, logLine)
	limit := rate.NewLimiter(logRate, logBurst)
	dropped := 0
	for {
		line, cut, err := in.ReadLine()
		text := string(line)
		for more := cut; more && err == nil; {
			_, more, err = in.ReadLine()
		}
		if err != nil && text == "" {
			return
		}
		if !limit.Allow() {
			dropped++
			continue
		}
		if dropped > 0 {
			log.Warn("the channel writes too much; lines were dropped", "lines", dropped)
			dropped = 0
		}
		logText(log, text, cut)
	}
}

func logText(log *slog.Logger, line string, cut bool) {
	var fields map[string]any
	if cut || json.Unmarshal([]byte(line), &fields) != nil {
		log.Warn("the channel wrote", "text", holdgate.Visible(line), "cut", cut)
		return
	}
	level := slog.LevelWarn
	if s, ok := fields[slog.LevelKey].(string); ok {
		_ = level.UnmarshalText([]byte(s)) // else it stays a warning
	}
	msg, _ := fields[slog.MessageKey].(string)
	for _, k := range []string{slog.LevelKey, slog.MessageKey, slog.TimeKey} {
		delete(fields, k)
	}
	var attrs []any
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if len(attrs) == 2*logFields {
			break
		}
		attrs = append(attrs, holdgate.Visible(k), holdgate.Visible(fmt.Sprint(fields[k])))
	}
	log.Log(context.Background(), level, holdgate.Visible(msg), slog.Group("fields", attrs...))
}

// maxErrorText bounds what is kept of an error's text, in bytes.
const maxErrorText = 1 << 10

// shown returns the error with its text cut and safe to show: a channel wrote
// it, or had a say in it.
func shown(err error) error {
	text := err.Error()
	if len(text) > maxErrorText {
		text = text[:maxErrorText] + " ..."
	}
	return &shownError{text: holdgate.Visible(text), err: err}
}

type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string { return e.text }
func (e *shownError) Unwrap() error { return e.err }

// ownError returns the error that the channel itself answered, where err is one.
func ownError(err error) (*sdk.ChannelError, bool) {
	return errors.AsType[*sdk.ChannelError](err)
}

// bridge is go-plugin's logger. What it says is of use to developers alone:
// what matters is reported as an error too.
func bridge(log *slog.Logger) hclog.Logger {
	return &hclogger{Logger: hclog.NewNullLogger(), log: log}
}

// hclogger passes on what is logged, and inherits the rest of the interface
// from a logger that does nothing.
type hclogger struct {
	hclog.Logger
	log *slog.Logger
}

// Log implements [hclog.Logger].
func (h *hclogger) Log(_ hclog.Level, msg string, args ...any) {
	attrs := make([]any, 0, len(args))
	for _, a := range args {
		attrs = append(attrs, holdgate.Visible(fmt.Sprint(a)))
	}
	h.log.Debug("go-plugin: "+holdgate.Visible(msg), attrs...)
}

// Trace implements [hclog.Logger]; it is left out.
func (h *hclogger) Trace(string, ...any) {}

// Debug implements [hclog.Logger].
func (h *hclogger) Debug(msg string, args ...any) { h.Log(hclog.Debug, msg, args...) }

// Info implements [hclog.Logger].
func (h *hclogger) Info(msg string, args ...any) { h.Log(hclog.Info, msg, args...) }

// Warn implements [hclog.Logger].
func (h *hclogger) Warn(msg string, args ...any) { h.Log(hclog.Warn, msg, args...) }

// Error implements [hclog.Logger].
func (h *hclogger) Error(msg string, args ...any) { h.Log(hclog.Error, msg, args...) }

// Named implements [hclog.Logger].
func (h *hclogger) Named(string) hclog.Logger { return h }

// With implements [hclog.Logger].
func (h *hclogger) With(args ...any) hclog.Logger {
	return &hclogger{Logger: h.Logger, log: h.log.With(args...)}
}
