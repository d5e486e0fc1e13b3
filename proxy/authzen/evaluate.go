package authzen

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/proxy/wire"
)

// evaluation answers one evaluation.
func (s *Server) evaluation(r *http.Request, a asker) (answer, error) {
	b, err := body(r)
	if err != nil {
		return answer{}, err
	}
	p, err := partsOf(b)
	if err != nil {
		return answer{}, err
	}
	return s.one(r.Context(), a, p)
}

func (s *Server) one(ctx context.Context, a asker, p parts) (answer, error) {
	q, err := p.question()
	if err != nil {
		return answer{}, err
	}
	d, err := s.decide(ctx, a, q)
	return answer{status: http.StatusOK, body: d}, err
}

// The semantics of several evaluations.
const (
	executeAll         = "execute_all"
	denyOnFirstDeny    = "deny_on_first_deny"
	permitOnFirstAllow = "permit_on_first_permit"
)

// A batch is several evaluations, and how they are to be answered.
type batch struct {
	all      []parts // with their defaults
	semantic string
}

// batchOf reads several evaluations. Where there are none the body is one itself.
func batchOf(b []byte) (batch, error) {
	defaults, err := partsOf(b)
	if err != nil {
		return batch{}, err
	}
	t := batch{semantic: executeAll}
	if options := member(b, "options"); options != nil {
		if options[0] != '{' {
			return t, malformed("options must be an object")
		}
		if v := member(options, "evaluations_semantic"); v != nil {
			var ok bool
			if t.semantic, ok = textOf(v); !ok || t.semantic != executeAll && t.semantic != denyOnFirstDeny && t.semantic != permitOnFirstAllow {
				return t, malformed("options.evaluations_semantic must be %s, %s or %s", executeAll, denyOnFirstDeny, permitOnFirstAllow)
			}
		}
	}
	list := member(b, "evaluations")
	if list == nil {
		return t, nil
	}
	for e, err := range wire.Elements(list) {
		if err != nil {
			return t, malformed("evaluations must be an array")
		}
		if len(t.all) == MaxEvaluations {
			return t, malformed("there are over %d evaluations", MaxEvaluations)
		}
		p, err := partsOf(e.Value)
		if err != nil {
			return t, malformed("evaluations[%d] must be an object", len(t.all))
		}
		t.all = append(t.all, p.over(defaults))
	}
	return t, nil
}

// evaluations answers several. Each is decided by itself; what is wrong with one denies
// that one.
func (s *Server) evaluations(r *http.Request, a asker) (answer, error) {
	b, err := body(r)
	if err != nil {
		return answer{}, err
	}
	t, err := batchOf(b)
	if err != nil {
		return answer{}, err
	}
	if len(t.all) == 0 {
		p, err := partsOf(b)
		if err != nil {
			return answer{}, err
		}
		return s.one(r.Context(), a, p)
	}
	out := Decisions{}
	for _, p := range t.all {
		if err := r.Context().Err(); err != nil {
			return answer{}, err
		}
		d := s.item(r.Context(), a, p)
		out.Evaluations = append(out.Evaluations, d)
		if d.Decision && t.semantic == permitOnFirstAllow || !d.Decision && t.semantic == denyOnFirstDeny {
			break
		}
	}
	return answer{status: http.StatusOK, body: out}, nil
}

// item answers one of several.
func (s *Server) item(ctx context.Context, a asker, p parts) Decision {
	ctx, end := trace.Each(ctx)
	defer end()
	q, err := p.question()
	var d Decision
	if err == nil {
		d, err = s.decide(ctx, a, q)
	}
	if err == nil {
		return d
	}
	f, ok := errors.AsType[*Fault](err)
	if !ok {
		s.c.Logger.ErrorContext(ctx, "answering one of several evaluations", "err", err)
		f = &Fault{Status: http.StatusInternalServerError, Text: "the sidecar could not decide this; its log says why"}
	}
	return Decision{Context: &Context{Reason: ReasonError, Error: &EvaluationErr{Status: f.Status, Message: holdgate.Visible(f.Text)}}}
}

// An ongoing evaluation is a question on its way through the gate.
type ongoing struct {
	x   *gate.Exchange
	e   *gate.Evaluation
	ask question
}

// begin is a question as a call of the client's. It is not in the queue yet.
func (s *Server) begin(a asker, q question) (gate.From, gate.Key, *gate.Evaluation, error) {
	c, err := q.call(a.Trusted)
	if err != nil {
		return gate.From{}, nil, nil, err
	}
	from := gate.From{Caller: q.whose(s.c.Digester, a.who)}
	s.c.Queue.Agents.Seen(from.Caller)
	key := func() (holdgate.Digest, error) { return s.c.Digester.Fields(Door, q.fields(a.who.Agent.ID)...), nil }
	return from, key, &gate.Evaluation{Call: from.Call(c), Fixed: true}, nil
}

