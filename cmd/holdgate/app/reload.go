package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/login"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/roster"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/rego/watch"
	"github.com/holdgate/holdgate/store/audit"
)

// Watched says how the configuration is read again while the sidecar runs.
type Watched struct {
	Path  string                        // of its file, which need not be there
	Read  func() (config.Config, error) // as it was read for New
	First config.Config                 // what it said then
	Now   <-chan os.Signal              // asks for its being read at once; may be nil
}

// configs takes up the configuration's file as it is saved: what can be replaced, all
// of it at once or nothing. What loosens waits until a person of the role admin has
// accepted that very file. The file never decides by itself that it may.
type configs struct {
	a *App
	w Watched

	mu    sync.Mutex // held by whoever changes what is in force
	state api.ConfigState
	next  *inForce // what state.Waiting is
	// provider is where people sign in; nil: nowhere.
	provider *login.Provider
	in       []*signIn // of people who have signed in at the provider
	unlinked []string  // of whom it was last said that they count twice
}

var _ api.Configs = (*configs)(nil)

func newConfigs(a *App, w Watched) *configs {
	return &configs{a: a, w: w, state: api.ConfigState{File: a.c.File, Digest: a.c.Digest, NeedsRestart: []string{}}}
}

// run watches the file until ctx ends.
func (c *configs) run(ctx context.Context) error {
	var read config.Config
	var err error
	watch.Files{
		Path: c.w.Path, What: "the configuration", Seen: seen(c.w.First, nil), Now: c.w.Now, Logger: c.a.log,
		Read: func() string { read, err = c.w.Read(); return seen(read, err) },
		Take: func(ctx context.Context) { c.apply(ctx, read, err) },
	}.Run(ctx)
	return nil
}

// seen is a reading as [watch.Files] compares it.
func seen(c config.Config, err error) string {
	if err != nil {
		return "faulty: " + err.Error()
	}
	return c.Digest
}

// apply takes up the file as it was read.
func (c *configs) apply(ctx context.Context, read config.Config, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Fault, c.state.Waiting, c.next = "", nil, nil
	now := c.a.current.Load().c
	var next *inForce
	if err == nil {
		c.state.NeedsRestart = append([]string{}, config.NeedsRestart(c.w.First, read)...)
		next, err = c.make(now.With(read))
	}
	if err != nil {
		c.refuse(ctx, err)
		return
	}
	change := config.Compare(now, next.c)
	switch {
	case len(change.Loosens) > 0:
		c.next = next
		c.state.Waiting = &api.ConfigWaiting{Digest: next.c.Digest, Since: time.Now().UTC(), Changes: change.Lines, Loosens: change.Loosens}
		c.announce(ctx, "the configuration has changed, and waits for a person of the role admin (holdgate config accept "+next.c.Digest+"): "+strings.Join(change.Loosens, "; "))
	case change.Empty():
		c.put(next)
		if len(c.state.NeedsRestart) > 0 {
			c.announce(ctx, "the configuration has changed"+c.restart())
		}
	default:
		if err := c.swap(ctx, next, "", change); err != nil {
			c.refuse(ctx, err)
		}
	}
}

// make makes what would be in force. Whatever keeps a sidecar from starting keeps
// it from being taken.
func (c *configs) make(n config.Config) (*inForce, error) {
	err := n.Validate()
	if err == nil {
		err = errors.Join(checkAuto(n, c.a.o), checkWritable(n, c.a.o), c.a.runs.Fits(n))
	}
	if err == nil && c.a.host != nil {
		list, rerr := routes(n)
		if err = rerr; err == nil {
			err = c.a.host.CheckRoutes(list)
		}
	}
	if err == nil {
		now := c.a.current.Load()
		kept, _ := roster.Settle(now.roster, namedIn(n))
		return c.a.makeInForce(n, kept, now.signed)
	}
	if len(c.state.NeedsRestart) > 0 {
		err = fmt.Errorf("%w%s", err, c.restart())
	}
	return nil, err
}

