package upstream

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
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
	all := n.c.Credentials()
	if len(all) == 0 || !agent.Proven {
		return nil
	}
	at := Origin(to)
	for _, c := range all {
		if c.BelongsTo(at) && c.IsFor(agent.ID) {
			return c
		}
	}
	return nil
}

// Placeholder is the credential whose placeholder would leave in a request to a
// URL, into which put is put; of several one that belongs there. It is nil where no
// placeholder leaves.
func (n *Network) Placeholder(to *url.URL, h http.Header, put *credential.Credential) *credential.Credential {
	all := n.c.Credentials()
	sent := slices.IndexFunc(all, func(k *credential.Credential) bool { return sendsPlaceholder(to, h, k, put) })
	if sent < 0 {
		return nil
	}
	here := slices.IndexFunc(all, func(k *credential.Credential) bool {
		return k.Placeholder == all[sent].Placeholder && k.BelongsTo(Origin(to))
	})
	if here >= 0 {
		sent = here
	}
	return all[sent]
}

// SentBack reports whether a server answers a method with the request itself (RFC
// 9110 section 9.3.8; TRACK is the same under another name). A proxy on the way
// does too, whose password is in what it gets.
func SentBack(method string) bool {
	return strings.EqualFold(method, http.MethodTrace) || strings.EqualFold(method, "TRACK")
}

// leastDistinct is the length from which on a placeholder is no ordinary word.
const leastDistinct = 8

// sendsPlaceholder reports whether k's placeholder would leave in a request, into
// which put is put: in a header that it does not replace, or in the query. A short
// one, which may be an ordinary word, counts in headers of credentials alone.
func sendsPlaceholder(to *url.URL, h http.Header, k, put *credential.Credential) bool {
	if k.Placeholder == "" {
		return false
	}
	distinct := len(k.Placeholder) >= leastDistinct
	for name, values := range h {
		known := slices.Contains(CredentialHeaders, name)
		replaced := put != nil && (name == put.Header || known)
		counts := distinct || known || name == k.Header
		if counts && !replaced && slices.ContainsFunc(values, func(v string) bool { return isPlaceholder(v, k.Placeholder) }) {
			return true
		}
	}
	for _, values := range to.Query() {
		if distinct && slices.Contains(values, k.Placeholder) {
			return true
		}
	}
	return false
}

// isPlaceholder reports whether a header's value is the placeholder, as it is,
// behind a scheme such as Bearer, or as the user or password of Basic.
func isPlaceholder(value, placeholder string) bool {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(value), " ")
	if rest = strings.TrimSpace(rest); scheme == placeholder && rest == "" || rest == placeholder {
		return true
	}
	login, err := base64.StdEncoding.DecodeString(rest)
	if err != nil || !strings.EqualFold(scheme, "Basic") {
		return false
	}
	user, password, _ := strings.Cut(string(login), ":")
	return user == placeholder || password == placeholder
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
