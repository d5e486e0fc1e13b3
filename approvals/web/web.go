// Package web is the page: where a person sees in a browser what waits, decides it,
// and watches what agents do.
//
// # Where it lives
//
// The page has an origin of its own, http://NAME.localhost:PORT, on the approvers'
// port. NAME is made for each state folder. Browsers lead every name below localhost
// to this machine (RFC 6761, section 6.3). Cookies know no ports: one for
// localhost:7301 would go to an agent's own server on localhost:3000 too. One for
// NAME.localhost does not, and the port tells NAME to nobody without a token. The API
// at the same port takes tokens and no cookie, and the page takes its cookie and no
// token, so that neither serves the other's visitors.
//
// Where the port speaks TLS ([Config.TLS]), it can be reached from elsewhere. The page
// then has the host of the certificate, and cookies that are sent over TLS alone.
//
// # Signing in
//
// A person with a token asks the API for a [api.Link]. It works once, within a minute,
// and the code in it stands in the fragment, which no server and no log is sent. The
// page trades it for a cookie (HttpOnly, SameSite=Strict). Sign-ins live in memory,
// end after twelve hours without use or when the token is taken back, and are listed.
//
// # What it may do
//
// The page does everything through the API, as the person ([api.Server.As]): it has no
// rights and no rules of its own. What it adds are the rules of the screen: a call of
// critical risk is approved by typing what it is about, one that is not shown whole is
// not approved, several at once are never critical.
//
// All pages are made here and work without scripts, but that the code of a link has to
// be pasted then. The script adds what is live, keys, and the rest of 0.7 seconds
// before a new screen takes an answer.
package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/approvals/passkeys"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/push"
)

//go:embed templates static
var files embed.FS

// MaxForm bounds a form, in bytes: the arguments of an edit must fit, as a form
// writes them.
const MaxForm = 3 * api.MaxBody

// Config is what a page needs. All fields but Passkeys, Push, Login and Logger must be set.
type Config struct {
	// API is asked for everything, as the person who has signed in.
	API *api.Server
	// People says who may approve what.
	People func() *people.People
	// Passkeys are what people sign with; nil: there are none.
	Passkeys *passkeys.Keeper
	// Push tells browsers that something waits; nil: nobody is told so.
	Push *push.Sender
	// Login is where people sign in besides; nil: nowhere.
	Login Login
	// Name is the first label of the page's host: see [Name].
	Name string
	// TLS are the hosts of the page where the approvers' port speaks TLS, the first one
	// in links; none: it speaks plain HTTP, and the page is at Name below localhost.
	TLS []string
	// Address is where the approvers' port listens, once it does.
	Address func() string
	Logger  *slog.Logger
}

// Name makes the label of a page's host from a key that is the state folder's own.
func Name(key []byte) string {
	sum := sha256.Sum256(key)
	return "hg-" + strings.ToLower(base32.HexEncoding.EncodeToString(sum[:10]))
}

// A Server serves the page, and the API to everybody who asks for another host. It is
// safe for concurrent use.
type Server struct {
	c       Config
	mux     *http.ServeMux
	cross   *http.CrossOriginProtection
	pages   map[string]*template.Template
	assets  map[string]asset // by path
	signins signins
	asked   challenges
	lately  lately
}

// An asset is a file that browsers keep, for its path changes with its content.
type asset struct {
	typ  string
	body []byte
}

