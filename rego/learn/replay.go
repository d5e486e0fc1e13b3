package learn

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// MaxChanges is how many changed calls a replay names one by one; it counts
// all.
const MaxChanges = 1000

// batch is how many calls one processor judges in one go.
const batch = 128

// A Replay is what a policy would make of past calls.
type Replay struct {
	Revision string `json:"revision"` // of the policy that they were judged by
	// Partial says that the replay was ended early: it is of the log's beginning alone.
	Partial bool `json:"partial,omitempty"`
	Calls   int  `json:"calls"`
	Same    int  `json:"same"`
	Changed int  `json:"changed"`
	Unknown int  `json:"unknown"`
	// OtherRule is how many of Same another rule decides now.
	OtherRule int `json:"other_rule"`
	// FollowUps are decisions that were made again after people had answered.
	// They are not calls of their own, and not counted among them.
	FollowUps int      `json:"follow_ups"`
	Table     []Row    `json:"table"`    // what changes, the most calls first
	Unknowns  []Reason `json:"unknowns"` // why calls are unknown, the most first
	// Changes are the first [MaxChanges] calls that change, in order.
	Changes []Changed `json:"changes"`
}

// A Row counts the calls that change in one way.
type Row struct {
	Was     string `json:"was"` // allow, deny or hold
	Now     string `json:"now"`
	WasRule string `json:"was_rule"`
	NowRule string `json:"now_rule"`
	Calls   int    `json:"calls"`
}

// A Reason counts the calls that are unknown for one reason.
type Reason struct {
	Why   string `json:"why"`
	Calls int    `json:"calls"`
}

// A Changed is one call of which the policy says something else.
type Changed struct {
	Seq       uint64    `json:"seq"`
	Time      time.Time `json:"time"`
	RequestID string    `json:"request_id,omitempty"`
	Agent     string    `json:"agent"`
	Session   string    `json:"session"`
	What      string    `json:"what"`
	Was       string    `json:"was"`
	WasRule   string    `json:"was_rule"`
	Now       string    `json:"now"`
	NowRule   string    `json:"now_rule"`
	Reason    string    `json:"reason,omitempty"`
}

// Run judges all calls of the log by the engine's policy. The log is read once,
// while the calls that were read are judged on all processors. With an error it returns
// what the calls before it came to.
func Run(ctx context.Context, e *rego.Engine, log Log, own rego.Own) (Replay, error) {
	return RunBy(ctx, e.Judge(), log, own)
}

// RunBy is Run for a policy that need not be in force.
func RunBy(ctx context.Context, judge *rego.Judge, log Log, own rego.Own) (Replay, error) {
	r := replaying{judge: judge, own: own, rows: map[Row]int{}, why: map[string]int{}}
	r.out = Replay{Revision: r.judge.Revision(), Table: []Row{}, Unknowns: []Reason{}, Changes: []Changed{}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A batch goes to whoever is free, and into the queue of those to count, in
	// the order of the log; both are short, so that little of it is in memory.
	work, order := make(chan *judged), make(chan *judged, 2*runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for b := range work {
				r.judgeAll(ctx, b)
			}
		})
	}
	workers.Go(func() {
		for b := range order {
			<-b.done
			r.countAll(b)
		}
	})
	err := batches(ctx, log, func(b *judged) error {
		order <- b
		work <- b
		return ctx.Err()
	})
	if err != nil {
		cancel()
	}
	close(work)
	close(order)
	workers.Wait()
	err = cmp.Or(err, ctx.Err())
	r.out.Partial = err != nil
	return r.finish(), err
}