// restart says what a restart would change.
func (c *configs) restart() string {
	if len(c.state.NeedsRestart) == 0 {
		return ""
	}
	return "; these keys are read at the start alone, so that their change takes a restart: " + strings.Join(c.state.NeedsRestart, ", ")
}

// refuse leaves all as it is.
func (c *configs) refuse(ctx context.Context, err error) {
	c.state.Fault = err.Error()
	c.announce(ctx, "the configuration is not taken, and what was in force stays so: "+strings.ReplaceAll(err.Error(), "\n", "; "))
}

// announce writes into the log what became of the file, and tells everybody.
func (c *configs) announce(ctx context.Context, note string) {
	c.a.log.Warn("of the configuration", "what", note, "file", c.w.Path)
	e := audit.Entry{Type: audit.TypeConfig, Note: note}
	if err := c.a.queue.Announce(context.WithoutCancel(ctx), record.EventConfig, e, nil); err != nil {
		c.a.log.Error("writing the audit log", "err", err)
	}
}

// swap writes what changes into the audit log and puts it in force. by is who has
// accepted it, and must have the role admin among those who may answer until then;
// empty: nobody needs to.
func (c *configs) swap(ctx context.Context, next *inForce, by string, change config.Change) error {
	note := "the configuration has changed: "
	if by != "" {
		note = by + " accepted the configuration " + next.c.Digest + ": "
	}
	note += strings.Join(change.Lines, "; ") + c.restart()
	_, over := roster.Settle(c.a.current.Load().roster, namedIn(next.c))
	for _, o := range over {
		note += "; what was said of " + o.Name + " on the page is over, for the configuration has changed there"
	}
	e := audit.Entry{Type: audit.TypeConfig, Note: note}
	err := c.a.queue.Replace(context.WithoutCancel(ctx), record.EventConfig, e, entitled(by), c.a.settle(over), func() { c.put(next) })
	if err != nil {
		return err
	}
	c.a.log.Warn("the configuration has changed", "what", note, "file", c.w.Path)
	c.follow(ctx, next)
	return nil
}

// follow has the parts take up what is in force by now.
func (c *configs) follow(ctx context.Context, next *inForce) {
	for _, agent := range next.agents.Agents() {
		c.a.queue.Agents.Expect(agent)
	}
	if c.a.host != nil {
		c.a.host.Reconcile()
	}
	c.a.warnUnanswerable()
	c.warnUnlinked()
	c.endOpen(ctx)
}

// endOpen ends what is open by a credential that is known no longer: event streams,
// requests, WebSockets, and waits for people.
func (c *configs) endOpen(ctx context.Context) {
	for _, ended := range []struct {
		what string
		by   map[string]int
	}{{"the person", c.a.api.Recheck()}, {"the agent", c.a.proxy.Recheck()}} {
		for _, name := range slices.Sorted(maps.Keys(ended.by)) {
			c.announce(ctx, fmt.Sprintf("open requests of %s %s were ended, whose credential was taken back: %d", ended.what, name, ended.by[name]))
		}
	}
}

// put puts a value in force.
func (c *configs) put(next *inForce) {
	c.a.current.Store(next)
	c.state.File, c.state.Digest = next.c.File, next.c.Digest
	c.state.Waiting, c.next = nil, nil
}

// State implements [api.Configs].
func (c *configs) State() api.ConfigState {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state
	if abs, err := filepath.Abs(s.File); err == nil && s.File != "" {
		s.File = abs
	}
	return s
}

// Accept implements [api.Configs].
func (c *configs) Accept(ctx context.Context, by, digest string) (api.ConfigState, error) {
	c.mu.Lock()
	err := api.ErrConfigDigest
	if c.next != nil && digest == c.next.c.Digest {
		err = c.swap(ctx, c.next, by, config.Compare(c.a.current.Load().c, c.next.c))
	}
	c.mu.Unlock()
	if err != nil {
		return api.ConfigState{}, err
	}
	return c.State(), nil
}
