package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// Each calls fn for each entry that q selects, however many q asks for.
func Each(c *cli.Context, l Entries, q audit.Query, fn func(audit.Entry) error) error {
	q.Limit = 0
	return l.Each(c.Context, q, fn)
}

// Entries are those of an audit log, by what selects them.
type Entries interface {
	Query(context.Context, audit.Query) ([]audit.Entry, error)
	// Each calls fn for each entry that the query selects, until fn returns an error.
	Each(ctx context.Context, q audit.Query, fn func(audit.Entry) error) error
}

// A Log is the audit log, wherever it is read.
type Log interface {
	Entries
	Export(context.Context, io.Writer) error
	Verify(context.Context, audit.VerifyOptions) (audit.Report, error)
	// Checkpoint, Inclusion and Consistency are those of [audit.Log], with the
	// log's own key; a size of 0 is that of the whole log.
	Checkpoint(ctx context.Context, size uint64) (api.SignedHead, error)
	Inclusion(ctx context.Context, seq, size uint64) (audit.Inclusion, error)
	Consistency(ctx context.Context, from, to uint64) (audit.Consistency, error)
	Close() error
}

// OpenLog opens the log of the running sidecar, or, where none runs, the one
// in the state folder. Close it.
func (e *Env) OpenLog(c *cli.Context) (Log, error) {
	dir, err := e.Place(c)
	if err != nil {
		return nil, err
	}
	sc, err := client.New(e.Door(c, dir))
	if err == nil {
		if _, err = sc.Status(c.Context); err == nil {
			return &remoteLog{sc}, nil
		}
		sc.Close()
	}
	none, ok := errors.AsType[*client.NoSidecarError](err)
	if !ok {
		return nil, err
	}
	s, err := e.Settings(c)
	if err != nil {
		return nil, err
	}
	if s.Store.Postgres.On() {
		if err := app.CheckUnfinished(s.StateDir); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the log is in PostgreSQL, and is read by way of the sidecar that works on it: %w", none)
	}
	if err := app.CheckMoved(s.StateDir); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(s.StateDir, "db")); errors.Is(err, fs.ErrNotExist) {
		return nil, none
	}
	return openStoredLog(s.StateDir)
}

// A remoteLog is the log of a running sidecar.
type remoteLog struct{ c *client.Client }

func (l *remoteLog) Query(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
	return l.c.Audit(ctx, q)
}

// Each asks for page after page.
func (l *remoteLog) Each(ctx context.Context, q audit.Query, fn func(audit.Entry) error) error {
	const page = 1000
	for {
		q.Limit = page
		entries, err := l.c.Audit(ctx, q)
		if err != nil {
			return err
		}
		for _, n := range entries {
			if err := fn(n); err != nil {
				return err
			}
		}
		if len(entries) < page {
			return nil
		}
		q.From = entries[page-1].Seq + 1
	}
}

func (l *remoteLog) Export(ctx context.Context, w io.Writer) error { return l.c.AuditExport(ctx, w) }

// Verify verifies the export as it arrives. Where no head is given it must
// contain the one that the sidecar told before.
func (l *remoteLog) Verify(ctx context.Context, o audit.VerifyOptions) (audit.Report, error) {
	if o.Head == (audit.Head{}) {
		head, err := l.c.AuditHead(ctx)
		if err != nil {
			return audit.Report{}, err
		}
		o.Head = head
	}
	r, w := io.Pipe()
	exported := make(chan struct{})
	go func() {
		defer close(exported)
		w.CloseWithError(l.c.AuditExport(ctx, w))
	}()
	report, err := audit.Verify(r, o)
	r.Close() // ends an export that is not read to its end
	<-exported
	return report, err
}

func (l *remoteLog) Checkpoint(ctx context.Context, size uint64) (api.SignedHead, error) {
	return l.c.AuditCheckpoint(ctx, size)
}

func (l *remoteLog) Inclusion(ctx context.Context, seq, size uint64) (audit.Inclusion, error) {
	return l.c.AuditInclusion(ctx, seq, size)
}

func (l *remoteLog) Consistency(ctx context.Context, from, to uint64) (audit.Consistency, error) {
	return l.c.AuditConsistency(ctx, from, to)
}

func (l *remoteLog) Close() error {
	l.c.Close()
	return nil
}

// A storedLog is the log in a state folder that no sidecar uses.
type storedLog struct {
	*audit.Log
	st     store.Store
	signer *audit.Signer
}

// openStoredLog opens the database for as long as the command runs; a sidecar
// that starts meanwhile is told that the folder is in use.
func openStoredLog(stateDir string) (*storedLog, error) {
	key, err := app.AuditKey(stateDir)
	if err != nil {
		return nil, err
	}
	signer, err := app.AuditSigner(stateDir)
	if err != nil {
		return nil, err
	}
	st, err := app.OpenLocal(stateDir, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	log, err := audit.OpenReadOnly(st, key)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &storedLog{log, st, signer}, nil
}

// Checkpoint counts as of local integrity: nobody knows what an agent could read.
func (l *storedLog) Checkpoint(ctx context.Context, size uint64) (api.SignedHead, error) {
	c, err := l.Log.Checkpoint(ctx, l.signer, size)
	return api.SignedHead{Size: c.Size, Checkpoint: c.Text, Key: l.signer.Public(), Integrity: api.IntegrityLocal}, err
}

func (l *storedLog) Inclusion(ctx context.Context, seq, size uint64) (audit.Inclusion, error) {
	return l.Log.Inclusion(ctx, l.signer, seq, size)
}

func (l *storedLog) Consistency(ctx context.Context, from, to uint64) (audit.Consistency, error) {
	return l.Log.Consistency(ctx, l.signer, from, to)
}

func (l *storedLog) Close() error { return l.st.Close() }

// WithLog opens the log for as long as fn runs.
func (e *Env) WithLog(c *cli.Context, fn func(Log) error) error {
	l, err := e.OpenLog(c)
	if err != nil {
		return err
	}
	return errors.Join(fn(l), l.Close())
}

// WriteUndo writes down in the audit log that somebody takes back what a run changed:
// by way of the sidecar, which asks for a token, or where none runs in the state
// folder itself.
func (e *Env) WriteUndo(c *cli.Context, u api.Undo) error {
	s, err := e.Settings(c)
	if err != nil {
		return err
	}
	sc, err := client.New(e.Door(c, s.StateDir))
	if err == nil {
		defer sc.Close()
		_, err = sc.Undo(c.Context, u)
	}
	none, ok := errors.AsType[*client.NoSidecarError](err)
	if !ok {
		return err
	}
	if s.Store.Postgres.On() {
		if err := app.CheckUnfinished(s.StateDir); err != nil {
			return err
		}
		return fmt.Errorf("the log is in PostgreSQL, and is written by way of the sidecar that works on it: %w", none)
	}
	return writeStored(c.Context, s, u)
}

// writeStored writes to the log of a state folder that no sidecar uses.
func writeStored(ctx context.Context, s config.Config, u api.Undo) (err error) {
	key, err := app.AuditKey(s.StateDir)
	if err != nil {
		return err
	}
	st, err := app.OpenLocal(s.StateDir, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	log, err := audit.Open(ctx, st, key)
	if err != nil {
		return err
	}
	entry, err := api.UndoEntry(s.Approver, u)
	if err == nil {
		_, err = log.Write(ctx, entry, true)
	}
	return err
}
