package launch

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/creack/pty"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// laterFor is how long a request that is put off is not asked about again.
const laterFor = time.Minute

// askAll asks about each request that waits, one after the other, until ctx
// ends.
func (s *session) askAll(ctx context.Context) {
	notBefore := map[string]time.Time{} // by request
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if r, more, ok := s.next(ctx, notBefore); ok {
			notBefore[r.ID] = s.present(ctx, r, more)
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// next returns the oldest request that may be asked about now, and how many
// more there are. What a run has left that ended interrupts nobody: the agent waits for
// none of it. Where the sidecar does not answer it is asked again.
func (s *session) next(ctx context.Context, notBefore map[string]time.Time) (r approvals.Request, more int, ok bool) {
	list, err := s.o.Door.List(ctx, approvals.Filter{Status: holdgate.StatusPending, Agent: s.o.Agent})
	if err != nil {
		return r, 0, false
	}
	now := time.Now()
	for _, p := range list {
		switch {
		case now.Before(notBefore[p.ID]), p.RunEnded != nil:
		case !ok:
			r, ok = p, true
		default:
			more++
		}
	}
	return r, more, ok
}

// present asks about one request until it has ended, the person has answered or
// ctx ends. It returns when it may be asked about again.
func (s *session) present(ctx context.Context, r approvals.Request, more int) time.Time {
	ctx, cancel := context.WithCancel(ctx)
	keys := s.keyboard.divert(ctx)
	alternate := s.screen.hold()
	shrink := func() {
		if alternate {
			s.resize(1) // so that giving the row back is a change, which makes the agent paint
		}
	}
	shrink()
	defer func() {
		cancel()
		s.screen.release()
		s.repaint()
	}()
	d := &dialogue{s: s, q: question{r: r, waiting: more, pages: s.o.Page != nil}}
	d.layOut()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		var again time.Time
		var over bool
		select {
		case <-ctx.Done():
			return time.Time{}
		case <-s.resized:
			shrink()
			d.layOut()
		case k := <-keys:
			again, over = d.typed(ctx, k, keys)
		case <-tick.C:
			over = d.refresh(ctx)
		}
		if over {
			return again
		}
	}
}

// A dialogue is a question on the terminal.
type dialogue struct {
	s     *session
	q     question
	ed    editor
	since time.Time // what is shown has not changed since
}

// layOut shows the question from its top, in the terminal's size.
func (d *dialogue) layOut() {
	d.q.colour = d.s.o.Colour
	switch {
	case d.q.gone != "":
		d.q.page = append([]page.Line{{Text: d.q.gone, Style: page.Strong}, {}}, d.q.left.Shown()...)
	case d.q.change != nil:
		d.q.page = d.q.change.Lines
	case d.q.keep != nil:
		d.q.page = d.q.alwaysPage()
	default:
		d.q.page = page.Of(host.Notice(d.q.r), time.Now())
	}
	rows, cols, err := pty.Getsize(d.s.o.Stdout)
	if err != nil || rows == 0 || cols == 0 { // not known
		rows, cols = 24, 80
	}
	d.q.fit(rows, cols)
	d.show()
}

// show draws the question. A line that was begun is begun anew.
func (d *dialogue) show() {
	d.ed = editor{}
	d.s.screen.draw(d.q.text())
	d.since = time.Now()
}

// typed takes what the person typed, and reports whether the question is over
// and when it may be asked again.
func (d *dialogue) typed(ctx context.Context, k stroke, keys <-chan stroke) (again time.Time, over bool) {
	rest := k.text
	for len(rest) > 0 && k.at.Sub(d.since) >= minShown {
		var show, line string
		var done bool
		show, line, done, rest = d.ed.feed(rest)
		d.s.screen.echo(show)
		if !done {
			continue
		}
		shown, step := d.q.at, d.q.step
		a, answered := d.q.enter(line)
		switch {
		case answered && a.later:
			return time.Now().Add(laterFor), true
		case answered && a.relay:
			d.layOut()
		case answered && a.edit:
			d.edit(ctx, keys)
			return time.Time{}, false
		case answered && a.page:
			d.q.note = d.s.o.Page(ctx, d.q.r.ID)
			d.show()
		case answered:
			return d.send(ctx, a.decision)
		case shown == d.q.at && step != d.q.step: // the rest of what was typed belongs to the next step
			d.s.screen.echo("\r\n" + strings.Join(d.q.wrapped(d.q.prompt()), "\r\n"))
		default:
			d.show()
		}
	}
	return time.Time{}, false
}

// never is later than anything.
func never() time.Time { return time.Now().AddDate(100, 0, 0) }

// send sends a decision. Where that decides nothing the question goes on.
func (d *dialogue) send(ctx context.Context, decision api.Decision) (again time.Time, over bool) {
	d.s.screen.echo("\r\n...")
	_, err := d.s.o.Door.Decide(ctx, d.q.r.ID, decision)
	if err == nil {
		return never(), true // others may have to approve it too
	}
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Word() == api.ProblemDecided {
		r, err := d.s.o.Door.Request(ctx, d.q.r.ID)
		return never(), err != nil || d.over(r)
	}
	d.q.note = "nothing was decided: " + holdgate.Visible(err.Error()) + d.q.goOn()
	if r, err := d.s.o.Door.Request(ctx, d.q.r.ID); err == nil && d.q.changed(r) {
		d.layOut()
		return time.Time{}, false
	}
	d.show()
	return time.Time{}, false
}

// refresh sees whether the request has ended elsewhere, or has changed.
func (d *dialogue) refresh(ctx context.Context) (over bool) {
	if d.q.gone != "" {
		return time.Now().After(d.q.leaves)
	}
	see := d.s.o.Door.Request
	if d.q.byItself() && !d.q.folded && !d.q.cramped {
		see = d.s.o.Door.Shown
	}
	r, err := see(ctx, d.q.r.ID)
	if err != nil {
		return false // it is looked at again
	}
	if r.Status.Final() {
		return d.over(r)
	}
	if d.q.changed(r) {
		d.q.note = "this request has changed: look at it again" + d.q.goOn()
		d.layOut()
		return false
	}
	if d.q.byItself() {
		d.s.screen.replace(1, d.q.head(time.Now()))
	}
	if row, line := d.q.tick(time.Now()); row > 0 {
		d.s.screen.replace(row, line)
	}
	return false
}
