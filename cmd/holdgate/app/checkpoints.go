package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	// dropEvery is how often it is looked whether old entries are to be dropped.
	dropEvery = time.Hour
	// reclaimAfter is how long after a drop the store is asked once more for the room.
	reclaimAfter = 3 * time.Minute
	// publishEvery is how often a checkpoint goes out where nothing else is said.
	publishEvery = 5 * time.Minute
	// publishTimeout bounds one delivery, the last one when the sidecar stops too.
	publishTimeout = 3 * time.Second
)

// checkAudit looks for gaps in the log, which opening the store on this disk does not.
// Where there is one nothing more is let through.
func (a *App) checkAudit(ctx context.Context) error {
	if a.c.Store.Postgres.On() {
		return nil
	}
	if err := a.audit.CheckBehind(ctx); err != nil && ctx.Err() == nil {
		a.log.Error("the audit log has a gap: nothing more is let through or held; `holdgate store check` says which file is damaged", "err", err)
	}
	return nil
}

// keepAudit drops what retention does not keep of the audit log, until ctx ends.
func (a *App) keepAudit(ctx context.Context) error {
	keep := audit.Keep{For: time.Duration(a.c.Retention.Audit), Bytes: uint64(a.c.Retention.AuditBytes)}
	if keep == (audit.Keep{}) {
		return nil
	}
	tick := time.NewTicker(dropEvery)
	defer tick.Stop()
	for {
		n, err := a.audit.Drop(ctx, keep)
		if err != nil && ctx.Err() == nil {
			a.log.Error("the audit log keeps more than it is to", "err", err)
		}
		if n > 0 {
			a.log.Info("old entries of the audit log were dropped", "entries", n)
			a.reclaim(ctx)
			select { // the store kept some of what was dropped last
			case <-time.After(reclaimAfter):
				a.reclaim(ctx)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reclaim gives the disk back what was dropped.
func (a *App) reclaim(ctx context.Context) {
	disk, ok := a.store.(store.Reclaimer)
	if !ok {
		return
	}
	if err := disk.Reclaim(); err != nil && ctx.Err() == nil {
		a.log.Warn("the disk has not got back what was dropped of the audit log", "err", err)
	}
}

// publish gives checkpoints to whom the configuration names, as long as the log
// grows, and a last one when ctx ends.
func (a *App) publish(ctx context.Context) error {
	to := a.c.Audit.Checkpoints
	p := a.publisher()
	if len(p.places) == 0 {
		return nil
	}
	every := time.Duration(to.Every)
	if every == 0 {
		every = publishEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		p.publish(ctx, func(err error) {
			if ctx.Err() == nil { // else the last one follows
				a.warnUnpublished(err)
			}
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	p.publish(last, a.warnUnpublished)
	return ctx.Err()
}

func (a *App) warnUnpublished(err error) {
	a.log.Error("a checkpoint of the audit log did not get out", "err", err)
}

// A publisher brings checkpoints to where the log is not. It is for one
// goroutine.
type publisher struct {
	log    *audit.Log
	signer *audit.Signer
	http   *http.Client
	places []*place
}

// A place is where checkpoints go. has is the size of the one that it has.
type place struct {
	deliver func(context.Context, audit.Checkpoint) error
	has     uint64
}

// publisher is one for the places that the configuration names.
func (a *App) publisher() *publisher {
	to := a.c.Audit.Checkpoints
	p := &publisher{log: a.audit, signer: a.signer,
		http: &http.Client{Timeout: publishTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	add := func(is bool, deliver func(context.Context, audit.Checkpoint) error) {
		if is {
			p.places = append(p.places, &place{deliver: deliver})
		}
	}
	add(to.File != "", func(ctx context.Context, c audit.Checkpoint) error { return p.append(ctx, to.File, c) })
	add(to.URL != "", func(ctx context.Context, c audit.Checkpoint) error { return p.post(ctx, to.URL, c) })
	add(to.Syslog != "", func(ctx context.Context, c audit.Checkpoint) error { return sendSyslog(ctx, to.Syslog, c) })
	add(len(to.Command) > 0, func(ctx context.Context, c audit.Checkpoint) error { return runWitness(ctx, to.Command, c) })
	return p
}

// publish brings the newest checkpoint to each place that has an older one, and
// tells what failed. Each place has its own time.
func (p *publisher) publish(ctx context.Context, failed func(error)) {
	c, err := p.log.Checkpoint(ctx, p.signer, 0)
	if err != nil {
		failed(err)
		return
	}
	for _, to := range p.places {
		if c.Size == to.has {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, publishTimeout)
		err := to.deliver(bounded, c)
		cancel()
		if err != nil {
			failed(err)
		} else {
			to.has = c.Size
		}
	}
}

// append adds a checkpoint to the file, unless the log does not begin with what
// the file's last one states: then it is not the same log any longer, and nothing
// that says so is signed away.
func (p *publisher) append(ctx context.Context, file string, c audit.Checkpoint) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading earlier checkpoints: %w", err)
	}
	if len(old) > 0 {
		key, err := note.NewVerifier(p.signer.Public())
		if err != nil {
			return err
		}
		list, err := audit.OpenCheckpoints(string(old), key)
		if err != nil {
			return fmt.Errorf("%s holds something else than this log's checkpoints: %w", file, err)
		}
		last := list[len(list)-1]
		if last.Size == c.Size && last.Root == c.Root {
			return nil
		}
		again, err := p.log.Checkpoint(ctx, p.signer, last.Size)
		if errors.Is(err, audit.ErrNoSuchEntry) || err == nil && again.Root != last.Root {
			return fmt.Errorf("THE AUDIT LOG IS NOT THE ONE OF THE LAST CHECKPOINT in %s (%d entries): it was cut, rewritten, or restored from an older copy; keep both as they are", file, last.Size)
		}
		if err != nil {
			return err
		}
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(c.Text)
	return errors.Join(err, f.Sync(), f.Close())
}

// post sends a checkpoint to the URL.
func (p *publisher) post(ctx context.Context, url string, c audit.Checkpoint) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(c.Text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	resp, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return nil
}