// batches reads the decisions of the log and hands them on, some at a time.
func batches(ctx context.Context, log Log, hand func(*judged) error) error {
	var waiting []audit.Entry
	flush := func() error {
		b := &judged{entries: waiting, results: make([]again, len(waiting)), done: make(chan struct{})}
		waiting = nil
		return hand(b)
	}
	err := log(ctx, func(n audit.Entry) error {
		if !Judged(n) {
			return nil
		}
		if waiting = append(waiting, n); len(waiting) == batch {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// replaying is a Replay on its way.
type replaying struct {
	judge *rego.Judge
	own   rego.Own
	out   Replay
	rows  map[Row]int
	why   map[string]int
	ended bool // a call was not judged: those behind it are not counted
}

// judged are entries that follow each other, and what became of their calls once
// done is closed.
type judged struct {
	entries []audit.Entry
	results []again
	judged  int // how many of them, from the first on
	done    chan struct{}
}

// An again is what became of one call.
type again struct {
	decision holdgate.Decision
	follows  bool
	err      error
}

func (r *replaying) judgeAll(ctx context.Context, b *judged) {
	defer close(b.done)
	for i, n := range b.entries {
		b.results[i] = r.one(ctx, n)
		if ctx.Err() != nil {
			return // this one may be what the end made of it
		}
		b.judged++
	}
}

// countAll counts the calls of a batch that were judged, where all before it were.
func (r *replaying) countAll(b *judged) {
	if r.ended {
		return
	}
	for i, n := range b.entries[:b.judged] {
		r.count(n, b.results[i])
	}
	r.ended = b.judged < len(b.entries)
}

func (r *replaying) one(ctx context.Context, n audit.Entry) again {
	if byHoldgate(n) {
		return again{err: &rego.UnjudgedError{Why: "Holdgate itself decided it, and not policy: " + n.Decision.Rule}}
	}
	past := PastOf(n, r.own)
	if past.FollowsUp() {
		return again{follows: true}
	}
	d, err := r.judge.Again(ctx, past)
	if err == nil && d.Revision == n.Decision.Revision && (acted(d.Action, d.Would) != acted(n.Decision.Action, n.Decision.Would) || d.Rule != n.Decision.Rule) {
		err = &rego.UnjudgedError{Why: "the very same policy decided otherwise then, on something that the log does not have"}
	}
	return again{decision: d, err: err}
}

// acted is what policy said, whether it was enforced or only observed.
func acted(a holdgate.Action, would *holdgate.Action) string {
	if would != nil {
		return would.String()
	}
	return a.String()
}

func (r *replaying) count(n audit.Entry, a again) {
	if a.follows {
		r.out.FollowUps++
		return
	}
	r.out.Calls++
	if a.err != nil {
		why := a.err.Error()
		if u, ok := errors.AsType[*rego.UnjudgedError](a.err); ok {
			why = u.Why
		}
		r.out.Unknown++
		r.why[why]++
		return
	}
	row := Row{Was: acted(n.Decision.Action, n.Decision.Would), Now: acted(a.decision.Action, a.decision.Would), WasRule: n.Decision.Rule, NowRule: a.decision.Rule}
	if row.Was == row.Now {
		r.out.Same++
		if row.WasRule != row.NowRule {
			r.out.OtherRule++
		}
		return
	}
	r.out.Changed++
	r.rows[row]++
	if len(r.out.Changes) < MaxChanges {
		r.out.Changes = append(r.out.Changes, Changed{
			Seq: n.Seq, Time: n.Time, RequestID: n.RequestID, Agent: n.Call.Agent, Session: n.Call.Session, What: n.Call.Name(),
			Was: row.Was, WasRule: row.WasRule, Now: row.Now, NowRule: row.NowRule, Reason: a.decision.Reason,
		})
	}
}

func (r *replaying) finish() Replay {
	for row, n := range r.rows {
		row.Calls = n
		r.out.Table = append(r.out.Table, row)
	}
	slices.SortFunc(r.out.Table, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Was, b.Was), cmp.Compare(a.Now, b.Now), cmp.Compare(a.WasRule, b.WasRule), cmp.Compare(a.NowRule, b.NowRule))
	})
	for why, n := range r.why {
		r.out.Unknowns = append(r.out.Unknowns, Reason{why, n})
	}
	slices.SortFunc(r.out.Unknowns, func(a, b Reason) int { return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Why, b.Why)) })
	return r.out
}
