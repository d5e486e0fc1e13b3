package upstream

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/route"
)

// What the sidecar holds for agents is put in where the last bytes are made,
// after policy and people have decided: for an agent that has proven who it is,
// to the scheme, host and port that the credential belongs to. A redirect is the
// client's to follow, with a request of its own, which is looked at as any other.

// Origin is where a URL leads, as [credential.Spec] names it.
func Origin(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + route.WithPort(strings.ToLower(u.Scheme), u.Host)
}

// Credential is what is put into an agent's requests to a URL, nil where nothing is;
// of what belongs there, the first that is the agent's to use.
func (n *Network) Credential(to *url.URL, agent holdgate.Agent) *credential.Credential {
	if len(n.c.Credentials) == 0 || !agent.Proven {
		return nil
	}
	at := Origin(to)
	for _, c := range n.c.Credentials {
		if c.BelongsTo(at) && c.IsFor(agent.ID) {
			return c
		}
	}
	return nil
}

// Expected is the credential that a request to a URL relies on, by the placeholder
// that stands in one of its headers; nil where it relies on none.
func (n *Network) Expected(to *url.URL, h http.Header) *credential.Credential {
	for _, c := range n.c.Credentials {
		if c.BelongsTo(Origin(to)) && sendsPlaceholder(h, c) {
			return c
		}
	}
	return nil
}

// SentBack reports whether a server answers a method with the request itself (RFC
// 9110 section 9.3.8; TRACK is the same under another name). A proxy on the way
// does too, whose password is in what it gets.
func SentBack(method string) bool {
	return strings.EqualFold(method, http.MethodTrace) || strings.EqualFold(method, "TRACK")
}

// sendsPlaceholder reports whether a request relies on a credential of ours.
func sendsPlaceholder(h http.Header, c *credential.Credential) bool {
	for _, name := range append([]string{c.Header}, CredentialHeaders...) {
		for _, v := range h.Values(name) {
			if c.Placeholder != "" && WithoutBearer(v) == c.Placeholder {
				return true
			}
		}
	}
	return false
}

// putting puts a credential into what is sent, and takes it out of what comes back.
type putting struct {
	next     http.RoundTripper
	c        *credential.Credential
	repeated func() // is told that it came back
}

// RoundTrip implements [http.RoundTripper].
func (p putting) RoundTrip(r *http.Request) (*http.Response, error) {
	if !p.c.BelongsTo(Origin(r.URL)) || r.Host != "" && route.WithPort(r.URL.Scheme, r.Host) != route.WithPort(r.URL.Scheme, r.URL.Host) {
		return nil, &credential.Error{Name: p.c.Name, Err: fmt.Errorf("the request goes to %s, where it does not belong", r.URL.Host)}
	}
	out := r.WithContext(r.Context())
	out.Header = r.Header.Clone()
	plainAnswer(out.Header)
	traces, err := p.c.Put(r.Context(), out.Header, CredentialHeaders...)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	resp, err := p.next.RoundTrip(out)
	if err != nil {
		return nil, p.unquoted(err, traces)
	}
	if err := p.conceal(r, resp, traces); err != nil {
		return nil, err
	}
	return resp, nil
}

// WithCredential returns a way on which a credential is put into each request,
// and written over where the answer has it: repeated is called then.
func WithCredential(c *credential.Credential, next http.RoundTripper, repeated func()) http.RoundTripper {
	return putting{next, c, repeated}
}

// CredentialHeaders are what upstreams know an account by.
var CredentialHeaders = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// WithoutBearer is what stands after Bearer, in any case (RFC 9110 section 11.1),
// or v itself where that does not.
func WithoutBearer(v string) string {
	if scheme, rest, ok := strings.Cut(v, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(rest)
	}
	return v
}
