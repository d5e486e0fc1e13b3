package steps

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/credential"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/upstream"
)

// Send sends the request on with a body that was read: what was judged is what goes. No
// compression is asked for, since the answer is looked into.
func (e *Exchange) Send(ctx context.Context, body []byte) (*http.Response, error) {
	req := upstream.Outgoing(e.R, e.Target.URL)
	req.Header.Del("Content-Encoding")
	req.Header.Del("Content-Length")
	req.Header.Set("Accept-Encoding", "identity")
	upstream.Carry(req, body)
	return e.Transport().RoundTrip(req.WithContext(ctx))
}

// Underway is the time in which the upstream may be heard: until the client leaves,
// Holdgate ends, people stop the agent, or its credential is taken back.
func (e *Exchange) Underway() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(e.R.Context())
	forget := e.UntilEnded(cancel)
	return ctx, func() { forget(); cancel() }
}

// UntilEnded ends what is under way when the server shuts down, people stop the agent,
// or its credential is taken back. Call what it returns when there is nothing left to end.
func (e *Exchange) UntilEnded(end func()) (forget func()) {
	stop := context.AfterFunc(e.Steps.Life, end)
	revoked := context.AfterFunc(e.R.Context(), end)
	started := e.Steps.Gate.WhenStopped(e.Target.Caller, end)
	return func() { started(); revoked(); stop() }
}

// WithCredential finds out what will be put in, for policy and the log, and
// refuses a request that relies on what its agent may not use: the upstream would
// say no more than that a key is wrong. It returns false where it has answered.
func (e *Exchange) WithCredential() bool {
	c := e.credential()
	if m := e.Target.Message; m != nil && m.Credential != nameOf(c) {
		e.Reject(http.StatusUnauthorized, holdgate.RuleIdentity, "the credential with which this WebSocket was opened is no longer this agent's: open another one")
		return false
	}
	if upstream.SentBack(e.R.Method) && (c != nil || e.Target.Transport == nil && e.Steps.Out.ProxyFor(e.Target.URL) != nil) {
		e.Reject(http.StatusForbidden, holdgate.RuleIdentity, e.R.Method+" has a server send back what it was sent, and Holdgate puts in what this agent must not see: use another method")
		return false
	}
	if c != nil {
		e.Target.Credential = c.Name
		e.Remark = gate.Remarks(e.Remark, "with the credential "+c.Name)
	}
	left := e.Steps.Out.Placeholder(e.Target.URL, e.R.Header, c)
	switch {
	case left == nil:
		return true
	case c != nil, !left.BelongsTo(upstream.Origin(e.Target.URL)):
		e.Reject(http.StatusUnauthorized, holdgate.RuleIdentity, fmt.Sprintf("the request to %s holds the placeholder %s where Holdgate puts no credential in: "+
			"put it into the header of a credential that belongs there (credentials.NAME.hosts), or take it out", upstream.Origin(e.Target.URL), left.Placeholder))
		return false
	}
	do := "start it with `holdgate run`, strongly confined, or give it a token (`holdgate agents add NAME`)"
	who := "to agents that prove who they are, and this one does not"
	if e.Target.Caller.Agent.Proven {
		who, do = fmt.Sprintf("to other agents than %s", e.Target.Caller.Agent.ID), "name it under credentials."+left.Name+".agents"
	}
	e.Reject(http.StatusUnauthorized, holdgate.RuleIdentity, fmt.Sprintf("Holdgate gives the credential %s %s: %s", left.Name, who, do))
	return false
}

func nameOf(c *credential.Credential) string {
	if c == nil {
		return ""
	}
	return c.Name
}

// credential is what is put into the exchange's request, or nil. A message goes on a
// connection into whose opening it was put.
func (e *Exchange) credential() *credential.Credential {
	if e.Target.Transport != nil && e.Target.Message == nil {
		return nil
	}
	return e.Steps.Out.Credential(e.Target.URL, e.Target.Caller.Agent)
}

// Answered is how an upstream took to a request.
type Answered struct {
	Host     string        // of the request's URL, with its port where that names one
	Agent    string        // whose request it is
	Upstream string        // the name that the configuration has for it, as "anthropic" or "mcp/files"; empty: it has none
	Took     time.Duration // until the head of its answer
	Status   int           // of the answer; 0: there was none
	Err      error         // why there was none
	Trace    string        // the id of the request's trace; empty where none is recorded
}

// watched tells of the answers to what it sends.
type watched struct {
	next            http.RoundTripper
	upstream, agent string
	tell            func(Answered)
}

// RoundTrip implements [http.RoundTripper].
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	a := Answered{Host: r.URL.Host, Agent: w.agent, Upstream: w.upstream, Trace: trace.ID(r.Context())}
	r, answered := trace.Sent(r, w.upstream)
	began := time.Now()
	resp, err := w.next.RoundTrip(r)
	a.Took, a.Err = time.Since(began), err
	if err == nil {
		a.Status = resp.StatusCode
	}
	answered(a.Status, err)
	if w.tell == nil {
		return resp, err
	}
	if err == nil || r.Context().Err() == nil { // who gave up is no fault of the upstream's
		w.tell(a)
	}
	return resp, err
}

// Transport is how the exchange's request goes on its way.
func (e *Exchange) Transport() http.RoundTripper {
	w := watched{next: e.transport(), upstream: e.Target.Name, agent: e.Target.Caller.Agent.ID, tell: e.Steps.OnAnswered}
	if e.Target.MCP && w.upstream != "" {
		w.upstream = "mcp/" + w.upstream
	}
	return w
}

func (e *Exchange) transport() http.RoundTripper {
	if e.Target.Transport != nil {
		return e.Target.Transport
	}
	next := e.Steps.Out.To(e.Target.URL, e.Target.Named, e.Target.MCP)
	c := e.credential()
	if c == nil {
		return next
	}
	ctx, who, call := e.R.Context(), e.Target.Caller, e.Complete(e.AsHTTP()) // as they are now: an answer that waits for people changes them
	what := "the answer repeated the credential " + c.Name + ", which was written over: do not let agents ask for this"
	return upstream.WithCredential(c, next, func() { e.Steps.Find(ctx, who, call, what) })
}

// Find writes to the log, and tells people, what was found about a request. The log
// being full or broken is no reason to refuse: what is decided of the request is
// written all the same.
func (s *Steps) Find(ctx context.Context, who approvals.Caller, c holdgate.Call, what string) {
	if err := s.Queue.Find(context.WithoutCancel(ctx), who, gate.AuditCall(c), what); err != nil {
		s.Logger.ErrorContext(ctx, "writing a finding to the audit log", "err", err)
	}
}
