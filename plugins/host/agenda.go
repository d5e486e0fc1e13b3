package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/record"
)

// An agenda is what one channel has to tell people of: every pending request
// that is routed to it, and the ends of those that it has told of. It is made
// from the queue whenever a process starts, and looked over now and then, so
// that nothing rests on an event alone.
type agenda struct {
	mu    sync.Mutex
	items map[string]*item // by the request's id
	wake  chan struct{}    // has room for one
	// answering counts the answers that are about to count for a request, which
	// nobody is asked about meanwhile.
	answering map[string]int
	// broke says on what processes broke down, and how often, by [item.key].
	broke map[string]int
}

// An item is one request on an agenda.
type item struct {
	request   approvals.Request // as it was last read
	told      time.Time         // zero: not yet
	changed   time.Time         // since when people do not know how it is
	tried     bool              // somebody may know of it, though the channel has not said so
	seen      time.Time
	shown     string              // the form of the request that people know
	escalated int                 // how many escalations it had when they were told
	row       []shownWith         // what they are shown with it
	event     approvals.EventType // the last one
}

func newAgenda() *agenda {
	return &agenda{items: make(map[string]*item), answering: make(map[string]int), broke: make(map[string]int), wake: make(chan struct{}, 1)}
}

func (a *agenda) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// form is what a channel shows of a request that can change.
func form(r approvals.Request) string {
	claim := ""
	if r.Claim != nil {
		claim = r.Claim.By
	}
	s := fmt.Sprintf("%s votes=%d claim=%q delegations=%d escalated=%d expires=%d", r.Status, len(r.Votes), claim, len(r.Delegations), r.Escalated, r.ExpiresAt.UnixMilli())
	if r.RunEnded != nil {
		s += " left"
	}
	return s
}

// asks reports whether the question is still to be put: to anybody, or to those
// whom an escalation has added.
func (i *item) asks() bool {
	return !i.request.Status.Final() && (i.told.IsZero() || i.escalated < i.request.Escalated)
}

// owes reports whether people must be told of a change to what they know.
func (i *item) owes() bool { return !i.told.IsZero() && i.shown != form(i.request) }

// note takes up a request as it is now. Nobody is told of the end of what they
// never heard of.
func (a *agenda) note(r approvals.Request, event approvals.EventType) {
	a.mu.Lock()
	defer a.mu.Unlock()
	it := a.items[r.ID]
	owed := it != nil && it.owes()
	switch {
	case it == nil && r.Status.Final():
		return
	case it == nil:
		it = &item{event: record.EventRequested}
		a.items[r.ID] = it
	case it.told.IsZero() && r.Status.Final() && !it.tried:
		delete(a.items, r.ID)
		return
	case it.told.IsZero() && r.Status.Final():
		it.told = time.Now() // as it may be: they are to hear of the end
	}
	it.request = r
	if !owed && it.owes() {
		it.changed = time.Now()
	}
	if event != "" {
		it.event = event
	}
	a.signal()
}

// fill makes the agenda anew, for a process that has started.
func (c *channel) fill(ctx context.Context, forgets bool) error {
	known, err := c.queue.Deliveries(ctx, c.c.Name)
	if err != nil {
		return err
	}
	items := make(map[string]*item)
	for _, d := range known {
		r, err := c.queue.Request(ctx, d.Request)
		if errors.Is(err, approvals.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading request %s: %w", d.Request, err)
		}
		it := &item{request: r, told: d.Told, seen: d.Seen, shown: d.Shown, escalated: d.Escalated, event: record.EventRequested}
		if forgets && !r.Status.Final() {
			it.told = time.Time{}
		}
		if it.owes() {
			it.changed = time.Now()
		}
		c.lastOpened.note(r.ID, d.Seen)
		items[r.ID] = it
	}
	c.agenda.mu.Lock()
	for id, old := range c.agenda.items {
		if items[id] == nil && old.tried {
			items[id] = &item{request: old.request, tried: true, event: old.event}
		}
	}
	c.agenda.items = items
	c.agenda.mu.Unlock()
	return c.reconcile(ctx)
}

// reconcile reads what is pending, and what has become of what was.
func (c *channel) reconcile(ctx context.Context) error {
	pending, err := c.queue.List(ctx, approvals.Filter{Status: holdgate.StatusPending})
	if err != nil {
		return fmt.Errorf("reading what is pending: %w", err)
	}
	read := make(map[string]bool)
	for _, r := range pending {
		c.agenda.note(r, "")
		read[r.ID] = true
	}
	c.agenda.mu.Lock()
	ids := slices.DeleteFunc(slices.Collect(maps.Keys(c.agenda.items)), func(id string) bool { return read[id] })
	c.agenda.mu.Unlock()
	for _, id := range ids {
		if err := c.reread(ctx, id, ""); err != nil {
			return err
		}
	}
	return nil
}

// reread takes up one request as it is now.
func (c *channel) reread(ctx context.Context, id string, event approvals.EventType) error {
	r, err := c.queue.Request(ctx, id)
	if errors.Is(err, approvals.ErrNotFound) {
		c.agenda.drop(id)
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading request %s: %w", id, err)
	}
	c.agenda.note(r, event)
	return nil
}

func (a *agenda) drop(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.items, id)
}

// A task is one thing to tell.
type task struct {
	item
	with    []shownWith // what is to be shown with it, where it asks
	to      []string
	late    bool // others were told before, and nobody has looked at it
	waiting int  // how many other requests are to be told, and are not yet
}

