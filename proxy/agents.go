package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tracks"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// agents does what agents ask of Holdgate themselves.
type agents struct{ s *Server }

var _ agentapi.Service = agents{}

// Agents is what agents may ask of Holdgate themselves, whatever way they ask by.
func (s *Server) Agents() agentapi.Service { return agents{s} }

// from is an agent that asks Holdgate itself for something.
func (a agents) from(ctx context.Context, who approvals.Caller) gate.From {
	return gate.From{Caller: who, Dir: a.s.steps.Callers.DirIn(ctx)}
}

// PassGate implements [agentapi.Service].
func (a agents) PassGate(ctx context.Context, who approvals.Caller, in agentapi.GateRequest) (agentapi.Gate, error) {
	g, err := in.Gate()
	if err != nil {
		return agentapi.Gate{}, err
	}
	if g.Context != nil {
		if err := wire.Strict(g.Context); err != nil {
			return agentapi.Gate{}, &sessions.FieldError{Field: "context", What: "cannot be read by all alike: " + err.Error()}
		}
	}
	if err := namelessOptions(g.Options); err != nil {
		return agentapi.Gate{}, err
	}
	a.s.c.Queue.Agents.Seen(who)
	return a.decideGate(ctx, who, g, nil)
}

// decideGate takes a gate through the steps that any call takes.
func (a agents) decideGate(ctx context.Context, who approvals.Caller, g *holdgate.Gate, report *sessions.Report) (agentapi.Gate, error) {
	from := a.from(ctx, who)
	x, err := a.s.steps.Gate.Enter(ctx, from, func() (holdgate.Digest, error) { return a.gateKey(g) })
	if err != nil {
		return agentapi.Gate{}, fmt.Errorf("asking to pass a gate: %w", err)
	}
	defer x.Leave()
	q := &gate.Evaluation{Call: from.Call(holdgate.Call{Kind: holdgate.KindGate, Gate: g}), Report: report}
	told, err := a.pass(ctx, x, q)
	if err != nil {
		return agentapi.Gate{}, fmt.Errorf("asking to pass a gate: %w", err)
	}
	x.Waits(gate.RungGate, q)
	return told, nil
}

// pass takes a gate through the steps as far as people have answered, and says where
// it stands. Where they have, the agent is about to have their answer: it is used.
func (a agents) pass(ctx context.Context, x *gate.Exchange, q *gate.Evaluation) (agentapi.Gate, error) {
	err := x.Pass(ctx, q, gate.Later)
	if _, halted := gate.Halted(err); halted { // an answer waits like any call
		g := gateOf(q.Request())
		g.Status, g.Outcome = holdgate.StatusPending, nil
		g.Text = "People have answered, and this agent is paused: ask again for this gate later."
		return g, nil
	}
	switch {
	case err != nil:
		return agentapi.Gate{}, err
	case q.Undecided():
		return gateOf(q.Request()), nil
	case q.Request().ID == "":
		return a.decided(ctx, x, q)
	}
	x.Done(ctx, true, "told to the agent")
	g := gateOf(q.Request())
	if err := a.s.c.Queue.Sessions.ToldGate(ctx, x.From().Caller, g.ID); err != nil {
		return agentapi.Gate{}, err
	}
	if !q.Released() && g.Status == holdgate.StatusApproved { // policy says otherwise now
		g.Status, g.Text = holdgate.StatusDenied, q.Verdict().Notice
	}
	return g, nil
}

// gateKey names a gate, so that the same asked again joins what waits.
func (a agents) gateKey(g *holdgate.Gate) (holdgate.Digest, error) {
	fields := []string{g.Type, string(g.Kind), g.Message, g.Timeout.String()}
	for _, o := range g.Options {
		fields = append(fields, o.ID, o.Label, o.Effect)
	}
	fields = append(fields, "about")
	fields = append(fields, g.Artifacts...)
	if g.Context != nil {
		canon, err := wire.CanonicalWithout(g.Context)
		if err != nil {
			return "", fmt.Errorf("reading the context: %w", err)
		}
		fields = append(fields, "context", string(canon))
	}
	if g.Score != nil {
		fields = append(fields, fmt.Sprint(*g.Score))
	}
	return a.s.c.Digester.Fields("gate", fields...), nil
}

