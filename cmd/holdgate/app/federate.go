package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/login"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/web"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	signedInFor = 12 * time.Hour
	rereadIn    = 30 * time.Second // the most that reading groups again takes
)

// A session is one person's at the provider, guarded by [configs.mu].
type session struct {
	at     *login.Session // the newest sign-in
	tokens []api.TokenHash
	until  time.Time
	read   time.Time // when its groups were read
}

// login is where people sign in besides; nil where the configuration names no provider.
func (a *App) login() web.Login {
	o := a.c.OIDC
	if !o.On() {
		return nil
	}
	c := login.Config{Issuer: o.Issuer, ClientID: o.ClientID, NameClaim: o.NameClaim, GroupsClaim: o.GroupsClaim, Scopes: o.Scopes,
		Redirect: func() string { return a.page.Redirect() }}
	if o.ClientSecretFile != "" {
		c.Secret = func() (string, error) {
			text, err := os.ReadFile(o.ClientSecretFile)
			return strings.TrimSpace(string(text)), err
		}
	}
	a.configs.provider = login.New(c)
	return a.configs
}

// Begin implements [web.Login].
func (c *configs) Begin(ctx context.Context, path string) (to, state string, err error) {
	return c.provider.Begin(ctx, path)
}

// Finish implements [web.Login].
func (c *configs) Finish(ctx context.Context, answer url.Values, state string) (api.Credential, string, error) {
	at, path, err := c.provider.Finish(ctx, answer, state)
	if err != nil {
		return api.Credential{}, path, err
	}
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: see its documentation
	credential := api.Credential{Token: api.HashToken(string(b[:]))}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.session(at.Name())
	if s == nil {
		s = &session{}
		c.in = append(c.in, s)
	}
	before := *s
	s.at, s.tokens, s.read, s.until = at, append(slices.Clone(s.tokens), credential.Token), time.Now(), time.Now().Add(signedInFor)
	if credential.Person, err = c.signIn(ctx, s, credential.Token); err != nil {
		if *s = before; before.at == nil {
			c.in = slices.DeleteFunc(c.in, func(o *session) bool { return o == s })
		}
	}
	return credential, path, err
}

// signIn puts a new sign-in in force, and says as whom they count. c.mu is held.
func (c *configs) signIn(ctx context.Context, s *session, token api.TokenHash) (string, error) {
	n := c.a.current.Load()
	next, err := c.a.makeInForce(n.c, n.roster, c.signedIn())
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(next.tokens, func(t api.Credential) bool { return t.Token == token })
	if i < 0 {
		return "", fmt.Errorf("%w: no group of %s has a role here, and nobody here is linked to them", people.ErrNotEntitled, holdgate.Visible(s.at.Name()))
	}
	p, _ := next.queue.People.Find(next.tokens[i].Person)
	return p.Name, c.putSigned(ctx, next, holdgate.Visible(s.at.Name())+" signed in at the provider, as "+p.Name+" with "+wordsOf(p.Roles))
}

// session is that of somebody whom the provider calls so.
func (c *configs) session(name string) *session {
	if i := slices.IndexFunc(c.in, func(s *session) bool { return s.at != nil && s.at.Name() == name }); i >= 0 {
		return c.in[i]
	}
	return nil
}

// signedIn are those who have signed in, as [known] takes them.
func (c *configs) signedIn() (list []signed) {
	for _, s := range c.in {
		list = append(list, signed{name: s.at.Name(), roles: c.a.c.OIDC.RolesOf(s.at.Groups()), tokens: s.tokens})
	}
	slices.SortFunc(list, func(a, b signed) int { return cmp.Compare(a.name, b.name) })
	return list
}

// putSigned puts who has signed in in force, with its audit entry.
func (c *configs) putSigned(ctx context.Context, next *inForce, note string) error {
	e := audit.Entry{Type: audit.TypePeople, Note: note}
	if err := c.a.queue.Replace(context.WithoutCancel(ctx), record.EventConfig, e, nil, nil, func() { c.a.current.Store(next) }); err != nil {
		return err
	}
	c.a.log.Info(note)
	c.remake()
	c.follow(ctx, next)
	return nil
}