// next returns what is to be told now, news of requests that people know
// first, then what is critical, then what has waited longest; or how long there
// is nothing.
func (c *channel) next(now time.Time) (_ *task, wait time.Duration) {
	c.agenda.mu.Lock()
	defer c.agenda.mu.Unlock()
	wait = c.d.watch
	routes := c.routes()
	known := c.agenda.knownRows()
	var due []task
	for _, it := range c.agenda.items {
		t, at, ok := c.due(it, now, routes, known)
		switch {
		case !ok:
		case at.After(now):
			wait = min(wait, at.Sub(now))
		case !t.asks():
			return &t, 0
		default:
			due = append(due, t)
		}
	}
	if len(due) == 0 {
		return nil, wait
	}
	t := slices.MinFunc(due, func(a, b task) int {
		return cmp.Or(cmp.Compare(urgency(a.request), urgency(b.request)), a.request.CreatedAt.Compare(b.request.CreatedAt), cmp.Compare(a.request.ID, b.request.ID))
	})
	t.waiting = len(due) - 1
	for _, o := range due {
		if row := t.request.Row(); t.told.IsZero() && row != "" && o.request.Row() == row && o.request.ID != t.request.ID && len(t.with) < maxRow {
			t.with = append(t.with, shownWith{o.request.ID, o.request.Call.Digest})
		}
	}
	if r := c.rate.ReserveN(now, 1); r.DelayFrom(now) > 0 {
		delay := r.DelayFrom(now)
		r.CancelAt(now)
		return nil, min(wait, delay)
	}
	return &t, 0
}

// due is what is to be told of an item, and since when, or from when on. The agenda is
// locked.
func (c *channel) due(it *item, now time.Time, routes routes, known map[string]bool) (t task, at time.Time, ok bool) {
	switch {
	case c.leftOut(it):
	case it.asks() && (c.agenda.answering[it.request.ID] > 0 || it.told.IsZero() && known[it.request.Row()]):
		// People are asked about its row, and about this one when that has ended.
	case it.owes() && !it.asks():
		return task{item: *it}, it.changed, true
	case it.asks():
		at, to, late, ok := routes.plan(it.request, c.c.Name, c.lastOpened.at(it.request.ID))
		quiet := string(it.request.Risk)
		if end := c.c.Quiet.until(now, quiet); at.Before(now) && end.After(now) {
			at = end
		}
		return task{item: *it, to: to, late: late}, c.c.Quiet.until(at, quiet), ok
	}
	return task{}, time.Time{}, false
}

// oldestDue is since when the oldest of what the channel could tell now is due; zero where
// there is nothing.
func (c *channel) oldestDue(now time.Time) (oldest time.Time) {
	c.agenda.mu.Lock()
	defer c.agenda.mu.Unlock()
	routes, known := c.routes(), c.agenda.knownRows()
	for _, it := range c.agenda.items {
		if _, at, ok := c.due(it, now, routes, known); ok && !at.After(now) && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	return oldest
}

// brokeDown counts what processes broke down on; zero forgets it.
func (a *agenda) brokeDown(key string, times int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broke[key] += times; times == 0 {
		delete(a.broke, key)
	}
}

// count says of how many pending requests people know from the channel, and of
// how many it is still to tell.
func (c *channel) count() (told, waiting int) {
	c.agenda.mu.Lock()
	defer c.agenda.mu.Unlock()
	routes := c.routes()
	for _, it := range c.agenda.items {
		_, _, _, routed := routes.plan(it.request, c.c.Name, time.Time{})
		switch {
		case it.request.Status.Final():
		case !it.told.IsZero():
			told++
		case routed:
			waiting++
		}
	}
	return told, waiting
}

// urgency sorts what is critical before the rest.
func urgency(r approvals.Request) int {
	if r.Risk == holdgate.RiskCritical {
		return 0
	}
	return 1
}

// trying notes that people may hear of a request from now on.
func (a *agenda) trying(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it := a.items[id]; it != nil {
		it.tried = true
	}
}

// done notes that people know the request in the form, since the moment.
func (c *channel) done(ctx context.Context, t *task, now time.Time) {
	id := t.request.ID
	c.agenda.mu.Lock()
	it := c.agenda.items[id]
	if it == nil {
		c.agenda.mu.Unlock()
		return
	}
	it.shown, it.escalated = form(t.request), t.request.Escalated
	if it.told.IsZero() {
		it.told = now
	}
	if it.owes() { // of what happened meanwhile
		it.changed = now
	}
	d := it.delivery()
	final := t.request.Status.Final()
	if final {
		delete(c.agenda.items, id)
	}
	c.agenda.mu.Unlock()
	var err error
	if final {
		c.lastOpened.forget(id)
		err = c.queue.DropDelivery(ctx, c.c.Name, id)
	} else {
		err = c.queue.SetDelivery(ctx, c.c.Name, d)
	}
	if err != nil {
		c.log.Error("people may be told of this twice", "approval", id, "err", err)
	}
}

func (i *item) delivery() approvals.Delivery {
	return approvals.Delivery{Request: i.request.ID, Told: i.told, Seen: i.seen, Shown: i.shown, Escalated: i.escalated}
}

// opened notes that somebody has opened a request.
func (c *channel) opened(ctx context.Context, id string, now time.Time) error {
	c.lastOpened.note(id, now)
	c.agenda.mu.Lock()
	it := c.agenda.items[id]
	if it == nil || it.told.IsZero() {
		c.agenda.mu.Unlock()
		return nil
	}
	it.seen = now
	d := it.delivery()
	c.agenda.mu.Unlock()
	return c.queue.SetDelivery(ctx, c.c.Name, d)
}

// lastOpened is when somebody has last opened each request, in any channel.
type lastOpened struct {
	mu sync.Mutex
	m  map[string]time.Time
}

func (l *lastOpened) note(id string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.After(l.m[id]) {
		l.m[id] = at
	}
}

func (l *lastOpened) at(id string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.m[id]
}

func (l *lastOpened) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.m, id)
}
