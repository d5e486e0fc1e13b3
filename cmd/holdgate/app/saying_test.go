package app_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
)

func TestTheLogBeginsWithTheConfigurationInForce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "holdgate.yaml")
	for _, tt := range []struct {
		name, file, want string
		level            slog.Level
		agent            string
	}{
		{"a file", file, "file=" + file, slog.LevelError, ""},
		{"none", "", "file=none", slog.LevelInfo, ""},
		{"none, and nobody asked", "", "", slog.LevelError, ""},
		{"beside an agent, and somebody asked", file, "file=" + file, slog.LevelInfo, "claude"},
		{"beside an agent, and nobody asked", file, "", slog.LevelWarn, "claude"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := configuration(t)
			c.File = tt.file
			var log bytes.Buffer
			a, err := app.New(t.Context(), c, app.Options{Version: "test", Agent: holdgate.Agent{ID: tt.agent}, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: tt.level}))})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			first, _, _ := strings.Cut(log.String(), "\n")
			if tt.want == "" && first != "" || !strings.HasSuffix(first, tt.want) || tt.want != "" && !strings.Contains(first, "msg=configuration ") {
				t.Errorf("the log begins with %q, want %q", first, tt.want)
			}
		})
	}
}
