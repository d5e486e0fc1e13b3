package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/people"
)

// A Login is an OpenID Connect provider at which people sign in. It is safe for
// concurrent use.
type Login interface {
	// Begin is where a browser goes to sign in, and what it keeps meanwhile.
	Begin(ctx context.Context, path string) (to, kept string, err error)
	// Finish signs in who comes back with an answer, in a browser that has kept that. It
	// returns where they wanted to go. The error wraps [people.ErrNotEntitled] where the
	// provider knows them, and they may do nothing here.
	Finish(ctx context.Context, answer url.Values, kept string) (api.Credential, string, error)
	// Leave says that a browser was signed out.
	Leave(ctx context.Context, c api.Credential)
}

const (
	pathBack   = "/open/provider/back"
	stateName  = "holdgate-state"
	stateLasts = 10 * time.Minute
)

// Redirect is where the provider sends browsers back to. It must know this address.
func (s *Server) Redirect() string { return s.Origin() + pathBack }

// toProvider leads a browser to the provider.
func (s *Server) toProvider(w http.ResponseWriter, r *http.Request) {
	if s.c.Login == nil {
		http.NotFound(w, r)
		return
	}
	to, kept, err := s.c.Login.Begin(r.Context(), "/"+strings.TrimLeft(r.URL.Query().Get("back"), "/\\"))
	if err != nil {
		s.c.Logger.ErrorContext(r.Context(), "leading a person to the provider", "error", err)
		s.showDoor(w, r, http.StatusBadGateway, door{Refused: "The provider cannot be reached. The sidecar's log says why."})
		return
	}
	c := s.cookie(kept)
	c.Name, c.Path, c.MaxAge = strings.Replace(c.Name, cookieName, stateName, 1), "/", int(stateLasts.Seconds())
	c.SameSite = http.SameSiteLaxMode // a browser brings it from the provider's page
	http.SetCookie(w, c)
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// fromProvider signs in who comes back from the provider.
func (s *Server) fromProvider(w http.ResponseWriter, r *http.Request) {
	if s.c.Login == nil {
		http.NotFound(w, r)
		return
	}
	gone := s.cookie("")
	gone.Name, gone.MaxAge = strings.Replace(gone.Name, cookieName, stateName, 1), -1
	kept := ""
	if c, err := r.Cookie(gone.Name); err == nil {
		kept = c.Value
	}
	http.SetCookie(w, gone)
	c, path, err := s.c.Login.Finish(r.Context(), r.URL.Query(), kept)
	path = inside(path) // it came from a link
	if err != nil {
		s.c.Logger.WarnContext(r.Context(), "refusing a sign-in at the provider", "error", err)
		d := door{Refused: "Signing in did not work: " + holdgate.Visible(err.Error()) + "."}
		if errors.Is(err, people.ErrNotEntitled) {
			d.Refused = holdgate.Visible(strings.TrimPrefix(err.Error(), people.ErrNotEntitled.Error()+": ")) + "."
		}
		s.showDoor(w, r, http.StatusForbidden, d)
		return
	}
	http.SetCookie(w, s.cookie(s.signins.enter(c, r.UserAgent())))
	// A browser that is redirected on its way from another site would not bring the
	// cookie; one that goes on from a page of this site does.
	w.Header().Set("Refresh", "0; url="+path)
	s.showDoor(w, r, http.StatusOK, door{In: true, Back: path})
}

// inside is where on the page an address leads: its path and query as they are written,
// for what is unescaped once could be another site's. What leads elsewhere leads to the
// inbox.
func inside(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return "/"
	}
	path := u.EscapedPath()
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.HasPrefix(path, `/\`) {
		return "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path
}