// decide answers a question.
func (s *Server) decide(ctx context.Context, a asker, q question) (Decision, error) {
	from, key, e, err := s.begin(a, q)
	if err != nil {
		return Decision{}, err
	}
	g := s.c.Gate()
	if status := g.AgentStatus(from.Caller); !status.Running() && !status.Stopped() { // the gate itself refuses what is stopped
		return denied(ReasonPaused, gate.PausedText(status)), nil
	}
	x, err := s.enter(ctx, g, a, q, from, key)
	if err != nil {
		return Decision{}, err
	}
	defer x.Leave()
	line := gate.Later
	if a.Wait > 0 {
		line = func(ctx context.Context) (context.Context, func(), error) {
			x.Waits(gate.RungLine, e)
			return s.line(ctx, a.Wait)
		}
	} else {
		e.Later = x.Held() == nil // what was asked about goes on
	}
	err = x.Pass(ctx, e, line)
	if w, waits := errors.AsType[*gate.WaitError](err); waits && w.Over && ctx.Err() == nil {
		x.Waits(gate.RungAgain, e)
		err = nil
	}
	if status, halted := gate.Halted(err); halted {
		return denied(ReasonPaused, gate.PausedText(status)), nil
	}
	if err != nil {
		return Decision{}, err
	}
	return s.told(ctx, a, ongoing{x, e, q})
}

// enter takes part in the exchange of the question. People are asked by a client that
// waits for them, or that has requested access: the second shows the approval, which
// leads to its exchange only with the very same question.
func (s *Server) enter(ctx context.Context, g *gate.Gate, a asker, q question, from gate.From, key gate.Key) (*gate.Exchange, error) {
	if a.Wait > 0 {
		return g.Enter(ctx, from, key)
	}
	r, err := s.approved(ctx, from.Caller, q.approval)
	if err != nil || r.ID == "" {
		return g.Begin(from, key), err
	}
	x, err := s.c.Queue.Reenter(ctx, from.Caller, r.Exchange, key)
	if err != nil {
		return nil, err
	}
	if x.ID() != r.Exchange { // used, over, or of another question
		x.Leave()
		return g.Begin(from, key), nil
	}
	return g.TakeUp(from, x), nil
}

// approved is the request of an approval that is shown, where it is the caller's.
func (s *Server) approved(ctx context.Context, who approvals.Caller, id string) (approvals.Request, error) {
	if id == "" {
		return approvals.Request{}, nil
	}
	r, err := s.c.Queue.Request(ctx, id)
	if errors.Is(err, approvals.ErrNotFound) || err == nil && (r.Agent.ID != who.Agent.ID || r.Door != Door) {
		return approvals.Request{}, nil
	}
	return r, err
}

// line keeps a client waiting for people.
func (s *Server) line(ctx context.Context, patience time.Duration) (context.Context, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	waiting, end := s.c.Waiting(ctx)
	return waiting, func() { end(); cancel() }, nil
}

// told is the answer to a question that has taken its way.
func (s *Server) told(ctx context.Context, a asker, o ongoing) (Decision, error) {
	asked := o.e.Request().ID != ""
	why, requestable := o.e.Requestable()
	switch {
	case o.e.Undecided():
		return s.requestable(a, o, "A person is asked: request "+o.e.Request().ID+". Ask again later.")
	case requestable:
		return s.requestable(a, o, strings.TrimSpace("A person must approve this, and can be asked. "+holdgate.OneLine(why, gate.MaxWords)))
	case o.e.Over():
		return denied(ReasonRate, notice(o.e)), nil
	case !o.e.Released():
		o.x.Done(ctx, true, "told to the policy enforcement point")
		return denied(ReasonDenied, notice(o.e)), nil
	}
	o.x.Done(ctx, true, "told to the policy enforcement point")
	d := Decision{Decision: true}
	if note := strings.TrimPrefix(o.e.Verdict().Note, wire.Mark); note != "" {
		d.Context = &Context{Text: english(note)}
	}
	if asked {
		d.Context = cmp.Or(d.Context, &Context{})
		d.Context.Approval = new(s.approval(o.e.Request()))
	}
	return d, nil
}

func notice(e *gate.Evaluation) string { return strings.TrimPrefix(e.Verdict().Notice, wire.Mark) }

func denied(reason, text string) Decision {
	return Decision{Context: &Context{Reason: reason, Text: english(text)}}
}

func english(text string) map[string]string {
	if text == "" {
		return nil
	}
	return map[string]string{"en": holdgate.Visible(text)}
}
