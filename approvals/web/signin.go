package web

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
)

const (
	cookieName = "holdgate" // with "__Host-" before it under TLS
	linkLasts  = time.Minute
	tellLasts  = time.Minute
	idleLasts  = 12 * time.Hour
	maxSignins = 100 // of one person, and as many links that wait
)

// A signin is one browser in which a person has signed in.
type signin struct {
	id         string // shown in the list; it signs nobody in
	credential api.Credential
	since      time.Time
	used       time.Time
	browser    string // what it says that it is
	said       *told  // what the latest form led to, for the page after it
}

// A told is what one page is to show once more, by its key.
type told struct {
	key   string
	what  any
	until time.Time
}

// signins are the links that wait and the browsers that are signed in, by the
// hashes of what they were given.
type signins struct {
	now   func() time.Time
	mu    sync.Mutex
	links map[[32]byte]link
	in    map[[32]byte]signin
}

type link struct {
	credential api.Credential
	path       string
	until      time.Time
}

func newSignins(now func() time.Time) signins {
	return signins{now: now, links: make(map[[32]byte]link), in: make(map[[32]byte]signin)}
}

// secret is some random bytes as they are given away, and their hash.
func secret(n int) (text string, hash [32]byte) {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: see its documentation
	text = base64.RawURLEncoding.EncodeToString(b)
	return text, sha256.Sum256([]byte(text))
}

// offer makes the code of a link.
func (s *signins) offer(c api.Credential, path string) (code string, until time.Time) {
	code, hash := secret(16) // a link fits a line of a terminal
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	bound(s.links, func(l link) (string, time.Time) { return l.credential.Person, l.until }, c.Person)
	until = s.now().Add(linkLasts)
	s.links[hash] = link{credential: c, path: path, until: until}
	return code, until
}

// redeem trades a code for a cookie's value, once.
func (s *signins) redeem(code, browser string) (value, path string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	hash := sha256.Sum256([]byte(strings.TrimSpace(code)))
	l, ok := s.links[hash]
	if !ok {
		return "", "", false
	}
	delete(s.links, hash)
	return s.begin(l.credential, browser), l.path, true
}

// enter signs a person in, and returns the cookie's value.
func (s *signins) enter(c api.Credential, browser string) (value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	return s.begin(c, browser)
}

func (s *signins) begin(c api.Credential, browser string) (value string) {
	bound(s.in, func(in signin) (string, time.Time) { return in.credential.Person, in.used }, c.Person)
	value, key := secret(32)
	now := s.now()
	s.in[key] = signin{id: base64.RawURLEncoding.EncodeToString(key[:9]), credential: c, since: now, used: now, browser: browser}
	return value
}

// tellLater keeps what a form of a browser led to for the page that it is sent to, which
// asks by the key. It is one thing a browser, and none after a minute.
func (s *signins) tellLater(id string, what any) (key string) {
	key, _ = secret(12)
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, in := range s.in {
		if in.id == id {
			in.said = &told{key, what, s.now().Add(tellLasts)}
			s.in[k] = in
		}
	}
	return key
}

// told is what was kept under the key for a browser, nil where there is nothing.
func (s *signins) told(id, key string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.in {
		if in.id == id && in.said != nil && in.said.key == key && s.now().Before(in.said.until) {
			return in.said.what
		}
	}
	return nil
}

// sweep forgets what has run out.
func (s *signins) sweep() {
	now := s.now()
	for k, l := range s.links {
		if now.After(l.until) {
			delete(s.links, k)
		}
	}
	for k, in := range s.in {
		if now.Sub(in.used) > idleLasts {
			delete(s.in, k)
		}
	}
}

// bound forgets the oldest of a person's where they have as many as they may: nobody's are
// ended by another's.
func bound[T any](all map[[32]byte]T, of func(T) (person string, at time.Time), person string) {
	var oldest [32]byte
	var since time.Time
	n := 0
	for k, v := range all {
		whose, at := of(v)
		if whose != person {
			continue
		}
		if n++; n == 1 || at.Before(since) {
			oldest, since = k, at
		}
	}
	if n >= maxSignins {
		delete(all, oldest)
	}
}

// of finds who is signed in where a request comes from.
func (s *signins) of(r *http.Request) (signin, bool) {
	name := cookieName
	if r.TLS != nil {
		name = "__Host-" + name
	}
	c, err := r.Cookie(name)
	if err != nil {
		return signin{}, false
	}
	hash := sha256.Sum256([]byte(c.Value))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	in, ok := s.in[hash]
	if !ok {
		return signin{}, false
	}
	in.used = s.now()
	s.in[hash] = in
	return in, true
}

// remove ends the sign-in with an id.
func (s *signins) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, in := range s.in {
		if in.id == id {
			delete(s.in, k)
		}
	}
}