// decided keeps what is decided of a gate without people, for whoever asks again.
func (a agents) decided(ctx context.Context, x *gate.Exchange, q *gate.Evaluation) (agentapi.Gate, error) {
	o := holdgate.Outcome{Decision: holdgate.AnswerApprove, Reason: "nobody needs to be asked"}
	if !q.Released() {
		o = holdgate.Outcome{Decision: holdgate.AnswerDeny, Reason: strings.TrimPrefix(q.Verdict().Notice, wire.Mark)}
	}
	// A later call may meet the gate's condition where what the agent named did not.
	passes := a.s.c.Queue.Gates().Of(q.Call.Gate.Type).When == nil && q.Call.Gate.Type != sessions.GateQuestion
	kept, err := a.s.c.Queue.Sessions.GateDecided(ctx, x.From().Caller, q.Call.Gate.Type, o, passes)
	if err != nil {
		return agentapi.Gate{}, err
	}
	return decidedGate(kept), nil
}

// Gate implements [agentapi.Service].
func (a agents) Gate(ctx context.Context, who approvals.Caller, id string, wait time.Duration) (agentapi.Gate, error) {
	if kept, ok, err := a.kept(ctx, who, id); ok || err != nil {
		return kept, err
	}
	x, err := a.s.c.Queue.Rejoin(ctx, who, id)
	if err != nil {
		return agentapi.Gate{}, err
	}
	if x == nil {
		return a.shown(ctx, who, id)
	}
	defer x.Leave()
	req, err := a.await(ctx, x, id, wait)
	if err != nil {
		return agentapi.Gate{}, err
	}
	if req.Call.Kind != holdgate.KindGate {
		return agentapi.Gate{}, approvals.ErrNotFound
	}
	if !req.Status.Final() {
		return gateOf(req), nil
	}
	from, v := a.from(ctx, who), req.Call.Gate
	return a.pass(ctx, a.s.steps.Gate.TakeUp(from, x), gate.Asked(from.Call(holdgate.Call{Kind: holdgate.KindGate, Gate: &holdgate.Gate{
		Type: v.Type, Kind: req.Kind, Message: v.Message, Context: v.Context, Artifacts: v.Artifacts, Score: v.Score, Options: req.Options,
	}}), req))
}

// await returns a request once it has ended or the time is over.
func (a agents) await(ctx context.Context, x *approvals.Exchange, id string, wait time.Duration) (approvals.Request, error) {
	if wait > 0 {
		waiting, end := a.patience(ctx, wait)
		defer end()
		if err := x.Await(waiting, id); err != nil && waiting.Err() == nil {
			return approvals.Request{}, err
		}
		if err := ctx.Err(); err != nil {
			return approvals.Request{}, err
		}
	}
	return a.s.c.Queue.Request(ctx, id)
}

// patience is the time that an agent waits for people.
func (a agents) patience(ctx context.Context, wait time.Duration) (waiting context.Context, end func()) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	ctx, over := a.s.steps.Waiting(ctx)
	return ctx, func() { over(); cancel() }
}

// shown is a gate whose answer was told before.
func (a agents) shown(ctx context.Context, who approvals.Caller, id string) (agentapi.Gate, error) {
	req, err := a.s.c.Queue.Request(ctx, id)
	if err != nil || req.Call.Kind != holdgate.KindGate {
		return agentapi.Gate{}, errors.Join(err, approvals.ErrNotFound)
	}
	return gateOf(req), a.s.c.Queue.Sessions.ToldGate(ctx, who, id)
}

// kept finds a gate that policy decided by itself.
func (a agents) kept(ctx context.Context, who approvals.Caller, id string) (agentapi.Gate, bool, error) {
	s, err := a.s.c.Queue.Sessions.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil {
		return agentapi.Gate{}, false, err
	}
	answers := s.Record().For(who.Agent.Proven).Answers
	i := slices.IndexFunc(answers, func(k sessions.Answered) bool {
		return k.Request == id && k.Outcome.By == "policy" && k.Outcome.Decision != holdgate.AnswerTimeout
	})
	if i < 0 {
		return agentapi.Gate{}, false, nil
	}
	return decidedGate(answers[i]), true, nil
}

