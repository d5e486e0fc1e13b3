package learn

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// Passes are calls that were once refused and that a policy would let pass.
type Passes struct {
	Refused int       // calls of the log that policy refused, or people denied, steered, edited or did not answer
	Unknown int       // of them, how many can't be judged again
	Passing int       // of them, how many would pass
	List    []Changed // the first [MaxChanges] of these, in order
}

// RefusedThatPass judges all calls of the log that were ever refused by a policy that
// need not be in force.
func RefusedThatPass(ctx context.Context, judge *rego.Judge, log Log, own rego.Own) (Passes, error) {
	g := gathering{asked: map[string]audit.Entry{}, ended: map[string]holdgate.Outcome{}, refused: map[string]audit.Entry{}}
	if err := log(ctx, g.add); err != nil {
		return Passes{}, err
	}
	var s suggesting
	g.split(&s)
	slices.SortFunc(s.denied, func(a, b question) int { return cmp.Compare(a.entry.Seq, b.entry.Seq) })
	p := Passes{Refused: len(s.denied), List: []Changed{}}
	for _, q := range s.denied {
		d, err := judge.Again(ctx, PastOf(q.entry, own))
		switch n := q.entry; {
		case ctx.Err() != nil:
			return p, ctx.Err()
		case err != nil:
			p.Unknown++
		case d.Action == holdgate.Allow:
			if p.Passing++; p.Passing > MaxChanges {
				continue
			}
			p.List = append(p.List, Changed{Seq: n.Seq, Time: n.Time, RequestID: n.RequestID, Agent: n.Call.Agent, Session: n.Call.Session, What: n.Call.Name(),
				Was: acted(n.Decision.Action, n.Decision.Would), WasRule: n.Decision.Rule, Now: d.Action.String(), NowRule: d.Rule, Reason: d.Reason})
		}
	}
	return p, nil
}
