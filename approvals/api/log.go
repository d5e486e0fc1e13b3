package api

import (
	"log/slog"
	"net/http"
)

// LogLevel is the answer of GET /v1/log, and the body of PUT /v1/log.
type LogLevel struct {
	Level string `json:"level"` // debug, info, warn or error
}

// logLevels are the words for levels.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// logLevel serves GET /v1/log.
func (s *Server) logLevel(r *request) (LogLevel, error) {
	if _, err := query(r); err != nil {
		return LogLevel{}, err
	}
	if s.c.Level == nil {
		return LogLevel{}, noLogLevel()
	}
	now := s.c.Level.Level()
	for word, level := range logLevels {
		if level == now {
			return LogLevel{word}, nil
		}
	}
	return LogLevel{now.String()}, nil
}

// setLogLevel serves PUT /v1/log.
func (s *Server) setLogLevel(r *request, in LogLevel) (LogLevel, error) {
	if s.c.Level == nil {
		return LogLevel{}, noLogLevel()
	}
	if err := s.admin(r, "changing what is logged"); err != nil {
		return LogLevel{}, err
	}
	level, ok := logLevels[in.Level]
	if !ok {
		return LogLevel{}, problem(http.StatusUnprocessableEntity, "level", "No level", "level must be debug, info, warn or error")
	}
	was := s.c.Level.Level()
	s.c.Level.Set(level)
	s.c.Logger.Log(r.Context(), max(level, slog.LevelInfo), "log level changed", "from", was.String(), "to", level.String(), "by", r.by)
	return in, nil
}

func noLogLevel() error {
	return problem(http.StatusNotFound, ProblemNotFound, "Not found", "the level of this sidecar's log is fixed")
}