func decidedGate(k sessions.Answered) agentapi.Gate {
	o := k.Outcome
	g := agentapi.Gate{ID: k.Request, Type: k.Gate, Kind: holdgate.RequestApproval, Status: holdgate.StatusApproved, Created: o.At, Outcome: &o, Text: "You may go on: " + o.Reason + "."}
	if o.Decision == holdgate.AnswerDeny {
		g.Status, g.Text = holdgate.StatusDenied, o.Reason
	}
	return g
}

// gateOf is a request as its agent sees it.
func gateOf(r approvals.Request) agentapi.Gate {
	g := agentapi.Gate{
		ID: r.ID, Type: r.Gate, Status: r.Status, Kind: r.Kind, Message: r.Message, Options: r.Options,
		Created: r.CreatedAt, Expires: r.ExpiresAt, Outcome: r.Outcome,
	}
	if r.Call.Gate != nil {
		g.Type = r.Call.Gate.Type
	}
	g.Text = gateText(g)
	return g
}

func gateText(g agentapi.Gate) string {
	o := g.Outcome
	if g.Status == holdgate.StatusPending || o == nil {
		return "A person is asked. Do not go on before they have answered: GET /v1/gates/" + g.ID + "?wait=30s"
	}
	return gate.GateAnswer(g.Status, o)
}

// Report implements [agentapi.Service].
func (a agents) Report(ctx context.Context, who approvals.Caller, in agentapi.Report) (agentapi.Reported, error) {
	rep, err := in.Stored()
	if err == nil {
		err = nameless("task_id", in.Task)
	}
	if err != nil {
		return agentapi.Reported{}, err
	}
	rep = concealed(rep)
	if in.Agent != "" && in.Agent != who.Agent.ID {
		a.s.c.Logger.WarnContext(ctx, "a report of confidence is by an agent of another name", "agent", who.Agent.ID, "name", in.Agent)
		rep.Reasons = append(rep.Reasons, "(it calls itself "+in.Agent+", which nobody knows)")
	}
	c := a.s.c.Confidence
	if !c.Enabled || !c.AutoEscalate {
		rep, err = a.s.c.Queue.Sessions.Report(ctx, who, rep, false)
		a.s.c.Queue.Agents.Seen(who)
		return agentapi.Reported{ID: rep.ID}, err
	}
	g := &holdgate.Gate{Type: sessions.GateConfidence, Score: &rep.Score, Context: taskContext(in.Task)}
	from := a.from(ctx, who)
	d := a.s.steps.Gate.Evaluate(ctx, from, &gate.Evaluation{Call: from.Call(holdgate.Call{Kind: holdgate.KindGate, Gate: g}), Report: &rep})
	asks := d.Action != holdgate.Allow
	if rep, err = a.s.c.Queue.Sessions.Report(ctx, who, rep, asks && d.Hold.Gate != sessions.GateDiagnostics); err != nil {
		return agentapi.Reported{}, err
	}
	a.s.c.Queue.Agents.Seen(who)
	if !asks {
		return agentapi.Reported{ID: rep.ID}, nil
	}
	opened, err := a.decideGate(ctx, who, g, &rep)
	if err != nil {
		return agentapi.Reported{}, err
	}
	return agentapi.Reported{ID: rep.ID, Escalated: true, Gate: opened.ID}, nil
}

func taskContext(task string) []byte {
	if task == "" {
		return nil
	}
	return fmt.Appendf(nil, `{"task":%q}`, strings.ToValidUTF8(holdgate.Visible(task), ""))
}

