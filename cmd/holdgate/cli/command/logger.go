package command

import "log/slog"

// Logger logs to stderr. An unknown level is debug: nothing is kept back.
func (e *Env) Logger(level string) *slog.Logger {
	l := slog.LevelDebug
	_ = l.UnmarshalText([]byte(level))
	return slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: l}))
}
