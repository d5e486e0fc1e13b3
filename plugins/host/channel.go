package host

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/plugins/sdk"
)

const (
	settled    = time.Minute // a process that ran for so long is started again after a short pause
	answerRate = 10          // answers a second that a channel may give in the long run
	answers    = 30          // and at once
)

// A channel runs one process after the other.
type channel struct {
	c      Channel
	queue  Queue
	nonces nonces
	log    *slog.Logger
	d      deadlines
	answer *rate.Limiter

	routes     func() routes // in force
	agenda     *agenda
	lastOpened *lastOpened // shared by all channels
	rate       *rate.Limiter
	news       chan sdk.News
	notify     func(n sdk.News) // brings news to the other channels
	onTold     func(err error)
	page       func(request string) string // where it is decided in a browser; empty: nowhere

	// telling names what the process is told of. Only tellAll uses it, and once when
	// that has ended.
	telling string

	mu     sync.Mutex
	status Status
	live   *process // nil where none runs
	// healthy says that it reached people when it was looked at last, lost since
	// when it does not, and down that the others were told.
	healthy, down bool
	lost          time.Time
}

func newChannel(c Channel, q Queue, n nonces, log *slog.Logger) *channel {
	limit := rate.NewLimiter(rate.Inf, 1)
	if c.PerMinute > 0 {
		limit = rate.NewLimiter(rate.Limit(float64(c.PerMinute)/60), max(c.PerMinute/4, 1))
	}
	return &channel{
		agenda: newAgenda(), rate: limit, news: make(chan sdk.News, maxNews), notify: func(sdk.News) {}, onTold: func(error) {}, page: func(string) string { return "" },
		c: c, queue: q, nonces: n, log: log.With("channel", c.Name), d: usualDeadlines(), answer: rate.NewLimiter(answerRate, answers),
		healthy: true,
		status:  Status{Name: c.Name, State: StateStopped, Since: time.Now()},
	}
}

// run runs processes until ctx ends.
func (c *channel) run(ctx context.Context) {
	pause := c.d.pauses()
	for {
		began := time.Now()
		err := c.once(ctx)
		if ctx.Err() != nil {
			c.become(StateStopped, nil)
			return
		}
		if time.Since(began) >= settled {
			pause.Reset()
		}
		wait := pause.NextBackOff()
		c.become(StateStopped, err)
		c.log.Error("the channel has stopped and is started again", "err", err, "pause", wait.Round(time.Millisecond))
		if !sleep(ctx, wait) {
			return
		}
		c.mu.Lock()
		c.status.Restarts++
		c.mu.Unlock()
	}
}

// once runs one process until it breaks down or ctx ends, and says why.
func (c *channel) once(ctx context.Context) error {
	c.become(StateStarting, nil)
	p, err := start(ctx, c.c, c.d, c.log)
	if err != nil {
		return err
	}
	defer p.terminate()
	if err := c.fill(ctx, p.info.Forgets); err != nil {
		return err
	}
	c.runs(p)
	defer c.runs(nil)
	c.become(StateRunning, nil)
	c.log.Info("the channel runs", "kind", holdgate.Visible(p.info.Name), "assurance", p.info.Assurance, "pid", p.child.ID())

	g, running := errgroup.WithContext(ctx)
	g.Go(func() error {
		select {
		case <-p.child.done:
			return p.child.gone()
		case <-running.Done():
			return running.Err()
		}
	})
	g.Go(func() error { return broken("answers", p.remote.Answers(running, c.taker(p))) })
	g.Go(func() error { return c.listen(running) })
	g.Go(func() error { return c.tellAll(running, p) })
	g.Go(func() error { return c.bring(running, p) })
	g.Go(func() error { return c.bringOwn(running, p) })
	g.Go(func() error { return c.watch(running, p) })
	err = g.Wait()
	telling := c.telling
	c.telling = ""
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if telling != "" {
		c.agenda.brokeDown(telling, 1)
	}
	return p.cause(err)
}

// runs notes the process that runs; nil is none.
func (c *channel) runs(p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live = p
	if p != nil {
		c.status.Assurance = p.info.Assurance.String()
	}
}

// broken says on what a process broke down.
func broken(what string, err error) error {
	return fmt.Errorf("%s: %w", what, shown(err))
}

// watch asks for the channel's health, and sees that nothing is missing from
// its agenda, until ctx ends or it breaks down.
func (c *channel) watch(ctx context.Context, p *process) error {
	for wait := c.d.reconcile; sleep(ctx, wait); wait = c.d.watch {
		if err := c.health(ctx, p); err != nil {
			return err
		}
		if err := c.reconcile(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// health notes what the channel says of itself.
func (c *channel) health(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, c.d.health)
	defer cancel()
	err := p.remote.Health(ctx)
	if err == nil {
		c.become(StateRunning, nil)
		return nil
	}
	if _, own := ownError(err); !own {
		return broken("health", err)
	}
	if c.become(StateUnreachable, shown(err)) {
		c.log.Warn("the channel cannot reach people", "err", shown(err))
	}
	return nil
}

// become notes the state, and reports whether it is another one.
func (c *channel) become(s State, why error) bool {
	defer c.spread(time.Now())
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.status.State != s
	if changed {
		c.queue.Reaches(c.c.Name, s == StateRunning)
		c.status.State, c.status.Since = s, time.Now()
	}
	c.status.Err = ""
	if why != nil {
		c.status.Err = why.Error()
	}
	return changed
}

// spread tells people in the other channels that this one has not reached
// anybody for a while, and when it does again.
func (c *channel) spread(now time.Time) {
	c.mu.Lock()
	s := c.status
	changed := false
	switch {
	case s.State == StateRunning && c.down:
		c.down, changed = false, true
	case s.State == StateRunning && !c.healthy:
		c.healthy = true
	case s.State != StateRunning && !c.down && s.Err != "":
		if c.healthy {
			c.lost, c.healthy = now, false
		}
		changed = now.Sub(c.lost) >= c.d.down
		c.down = changed
	}
	down := c.down
	c.mu.Unlock()
	if changed {
		c.notify(healthNews(c.c.Name, down, s.Err, now))
	}
}

func (c *channel) now() Status {
	c.mu.Lock()
	s := c.status
	c.mu.Unlock()
	s.Told, s.Waiting = c.count()
	now := time.Now()
	s.Due = c.oldestDue(now)
	if end := c.c.Quiet.until(now, ""); end.After(now) {
		s.Quiet = end
	}
	return s
}

// sleep waits, and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
