package web

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/holdgate/holdgate/approvals/push"
)

// maxSubscription bounds what a browser says of its subscription, in bytes.
const maxSubscription = 4096

// A browserSubscription is what PushSubscription.toJSON makes.
type browserSubscription struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256dh string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
}

// subscribe has the visitor told in this browser.
func (s *Server) subscribe(v *visit) error {
	text := v.PostFormValue("subscription")
	var b browserSubscription
	if s.c.Push == nil || len(text) > maxSubscription || json.Unmarshal([]byte(text), &b) != nil {
		return wrong("Not notified", "This browser's subscription cannot be read.")
	}
	key, err := bytesOf(b.Keys.P256dh)
	secret, other := bytesOf(b.Keys.Auth)
	if err = errors.Join(err, other); err != nil {
		return wrong("Not notified", "This browser's keys cannot be read.")
	}
	err = s.c.Push.Add(v.Context(), push.Subscription{Person: v.signin.credential.Person, Browser: v.signin.browser, Endpoint: b.Endpoint, Key: key, Secret: secret})
	if errors.Is(err, push.ErrSubscription) {
		return wrong("Not notified", "This cannot be used: "+err.Error()+".")
	}
	if err != nil {
		return err
	}
	http.Redirect(v.w, v.Request, "/people#notifications", http.StatusSeeOther)
	return nil
}

// bytesOf reads Base64 as browsers write it, for URLs, with padding or without.
func bytesOf(s string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
}

// unsubscribe has the visitor told in one of their browsers no longer.
func (s *Server) unsubscribe(v *visit) error {
	if s.c.Push != nil {
		if err := s.c.Push.Remove(v.Context(), v.signin.credential.Person, v.PostFormValue("id")); err != nil {
			return err
		}
	}
	http.Redirect(v.w, v.Request, "/people#notifications", http.StatusSeeOther)
	return nil
}

// manifest lets a phone keep the page among its apps.
const manifest = `{"name": "Holdgate", "short_name": "Holdgate", "id": "/", "start_url": "/", "scope": "/", "display": "standalone",
 "background_color": "#16181b", "theme_color": "#1d6b3a", "icons": [{"src": "ICON", "sizes": "any", "type": "image/svg+xml", "purpose": "any"}]}
`

// serveApp serves what makes an app of the page, at paths that stay: its manifest, and the
// service worker, whose path says for which pages it is.
func (s *Server) serveApp(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Path == "/push.js" {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(s.assets[s.assetPath("push.js")].body)
		return
	}
	w.Header().Set("Content-Type", "application/manifest+json")
	_, _ = w.Write([]byte(strings.ReplaceAll(manifest, "ICON", s.assetPath("icon.svg"))))
}
