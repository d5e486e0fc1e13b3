package desktop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// passing is how long what needs no answer stays on the screen, and maxTold how
// many news are remembered.
const (
	passing = 10 * time.Second
	maxTold = 200
)

// The urgencies of the specification.
const (
	urgencyLow byte = iota
	urgencyNormal
	urgencyCritical
)

// A message is a notification as the desktop gets it.
type message struct {
	replaces uint32
	title    string
	body     []string
	actions  []string
	urgency  byte
	lasts    time.Duration // 0: until it is answered; less: as long as the desktop likes
	silent   bool
}

// send shows a notification and returns its id. It needs the turn.
func (c *Channel) send(ctx context.Context, s *server, m message) (id uint32, err error) {
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(m.urgency)}
	if m.silent {
		hints["suppress-sound"] = dbus.MakeVariant(true)
	}
	if m.lasts > 0 {
		hints["transient"] = dbus.MakeVariant(true)
	}
	icon := map[byte]string{urgencyLow: "dialog-information", urgencyNormal: "dialog-question", urgencyCritical: "dialog-warning"}[m.urgency]
	if m.actions == nil {
		m.actions = []string{}
	}
	err = c.link.call(ctx, s.name, notificationsPath, notifications+".Notify", "Holdgate", m.replaces, icon,
		m.title, escape(m.body, s.does("body-markup")), m.actions, hints, int32(m.lasts/time.Millisecond)).Store(&id)
	if err == nil {
		return id, nil
	}
	c.failed(err)
	return 0, fmt.Errorf("showing a notification: %w", err)
}

// failed drops what an error of a call shows to be gone: the program that shows
// notifications, which the bus has yet to say, or the connection. It needs the
// turn.
func (c *Channel) failed(err error) {
	_, answered := errors.AsType[dbus.Error](err)
	switch {
	case says(err, busName+".Error.ServiceUnknown"), says(err, busName+".Error.NameHasNoOwner"), says(err, busName+".Error.NoReply"):
		c.forget(nil)
	case !answered && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled):
		c.link.close()
		c.link = nil
		c.forget(nil)
	}
}

// known reports whether there is still what showed notifications.
func (c *Channel) known(s *server) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server == s
}

// Notify implements [sdk.Channel].
func (c *Channel) Notify(ctx context.Context, n sdk.Notice) error {
	if c.socket == "" {
		return errors.New("not configured")
	}
	if n.Ended() {
		return c.Update(ctx, n)
	}
	if err := c.acquireTurn(ctx); err != nil {
		return err
	}
	defer c.release()
	s, err := c.reach(ctx)
	if err != nil {
		return err
	}
	q, same := c.learn(n)
	if same {
		return nil
	}
	if err = c.show(ctx, s, q, "", false); err == nil || c.known(s) {
		return err
	}
	if s, err = c.reach(ctx); err != nil { // it was gone, and nobody had noticed
		return err
	}
	return c.show(ctx, s, q, "", false)
}

// learn notes a request, and reports whether it is on the screen like that.
func (c *Channel) learn(n sdk.Notice) (q *question, same bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q = c.open[n.ID]
	if q == nil {
		q = &question{}
		c.open[n.ID] = q
	}
	same = q.id != 0 && q.notice.Nonce == n.Nonce && q.notice.Event == n.Event && slices.Equal(q.notice.Answers, n.Answers)
	if q.notice.Nonce != n.Nonce {
		c.disown(q)
		q.asking = false
	}
	q.notice, q.away = n, false
	return q, same
}

// show puts a request on the screen, in place of what is there of it. A note
// stands before all else. It needs the turn.
func (c *Channel) show(ctx context.Context, s *server, q *question, note string, silent bool) error {
	c.mu.Lock()
	n, m := q.notice, message{replaces: q.id, silent: silent}
	c.mu.Unlock()
	lines, whole := body(n, c.conf.Lines, c.conf.Columns)
	offers := c.offers(n, s, whole)
	m.title, m.body, m.urgency = title(n, time.Now()), lines, urgencyNormal
	if note != "" {
		m.body = append([]string{note}, m.body...)
	}
	if !s.does("actions") {
		m.body = append(m.body, "Answer with holdgate approve, deny or steer "+n.ID)
	}
	if n.Risk != sdk.RiskLow && n.Risk != sdk.RiskMedium {
		m.urgency = urgencyCritical
	}
	m.actions = c.know(q, n, offers, false)
	if s.does("actions") && c.conf.Page != "" {
		m.actions = append(m.actions, keyDefault, "Open page")
	}
	return c.put(ctx, s, q, m, false)
}

