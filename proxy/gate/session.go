package gate

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/rego"
)

// inSession adds to what policy is told what the session has shown so far.
func (x *Exchange) inSession(in *rego.Input, e *Evaluation) error {
	s, err := x.Session(x.g.life)
	if err != nil {
		return err
	}
	if err := x.g.c.Queue.KeepBound(x.g.life, x.from.Caller); err != nil {
		return err
	}
	kept, set := s.Record(), s.Setting()
	r := kept.For(x.from.Agent.Proven)
	in.Mode, in.Threshold, in.Taint = string(set.Mode), set.Threshold, s.Taint()
	gates := x.g.c.Queue.Gates()
	in.Gates.On, _ = gates.On(r.ID)
	in.Gates.Told = gates.Told()
	if needed := x.g.c.Queue.GatesNeeded(r); len(needed) > 0 {
		in.Gates.Needed = needed
	}
	in.Gates.Passed = gates.Passed(r, time.Now())
	in.Gates.When = conditions(gates, &in.Gates, e.Call.Gate)
	if e.Call.Gate == nil {
		in.Gates.How = x.g.howAsked(&in.Gates)
	}
	in.Repeats, in.Shell = e.repeats, kept.Shell
	if used := s.Usage(); e.lately > 0 || used.Answers > 0 {
		in.Usage = &rego.Usage{Usage: used, CallsPerMinute: e.lately}
	}
	if c := s.Counts(); c != (sessions.Counts{}) && r == kept {
		in.History = &rego.History{Allowed: c.Allowed, Refused: c.Refused, Asked: c.Asked, Approved: c.Approved, Denied: c.Denied, Steered: c.Steered, Expired: c.Expired, Succeeded: c.Succeeded, Failed: c.Failed}
	}
	report := e.Report
	if report == nil {
		report = r.Report
	}
	if report != nil && x.g.c.Confidence.Enabled {
		in.Confidence = confidence(report)
		if n := s.Results().Count(); n != (sessions.Ended{}) && r == kept {
			in.Confidence.Tools = &rego.Ended{Succeeded: n.Succeeded, Failed: n.Failed}
		}
	}
	if g := e.Call.Gate; g != nil {
		in.Gate = x.g.gateSettings(g.Type)
	}
	return nil
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

// conditions are those of the gates that the call may be about.
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
func (g *Gate) gateSettings(name string) *rego.Gate {
	t := g.c.Queue.Gates().Of(name)
	set := &rego.Gate{
		Enabled: t.Enabled, Level: string(t.Level), Message: t.Message, Timeout: t.Timeout, OnTimeout: t.OnTimeout,
		Required: t.Required != nil && *t.Required, Show: t.Show, Edits: t.Edits == nil || *t.Edits, Options: t.Options,
	}
	if name == sessions.GateConfidence {
		set.Threshold = g.c.Confidence.Threshold
	}
	return set
}

// howAsked is how the gates are asked about that a call may be at.
func (g *Gate) howAsked(at *rego.Gates) map[string]*rego.Gate {
	var how map[string]*rego.Gate
	for _, names := range [][]string{at.On, at.Told, at.Needed} {
		for _, name := range names {
			if how == nil {
				how = make(map[string]*rego.Gate)
			}
			how[name] = g.gateSettings(name)
		}
	}
	return how
}

// counted takes note of a call before policy is asked about it.
func (x *Exchange) counted(e *Evaluation) error {
	s, err := x.Session(x.g.life)
	if err != nil {
		return err
	}
	if t := e.Call.Tool; t != nil && e.digest == "" {
		if t.Arguments == nil {
			e.digest, err = x.g.c.Digester.Tool(t)
		} else {
			e.digest, e.canonical, err = x.g.c.Digester.ToolCanonical(t)
		}
		if err != nil {
			return fmt.Errorf("digesting the call: %w", err)
		}
	}
	if who := x.from.Agent; who.Proven { // it is one, whatever its sessions are called
		if s, err = x.g.c.Queue.Track(x.g.life, who.ID, ""); err != nil {
			return fmt.Errorf("reading how much the agent does: %w", err)
		}
	}
	e.repeats, e.lately = s.Called(e.digest, time.Now())
	return nil
}

// left takes note of where a call that goes on leaves the agent's shell.
func (x *Exchange) left(ctx context.Context, d holdgate.Decision) error {
	at := d.Leaves
	switch {
	case at == "":
		return nil
	case at == x.from.Dir:
		at = ""
	case at[0] == '?': // no two are one place
		at += rand.Text()
	}
	return x.g.c.Queue.Left(ctx, x.from.Caller, at)
}

// unknownSession refuses a call of whose session nothing can be known.
func (x *Exchange) unknownSession(ctx context.Context, err error) holdgate.Decision {
	return holdgate.Decision{Rule: holdgate.RuleStore, Reason: Unable(ctx, x.g.c.Logger, "what is known of the session cannot be read", err)}
}