// New returns a Server.
func New(c Config) (*Server, error) {
	if c.API == nil || c.People == nil || c.Name == "" || c.Address == nil {
		return nil, errors.New("web: API, people, name and address must all be set")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{c: c, mux: http.NewServeMux(), cross: http.NewCrossOriginProtection(), signins: newSignins(time.Now), asked: newChallenges(time.Now)}
	if err := errors.Join(s.readAssets(), s.readPages()); err != nil {
		return nil, err
	}
	for pattern, fn := range s.routes() {
		s.mux.Handle(pattern, s.signed(fn))
	}
	s.mux.HandleFunc("GET /open", s.showOpen)
	s.mux.HandleFunc("POST /open", s.redeemLink)
	s.mux.HandleFunc("POST /open/sign", s.toOpen)
	s.mux.HandleFunc("POST /open/passkey", s.openByPasskey)
	s.mux.HandleFunc("GET /open/provider", s.toProvider)
	s.mux.HandleFunc("GET /open/provider/back", s.fromProvider)
	s.mux.HandleFunc("GET /static/", s.serveAsset)
	s.mux.HandleFunc("GET /push.js", s.serveApp)
	s.mux.HandleFunc("GET /manifest.webmanifest", s.serveApp)
	return s, nil
}

// routes is the table of what only those see who have signed in.
func (s *Server) routes() map[string]func(*visit) error {
	return map[string]func(*visit) error{
		"GET /{$}":                        s.inbox,
		"GET /requests/{id}":              s.request,
		"POST /requests/{id}":             s.answer,
		"GET /requests/{id}/edit":         s.edit,
		"POST /requests/{id}/edit":        s.checkEdit,
		"POST /requests/{id}/claim":       s.claim,
		"POST /requests/{id}/delegate":    s.delegate,
		"POST /requests/{id}/defer":       s.putOff,
		"GET /rules":                      s.rule,
		"GET /policy":                     s.policy,
		"POST /policy/try":                s.tryPolicy,
		"GET /policy/draft":               s.draft,
		"POST /policy/draft":              s.draft,
		"POST /policy/review":             s.reviewDraft,
		"POST /policy/push":               s.pushDraft,
		"GET /several":                    s.several,
		"POST /several":                   s.answerSeveral,
		"GET /agents":                     s.agents,
		"POST /agents":                    s.intervene,
		"GET /sessions/{id}":              s.session,
		"POST /sessions/{id}":             s.setSession,
		"GET /history":                    s.history,
		"GET /history/export":             s.export,
		"GET /history/{seq}/proof":        s.proof,
		"GET /grants":                     s.grants,
		"POST /grants/{id}/revoke":        s.revoke,
		"GET /statistics":                 s.statistics,
		"GET /people":                     s.people,
		"POST /people":                    s.addPerson,
		"POST /people/{name}":             s.changePerson,
		"POST /people/signins/{id}/close": s.closeSignin,
		"POST /requests/{id}/sign":        s.toSign,
		"POST /passkeys/new":              s.newPasskey,
		"POST /passkeys":                  s.registerPasskey,
		"POST /passkeys/sign":             s.toAdmit,
		"POST /passkeys/admit":            s.admitPasskey,
		"POST /passkeys/remove":           s.removePasskey,
		"POST /push":                      s.subscribe,
		"POST /push/remove":               s.unsubscribe,
		"GET /live":                       s.live,
		"POST /out":                       s.out,
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.own(r) {
		if (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/requests/")) && r.Method == http.MethodGet {
			s.lead(w, r)
			return
		}
		s.c.API.ServeHTTP(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if err := s.cross.Check(r); err != nil {
		http.Error(w, "This came from another site.", http.StatusForbidden)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// own reports whether a request is for the page's host, over a port.
func (s *Server) own(r *http.Request) bool {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); !ok || addr.Network() == "unix" {
		return false
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if len(s.c.TLS) == 0 {
		return strings.EqualFold(host, s.host())
	}
	return !ofAPI(r.URL.Path) && slices.ContainsFunc(s.c.TLS, func(n string) bool { return strings.EqualFold(host, n) })
}

// host is the page's, as it stands in links.
func (s *Server) host() string {
	if len(s.c.TLS) > 0 {
		return s.c.TLS[0]
	}
	return s.c.Name + ".localhost"
}

// ofAPI reports whether a path is of the API, which has the page's host where that is
// a real one.
func ofAPI(path string) bool {
	return strings.HasPrefix(path, "/v1/") || path == "/healthz" || path == "/readyz" || path == "/metrics"
}

// lead tells a browser at another name of the port how to come to the page. It does not
// say where that is: whoever knew the page's name could serve under it at another port,
// and be sent the page's cookies.
func (s *Server) lead(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		s.c.API.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if id := strings.TrimPrefix(r.URL.Path, "/requests/"); requestID.MatchString(id) {
		_, _ = fmt.Fprintf(w, "This is Holdgate. To see this request and decide it, run:\n\n  holdgate open %s\n\nIt opens the request in your browser, signed in as you.\n", id)
		return
	}
	_, _ = fmt.Fprintln(w, "This is Holdgate. To see what waits, run:\n\n  holdgate open\n\nIt opens the page in your browser, signed in as you.")
}

// requestID is what may be the id of a request: a path says what its author likes, and
// people copy the command.
var requestID = regexp.MustCompile(`^[0-9a-z][0-9a-z-]{0,63}$`)

// A visit is one request of a person who has signed in.
type visit struct {
	*http.Request

	w      http.ResponseWriter
	signin signin
	api    *client.Client
}

// signed serves those who have signed in, and leads others to where they can.
func (s *Server) signed(fn func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, ok := s.signins.of(r)
		if !ok {
			s.notSignedIn(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, MaxForm)
		v := &visit{Request: r, w: w, signin: in, api: client.Through(s.c.API.As(in.credential), "page")}
		err := fn(v)
		if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusUnauthorized {
			s.signins.remove(in.id)
			s.notSignedIn(w, r)
			return
		}
		if err != nil {
			s.fail(v, err)
		}
	})
}

// fail shows what went wrong.
func (s *Server) fail(v *visit, err error) {
	p, ok := errors.AsType[*api.Problem](err)
	if !ok {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			p = &api.Problem{Status: http.StatusRequestEntityTooLarge, Title: "Too large", Detail: fmt.Sprintf("A form may have %d bytes.", MaxForm)}
		} else {
			s.c.Logger.ErrorContext(v.Context(), "serving the page", "method", v.Method, "path", v.URL.Path, "error", err)
			p = &api.Problem{Status: http.StatusInternalServerError, Title: "This did not work", Detail: "The sidecar's log says why."}
		}
	}
	if err := s.show(v, p.Status, "problem", p.Title, trouble{p, cameFrom(v.Request)}); err != nil {
		s.c.Logger.ErrorContext(v.Context(), "showing a problem", "error", err)
	}
}

// A trouble is what went wrong, and the path of the page that led to it.
type trouble struct {
	*api.Problem

	Back string // empty: it is not known, or the list of what waits
}

// cameFrom is the path of the page of ours that a form was sent from, or nothing.
func cameFrom(r *http.Request) string {
	u, err := url.Parse(r.Referer())
	if err != nil || u.Host != r.Host || u.Path == "/" || r.Method != http.MethodPost {
		return ""
	}
	return u.RequestURI()
}

// A screen is what every template is given.
type screen struct {
	Title   string
	Path    string
	Person  string
	Waiting int // requests, for the badge
	Now     time.Time
	Script  string
	Style   string
	Data    any
}

// show writes a page whole or not at all.
func (s *Server) show(v *visit, status int, name, title string, data any) error {
	sc := screen{Title: visible(title), Path: v.URL.Path, Person: cmp.Or(v.signin.credential.Person, "you"), Now: time.Now(), Data: data,
		Script: s.assetPath("page.js"), Style: s.assetPath("style.css")}
	if st, err := v.api.Status(v.Context()); err == nil {
		sc.Waiting = st.Pending
	}
	return s.write(v.w, status, name, sc)
}

func (s *Server) write(w http.ResponseWriter, status int, name string, sc screen) error {
	var b bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&b, "layout", sc); err != nil {
		return fmt.Errorf("making the page %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	return err
}

// readPages reads the templates: each page lies in the layout, with the parts.
func (s *Server) readPages() error {
	s.pages = make(map[string]*template.Template)
	shared, err := template.New("").Funcs(words).ParseFS(files, "templates/layout.html", "templates/part-*.html")
	if err != nil {
		return err
	}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return err
	}
	for _, file := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "templates/"), ".html")
		if name == "layout" || strings.HasPrefix(name, "part-") {
			continue
		}
		t, err := shared.Clone()
		if err != nil {
			return err
		}
		if s.pages[name], err = t.ParseFS(files, file); err != nil {
			return err
		}
	}
	return nil
}

// readAssets reads the static files, each under a path with its hash.
func (s *Server) readAssets() error {
	s.assets = make(map[string]asset)
	for name, typ := range map[string]string{"page.js": "text/javascript; charset=utf-8", "style.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml", "push.js": "text/javascript; charset=utf-8"} {
		body, err := files.ReadFile("static/" + name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		s.assets["/static/"+hex.EncodeToString(sum[:6])+"/"+name] = asset{typ, body}
	}
	return nil
}

// assetPath is the path of a static file.
func (s *Server) assetPath(name string) string {
	for path := range s.assets {
		if strings.HasSuffix(path, "/"+name) {
			return path
		}
	}
	return ""
}

func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Content-Type", a.typ)
	_, _ = w.Write(a.body)
}
