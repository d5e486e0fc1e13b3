package grants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate/approvals/redact"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// A plea is a held call on whose behalf a grant is looked for.
type plea struct {
	call     holdgate.Call
	decision holdgate.Decision
	digest   holdgate.Digest
	like     *record.Similarity
	task     func() holdgate.Digest // that the agent works on: see [Keeper.Task]
}

// Granted looks for a grant that answers the decision's question about the
// call, and uses it: on return its count and its audit entry are on disk. It
// reports false where no grant does. turns are what the agent's user has said in the
// conversation, in order; none where that is not known. On an error nothing may be released.
//
// A grant that was revoked or has expired before this began is never used.
func (k *Keeper) Granted(ctx context.Context, c holdgate.Call, d holdgate.Decision, digest holdgate.Digest, turns func() []string) (Grant, bool, error) {
	if d.Action != holdgate.Hold || d.Facts == nil {
		return Grant{}, false, nil
	}
	p := &plea{call: c, decision: d, digest: digest, like: k.Similarity(c, d)}
	if turns != nil {
		p.task = sync.OnceValue(func() holdgate.Digest { return k.Task(c.Session.ID, turns()) })
	}
	if Rememberable(d.Hold, d.Rule, p.like) != "" {
		return Grant{}, false, nil
	}
	ids, err := k.grantsFor(ctx, p)
	if err != nil {
		return Grant{}, false, fmt.Errorf("looking for a grant: %w", err)
	}
	for _, id := range ids {
		g, err := k.use(ctx, id, p)
		switch {
		case err != nil:
			return Grant{}, false, fmt.Errorf("using grant %s: %w", id, err)
		case g != nil:
			return g.view(), true, nil
		}
	}
	return Grant{}, false, nil
}

// grantsFor finds the grants that cover the call at the moment.
func (k *Keeper) grantsFor(ctx context.Context, p *plea) (ids []string, err error) {
	err = k.b.Store.View(ctx, func(tx store.Tx) error {
		return eachGrant(tx, grantsOf(p.call.Agent.ID), func(g *storedGrant) {
			if k.covers(g, p, record.Now()) {
				ids = append(ids, g.ID)
			}
		})
	})
	return ids, err
}

// eachGrant calls fn for the grants of an index.
func eachGrant(tx store.Tx, prefix string, fn func(*storedGrant)) error {
	for pair, err := range tx.Scan(prefix, "") {
		if err != nil {
			return err
		}
		var g storedGrant
		if err := record.Read(tx, prefixGrant+string(pair.Value), &g); err != nil {
			return err
		}
		fn(&g)
	}
	return nil
}

// use counts a use, if the grant still covers the call. It returns nil
// where it does not.
func (k *Keeper) use(ctx context.Context, id string, p *plea) (used *storedGrant, err error) {
	input := k.b.Kept(p.call, p.decision)
	err = k.b.Change(ctx, func(c *record.Change) error {
		used = nil
		g, err := k.find(c, id)
		if errors.Is(err, ErrNoGrant) {
			return nil
		}
		if err != nil || !k.covers(g, p, c.Now) {
			return err
		}
		g.Uses++
		g.Used = c.Now
		d := p.decision
		e := g.entry(audit.TypeGranted, "")
		e.Call = auditCall(p.call, p.digest, d.Redact)
		e.Door = p.call.Door
		e.Decision = &audit.Decision{Action: d.Action, Rule: d.Rule, Reason: d.Reason, Risk: d.Risk, Revision: d.Revision}
		e.Outcome = &holdgate.Outcome{Decision: holdgate.AnswerApprove, By: g.answerer(), At: c.Now, Grant: g.ID}
		if g.Learned != nil {
			e.Note = g.Learned.String()
		}
		e.Input, e.Seen = input.Arguments, input.Seen
		if _, err := c.Append(e); err != nil {
			return err
		}
		used = g
		return k.write(c, g)
	})
	return used, err
}

