package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestALogWhoseLevelIsFixedHasNone(t *testing.T) {
	s := &Server{}
	r := &request{Request: httptest.NewRequest(http.MethodGet, "/v1/log", nil)}
	if _, err := s.logLevel(r); err == nil {
		t.Error("a fixed level was told")
	}
	if _, err := s.setLogLevel(r, LogLevel{"debug"}); err == nil {
		t.Error("a fixed level was set")
	}
	s.c.Level = new(slog.LevelVar)
	for word, level := range logLevels {
		s.c.Level.Set(level)
		if got, err := s.logLevel(r); err != nil || got.Level != word {
			t.Errorf("%v: got %q, %v", level, got.Level, err)
		}
	}
}
