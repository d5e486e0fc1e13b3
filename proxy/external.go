package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/caller"
	"github.com/holdgate/holdgate/proxy/extauthz"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/mcp"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/trace"
)

// CheckExternal decides whether a request may go on that another proxy carries. It takes
// the steps of a request that goes on from here, but for being sent. w gets the answer to
// one that may not. Whoever calls it must have stopped before the store is closed; held
// requests are let go when Shutdown begins.
func (s *Server) CheckExternal(w http.ResponseWriter, q extauthz.Question) (allowed bool) {
	r, end := trace.Begin(q.Request, s.c.Tracer, w.Header(), extauthz.Door)
	defer end()
	defer func() {
		if p := recover(); p != nil {
			s.failed(r, p)
			s.steps.WriteError(w, route.Target{Door: extauthz.Door, URL: q.Request.URL}, http.StatusInternalServerError, "The request could not be decided.")
			allowed = false
		}
	}()
	if q.Token != "" {
		shown, err := s.steps.Callers.Identify(&http.Request{Method: r.Method, URL: r.URL, Header: http.Header{"Authorization": {q.Token}}}, func() bool { return false })
		if _, known := caller.In(shown.Context()); err != nil || !known {
			err = cmp.Or(err, errors.New("the filter shows a token that nobody knows"))
			s.refuse(w, r, route.Target{Door: extauthz.Door, URL: r.URL}, http.StatusUnauthorized, holdgate.RuleIdentity, err.Error())
			return false
		}
		r = r.WithContext(caller.Carry(r.Context(), shown.Context()))
	}
	t := route.Target{Door: extauthz.Door, URL: r.URL}
	t.Caller = s.steps.Callers.Of(r, t.Door)
	s.c.Queue.Agents.Seen(t.Caller)
	e := &request{Exchange: s.steps.Begin(w, r, t), s: s}
	e.Until, e.Waits = q.Until, q.Waits
	if !e.Admit() {
		return false
	}
	look := *e.R // there are servers that read a tool call whatever type it has
	look.Header = e.R.Header.Clone()
	look.Header.Del("Content-Type")
	finding, refused := route.Sniff(e.W, &look, &e.Target, s.c.Limits.Body, true)
	e.R.Body = look.Body
	switch {
	case refused != nil:
		e.Reject(refused.Status, refused.Rule, refused.Error())
		return false
	case e.Target.MCP:
		e.Target.MCP, e.Target.Name = false, "" // it is asked about, and not served
		return e.permitTool()
	case finding != "":
		e.found(finding)
	}
	return e.permit(e.parse())
}

// permitTool takes a call of an MCP server's tool through the gate, as that call.
func (e *request) permitTool() bool {
	if _, refused := e.Read(); refused != nil { // strictly: two readers could find two tools
		e.Reject(refused.Status, refused.Rule, refused.Error())
		return false
	}
	msgs, batch, err := mcp.Parse(e.Body)
	if err == nil && (batch || len(msgs) != 1) {
		err = errors.New("several messages of MCP at a time are not decided here")
	}
	if err == nil {
		err = mcp.CheckHeaders(e.R.Header, msgs, batch)
	}
	var c holdgate.Call
	var id []byte
	if err == nil {
		c, _, err = msgs[0].Call(e.Target.URL.Host)
	}
	if err == nil {
		id, err = msgs[0].Key()
	}
	if err == nil && c.Tool == nil {
		err = errors.New("it calls no tool")
	}
	if err != nil {
		e.Reject(http.StatusBadRequest, holdgate.RuleMalformed, fmt.Sprintf("the message of MCP cannot be read: %v", err))
		return false
	}
	return e.Permit(&gate.Evaluation{Call: e.Complete(c), Fixed: true}, http.StatusForbidden, func() (holdgate.Digest, error) {
		return e.s.steps.Digester.Fields("ext_authz.tool", e.R.Method, e.Target.URL.String(), e.Credentials(), route.Meaning(e.R.Header), string(id)), nil
	})
}
