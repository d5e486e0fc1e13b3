package command

import "log/slog"

// Logger logs to stderr. An unknown level is debug: nothing is kept back.
func (e *Env) Logger(level string) *slog.Logger { return e.TextLogger(Level(level)) }

// TextLogger logs to stderr from a level on that may change.
func (e *Env) TextLogger(level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: level}))
}

// JSONLogger logs to stderr too, one object of JSON a line.
func (e *Env) JSONLogger(level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewJSONHandler(e.Stderr, &slog.HandlerOptions{Level: level}))
}

// Level is a level that can be changed. An unknown word is debug.
func Level(word string) *slog.LevelVar {
	l := slog.LevelDebug
	_ = l.UnmarshalText([]byte(word))
	v := new(slog.LevelVar)
	v.Set(l)
	return v
}
