package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/cmd/holdgate/config"
	"github.com/holdgate/holdgate/proxy/trace"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/learn"
	"github.com/holdgate/holdgate/store/audit"
)

// PolicyOptions are the engine's options as the configuration says them.
func PolicyOptions(c config.Config) (rego.Options, error) {
	p := c.Policy
	o := rego.Options{
		Path: p.Path, Observe: p.Mode == config.ModeObserve, Timeout: time.Duration(p.Timeout),
		Adapter: rego.Adapter(p.Adapter), Query: p.Query,
		Signing:   rego.Signing{Algorithm: p.Bundle.Algorithm, Scope: p.Bundle.Scope, Exclude: p.Bundle.Exclude},
		OPAConfig: p.OPAConfig, KeepDir: filepath.Join(c.StateDir, "bundles"), NoInputs: c.Audit.Inputs == config.InputsNone,
	}
	if p.OnError == "hold" {
		o.OnError = holdgate.Hold
	}
	if p.Bundle.Key != "" {
		key, err := os.ReadFile(p.Bundle.Key)
		if err != nil {
			return o, fmt.Errorf("policy.bundle.key: %w", err)
		}
		o.Signing.Key = strings.TrimSpace(string(key))
	}
	return o, nil
}

// openPolicy loads the policy; none that loads is fatal. Where the
// configuration names none, it is what was last pushed: where that does not load,
// nothing is let through, and another can be pushed.
func (a *App) openPolicy(ctx context.Context) error {
	o, err := PolicyOptions(a.c)
	if err != nil {
		return err
	}
	if o.Path == "" {
		if o.Pushed, err = a.pushed(ctx); err != nil {
			return err
		}
	}
	o.Logger, o.KeepSeen = a.log, !o.NoInputs
	o.OnLoad = func(l rego.Load) { a.metrics.Loaded(l.Err); a.policyLoaded(ctx, l) }
	o.OnEvaluated = func(ctx context.Context, took time.Duration, failed bool) {
		a.metrics.Evaluated(took, failed, trace.ID(ctx))
	}
	if a.engine, err = rego.Open(ctx, o); err == nil {
		a.onStop("policy", func(ctx context.Context) error { a.engine.Close(ctx); return nil })
		a.warnUnanswerable()
	}
	return err
}

// redactions lists what policy redacts of what a person made of a call. Nobody
// votes before the policy is loaded.
func (a *App) redactions(ctx context.Context, c holdgate.Call) ([]string, error) {
	return a.engine.Redact(ctx, rego.Input{Call: c, Edited: true, Dir: a.o.Dir, Home: a.o.Home, Own: rego.Own{Folders: private(a.c.StateDir)}})
}

// judge says what policy would say of a call as a person would edit it. Of its session
// policy is told what the sidecar keeps; what the connection alone knows is left out.
func (a *App) judge(ctx context.Context, c holdgate.Call, answered approvals.Answered) holdgate.Decision {
	in := rego.Input{
		Call: c, Edited: true, Dir: cmp.Or(answered.Dir, a.o.Dir), Home: a.o.Home, Own: Own(a.c),
	}
	if answered.By != "" {
		in.Answers = []rego.Answer{{Gate: answered.Gate, Rule: answered.Rule, Also: answered.Also, Decision: holdgate.AnswerEdit, By: answered.By}}
	}
	if s, err := a.queue.Sessions.Track(ctx, c.Agent.ID, c.Session.ID); err == nil {
		set := s.Setting()
		in.Mode, in.Threshold, in.Taint, in.Shell = string(set.Mode), set.Threshold, s.Taint(), s.Record().Shell
	}
	return a.engine.Decide(ctx, in)
}

// past judges calls of the audit log by the policy of now.
func (a *App) past() func(context.Context, audit.Entry) (holdgate.Call, holdgate.Decision, error) {
	judge, own := a.engine.Judge(), Own(a.c)
	return func(ctx context.Context, e audit.Entry) (holdgate.Call, holdgate.Decision, error) {
		return judge.Recall(ctx, learn.PastOf(e, own))
	}
}

// policyLoaded records what is in force from now on and what differs, or that
// it stays because an edit does not load. People are told too, but for the
// policy that Holdgate starts with.
func (a *App) policyLoaded(ctx context.Context, l rego.Load) {
	ctx = context.WithoutCancel(ctx)
	a.refused.Store(nil)
	if l.Err != nil {
		why := strings.ReplaceAll(l.Err.Error(), "\n", "; ")
		a.refused.Store(&why)
	}
	e := policyEntry(l)
	var err error
	if l.Err == nil && l.Change.Empty() {
		_, err = a.audit.Write(ctx, e, true)
	} else {
		err = a.queue.Announce(ctx, record.EventPolicy, e, nil)
	}
	if err != nil {
		a.log.Error("writing the audit log", "err", err)
	}
	if a.engine == nil || l.Err != nil {
		return // the first load: openPolicy warns
	}
	a.warnUnanswerable()
}

// warnUnanswerable warns of rules whose questions nobody can answer.
func (a *App) warnUnanswerable() {
	for _, rule := range Unanswerable(a.engine.Askers(), a.queue.People()) {
		a.log.Warn("nobody can approve what a rule holds", "rule", rule)
	}
}

// Unanswerable lists the rules, as far as their sources say, that ask people of
// whom there are none or too few: what they hold is held in vain.
func Unanswerable(askers []rego.Asker, people *people.People) []string {
	var list []string
	for _, r := range askers {
		if err := people.Check(r.Approvers, ""); err != nil {
			list = append(list, fmt.Sprintf("%s (%s): %v", strings.Join(r.IDs, ", "), r.Location, err))
		}
	}
	return list
}

// policyEntry says in words what a load has changed.
func policyEntry(l rego.Load) audit.Entry {
	note := "policy in force: " + describe(l.Loaded) + ", revision " + l.Loaded.Revision
	switch {
	case l.Loaded.Broken != "" && l.Err == nil:
		note = "no policy is in force, and no call is let through: " + l.Loaded.Name + ", as it was pushed, does not load: " + strings.ReplaceAll(l.Loaded.Broken, "\n", "; ")
	case l.Err != nil:
		note = "a policy was refused and the earlier one stays, revision " + l.Loaded.Revision + ": " + strings.ReplaceAll(l.Err.Error(), "\n", "; ")
	case l.Change.MayLoosen:
		note += "; it may let more through: " + l.Change.String()
	case !l.Change.Empty():
		note += "; " + l.Change.String()
	}
	return audit.Entry{Type: audit.TypePolicy, Note: note}
}

func describe(l rego.Loaded) string {
	what := l.Path
	switch {
	case what == "" && l.Name == "":
		return "the shipped pack"
	case what == "":
		what = l.Name + ", as it was pushed,"
	case l.Name != "":
		what = l.Name + " (" + what + ")"
	}
	if l.Whole {
		return what + " alone (it defines data.holdgate.decision)"
	}
	return what + " over the shipped pack"
}
