// Package login signs people in at an OpenID Connect provider: by the authorization code
// flow, with PKCE, state and nonce. What it knows of somebody is a name and groups.
//
// A [SignIn] is one person's. Its groups can be read again ([SignIn.Read]): by its
// refresh token, where the provider gave one, and at the provider's userinfo endpoint.
// Where the provider says that it is over, it is ([ErrEnded]). Tokens of the provider
// stay in memory.
package login

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/holdgate/holdgate"
)

const (
	begunLasts = 10 * time.Minute
	maxPath    = 2000 // bytes, as JSON: longer ones do not fit a cookie
	maxGroups  = 1000
	timeout    = 10 * time.Second // of one question to the provider
	// invalidGrant is the one error of a provider by which a sign-in is over (RFC 6749,
	// section 5.2). All others are of the configuration, the provider or what lies between.
	invalidGrant = "invalid_grant"
)

// ErrEnded says that the provider takes a sign-in for over.
var ErrEnded = errors.New("the sign-in is over at the provider")

// Config is what a Provider needs. Issuer, ClientID, NameClaim, GroupsClaim and Redirect
// must be set.
type Config struct {
	Issuer   string
	ClientID string
	// Secret is the client's, read for each use; nil: it has none, and PKCE alone keeps
	// a code from others.
	Secret      func() (string, error)
	NameClaim   string   // whose value is a person's name
	GroupsClaim string   // a claim, or a JSON pointer into the claims
	Scopes      []string // besides openid
	// Redirect is where the provider sends browsers back to.
	Redirect func() string
	Client   *http.Client // to the provider; nil: one of its own
}

// A Provider is where people sign in. It is safe for concurrent use.
type Provider struct {
	c Config

	finding chan struct{}  // full while the provider is asked for found
	found   *oidc.Provider // once it was reached

	sealed cipher.AEAD // what browsers keep: only this process reads it
}

// A begun is a sign-in that waits for the provider's answer. The browser keeps it and
// nothing is kept here, so that no number of sign-ins that are begun ends another.
type begun struct {
	State, Nonce, Verifier, Path string
	Until                        time.Time
}

// New returns a Provider. It is asked what it can do when it is needed first.
func New(c Config) *Provider {
	if c.Client == nil {
		c.Client = &http.Client{Timeout: timeout}
	}
	var key [32]byte
	_, _ = rand.Read(key[:])          // never fails: see its documentation
	block, _ := aes.NewCipher(key[:]) // fails for other lengths alone
	p := &Provider{c: c, finding: make(chan struct{}, 1)}
	p.sealed, _ = cipher.NewGCMWithRandomNonce(block) // fails for other ciphers alone
	return p
}

// discover asks the provider what it can do, once.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	select {
	case p.finding <- struct{}{}:
		defer func() { <-p.finding }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.found != nil {
		return p.found, nil
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.c.Client), p.c.Issuer)
	if err != nil {
		return nil, fmt.Errorf("asking the provider %s what it can do: %w", p.c.Issuer, err)
	}
	p.found = found
	return found, nil
}

// oauth is the client as package oauth2 has it.
func (p *Provider) oauth(found *oidc.Provider) (*oauth2.Config, error) {
	o := &oauth2.Config{ClientID: p.c.ClientID, Endpoint: found.Endpoint(), RedirectURL: p.c.Redirect(), Scopes: append([]string{oidc.ScopeOpenID}, p.c.Scopes...)}
	if p.c.Secret != nil {
		secret, err := p.c.Secret()
		if err != nil {
			return nil, fmt.Errorf("reading the client's secret: %w", err)
		}
		o.ClientSecret = secret
	}
	return o, nil
}

// Begin is where a browser goes to sign in, and what it has to keep and bring back.
// path is where it wants to go then.
func (p *Provider) Begin(ctx context.Context, path string) (to, kept string, err error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", "", err
	}
	o, err := p.oauth(found)
	if err != nil {
		return "", "", err
	}
	if quoted, _ := json.Marshal(path); len(quoted) > maxPath {
		path = "/"
	}
	b := begun{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Path: path, Until: time.Now().Add(begunLasts)}
	if kept, err = p.seal(b); err != nil {
		return "", "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(b.Nonce), oauth2.S256ChallengeOption(b.Verifier)}
	if slices.Contains(p.c.Scopes, oidc.ScopeOfflineAccess) {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // without which there is no refresh token
	}
	return o.AuthCodeURL(b.State, options...), kept, nil
}

