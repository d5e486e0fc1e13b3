package badger

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// bridge hands Badger's messages to slog. What Badger calls information is of
// use to those who debug Badger, and goes out as debug.
type bridge struct{ l *slog.Logger }

func (b bridge) Errorf(f string, a ...any)   { b.log(slog.LevelError, f, a) }
func (b bridge) Warningf(f string, a ...any) { b.log(slog.LevelWarn, f, a) }
func (b bridge) Infof(f string, a ...any)    { b.log(slog.LevelDebug, f, a) }

// Debugf drops the message: Badger writes several for each commit.
func (b bridge) Debugf(string, ...any) {}

func (b bridge) log(level slog.Level, format string, args []any) {
	if !b.l.Enabled(context.Background(), level) {
		return
	}
	b.l.Log(context.Background(), level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
}
