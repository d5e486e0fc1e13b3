package proxy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/rego"
)

// track is what is known of the request's session. It is looked up once for
// each request.
func (e *exchange) track(ctx context.Context) (*approvals.Track, error) {
	if e.session == nil {
		s, err := e.s.c.Queue.Track(context.WithoutCancel(ctx), e.t.caller.Agent.ID, e.t.caller.Session.ID)
		if err != nil {
			return nil, fmt.Errorf("reading the session: %w", err)
		}
		e.session = s
	}
	return e.session, nil
}

// inSession adds to what policy is told what the session has shown so far.
func (e *exchange) inSession(in *rego.Input, q *question) error {
	s, err := e.track(e.s.life)
	if err != nil {
		return err
	}
	if err := e.s.c.Queue.KeepBound(e.s.life, e.t.caller); err != nil {
		return err
	}
	kept, set := s.Record(), s.Setting()
	r := kept.For(e.t.caller.Agent.Proven)
	in.Mode, in.Threshold, in.Taint = string(set.Mode), set.Threshold, s.Taint()
	gates := e.s.c.Queue.Gates()
	in.Gates.On, _ = gates.On(r.ID)
	in.Gates.Told = gates.Told()
	if needed := e.s.c.Queue.GatesNeeded(r); len(needed) > 0 {
		in.Gates.Needed = needed
	}
	in.Gates.Passed = gates.Passed(r, time.Now())
	in.Gates.When = conditions(gates, &in.Gates, q.call.Gate)
	in.Repeats = q.repeats
	if q.lately > 0 {
		in.Usage = &rego.Usage{CallsPerMinute: q.lately}
	}
	if c := s.Counts(); c != (sessions.Counts{}) && r == kept {
		in.History = &rego.History{Allowed: c.Allowed, Refused: c.Refused, Asked: c.Asked, Approved: c.Approved, Denied: c.Denied, Steered: c.Steered, Expired: c.Expired, Succeeded: c.Succeeded, Failed: c.Failed}
	}
	report := q.report
	if report == nil {
		report = r.Report
	}
	if report != nil && e.s.c.Confidence.Enabled {
		in.Confidence = confidence(report)
		if n := s.Results().Count(); n != (sessions.Ended{}) && r == kept {
			in.Confidence.Tools = &rego.Ended{Succeeded: n.Succeeded, Failed: n.Failed}
		}
	}
	if g := q.call.Gate; g != nil {
		in.Gate = e.s.gateSettings(g.Type)
	}
	return nil
}

// reads takes note of what results in a request say: how the session's tools have
// ended, and what those have brought it in touch with whose calls were not seen here
// (of a conversation that began elsewhere, or under another name). Where policy
// cannot say, they count as untrusted.
func (e *exchange) reads(h wire.History) {
	n := e.s.made.news(e.t.caller, h)
	e.toolsEnded(n.ended)
	for _, r := range n.ungated {
		c := e.s.informed(e.call(holdgate.Call{Kind: holdgate.KindToolCall, ID: r.ID, Tool: &holdgate.Tool{Name: r.Tool, Arguments: r.Arguments}}))
		words, err := e.s.c.Engine.Taint(e.s.life, rego.Input{Call: c, Dir: e.dir(), Home: e.s.c.Home})
		if err != nil {
			e.s.c.Logger.Warn("policy cannot say what a result brings", "err", err)
			words = []string{"untrusted"}
		}
		if err := e.s.c.Queue.Taint(e.s.life, e.t.caller, words, "a result of "+bounded(r.Tool, 200)+" in a request"); err != nil {
			e.s.c.Logger.Error("recording what a result brings", "err", err)
		}
	}
}

// toolsEnded takes note of how tools of the session have ended.
func (e *exchange) toolsEnded(how sessions.Results) {
	if how == "" {
		return
	}
	s, err := e.track(e.s.life)
	if err != nil {
		e.s.c.Logger.Warn("how a tool ended is not counted", "err", err)
		return
	}
	s.Ended(how)
}

// confidence is a report as policy is told of it, with what the scorer needs.
func confidence(r *sessions.Report) *rego.Confidence {
	c := &rego.Confidence{Score: r.Score, Source: r.Source, Reasons: r.Reasons}
	work := map[string]any{}
	if v := r.Verification; v != nil {
		checks := make([]any, len(v.Checks))
		for i, check := range v.Checks {
			checks[i] = map[string]any{"name": check.Name, "passed": check.Passed}
		}
		verification := map[string]any{"tier": v.Tier, "checks": checks}
		if v.Confidence != nil {
			verification["confidence"] = *v.Confidence
		}
		work["verification"] = verification
	}
	if t := r.Retries; t != nil {
		work["retries"] = map[string]any{"count": t.Count, "max": t.Max}
	}
	c.Work = work
	return c
}

// conditions are those of the gates that the question may be about.
func conditions(all sessions.Gates, at *rego.Gates, asked *holdgate.Gate) map[string]rego.When {
	var with map[string]rego.When
	for name, w := range all.Conditions() {
		if asked != nil && asked.Type != name || asked == nil && !slices.Contains(at.On, name) && !slices.Contains(at.Told, name) && !slices.Contains(at.Needed, name) {
			continue
		}
		if with == nil {
			with = make(map[string]rego.When)
		}
		with[name] = rego.When{Categories: w.Categories, ConfidenceBelow: w.Line(), Paths: w.Paths, Risk: w.Risk, Taint: w.Taint, Tools: w.Tools}
	}
	return with
}

// gateSettings is how a type of gate is asked about.
func (s *Server) gateSettings(name string) *rego.Gate {
	g := s.c.Queue.Gates().Of(name)
	set := &rego.Gate{
		Enabled: g.Enabled, Level: string(g.Level), Message: g.Message, Timeout: g.Timeout, OnTimeout: g.OnTimeout,
		Required: g.Required != nil && *g.Required, Show: g.Show, Edits: g.Edits == nil || *g.Edits, Options: g.Options,
	}
	if name == sessions.GateConfidence {
		set.Threshold = s.c.Confidence.Threshold
	}
	return set
}

// counted takes note of a call before policy is asked about it.
func (e *exchange) counted(q *question) error {
	s, err := e.track(e.s.life)
	if err != nil {
		return err
	}
	if t := q.call.Tool; t != nil && q.digest == "" {
		if t.Arguments == nil {
			q.digest, err = e.s.c.Digester.Tool(t)
		} else {
			q.digest, q.canonical, err = e.s.c.Digester.ToolCanonical(t)
		}
		if err != nil {
			return fmt.Errorf("digesting the call: %w", err)
		}
	}
	if who := e.t.caller.Agent; who.Proven { // it is one, whatever its sessions are called
		if s, err = e.s.c.Queue.Track(e.s.life, who.ID, ""); err != nil {
			return fmt.Errorf("reading how much the agent does: %w", err)
		}
	}
	q.repeats, q.lately = s.Called(q.digest, time.Now())
	return nil
}

// unknownSession refuses a call of whose session nothing can be known.
func unknownSession(err error) holdgate.Decision {
	return holdgate.Decision{Rule: holdgate.RuleStore, Reason: "what is known of the session cannot be read: " + err.Error()}
}
