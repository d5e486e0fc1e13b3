package app

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"time"
)

// sayConfiguration logs which file is in force, before all else. A sidecar that
// serves names a file at every level: one that was found decides as much as one that
// somebody named, and nobody may have thought of it. Beside an agent's own output
// the level decides.
func (a *App) sayConfiguration(ctx context.Context) {
	file := a.c.File
	if abs, err := filepath.Abs(file); err == nil && file != "" {
		file = abs
	}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "configuration", 0)
	r.AddAttrs(slog.String("file", cmp.Or(file, "none")))
	if h := a.log.Handler(); file != "" && a.o.Agent.ID == "" || h.Enabled(ctx, r.Level) {
		_ = h.Handle(ctx, r) // a log that cannot be written ends nothing
	}
}
