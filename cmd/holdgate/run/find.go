package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/store/badger"
)

// startTogether is how long a sidecar is waited for that another process is
// starting: clients start their MCP servers all at once.
const startTogether = 10 * time.Second

// FindOrStart makes sure that a sidecar serves the state folder, for an MCP
// server. trust takes rules and configuration that lie in the working folder.
// Call stop in the end.
func (h Host) FindOrStart(ctx context.Context, s config.Config, trust bool) (stop func() error, err error) {
	o, err := h.Options(holdgate.Agent{}, trust)
	if err != nil {
		return nil, err
	}
	if o.Proxies, err = h.Proxies(s); err != nil {
		return nil, err
	}
	began := time.Now()
	for {
		running, err := Serving(ctx, s.StateDir)
		if err != nil {
			return nil, err
		}
		if running {
			return func() error { return nil }, nil
		}
		log, closeLog, err := mcpLog(s.StateDir)
		if err != nil {
			return nil, err
		}
		o.Logger = log
		_, end, err := h.Start(ctx, s, o)
		if err == nil {
			return func() error { return errors.Join(end(), closeLog()) }, nil
		}
		if err = errors.Join(err, closeLog()); time.Since(began) > startTogether || !errors.Is(err, badger.ErrInUse) {
			return nil, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// mcpLog is where a sidecar logs that runs beside an MCP server: standard error
// is the server's.
func mcpLog(stateDir string) (*slog.Logger, func() error, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("making the state folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(stateDir, "mcp.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the log: %w", err)
	}
	return slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelWarn})), file.Close, nil
}