// list returns a person's sign-ins, the latest used first.
func (s *signins) list(person string) (list []signin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	for _, in := range s.in {
		if in.credential.Person == person {
			list = append(list, in)
		}
	}
	slices.SortFunc(list, func(a, b signin) int { return cmp.Or(b.used.Compare(a.used), strings.Compare(a.id, b.id)) })
	return list
}

// Link implements [api.Links].
func (s *Server) Link(c api.Credential, path string) (api.Link, error) {
	if s.c.Address() == "" {
		return api.Link{}, fmt.Errorf("%w: the approvers' port is not open yet", api.ErrNoPage)
	}
	if path != "" && !ofPage(path) {
		return api.Link{}, &api.Problem{Type: api.ProblemPrefix + "malformed", Title: "Malformed request", Status: http.StatusBadRequest, Detail: "path must be one of the page: /requests/ID"}
	}
	code, until := s.signins.offer(c, cmp.Or(path, "/"))
	return api.Link{URL: s.Origin() + "/open#" + code, Expires: until}, nil
}

// ofPage reports whether a path leads to the page and nowhere else.
func ofPage(path string) bool {
	u, err := url.Parse(path)
	return err == nil && u.Host == "" && u.Scheme == "" && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && !strings.HasPrefix(path, `/\`)
}

// Origin is where the page is, once its port is open.
func (s *Server) Origin() string {
	_, port, _ := net.SplitHostPort(s.c.Address())
	switch {
	case len(s.c.TLS) == 0:
		return "http://" + net.JoinHostPort(s.host(), port)
	case port == "443":
		return "https://" + s.host()
	}
	return "https://" + net.JoinHostPort(s.host(), port)
}

// showOpen serves the page to which links lead. The script on it sends the code; a
// person without scripts pastes it.
func (s *Server) showOpen(w http.ResponseWriter, r *http.Request) {
	s.showDoor(w, r, http.StatusOK, door{})
}

// A door is what a person sees who is not signed in.
type door struct {
	Passkeys bool // one can sign in with a passkey
	Failed   bool
	Refused  string
	Back     string // where they wanted to go
	Provider bool   // one can sign in at a provider
	In       bool   // they are signed in, and go on to Back
}

func (s *Server) showDoor(w http.ResponseWriter, r *http.Request, status int, d door) {
	d.Passkeys, d.Provider = s.c.Passkeys != nil, s.c.Login != nil
	sc := screen{Title: "Sign in", Path: "/open", Now: time.Now(), Data: d, Script: s.assetPath("page.js"), Style: s.assetPath("style.css")}
	if err := s.write(w, status, "open", sc); err != nil {
		s.c.Logger.ErrorContext(r.Context(), "serving the page", "error", err)
	}
}

// notSignedIn leads to where one can sign in. A browser that comes from another site
// brings no cookie along at first: the page asks once more by itself.
func (s *Server) notSignedIn(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path == "/live" {
		http.Error(w, "You are not signed in. Run: holdgate open", http.StatusUnauthorized)
		return
	}
	s.showDoor(w, r, http.StatusUnauthorized, door{Back: "/" + strings.TrimLeft(r.URL.RequestURI(), "/\\")})
}

// redeemLink trades the code of a link for a cookie.
func (s *Server) redeemLink(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	value, path, ok := s.signins.redeem(r.PostFormValue("code"), r.UserAgent())
	back := r.PostFormValue("back") // where they were going when they were asked to sign in
	if !ofPage(back) {
		back = ""
	}
	if !ok {
		s.c.Logger.WarnContext(r.Context(), "refusing a link that is unknown, used or too old")
		s.showDoor(w, r, http.StatusForbidden, door{Failed: true, Back: back})
		return
	}
	if path == "/" && back != "" {
		path = back
	}
	http.SetCookie(w, s.cookie(value))
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// cookie is what signs a browser in. Under TLS it goes nowhere else, and no other host
// can have set it.
func (s *Server) cookie(value string) *http.Cookie {
	c := &http.Cookie{Name: cookieName, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if len(s.c.TLS) > 0 {
		c.Name, c.Secure = "__Host-"+c.Name, true
	}
	return c
}

// out ends the visitor's sign-in.
func (s *Server) out(v *visit) error {
	s.leave(v, v.signin)
	gone := s.cookie("")
	gone.MaxAge = -1
	http.SetCookie(v.w, gone)
	http.Redirect(v.w, v.Request, "/open", http.StatusSeeOther)
	return nil
}

// closeSignin ends another sign-in of the visitor's.
func (s *Server) closeSignin(v *visit) error {
	for _, in := range s.signins.list(v.signin.credential.Person) {
		if in.id == v.PathValue("id") {
			s.leave(v, in)
		}
	}
	http.Redirect(v.w, v.Request, "/people", http.StatusSeeOther)
	return nil
}

// leave ends a sign-in.
func (s *Server) leave(v *visit, in signin) {
	s.signins.remove(in.id)
	if s.c.Login != nil {
		s.c.Login.Leave(v.Context(), in.credential)
	}
}
