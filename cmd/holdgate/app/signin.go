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
	"sync"
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
	maxCookies  = 100              // of one person
	rereadIn    = 30 * time.Second // the most that reading groups again takes
	maxRereads  = 8                // at once
)

// A signIn is one person's at the provider, guarded by [configs.mu].
type signIn struct {
	at      *login.SignIn // the newest sign-in
	cookies []cookie
	until   time.Time // of the newest sign-in
	read    time.Time // when its groups were read
	reading bool      // they are to be read again, or are being read
	// over says that it has ended. It is kept without cookies until that is in force.
	over bool
}

// A cookie is what one browser has of a sign-in, and how long it counts.
type cookie struct {
	token api.TokenHash
	until time.Time
}

// lapse ends what has lasted long enough: each cookie by itself, and all with the newest.
func (s *signIn) lapse(now time.Time) {
	s.cookies = slices.DeleteFunc(slices.Clone(s.cookies), func(k cookie) bool { return now.After(k.until) })
	if now.After(s.until) {
		s.end()
	}
}

// end says that it is over.
func (s *signIn) end() { s.over, s.cookies = true, nil }

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
func (c *configs) Begin(ctx context.Context, path string) (to, kept string, err error) {
	return c.provider.Begin(ctx, path)
}

// Finish implements [web.Login].
func (c *configs) Finish(ctx context.Context, answer url.Values, kept string) (api.Credential, string, error) {
	at, path, err := c.provider.Finish(ctx, answer, kept)
	if err != nil {
		return api.Credential{}, path, err
	}
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: see its documentation
	credential := api.Credential{Token: api.HashToken(string(b[:]))}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.signInOf(at.Name())
	if s == nil {
		s = &signIn{}
		c.in = append(c.in, s)
	}
	before, now := *s, time.Now()
	s.at, s.over, s.read, s.until = at, false, now, now.Add(signedInFor)
	s.cookies = append(slices.Clone(s.cookies[max(0, len(s.cookies)-maxCookies+1):]), cookie{credential.Token, s.until})
	if credential.Person, err = c.admit(ctx, s, credential.Token); err != nil {
		if *s = before; before.at == nil {
			c.in = slices.DeleteFunc(c.in, func(o *signIn) bool { return o == s })
		}
	}
	return credential, path, err
}

// admit puts a new sign-in in force, and says as whom they count. c.mu is held.
func (c *configs) admit(ctx context.Context, s *signIn, token api.TokenHash) (string, error) {
	n := c.a.current.Load()
	next, err := n.withPeople(c.a, n.roster, c.signedIn())
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(next.tokens, func(t api.Credential) bool { return t.Token == token })
	if i < 0 {
		return "", fmt.Errorf("%w: no group of %s has a role here, and nobody here is linked to them", people.ErrNotEntitled, holdgate.Visible(s.at.Name()))
	}
	p, _ := next.queue.People.Find(next.tokens[i].Person)
	note := holdgate.Visible(s.at.Name()) + " signed in at the provider, as " + p.Name + " with " + wordsOf(p.Roles)
	return p.Name, c.putSigned(ctx, next, append([]string{note}, changes(n.signed, next.signed)...))
}

// signInOf is that of somebody whom the provider calls so.
func (c *configs) signInOf(name string) *signIn {
	if i := slices.IndexFunc(c.in, func(s *signIn) bool { return s.at != nil && s.at.Name() == name }); i >= 0 {
		return c.in[i]
	}
	return nil
}

// signedIn are those who have signed in, as [known] takes them.
func (c *configs) signedIn() (list []signed) {
	for _, s := range c.in {
		if s.over {
			continue
		}
		in := signed{name: s.at.Name(), roles: c.a.c.OIDC.RolesOf(s.at.Groups())}
		for _, k := range s.cookies {
			in.tokens = append(in.tokens, k.token)
		}
		list = append(list, in)
	}
	slices.SortFunc(list, func(a, b signed) int { return cmp.Compare(a.name, b.name) })
	return list
}

// same reports whether nothing of somebody who has signed in differs.
func (s signed) same(o signed) bool {
	return s.name == o.name && slices.Equal(s.roles, o.roles) && slices.Equal(s.tokens, o.tokens)
}

// changes says of each who had signed in what is different, for the audit log.
func changes(before, after []signed) (notes []string) {
	for _, was := range before {
		name := holdgate.Visible(was.name)
		i := slices.IndexFunc(after, func(s signed) bool { return s.name == was.name })
		if i < 0 {
			notes = append(notes, "the sign-in of "+name+" at the provider is over")
			continue
		}
		if is := after[i]; !slices.Equal(was.roles, is.roles) {
			notes = append(notes, fmt.Sprintf("the groups of %s at the provider give %s; before: %s", name, wordsOf(is.roles), wordsOf(was.roles)))
		}
		if slices.ContainsFunc(was.tokens, func(t api.TokenHash) bool { return !slices.Contains(after[i].tokens, t) }) {
			notes = append(notes, name+" is signed out in a browser")
		}
	}
	return notes
}