// seal is a sign-in that waits, as a browser keeps it.
func (p *Provider) seal(b begun) (string, error) {
	raw, err := json.Marshal(b)
	return base64.RawURLEncoding.EncodeToString(p.sealed.Seal(nil, nil, raw, nil)), err
}

// unseal reads what a browser has kept.
func (p *Provider) unseal(kept string) (b begun, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(kept)
	if err == nil {
		raw, err = p.sealed.Open(nil, nil, raw, nil)
	}
	return b, err == nil && json.Unmarshal(raw, &b) == nil && time.Now().Before(b.Until)
}

// Finish signs in who comes back from the provider with the answer, in the browser that
// has kept what [Provider.Begin] gave it. It returns where they wanted to go.
func (p *Provider) Finish(ctx context.Context, answer url.Values, kept string) (_ *SignIn, path string, err error) {
	b, ok := p.unseal(kept)
	switch {
	case !ok:
		return nil, "", errors.New("this sign-in was not begun in this browser, or too long ago, or before the sidecar was started anew")
	case subtle.ConstantTimeCompare([]byte(b.State), []byte(answer.Get("state"))) != 1:
		return nil, b.Path, errors.New("this sign-in was begun in another browser, or another one was begun in this browser since")
	case answer.Get("error") != "":
		return nil, b.Path, fmt.Errorf("the provider refuses: %s", holdgate.Visible(holdgate.Bounded(answer.Get("error")+" "+answer.Get("error_description"), 300)))
	case answer.Has("iss") && answer.Get("iss") != p.c.Issuer:
		return nil, b.Path, errors.New("another provider answers")
	}
	found, err := p.discover(ctx)
	if err != nil {
		return nil, b.Path, err
	}
	o, err := p.oauth(found)
	if err != nil {
		return nil, b.Path, err
	}
	ctx = oidc.ClientContext(ctx, p.c.Client)
	token, err := o.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(b.Verifier))
	if err != nil {
		return nil, b.Path, fmt.Errorf("trading the code at the provider: %w", err)
	}
	s := &SignIn{p: p, token: token, reading: make(chan struct{}, 1)}
	claims, err := s.idClaims(ctx, found, token, b.Nonce)
	if err != nil {
		return nil, b.Path, err
	}
	if claims == nil {
		return nil, b.Path, errors.New("the provider gave no ID token")
	}
	user, err := s.userClaims(ctx, found)
	if err != nil {
		return nil, b.Path, err
	}
	if s.name, err = nameOf(p.c.NameClaim, claims, user); err != nil {
		return nil, b.Path, err
	}
	s.groups = groupsOf(p.c.GroupsClaim, user, claims)
	return s, b.Path, nil
}

// A SignIn is one person's. It is safe for concurrent use.
type SignIn struct {
	p    *Provider
	name string

	reading chan struct{} // holds one while the groups are read: it guards the next two
	subject string
	token   *oauth2.Token

	mu     sync.Mutex // guards groups, and is never held while the provider is asked
	groups []string
}

// Name is the person's, as the provider says it.
func (s *SignIn) Name() string { return s.name }

// Groups are those of the last reading. It never waits for the provider.
func (s *SignIn) Groups() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.groups)
}

// Read reads the person's groups again. The error is [ErrEnded] where the provider says
// that the sign-in is over, and another one where it could not be asked. One reading
// waits for another, for as long as its context lasts.
func (s *SignIn) Read(ctx context.Context) ([]string, error) {
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the provider: %w", ctx.Err())
	}
	groups, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups = groups
	return slices.Clone(groups), nil
}

// read asks the provider for the groups of now. The caller has s.reading.
func (s *SignIn) read(ctx context.Context) ([]string, error) {
	found, err := s.p.discover(ctx)
	if err != nil {
		return nil, err
	}
	o, err := s.p.oauth(found)
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, s.p.c.Client)
	var claims map[string]any
	if s.token.RefreshToken != "" {
		fresh, err := o.TokenSource(ctx, &oauth2.Token{RefreshToken: s.token.RefreshToken}).Token()
		if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && e.ErrorCode == invalidGrant {
			return nil, fmt.Errorf("%w: %s", ErrEnded, holdgate.Visible(holdgate.Bounded(e.ErrorDescription, 300)))
		}
		if err != nil {
			return nil, fmt.Errorf("asking the provider for a new token: %w", err)
		}
		s.token = fresh
		if claims, err = s.idClaims(ctx, found, fresh, ""); err != nil {
			return nil, err
		}
	}
	user, err := s.userClaims(ctx, found)
	if err != nil {
		return nil, err
	}
	if user == nil && claims == nil {
		return nil, fmt.Errorf("%w: the provider gives nothing by which groups are read again", ErrEnded)
	}
	return groupsOf(s.p.c.GroupsClaim, user, claims), nil
}

