package proxy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/proxy/agentapi"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/hook"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/store/audit"
)

var _ agentapi.Hooks = agents{}

// Hook implements [agentapi.Hooks]. An approval that is given here covers no other
// door: a hook is the agent's own word.
func (a agents) Hook(ctx context.Context, who approvals.Caller, in agentapi.Hooked) (agentapi.HookVerdict, error) {
	agent, known := hook.Find(in.Agent)
	if !known {
		return agentapi.HookVerdict{}, &sessions.FieldError{Field: "agent", What: "must be " + strings.Join(hook.Names(), ", ")}
	}
	event, err := agent.Parse(in.Body)
	if err != nil {
		return agentapi.HookVerdict{}, &sessions.FieldError{Field: "body", What: err.Error()}
	}
	who.Door = agentapi.DoorHook
	from := gate.From{Caller: who}
	from.InConversation(event.Session)
	from.Dir, from.Start = a.folderAt(ctx, event.Dir)
	from.At, from.Program, from.Said = gate.AtHook, agent.Name, event.Dir
	a.s.c.Queue.Agents.Seen(from.Caller)
	if err := a.lapsed(ctx, from.Caller, in.Lapsed); err != nil {
		return agentapi.HookVerdict{}, err
	}
	from.Task = func() string { return a.s.steps.Gate.TaskAtHook(from.Caller) }
	switch event.At {
	case hook.Before:
		return a.decideHooked(ctx, agent, from, event, in)
	case hook.Permission:
		return a.permitHooked(ctx, agent, from, event, in)
	case hook.After:
		a.s.steps.Gate.EndedAtHook(ctx, from, event.Call, event.Result.Ended, event.Result.String())
	case hook.Prompt:
		a.s.steps.Gate.AskedAtHook(from.Caller, event.Said)
	}
	out, err := agent.Answer(event.At, hook.Verdict{Release: true})
	return agentapi.HookVerdict{Status: holdgate.StatusApproved, Output: string(out)}, err
}

// decideHooked takes a call that is about to run through the steps that any call takes.
func (a agents) decideHooked(ctx context.Context, agent hook.Agent, from gate.From, event hook.Event, in agentapi.Hooked) (agentapi.HookVerdict, error) {
	x, e, err := a.enterHooked(ctx, agent, from, event)
	if err != nil {
		return agentapi.HookVerdict{}, err
	}
	defer x.Leave()
	x.AtHook(ctx, e)
	err = x.Pass(ctx, e, a.lineAtHook(x, e, in.Wait))
	if err != nil && ctx.Err() == nil && !waits(err) {
		x.Fail(ctx, e, err)
		err = nil
	}
	x.CameAtHook(event.Call, e)
	switch {
	case err == nil:
		return a.hooked(ctx, x, e, agent)
	case ctx.Err() != nil:
		return agentapi.HookVerdict{}, ctx.Err()
	}
	return pendingAtHook(x, e), nil
}

// permitHooked answers an agent that is about to ask its own user. People who have let the very
// call go on are not asked again, nor is the user. What policy lets go on by itself is left to
// the user. Else people are asked here. Their approval is used here, too, but where the agent
// asks first: then the call comes to its hook next, and the approval waits for it.
func (a agents) permitHooked(ctx context.Context, agent hook.Agent, from gate.From, event hook.Event, in agentapi.Hooked) (agentapi.HookVerdict, error) {
	x, e, err := a.enterHooked(ctx, agent, from, event)
	if err != nil {
		return agentapi.HookVerdict{}, err
	}
	defer x.Leave()
	e.Seen = true // it is counted when it is about to run
	ask := x.Pass
	if agent.AsksFirst {
		ask = x.Await
	}
	says := holdgate.Deny
	if x.AgentStatus().Running() && a.s.steps.Gate.Admit(from.Agent) == nil {
		says = a.s.steps.Gate.Evaluate(ctx, from, e).Action
	}
	v := hook.Verdict{Release: true, Asked: says != holdgate.Deny && a.s.steps.Gate.ApprovedAtHook(from, event.Call)}
	if !v.Asked && says != holdgate.Allow {
		err := ask(ctx, e, a.lineAtHook(x, e, in.Wait))
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return agentapi.HookVerdict{}, ctx.Err()
		case !waits(err):
			x.Fail(ctx, e, err)
		}
		v = hook.Verdict{Release: e.Released(), Asked: e.ByPeople(), Text: e.Verdict().Notice}
		if e.Undecided() {
			v.Text = pendingAtHook(x, e).Text
		} else if !v.Release {
			x.Done(ctx, true, "refused at a hook")
		}
	}
	told := agentapi.HookVerdict{Status: holdgate.StatusApproved, Request: e.Request().ID}
	switch {
	case e.Undecided() && !v.Release:
		told.Status = holdgate.StatusPending
	case !v.Release:
		told.Status = refusedStatus(e)
	}
	out, err := agent.Answer(hook.Permission, v)
	told.Text, told.Output = v.Text, string(out)
	return told, err
}