// putSigned puts who has signed in in force, with its audit entry. What is over is
// forgotten then. c.mu is held.
func (c *configs) putSigned(ctx context.Context, next *inForce, notes []string) error {
	note := strings.Join(notes, "; ")
	e := audit.Entry{Type: audit.TypePeople, Note: note}
	if err := c.a.queue.Replace(context.WithoutCancel(ctx), record.EventConfig, e, nil, nil, func() { c.a.current.Store(next) }); err != nil {
		return err
	}
	c.in = slices.DeleteFunc(c.in, func(s *signIn) bool { return s.over })
	c.a.log.Info("who has signed in at the provider has changed", "what", note)
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
		s.cookies = slices.DeleteFunc(slices.Clone(s.cookies), func(k cookie) bool { return k.token == gone.Token })
	}
	if err := c.renew(ctx); err != nil {
		c.a.log.Error("signing out", "person", gone.Person, "err", err)
	}
}

// renew puts who has signed in in force where it is not so already: what could not be put
// in force before is tried again. c.mu is held.
func (c *configs) renew(ctx context.Context) error {
	n, in := c.a.current.Load(), c.signedIn()
	if slices.EqualFunc(n.signed, in, signed.same) {
		c.in = slices.DeleteFunc(c.in, func(s *signIn) bool { return s.over })
		return nil
	}
	next, err := n.withPeople(c.a, n.roster, in)
	if err == nil {
		err = c.putSigned(ctx, next, changes(n.signed, in))
	}
	if err != nil {
		return fmt.Errorf("putting in force who has signed in: %w", err)
	}
	return nil
}

// keepGroups reads the groups of those who have signed in again, each as often as the
// configuration says. It never waits for the provider to end what is over.
func (c *configs) keepGroups(ctx context.Context) error {
	every := time.Duration(c.a.c.OIDC.Reread)
	t := time.NewTicker(min(every, time.Minute))
	defer t.Stop()
	var readings sync.WaitGroup
	defer readings.Wait()
	free := make(chan struct{}, maxRereads)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		for _, s := range c.due(ctx, every) {
			readings.Go(func() {
				select {
				case free <- struct{}{}:
					defer func() { <-free }()
					c.keep(ctx, s)
				case <-ctx.Done():
				}
			})
		}
	}
}

// keep reads the groups of somebody for whom [configs.due] said so.
func (c *configs) keep(ctx context.Context, s *signIn) {
	err := c.reread(ctx, s)
	c.mu.Lock()
	defer c.mu.Unlock()
	s.reading = false
	if err != nil && !errors.Is(err, login.ErrEnded) && ctx.Err() == nil {
		c.a.log.Warn("the groups of a person cannot be read again; those of before count, but for approvals of high risk", "person", s.at.Name(), "err", err)
	}
}

// due ends what has lasted long enough, and returns whose groups are to be read again,
// and are not already.
func (c *configs) due(ctx context.Context, every time.Duration) (due []*signIn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, s := range c.in {
		s.lapse(now)
	}
	if err := c.renew(ctx); err != nil {
		c.a.log.Error("who has lost a role or whose sign-in is over keeps what they had until this succeeds", "err", err)
	}
	for _, s := range c.in {
		if !s.over && !s.reading && now.Sub(s.read) >= every-time.Second {
			s.reading = true
			due = append(due, s)
		}
	}
	return due
}

// reread reads a person's groups again, and puts in force what has changed. What the
// provider says is over ends. Where it returns nil, what it has read is in force.
func (c *configs) reread(ctx context.Context, s *signIn) error {
	ctx, stop := context.WithTimeout(ctx, rereadIn)
	defer stop()
	c.mu.Lock()
	at := s.at
	c.mu.Unlock()
	_, err := at.Read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if s.at == at { // they have not signed in again meanwhile
		switch s.lapse(now); {
		case s.over || errors.Is(err, login.ErrEnded):
			s.end()
			err = cmp.Or(err, login.ErrEnded)
		case err == nil:
			s.read = now
		}
	}
	return errors.Join(err, c.renew(ctx))
}

// confirm is asked before an approval of high risk counts: the groups of somebody who
// has signed in at the provider are read again. Of others nothing is asked.
func (c *configs) confirm(ctx context.Context, by string) error {
	c.mu.Lock()
	n := c.a.current.Load()
	p, known := n.queue.People.Find(by)
	i := slices.IndexFunc(c.in, func(s *signIn) bool { return (signed{name: s.at.Name()}).is(p) })
	var s *signIn
	if i >= 0 {
		s = c.in[i]
	}
	counts := slices.ContainsFunc(n.signed, func(s signed) bool { return s.is(p) })
	c.mu.Unlock()
	err := login.ErrEnded
	switch {
	case !known || s == nil && !counts: // who votes is refused by itself
		return nil
	case s != nil:
		err = c.reread(ctx, s)
	}
	if err != nil {
		c.a.log.Warn("refusing an approval of high risk: the groups of who gives it cannot be read again", "person", p.Name, "err", err)
		return fmt.Errorf("%w: your groups are read again before you approve what is of high risk, and the provider at which you signed in does not answer or takes your sign-in for over, or what it says could not be put in force", people.ErrNotEntitled)
	}
	return nil
}
