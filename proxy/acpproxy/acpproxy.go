// Package acpproxy decides the requests of agents that speak the Agent Client Protocol,
// for `holdgate acp`, which stands between such an agent and its editor and asks here. What
// asks gets a line for each thing that happens to the call: that people are asked, and
// what becomes of it. Nothing else passes here: not what the editor and the agent say to
// each other, and not what comes of a call.
//
// Who asks is who the agents' door finds out, and proves no more than there. What the
// answer lets go on is what was asked about, and whoever asks for itself has nothing
// from it but words.
package acpproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path/filepath"
	"slices"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/acp"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/steps"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A Proxy decides calls. It is safe for concurrent use.
type Proxy struct{ *steps.Steps }

// New returns a Proxy.
func New(s *steps.Steps) *Proxy { return &Proxy{s} }

// Serve serves one of the paths of package acp at the agents' door, or says why it does
// not.
func (p *Proxy) Serve(w http.ResponseWriter, r *http.Request) *route.Refusal {
	if r.Method != http.MethodPost {
		return refusal(http.StatusMethodNotAllowed, "this path is for `holdgate acp`, of the same version as the sidecar")
	}
	if r.URL.Path == acp.PathWithdraw {
		var in acp.Withdrawal
		if refused := p.read(w, r, &in); refused != nil {
			return refused
		}
		return p.withdraw(w, r, in)
	}
	var in acp.Ask
	if refused := p.read(w, r, &in); refused != nil {
		return refused
	}
	return p.decide(w, r, in)
}

func refusal(status int, format string, args ...any) *route.Refusal {
	return &route.Refusal{Status: status, Rule: holdgate.RuleMalformed, Err: fmt.Errorf(format, args...)}
}