// put puts a message of a question on the screen. It needs the turn.
func (c *Channel) put(ctx context.Context, s *server, q *question, m message, asking bool) error {
	c.mu.Lock()
	q.ready = time.Now().Add(c.minShown) // not before it has appeared
	c.mu.Unlock()
	id, err := c.send(ctx, s, m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	q.id, q.asking, q.away, q.ready = id, asking, false, time.Now().Add(c.minShown)
	return nil
}

// showAll shows what waits and is not on the screen. It needs the turn.
func (c *Channel) showAll(ctx context.Context, s *server) error {
	c.mu.Lock()
	var missing []*question
	for _, id := range slices.Sorted(maps.Keys(c.open)) {
		if q := c.open[id]; q.id == 0 && !q.away && !q.notice.Ended() {
			missing = append(missing, q)
		}
	}
	c.mu.Unlock()
	for _, q := range missing {
		if err := c.show(ctx, s, q, "", false); err != nil {
			return err
		}
	}
	return nil
}

// Update implements [sdk.Channel].
func (c *Channel) Update(ctx context.Context, n sdk.Notice) error {
	if c.socket == "" {
		return errors.New("not configured")
	}
	c.mu.Lock()
	q := c.open[n.ID]
	if q != nil {
		if n.Ended() || q.notice.Nonce != n.Nonce {
			c.disown(q)
		}
		q.notice = n
	}
	c.mu.Unlock()
	if q == nil {
		return nil
	}
	if err := c.acquireTurn(ctx); err != nil {
		return err
	}
	defer c.release()
	s, err := c.reach(ctx)
	if err != nil && !n.Ended() {
		return err
	}
	c.mu.Lock()
	id, stays := q.id, q.asking || q.away
	c.mu.Unlock()
	switch {
	case n.Ended() && err == nil && id != 0:
		m := message{replaces: id, title: title(n, time.Now()), body: ending(n), urgency: urgencyLow, lasts: passing, silent: true}
		if _, err := c.send(ctx, s, m); err != nil && c.known(s) {
			return err
		}
		fallthrough
	case n.Ended():
		c.forgetRequest(n.ID)
		return nil
	case stays:
		return nil
	}
	return c.show(ctx, s, q, "", true)
}

// ending says what an ended request was about.
func ending(n sdk.Notice) (lines []string) {
	lines = []string{short(n.Summary, 200)}
	if o := n.Outcome; o != nil {
		for _, more := range []string{o.Reason, o.Instructions, o.Choice} {
			if more != "" {
				lines = append(lines, short(more, 200))
			}
		}
	}
	return lines
}

// forgetRequest forgets a request.
func (c *Channel) forgetRequest(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.open[id]; q != nil {
		c.disown(q)
	}
	delete(c.open, id)
	maps.DeleteFunc(c.prompts, func(_ uint32, p prompt) bool { return p.request == id })
}

// Tell implements [sdk.Newscaster].
func (c *Channel) Tell(ctx context.Context, n sdk.News) error {
	if c.socket == "" {
		return errors.New("not configured")
	}
	if err := c.acquireTurn(ctx); err != nil {
		return err
	}
	defer c.release()
	c.mu.Lock()
	told := slices.Contains(c.told, n.ID)
	c.mu.Unlock()
	if told {
		return nil
	}
	s, err := c.reach(ctx)
	if err != nil {
		return err
	}
	m := message{title: inert(n.Title), urgency: urgencyNormal, lasts: -time.Millisecond}
	if n.Kind == sdk.NewsCheckpoint {
		m.urgency = urgencyLow
	}
	for _, l := range n.Lines {
		m.body = append(m.body, inert(l))
	}
	if _, err := c.send(ctx, s, m); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, n.ID)
	c.told = c.told[max(len(c.told)-maxTold, 0):]
	return nil
}

// openPage opens the page of a request in the person's browser.
func (c *Channel) openPage(ctx context.Context, n sdk.Notice) error {
	address := strings.ReplaceAll(c.conf.Page, "{id}", url.PathEscape(n.ID))
	return c.link.call(ctx, portal, portalPath, "org.freedesktop.portal.OpenURI.OpenURI", "", address, map[string]dbus.Variant{}).Err
}