// enterHooked begins the exchange of a call at a hook.
func (a agents) enterHooked(ctx context.Context, agent hook.Agent, from gate.From, event hook.Event) (*gate.Exchange, *gate.Evaluation, error) {
	x, err := a.s.steps.Gate.Enter(ctx, from, func() (holdgate.Digest, error) { return a.hookKey(agent, event) })
	if err != nil {
		return nil, nil, fmt.Errorf("asking about a call at a hook: %w", err)
	}
	return x, &gate.Evaluation{Call: from.Call(*event.Call), Fixed: event.Fixed, Hint: event.Call.ID}, nil
}

// lineAtHook keeps a hook waiting for people.
func (a agents) lineAtHook(x *gate.Exchange, e *gate.Evaluation, wait time.Duration) gate.Line {
	return func(ctx context.Context) (context.Context, func(), error) {
		x.Waits(gate.RungHook, e)
		waiting, end := a.patience(ctx, wait)
		return waiting, end, nil
	}
}

// pendingAtHook is what a hook is told whose time is over.
func pendingAtHook(x *gate.Exchange, e *gate.Evaluation) agentapi.HookVerdict {
	x.Waits(gate.RungAgain, e)
	return agentapi.HookVerdict{Status: holdgate.StatusPending, Request: e.Request().ID, Text: wire.Mark + "This call was not run yet: " +
		x.WaitsFor([]*gate.Evaluation{e}) + ". Call the tool again with the same arguments to pick up the decision."}
}

// waits reports whether a wait ended before anybody had decided.
func waits(err error) bool {
	w, ok := errors.AsType[*gate.WaitError](err)
	return ok && w.Over
}

// hooked says what has become of a call that is decided.
func (a agents) hooked(ctx context.Context, x *gate.Exchange, e *gate.Evaluation, agent hook.Agent) (agentapi.HookVerdict, error) {
	v := e.Verdict()
	told := agentapi.HookVerdict{Status: holdgate.StatusApproved, Request: e.Request().ID}
	if !e.Released() {
		told.Status, told.Text = refusedStatus(e), v.Notice
		x.Done(ctx, true, "refused at a hook")
		return told, nil
	}
	out, err := agent.Answer(hook.Before, hook.Verdict{Release: true, Asked: e.ByPeople(), Arguments: v.Arguments, Text: v.Note})
	x.Done(ctx, err == nil, "told to the agent's hook")
	told.Output = string(out)
	return told, err
}

// refusedStatus is the status of a call that is refused. Where nobody was asked there is no
// request, and no status of one.
func refusedStatus(e *gate.Evaluation) holdgate.Status {
	if s := e.Request().Status; s != "" && s.Final() && s != holdgate.StatusApproved {
		return s
	}
	return holdgate.StatusDenied
}

// hookKey names a call at a hook, so that the same call again joins what waits. The
// agent's own id of it is another one then.
func (a agents) hookKey(agent hook.Agent, event hook.Event) (holdgate.Digest, error) {
	t := event.Call.Tool
	arguments := t.ArgumentsRaw
	if t.Arguments != nil {
		canon, err := wire.CanonicalWithout(t.Arguments)
		if err != nil {
			return "", fmt.Errorf("reading the arguments: %w", err)
		}
		arguments = string(canon)
	}
	return a.s.c.Digester.Fields("hook", agent.Name, event.Dir, t.Name, arguments), nil
}

// lapsedCount is how many calls a hook says it has let go on.
var lapsedCount = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)

// lapsed notes that hooks have let calls go on that they could not ask about.
func (a agents) lapsed(ctx context.Context, who approvals.Caller, n string) error {
	if !lapsedCount.MatchString(n) {
		return nil
	}
	note := "unapproved: while the sidecar could not be asked, a hook with --fail open let calls go on, by its own count " + n
	return a.s.steps.Gate.Find(ctx, who, &audit.Call{Kind: holdgate.KindToolCall}, note)
}

// folderAt is the session's folder for a call that starts in dir by the agent's word,
// and dir where that is outside of it. The word only narrows: within the folder that is
// known what counts is dir alone, and elsewhere nothing lies inside.
func (a agents) folderAt(ctx context.Context, dir string) (folder, start string) {
	known := a.s.steps.Callers.DirIn(ctx)
	switch {
	case dir == "":
		return known, ""
	case known != "" && (dir == known || strings.HasPrefix(dir, strings.TrimSuffix(known, "/")+"/")):
		return dir, ""
	case known == "" && looksLikeWork(dir, a.s.c.Home):
		return "", ""
	}
	return known, dir
}

// noProject are folders in which no project lies.
var noProject = regexp.MustCompile(`^/(bin|boot|dev|etc|lib|lib32|lib64|proc|run|sbin|sys|usr|var/(lib|log|spool|run|cache)|System|Library|Applications|private/etc)?(/|$)|/\.`)

// looksLikeWork reports whether a folder can be one that an agent works in: none of the
// system's, not hidden, and not the home itself or above it. In it what is relative lies
// inside, as it does where no folder is known.
func looksLikeWork(dir, home string) bool {
	home = path.Clean(home)
	if noProject.MatchString(dir) || path.Dir(dir) == "/home" || path.Dir(dir) == "/Users" || dir == "/home" || dir == "/Users" || dir == "/root" {
		return false
	}
	return dir != home && !strings.HasPrefix(home, dir+"/")
}
