package email

import (
	"embed"
	"errors"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

//go:embed page.html page.js page.css
var files embed.FS

var pageHTML = template.Must(template.ParseFS(files, "page.html"))

// maxForm bounds a form, in bytes: edited arguments are the longest part.
const maxForm = 256 << 10

// view is what the page shows. Without Code it is the empty form.
type view struct {
	Code, Message, Digest   string
	Lines                   []pageLine
	Ended                   bool
	Deny, Steer             bool
	Approve, Choose, Edit   bool
	Claim, Unclaim, Proves  bool
	Closed, Editable, Word  string
	Options                 []sdk.Option
	WithoutAuthenticatorFor string
}

// A pageLine is a line of the page, wide as it may be. Marked lines are of a
// call, or of what an agent or policy says.
type pageLine struct {
	Label, Text string
	Look        string // a class of the style sheet
	Marked      bool
}

// handler serves the page. GET shows the same to everybody.
func (c *Channel) handler(answer sdk.Answerer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { c.draw(w, http.StatusOK, view{}) })
	for name, kind := range map[string]string{"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			http.ServeFileFS(w, r, files, name)
		})
	}
	mux.HandleFunc("POST /show", c.show)
	mux.HandleFunc("POST /decide", func(w http.ResponseWriter, r *http.Request) { c.decide(w, r, answer) })
	return c.guard(http.NewCrossOriginProtection().Handler(mux))
}

// guard lets only requests through that a browser made for this page.
func (c *Channel) guard(next http.Handler) http.Handler {
	own := make(map[string]bool)
	if u, err := url.Parse(c.conf.page); err == nil {
		own[strings.ToLower(u.Host)] = true
	}
	if c.listener != nil {
		own[c.listener.Addr().String()] = true
		if _, port, err := net.SplitHostPort(c.listener.Addr().String()); err == nil {
			own["localhost:"+port] = true
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if !own[strings.ToLower(r.Host)] {
			http.Error(w, "this page has another address: page_url says which", http.StatusMisdirectedRequest)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}

func (c *Channel) draw(w http.ResponseWriter, status int, v view) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if err := pageHTML.Execute(w, v); err != nil {
		c.log.Debug("drawing the page", "err", err) // whoever asked is gone
	}
}

// show shows the request that a link is for.
func (c *Channel) show(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimSpace(r.PostFormValue("code"))
	t, rec, ok := c.store.find(forLink, token)
	if !ok {
		c.draw(w, http.StatusNotFound, view{Message: "This link is for nothing that is known here. It may be of an earlier form of the call: a newer mail has another."})
		return
	}
	c.draw(w, http.StatusOK, c.view(token, t, rec, ""))
}

// view is the page of a request for one person.
func (c *Channel) view(token string, t ticket, rec record, message string) view {
	n := rec.Notice
	v := view{Code: token, Digest: n.Digest, Message: message, Ended: n.Ended()}
	for _, line := range page.Of(n, c.clock()) { // the browser knows how wide it is
		mark := strings.TrimSpace(line.Label)
		v.Lines = append(v.Lines, pageLine{Label: line.Label, Text: line.Text, Look: classes[line.Style], Marked: mark == "|" || mark == ">"})
	}
	if done := rec.Done[t.address]; done != "" && !v.Ended {
		v.Message = strings.TrimSpace(v.Message + " You have answered it: " + done + ".")
		return v
	}
	if v.Ended {
		return v
	}
	v.Proves = c.proves(t.address)
	v.Deny, v.Steer, v.Claim, v.Unclaim = n.May(sdk.Deny), n.May(sdk.Steer), n.May(sdk.Claim), n.May(sdk.Unclaim)
	v.Closed, v.Word, v.Options, v.Editable = n.Closed, page.Word(n), n.Options, n.Editable
	if v.Proves {
		v.Approve, v.Choose, v.Edit = n.May(sdk.Approve), n.May(sdk.Choose), n.May(sdk.Edit) && n.Editable != ""
		return v
	}
	v.WithoutAuthenticatorFor = t.address
	return v
}

// classes are the styles of a page's lines, by name.
var classes = map[page.Style]string{page.Strong: "strong", page.Alarm: "alarm", page.Added: "added", page.Removed: "removed", page.Faint: "faint"}

// decide takes what a person has decided.
func (c *Channel) decide(w http.ResponseWriter, r *http.Request, answer sdk.Answerer) {
	token := strings.TrimSpace(r.PostFormValue("code"))
	t, rec, ok := c.store.find(forLink, token)
	if !ok {
		c.draw(w, http.StatusNotFound, view{Message: "This link is for nothing that is known here."})
		return
	}
	a, err := c.decision(r, t, rec)
	var status string
	if err == nil {
		status, err = c.give(r.Context(), a, answer)
	}
	if now, ok := c.store.record(t.id); ok {
		rec = now
	}
	if refused, ok := errors.AsType[*sdk.Refused](err); ok {
		c.draw(w, http.StatusConflict, c.view(token, t, rec, "This did not count: "+refused.Reason))
		return
	}
	if err != nil {
		c.log.Error("an answer could not be handed on", "approval", t.id, "err", err)
		c.draw(w, http.StatusServiceUnavailable, c.view(token, t, rec, "Holdgate cannot take answers now. Nobody knows whether this one counted: look again."))
		return
	}
	v := c.view(token, t, rec, "Thank you. The request is "+status+".")
	if a.Decision != sdk.Claim && a.Decision != sdk.Unclaim {
		v = view{Code: token, Ended: true, Lines: v.Lines, Message: v.Message}
	}
	c.draw(w, http.StatusOK, v)
}

// decision reads a form and checks all that Holdgate cannot. An error is a
// *[sdk.Refused], or says that it is not known.
func (c *Channel) decision(r *http.Request, t ticket, rec record) (a sdk.Answer, err error) {
	n := rec.Notice
	field := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	a = n.Answer(field("decision"), t.address)
	a.Assurance = sdk.Text // whoever can read the mail has the link
	claim := a.Decision == sdk.Claim || a.Decision == sdk.Unclaim
	switch {
	case n.Ended():
		return a, &sdk.Refused{Reason: "the request has ended: it is " + n.Status}
	case field("digest") != n.Digest || t.digest != n.Digest:
		return a, &sdk.Refused{Reason: "the call has changed since you saw it: look again"}
	case rec.Done[t.address] != "" && !claim:
		return a, &sdk.Refused{Reason: "you have answered it with this link: " + rec.Done[t.address]}
	case !n.May(a.Decision):
		return a, &sdk.Refused{Reason: "it cannot be answered so here"}
	}
	a.Reason, a.Instructions = field("reason"), field("instructions")
	switch a.Decision {
	case sdk.Deny, sdk.Claim, sdk.Unclaim:
		a.Instructions = ""
		return a, nil
	case sdk.Steer:
		if a.Instructions == "" {
			return a, &sdk.Refused{Reason: "say what the agent shall do instead"}
		}
		return a, nil
	case sdk.Choose:
		a.Choice = field("choice")
	case sdk.Edit:
		a.Arguments, a.Instructions = field("arguments"), ""
	case sdk.Approve:
		a.Instructions = ""
	default:
		return a, &sdk.Refused{Reason: "it cannot be answered so here"}
	}
	if word := page.Word(n); word != "" && field("word") != word {
		return a, &sdk.Refused{Reason: "type the words \"" + word + "\" to go on"}
	}
	if err := c.prove(t.address, field("totp")); err != nil {
		return a, err
	}
	a.Assurance = sdk.Interactive
	return a, nil
}
