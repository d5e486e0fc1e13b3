package report

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxLine cuts a line of the log, in bytes.
const maxLine = 1000

// A Log keeps the newest lines that were logged, scrubbed. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	lines []string // a ring
	next  int
}

// NewLog keeps up to n lines.
func NewLog(n int) *Log { return &Log{lines: make([]string, n)} }

// Handler has h handle what it handled, and keeps each line besides.
func (l *Log) Handler(h slog.Handler) slog.Handler { return handler{next: h, log: l} }

// Text is the lines, the oldest first.
func (l *Log) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text strings.Builder
	for _, line := range slices.Concat(l.lines[l.next:], l.lines[:l.next]) {
		if line != "" {
			text.WriteString(line + "\n")
		}
	}
	return text.String()
}

func (l *Log) keep(line string) {
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + hidden
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines[l.next] = line
	l.next = (l.next + 1) % len(l.lines)
}

// A handler keeps what goes by.
type handler struct {
	next   slog.Handler
	log    *Log
	attrs  string // those of With, as text
	prefix string // the groups'
}

// Enabled implements [slog.Handler].
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	line := r.Time.UTC().Format(time.RFC3339Nano) + " " + r.Level.String() + " " + scrub(r.Message, true) + h.attrs
	r.Attrs(func(a slog.Attr) bool {
		line += attr(h.prefix, a)
		return true
	})
	h.log.keep(line)
	return h.next.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.next = h.next.WithAttrs(attrs)
	for _, a := range attrs {
		h.attrs += attr(h.prefix, a)
	}
	return h
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) slog.Handler {
	h.next = h.next.WithGroup(name)
	h.prefix += Scrub(name) + "."
	return h
}

// ownValues are attributes whose texts are the program's own words.
var ownValues = []string{"action", "assurance", "decision", "door", "format", "kind", "level", "method", "mode", "signal", "status"}

// errorValues are attributes whose texts say what went wrong: of those what Scrub leaves
// shows.
var errorValues = []string{"cause", "err", "error", "why"}

// attr is one attribute as it shows: names are the program's own words. Of values numbers
// and times show, and of texts those that can be read without knowing what the sidecar was
// told.
func attr(prefix string, a slog.Attr) string {
	v := a.Value.Resolve()
	name := " " + prefix + Scrub(a.Key) + "="
	switch v.Kind() {
	case slog.KindGroup:
		text := ""
		for _, in := range v.Group() {
			text += attr(prefix+Scrub(a.Key)+".", in)
		}
		return text
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindUint64, slog.KindTime:
		return name + v.String()
	}
	text := hidden
	switch {
	case slices.Contains(ownValues, a.Key):
		text = scrub(v.String(), true)
	case slices.Contains(errorValues, a.Key):
		text = Scrub(v.String())
	}
	return name + fmt.Sprintf("%q", text)
}