// Leave implements [web.Login]: a browser was signed out. The person stays known with
// the roles of their groups, so that what they answered counts.
func (c *configs) Leave(ctx context.Context, gone api.Credential) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.in {
		i := slices.Index(s.tokens, gone.Token)
		if i < 0 {
			continue
		}
		s.tokens = slices.Delete(slices.Clone(s.tokens), i, i+1)
		c.renew(ctx, gone.Person+" signed out")
	}
}

// renew puts who has signed in in force anew. c.mu is held.
func (c *configs) renew(ctx context.Context, note string) {
	n := c.a.current.Load()
	next, err := c.a.makeInForce(n.c, n.roster, c.signedIn())
	if err == nil {
		err = c.putSigned(ctx, next, note)
	}
	if err != nil {
		c.a.log.Error("changing who has signed in", "err", err)
	}
}

// keepGroups reads the groups of those who have signed in again, each as often as the
// configuration says.
func (c *configs) keepGroups(ctx context.Context) error {
	every := time.Duration(c.a.c.OIDC.Reread)
	t := time.NewTicker(min(every, time.Minute))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		c.mu.Lock()
		var due []*session
		for _, s := range c.in {
			if now := time.Now(); now.After(s.until) || now.Sub(s.read) >= every-time.Second {
				due = append(due, s)
			}
		}
		c.mu.Unlock()
		for _, s := range due {
			if err := c.reread(ctx, s); err != nil && ctx.Err() == nil {
				c.a.log.Warn("the groups of a person cannot be read again; those of before count, but for approvals of high risk", "person", s.at.Name(), "err", err)
			}
		}
	}
}

// reread reads a person's groups again, and puts in force what has changed. What the
// provider says is over ends.
func (c *configs) reread(ctx context.Context, s *session) error {
	ctx, stop := context.WithTimeout(ctx, rereadIn)
	defer stop()
	c.mu.Lock()
	at := s.at
	c.mu.Unlock()
	before := c.a.c.OIDC.RolesOf(at.Groups())
	groups, err := at.Read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	switch roles := c.a.c.OIDC.RolesOf(groups); {
	case s.at != at || !slices.Contains(c.in, s): // they have signed in again meanwhile, or it is over
		return nil
	case now.After(s.until) || errors.Is(err, login.ErrEnded):
		c.in = slices.DeleteFunc(c.in, func(o *session) bool { return o == s })
		c.renew(ctx, "the sign-in of "+holdgate.Visible(at.Name())+" at the provider is over")
		return err
	case err != nil:
		return err
	case !slices.Equal(before, roles):
		c.renew(ctx, fmt.Sprintf("the groups of %s at the provider give %s; before: %s", holdgate.Visible(at.Name()), wordsOf(roles), wordsOf(before)))
	}
	s.read = now
	return nil
}

// confirm is asked before an approval of high risk counts: the groups of somebody who
// has signed in at the provider are read again. Of others nothing is asked.
func (c *configs) confirm(ctx context.Context, by string) error {
	n, known := c.a.queue.People().Find(by)
	if !known {
		return nil // who votes is refused by itself
	}
	c.mu.Lock()
	i := slices.IndexFunc(c.in, func(s *session) bool {
		return s.at.Name() == n.Name || slices.Contains(n.Accounts, signed{name: s.at.Name()}.account())
	})
	var s *session
	if i >= 0 {
		s = c.in[i]
	}
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	if err := c.reread(ctx, s); err != nil {
		c.a.log.Warn("refusing an approval of high risk: the groups of who gives it cannot be read again", "person", n.Name, "err", err)
		return fmt.Errorf("%w: your groups are read again before you approve what is of high risk, and the provider at which you signed in does not answer or takes your sign-in for over", people.ErrNotEntitled)
	}
	return nil
}