// idClaims are those of the ID token that came with a token, once it is verified; nil
// where none came. The nonce must be in it where it is not empty.
func (s *SignIn) idClaims(ctx context.Context, found *oidc.Provider, token *oauth2.Token, nonce string) (map[string]any, error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok || raw == "" {
		return nil, nil //nolint:nilnil // a refresh need not bring one
	}
	id, err := found.VerifierContext(ctx, &oidc.Config{ClientID: s.p.c.ClientID}).Verify(ctx, raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("verifying the provider's ID token: %w", err)
	case nonce != "" && subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1:
		return nil, errors.New("the provider's ID token is not for this sign-in")
	case s.subject != "" && id.Subject != s.subject:
		return nil, fmt.Errorf("%w: the provider speaks of somebody else", ErrEnded)
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, fmt.Errorf("verifying the provider's ID token: %w", err)
		}
	}
	s.subject = id.Subject
	var claims map[string]any
	err = id.Claims(&claims)
	return claims, err
}

// userClaims are those of the userinfo endpoint; nil where there is none.
func (s *SignIn) userClaims(ctx context.Context, found *oidc.Provider) (map[string]any, error) {
	if found.UserInfoEndpoint() == "" {
		return nil, nil //nolint:nilnil // it is optional
	}
	seen := &lastStatus{next: s.p.c.Client.Transport}
	client := *s.p.c.Client
	client.Transport = seen
	info, err := found.UserInfo(oidc.ClientContext(ctx, &client), oauth2.StaticTokenSource(s.token))
	switch {
	case err != nil && seen.status == http.StatusUnauthorized && s.token.RefreshToken == "": // which would bring another
		return nil, fmt.Errorf("%w: its token counts no longer", ErrEnded)
	case err != nil:
		return nil, fmt.Errorf("asking the provider about a person: %w", err)
	case info.Subject != s.subject:
		return nil, fmt.Errorf("%w: the provider speaks of somebody else", ErrEnded)
	}
	var claims map[string]any
	err = info.Claims(&claims)
	return claims, err
}

// A lastStatus keeps the status of the last answer.
type lastStatus struct {
	next   http.RoundTripper
	status int
}

// RoundTrip implements [http.RoundTripper].
func (l *lastStatus) RoundTrip(r *http.Request) (*http.Response, error) {
	next := l.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err == nil {
		l.status = resp.StatusCode
	}
	return resp, err
}

// nameOf is a person's name by the first claims that have it. An address is none where
// any of the claims say that it is not verified, for they need not stand beside it.
func nameOf(claim string, of ...map[string]any) (string, error) {
	for _, claims := range of {
		name, ok := claims[claim].(string)
		if !ok || strings.TrimSpace(name) == "" {
			continue
		}
		if claim == "email" && slices.ContainsFunc(of, unverified) {
			return "", errors.New("the provider has not verified the address " + holdgate.Visible(name))
		}
		return name, nil
	}
	return "", fmt.Errorf("the provider says nothing of the claim %q, which is to be the name", claim)
}

// unverified reports whether claims say that an address is not verified. Some providers
// say so in a string.
func unverified(claims map[string]any) bool {
	switch v := claims["email_verified"].(type) {
	case bool:
		return !v
	case string:
		return !strings.EqualFold(strings.TrimSpace(v), "true")
	}
	return false
}

// groupsOf are a person's groups by the first claims that have them.
func groupsOf(claim string, of ...map[string]any) []string {
	for _, claims := range of {
		var found any = claims
		path := []string{claim}
		if strings.HasPrefix(claim, "/") {
			path = strings.Split(strings.TrimPrefix(claim, "/"), "/")
		}
		for _, name := range path {
			members, _ := found.(map[string]any)
			found = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		}
		switch v := found.(type) {
		case string:
			return []string{v}
		case []any:
			groups := []string{}
			for _, g := range v[:min(len(v), maxGroups)] {
				if name, ok := g.(string); ok {
					groups = append(groups, name)
				}
			}
			return groups
		}
	}
	return []string{}
}
