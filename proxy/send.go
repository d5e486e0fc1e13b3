package proxy

import (
	"context"
	"fmt"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// send sends a request whose body has been read: what was judged is what goes. On gated formats no compression is asked for.
func (e *exchange) send(ctx context.Context) (*http.Response, error) {
	req := upstream.Outgoing(e.r, e.t.URL)
	req.Header.Del("Content-Encoding")
	req.Header.Del("Content-Length")
	req.Header.Set("Accept-Encoding", "identity")
	upstream.Carry(req, e.body)
	return e.transport().RoundTrip(req.WithContext(ctx))
}

// untilEnded ends what is under way when the server shuts down or people stop the
// agent. Call what it returns when there is nothing left to end.
func (e *exchange) untilEnded(end func()) (forget func()) {
	stop := context.AfterFunc(e.s.life, end)
	started := e.s.gate.WhenStopped(e.t.Caller, end)
	return func() { started(); stop() }
}

// withCredential finds out what will be put in, for policy and the log, and
// refuses a request that relies on what its agent may not use: the upstream would
// say no more than that a key is wrong. It returns false where it has answered.
func (e *exchange) withCredential() bool {
	c := e.credential()
	if upstream.SentBack(e.r.Method) && (c != nil || e.t.Transport == nil && e.s.out.ProxyFor(e.t.URL) != nil) {
		e.reject(http.StatusForbidden, holdgate.RuleIdentity, e.r.Method+" has a server send back what it was sent, and Holdgate puts in what this agent must not see: use another method")
		return false
	}
	if c != nil {
		e.t.Credential = c.Name
		e.remark = gate.Remarks(e.remark, "with the credential "+c.Name)
	}
	left := e.s.out.Placeholder(e.t.URL, e.r.Header, c)
	switch {
	case left == nil:
		return true
	case c != nil, !left.BelongsTo(upstream.Origin(e.t.URL)):
		e.reject(http.StatusUnauthorized, holdgate.RuleIdentity, fmt.Sprintf("the request to %s holds the placeholder %s where Holdgate puts no credential in: "+
			"put it into the header of a credential that belongs there (credentials.NAME.hosts), or take it out", upstream.Origin(e.t.URL), left.Placeholder))
		return false
	}
	do := "start it with `holdgate run`, strongly confined, or give it a token (`holdgate agents add NAME`)"
	who := "to agents that prove who they are, and this one does not"
	if e.t.Caller.Agent.Proven {
		who, do = fmt.Sprintf("to other agents than %s", e.t.Caller.Agent.ID), "name it under credentials."+left.Name+".agents"
	}
	e.reject(http.StatusUnauthorized, holdgate.RuleIdentity, fmt.Sprintf("Holdgate gives the credential %s %s: %s", left.Name, who, do))
	return false
}

// repeated writes to the log, and tells people, that a server repeats what it
// gets: its answers are not for agents.
func (e *exchange) repeated() {
	what := "the answer repeated the credential " + e.t.Credential + ", which was written over: do not let agents ask for this"
	if err := e.s.c.Queue.Find(context.WithoutCancel(e.r.Context()), e.t.Caller, gate.AuditCall(e.call(e.asHTTP())), what); err != nil {
		e.s.c.Logger.Error("writing a finding to the audit log", "err", err)
	}
}

// credential is what is put into the exchange's request, or nil.
func (e *exchange) credential() *credential.Credential {
	if e.t.Transport != nil {
		return nil
	}
	return e.s.out.Credential(e.t.URL, e.t.Caller.Agent)
}

// transport is how the exchange's request goes on its way.
func (e *exchange) transport() http.RoundTripper {
	if e.t.Transport != nil {
		return e.t.Transport
	}
	next := e.s.out.To(e.t.URL, e.t.Named, e.t.MCP)
	c := e.credential()
	if c == nil {
		return next
	}
	own := *e // as it is now: an answer that waits for people changes it
	return upstream.WithCredential(c, next, own.repeated)
}
