package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/gate"
)

// What the sidecar holds for agents is put in where the last bytes are made,
// after policy and people have decided: for an agent that has proven who it is,
// to the scheme, host and port that the credential belongs to. A redirect is the
// client's to follow, with a request of its own, which is looked at as any other.

// origin is where a URL leads, as credentials name it.
func origin(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + withPort(strings.ToLower(u.Scheme), u.Host)
}

// Origin is where a URL leads, as [credential.Spec] names it.
func Origin(u *url.URL) string { return origin(u) }

// credentialFor is what is put into requests to a target, nil where nothing is;
// of what belongs there, the first that is the agent's to use.
func (s *Server) credentialFor(t target) *credential.Credential {
	if len(s.c.Credentials) == 0 || t.transport != nil || !t.caller.Agent.Proven {
		return nil
	}
	at := origin(t.url)
	for _, c := range s.c.Credentials {
		if c.BelongsTo(at) && c.IsFor(t.caller.Agent.ID) {
			return c
		}
	}
	return nil
}

// withCredential finds out what will be put in, for policy and the log, and
// refuses a request that relies on what its agent may not use: the upstream would
// say no more than that a key is wrong. It returns false where it has answered.
func (e *exchange) withCredential() bool {
	c := e.s.credentialFor(e.t)
	if sentBack(e.r.Method) && (c != nil || e.t.transport == nil && e.s.proxyFor(e.t.url) != nil) {
		e.reject(http.StatusForbidden, holdgate.RuleIdentity, e.r.Method+" has a server send back what it was sent, and Holdgate puts in what this agent must not see: use another method")
		return false
	}
	if c != nil {
		e.t.credential = c.Name
		e.remark = gate.Remarks(e.remark, "with the credential "+c.Name)
		return true
	}
	for _, c := range e.s.c.Credentials {
		if !c.BelongsTo(origin(e.t.url)) || !sendsPlaceholder(e.r.Header, c) {
			continue
		}
		do := "start it with `holdgate run`, strongly confined, or give it a token (`holdgate agents add NAME`)"
		who := "to agents that prove who they are, and this one does not"
		if e.t.caller.Agent.Proven {
			who, do = fmt.Sprintf("to other agents than %s", e.t.caller.Agent.ID), "name it under credentials."+c.Name+".agents"
		}
		e.reject(http.StatusUnauthorized, holdgate.RuleIdentity, fmt.Sprintf("Holdgate gives the credential %s %s: %s", c.Name, who, do))
		return false
	}
	return true
}

// sentBack reports whether a server answers a method with the request itself (RFC
// 9110 section 9.3.8; TRACK is the same under another name). A proxy on the way
// does too, whose password is in what it gets.
func sentBack(method string) bool {
	return strings.EqualFold(method, http.MethodTrace) || strings.EqualFold(method, "TRACK")
}

// sendsPlaceholder reports whether a request relies on a credential of ours.
func sendsPlaceholder(h http.Header, c *credential.Credential) bool {
	for _, name := range append([]string{c.Header}, credentialHeaders...) {
		for _, v := range h.Values(name) {
			if c.Placeholder != "" && withoutBearer(v) == c.Placeholder {
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
	if !p.c.BelongsTo(origin(r.URL)) || r.Host != "" && withPort(r.URL.Scheme, r.Host) != withPort(r.URL.Scheme, r.URL.Host) {
		return nil, &credential.Error{Name: p.c.Name, Err: fmt.Errorf("the request goes to %s, where it does not belong", r.URL.Host)}
	}
	out := r.WithContext(r.Context())
	out.Header = r.Header.Clone()
	plainAnswer(out.Header)
	traces, err := p.c.Put(r.Context(), out.Header, credentialHeaders...)
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
