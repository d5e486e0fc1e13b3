package api

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Links are one-time links to the page.
type Links interface {
	// Link makes a link that signs the person of the credential in, once. The
	// page that it leads to begins at path. It returns an error that wraps
	// [ErrNoPage] where no browser could reach the page.
	Link(c Credential, path string) (Link, error)
}

// ErrNoPage says that the page is nowhere, and why.
var ErrNoPage = errors.New("there is no page")

// A Link leads a browser to the page.
type Link struct {
	URL     string    `json:"url"`     // what signs in stands in its fragment, which no server is sent
	Expires time.Time `json:"expires"` // it works once, and until then
}

// LinkTo is the body of POST /v1/links.
type LinkTo struct {
	Path string `json:"path,omitempty"` // of the page, "/" where it is empty
}

// link serves POST /v1/links.
func (s *Server) link(r *request, in LinkTo) (Link, error) {
	if s.c.Links == nil {
		return Link{}, problem(http.StatusNotFound, ProblemNotFound, "Not found", "this sidecar serves no page")
	}
	l, err := s.c.Links.Link(Credential{Person: r.by, Token: r.token}, in.Path)
	if errors.Is(err, ErrNoPage) {
		return Link{}, problem(http.StatusConflict, "no-page", "No page", err.Error())
	}
	return l, err
}

// channelPage is what votes on the page name as theirs.
const channelPage = "page"

// signedIn is the key under which a request's context has the [Credential] of a
// person whom the page has signed in.
type signedIn struct{}

// As serves the API to a person whom the page has signed in with a token. The
// token must still be theirs at each request. The page has checked where the
// requests come from.
func (s *Server) As(c Credential) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r.WithContext(context.WithValue(r.Context(), signedIn{}, c)))
	})
}