// auditCall is the call as the log names it, without what policy redacts.
func auditCall(c holdgate.Call, digest holdgate.Digest, redacted []string) *audit.Call {
	shown, _ := redact.Call(c, redacted)
	r := record.StoredRequest{Call: record.StoreCall(shown, digest), Agent: c.Agent.ID, Session: c.Session.ID}
	return r.Entry(audit.TypeGranted).Call
}

// covers reports whether the grant answers the question about the call.
func (k *Keeper) covers(g *storedGrant, p *plea, now time.Time) bool {
	return !g.ended(now) && g.binds(p.call) && g.during(p) && g.answers(p.decision) && (g.Learned == nil || g.taught(p, now)) && k.vouched(g, p) && k.matches(g, p)
}

// binds reports whether the grant is for who makes the call. What is only
// asserted narrows: then the session and the door must be the same too.
func (g *storedGrant) binds(c holdgate.Call) bool {
	a := c.Agent
	if g.Kind != c.Kind || g.Agent != a.ID || g.Proven != a.Proven || g.Confinement != a.Confinement {
		return false
	}
	switch {
	case !g.Proven:
		return g.session() == c.Session.ID && g.Door == c.Door
	case g.Scope == record.ScopeAgent:
		return true
	}
	return (g.Scope == record.ScopeSession || g.Scope == record.ScopeTask) && g.session() == c.Session.ID
}

// answers reports whether the question is the one that was answered, and the
// risk no higher.
func (g *storedGrant) answers(d holdgate.Decision) bool {
	if (g.Match == record.MatchTool || g.Match == record.MatchEndpoint) && Gravity(d.Risk) >= Gravity(holdgate.RiskHigh) {
		return false
	}
	return g.Rule == d.Rule && g.Gate == d.Hold.Gate && Gravity(d.Risk) <= Gravity(g.Risk)
}

// vouched reports whether those who made the grant may approve this call by
// themselves, as people and rule stand now.
func (k *Keeper) vouched(g *storedGrant, p *plea) bool {
	all := k.b.People()
	a := p.decision.Hold.Approvers
	c := people.Eligibility{People: all, Approvers: a, Owner: p.call.Agent.Labels[record.LabelOwner]}
	var names []string
	for _, by := range g.By {
		n, known := all.Find(by.Name)
		if !known || c.Entitles(n, by.Channel, by.Assurance) != nil {
			return false
		}
		if !slices.ContainsFunc(names, func(o string) bool { return all.Same(o, n.Name) }) {
			names = append(names, n.Name)
		}
	}
	return len(names) >= max(a.Quorum, 1)
}

// matches reports whether the call is one of those that the grant is for.
func (k *Keeper) matches(g *storedGrant, p *plea) bool {
	switch {
	case g.Similarity.Subject != p.like.Subject:
		return false
	case g.forTool():
		return g.Similarity.Shape != nil && g.pins(p)
	case g.Similarity.Dir != p.like.Dir:
		return false
	}
	switch g.Match {
	case record.MatchExact:
		return g.Similarity.Like == p.like.Like && g.Similarity.Same == p.like.Same && p.like.Same != ""
	case record.MatchTool:
		return g.Similarity.Shape != nil && !p.like.Acts && p.like.Whole.Within(*g.Similarity.Shape)
	case record.MatchEndpoint:
		return g.Similarity.Like == p.like.Like && g.Similarity.Endpoint == p.like.Endpoint && p.like.Endpoint != ""
	case record.MatchShape:
		return g.Similarity.Like == p.like.Like && !p.like.Acts
	case record.MatchProvided:
		return p.decision.Hold.Once && g.Similarity.Provided == p.like.Provided && p.like.Provided != ""
	case record.MatchPattern:
		return g.Similarity.Like == p.like.Like && k.fixes(g, p.call)
	}
	return false
}

// fixes reports whether the call has the values that a pattern fixes.
func (k *Keeper) fixes(g *storedGrant, c holdgate.Call) bool {
	if c.Tool == nil || len(g.Fixed) == 0 {
		return false
	}
	for pointer, want := range g.Fixed {
		v, ok := Argument(c.Tool.Arguments, pointer)
		if !ok {
			return false
		}
		if got, ok := k.fixed(pointer, v); !ok || got != want {
			return false
		}
	}
	return true
}