// Session implements [agentapi.Service].
func (a agents) Session(ctx context.Context, who approvals.Caller) (agentapi.Session, error) {
	q := a.s.c.Queue
	s, err := q.Sessions.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil {
		return agentapi.Session{}, err
	}
	pending, err := a.Pending(ctx, who)
	if err != nil {
		return agentapi.Session{}, err
	}
	mail, err := q.Sessions.Waiting(ctx, who)
	if err != nil {
		return agentapi.Session{}, err
	}
	r, set := s.Record().For(who.Agent.Proven), s.Setting()
	v := agentapi.Session{
		Agent: who.Agent.ID, ID: who.Session.ID, Status: tracks.SessionRunning, Mode: set.Mode, Threshold: set.Threshold,
		Pending: pending, Passed: append([]string{}, q.Gates().Passed(r, time.Now())...), Needed: q.Sessions.GatesNeeded(r), Messages: len(mail),
	}
	if r.Report != nil {
		v.Score = &r.Report.Score
	}
	status, _ := q.Agents.StatusOf(who.Agent.ID, who.Session.ID)
	switch {
	case status.Stopped():
		v.Status, v.Why = tracks.SessionStopped, holdgate.OneLine(status.String(), gate.MaxWords)
	case !status.Running():
		v.Status, v.Why = tracks.SessionPaused, holdgate.OneLine(status.String(), gate.MaxWords)
	case len(pending) > 0:
		v.Status = tracks.SessionWaiting
	}
	return v, nil
}

// Tighten implements [agentapi.Service].
func (a agents) Tighten(ctx context.Context, who approvals.Caller, m agentapi.Mode) (agentapi.Session, error) {
	line, err := sessions.Fraction("confidence_threshold", m.Threshold)
	if err != nil {
		return agentapi.Session{}, err
	}
	if err := a.s.c.Queue.Sessions.Tighten(ctx, who, sessions.Setting{Mode: m.Mode, Threshold: line}); err != nil {
		return agentapi.Session{}, err
	}
	return a.Session(ctx, who)
}

// Messages implements [agentapi.Service].
func (a agents) Messages(ctx context.Context, who approvals.Caller, after uint64, wait time.Duration) ([]sessions.Message, error) {
	q := a.s.c.Queue
	q.Agents.Seen(who)
	waiting, end := a.patience(ctx, wait)
	defer end()
	for {
		more := q.Sessions.Mail()
		list, err := q.Sessions.Messages(ctx, who.Agent.ID, who.Session.ID, after)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			fresh := slices.DeleteFunc(slices.Clone(list), func(m sessions.Message) bool { return !m.Waits() })
			if _, err := q.Sessions.Deliver(ctx, who, fresh, "api"); err != nil {
				return nil, err
			}
			return list, nil
		}
		select {
		case <-more:
		case <-waiting.Done():
			return list, ctx.Err()
		}
	}
}

// Say implements [agentapi.Service]. People are asked for what the agent asks, as for
// anything that waits for them.
func (a agents) Say(ctx context.Context, who approvals.Caller, n agentapi.Note) (sessions.Message, error) {
	a.s.c.Queue.Agents.Seen(who)
	m, err := a.s.c.Queue.Sessions.Say(ctx, who, sessions.Message{Type: n.Type, Content: n.Content, InReplyTo: n.InReplyTo})
	if err != nil || m.Type != sessions.MessageQuestion {
		return m, err
	}
	g := &holdgate.Gate{Type: sessions.GateQuestion, Message: m.Content, Context: tracks.About(m.Seq)}
	opened, err := a.decideGate(ctx, who, g, nil)
	switch {
	case err != nil: // the question stands in the session's messages
		a.s.c.Logger.WarnContext(ctx, "people are not asked for an agent's question", "agent", who.Agent.ID, "message", m.Seq, "err", err)
	case opened.Status == holdgate.StatusPending:
		m.Gate = opened.ID
	}
	return m, nil
}

// Pending implements [agentapi.Service].
func (a agents) Pending(ctx context.Context, who approvals.Caller) ([]agentapi.Pending, error) {
	list, err := a.s.c.Queue.PendingOf(ctx, who)
	if err != nil {
		return nil, err
	}
	out := make([]agentapi.Pending, len(list))
	for i, r := range list {
		out[i] = agentapi.Pending{ID: r.ID, Kind: r.Call.Kind, Gate: r.Gate, Summary: r.Briefing.Summary, Message: r.Message, Created: r.CreatedAt, Expires: r.ExpiresAt}
	}
	return out, nil
}