// read reads a body: one JSON value without members that nobody knows.
func (p *Proxy) read(w http.ResponseWriter, r *http.Request, into any) *route.Refusal {
	if typ, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || typ != "application/json" {
		return refusal(http.StatusUnsupportedMediaType, "the body must be application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, p.Body))
	if err != nil {
		if _, over := errors.AsType[*http.MaxBytesError](err); over {
			return &route.Refusal{Status: http.StatusRequestEntityTooLarge, Rule: holdgate.RuleTooLarge,
				Err: fmt.Errorf("the message is over %d bytes: raise limits.body, or send less", p.Body)}
		}
		return refusal(http.StatusBadRequest, "reading the body: %w", err)
	}
	if err := wire.Strict(body); err != nil {
		return refusal(http.StatusBadRequest, "%w", err)
	}
	if err := jsonv2.Unmarshal(body, into, jsonv2.RejectUnknownMembers(true)); err != nil {
		return refusal(http.StatusBadRequest, "reading the body: %w", err)
	}
	return nil
}

// A call is one that is decided, and the answer that tells of it.
type call struct {
	p    *Proxy
	msg  acp.Message
	x    *gate.Exchange
	eval *gate.Evaluation

	mu  sync.Mutex
	w   http.ResponseWriter
	err error // of writing
}

// decide takes a request of the agent's through the gate.
func (p *Proxy) decide(w http.ResponseWriter, r *http.Request, in acp.Ask) *route.Refusal {
	msg, err := acp.Parse(in.Message)
	if err == nil && !msg.Acts() {
		err = fmt.Errorf("%s is no call", holdgate.Bounded(msg.Method, 100))
	}
	if err != nil {
		return refusal(http.StatusBadRequest, "%w", err)
	}
	who := p.Callers.Of(r, route.DoorACP)
	asked, err := msg.Call()
	if err != nil {
		p.Refused(route.Target{Door: route.DoorACP, Caller: who}, "a request "+holdgate.Bounded(msg.Method, 100)+" of an agent", holdgate.RuleMalformed, err.Error())
		send(w, acp.Event{Status: acp.StatusDeny, Text: wire.Mark + err.Error()})
		return nil
	}
	p.Queue.Agents.Seen(who)
	from := gate.From{Caller: who, Dir: p.Callers.DirIn(r.Context())}
	if from.Dir == "" && filepath.IsAbs(in.Folder) {
		from.Dir = filepath.Clean(in.Folder)
	}
	c := &call{p: p, msg: msg, w: w, eval: &gate.Evaluation{Call: from.Call(asked.Call), Fixed: asked.Fixed, Comes: asked.Comes}}
	c.x = p.Gate.Begin(from, func() (holdgate.Digest, error) { return p.key(msg, from.Dir) })
	defer c.x.Leave()
	c.x.OnAsk = func(*gate.Evaluation) { c.waiting(r.Context()) }
	err = c.x.Pass(r.Context(), c.eval, c.inLine)
	c.end(r.Context(), err)
	return nil
}

// key names a request, so that the same one asked again joins what waits: all of it but
// the id, which is another after the agent has started anew, and the folder that people
// were told.
func (p *Proxy) key(msg acp.Message, dir string) (holdgate.Digest, error) {
	canon, err := wire.CanonicalWithout(msg.Params, "_meta")
	if err != nil {
		return "", fmt.Errorf("reading the request: %w", err)
	}
	return p.Digester.Fields("acp", msg.Method, string(canon), dir), nil
}

// inLine begins the wait for people.
func (c *call) inLine(ctx context.Context) (waiting context.Context, end func(), err error) {
	c.x.Waits(gate.RungStream, c.eval)
	c.waiting(ctx)
	if c.err != nil {
		return nil, nil, c.err
	}
	waiting, end = c.p.Waiting(ctx)
	return waiting, end, nil
}

// waiting tells what people are asked.
func (c *call) waiting(ctx context.Context) {
	e := acp.Event{Status: acp.StatusWaiting}
	if !c.eval.Undecided() {
		e.Text = wire.Mark + "This waits: " + gate.PausedText(c.x.AgentStatus())
		c.tell(e)
		return
	}
	r := c.eval.Request()
	if shown, err := c.p.Queue.Request(ctx, r.ID); err == nil {
		r = shown
	}
	e.Request, e.Digest, e.Summary = r.ID, r.Call.Digest, holdgate.OneLine(r.Briefing.Summary, 300)
	why := approvals.NotByText(r)
	if why == "" && !r.Briefing.Whole {
		why = "it cannot be shown whole"
	}
	e.Approve = why == ""
	e.Text = wire.Mark + fmt.Sprintf("A person is asked (request %s, risk %s): %s", r.ID, r.Risk, e.Summary)
	if r.Reason != "" {
		e.Text += "\nWhy: " + holdgate.OneLine(r.Reason, 500)
	}
	if why != "" {
		e.Text += "\nHere you can only reject it: " + why + ". To approve it: holdgate open " + r.ID
	}
	c.tell(e)
}

// end tells what becomes of the call. A client that is told nothing asks again.
func (c *call) end(ctx context.Context, err error) {
	waits, _ := errors.AsType[*gate.WaitError](err)
	switch {
	case waits != nil: // the client has gone, or the sidecar ends: what is pending stays
		return
	case err != nil:
		c.tell(acp.Event{Status: acp.StatusDeny, Text: wire.Mark + c.p.Unable(ctx, gate.NameCall(c.eval.Call)+" was not run", err)})
		return
	case !c.eval.Released():
		c.tell(acp.Event{Status: acp.StatusDeny, Text: c.eval.Verdict().Notice})
	default:
		v := c.eval.Verdict()
		c.tell(acp.Event{Status: acp.StatusAllow, Text: v.Note, Arguments: json.RawMessage(v.Arguments)})
	}
	c.x.Done(ctx, c.err == nil, "told to the agent's client")
}

func (c *call) tell(e acp.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := send(c.w, e); c.err == nil {
		c.err = err
	}
}

// send writes one line of an answer.
func send(w http.ResponseWriter, e acp.Event) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	line, err := json.Marshal(e)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return errors.Join(err, http.NewResponseController(w).Flush())
}

// withdraw takes a question back that is the caller's own.
func (p *Proxy) withdraw(w http.ResponseWriter, r *http.Request, in acp.Withdrawal) *route.Refusal {
	own, err := p.Queue.PendingOf(r.Context(), p.Callers.Of(r, route.DoorACP))
	switch {
	case err != nil:
		return &route.Refusal{Status: http.StatusServiceUnavailable, Rule: holdgate.RuleStore, Err: err}
	case slices.ContainsFunc(own, func(o approvals.Request) bool { return o.ID == in.Request }):
		_, err = p.Queue.Cancel(r.Context(), in.Request, holdgate.OneLine(in.Reason, 200))
		if _, ended := errors.AsType[*approvals.EndedError](err); err != nil && !ended {
			return &route.Refusal{Status: http.StatusServiceUnavailable, Rule: holdgate.RuleStore, Err: err}
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
