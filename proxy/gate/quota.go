package gate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	// maxPace is how long a call waits for its turn where its agent asks for
	// decisions faster than it may, before it is refused.
	maxPace = time.Second
	// logEvery is how often the log says that one agent is over one limit. It
	// does not say so for each call: the log is what would be flooded.
	logEvery = time.Minute
)

// A LimitError says which limit of its agent's a call is over, as a sentence.
type LimitError struct{ Rule, Why string }

func (o *LimitError) Error() string { return o.Why }

// quotas bound what one agent's traffic may cost: decisions, and room in the
// log. What it may have in the queue is the queue's to bound.
type quotas struct {
	limits func() Limits
	log    *audit.Log
	queue  Queue

	mu     sync.Mutex
	now    Limits // by which the agents' allowances are
	agents map[string]*allowance
}

// An allowance is what one agent has left.
type allowance struct {
	decisions bucket
	bytes     bucket
	written   uint64            // what the log had of the agent's when last seen
	told      map[string]*muted // by rule
}

// muted is what the log does not say until the minute is over.
type muted struct {
	until time.Time
	count int
}

func newQuotas(limits func() Limits, log *audit.Log, queue Queue) *quotas {
	return &quotas{limits: limits, now: limits(), log: log, queue: queue, agents: make(map[string]*allowance)}
}

// account names what an agent is counted under: callers of whom nothing is
// proven share one, whatever they call themselves.
func account(a holdgate.Agent) string {
	if !a.Proven {
		return holdgate.AgentDefault
	}
	return a.ID
}

// follow fits all allowances to the limits of the moment. The caller holds the lock.
func (u *quotas) follow() {
	l := u.limits()
	if l == u.now {
		return
	}
	u.now = l
	for _, a := range u.agents {
		a.decisions.become(newBucket(l.Decisions, time.Second))
		a.bytes.become(newBucket(float64(l.LogBytes), time.Hour))
	}
}

// of returns an agent's allowance. The caller holds the lock.
func (u *quotas) of(agent string) *allowance {
	a := u.agents[agent]
	if a == nil {
		a = &allowance{
			decisions: newBucket(u.now.Decisions, time.Second),
			bytes:     newBucket(float64(u.now.LogBytes), time.Hour),
			told:      make(map[string]*muted),
		}
		a.written = u.log.Written(agent)
		u.agents[agent] = a
	}
	return a
}

// admit waits for the agent's turn, or says which limit it is over.
func (u *quotas) admit(ctx context.Context, agent holdgate.Agent) *LimitError {
	if err := u.queue.Strained(); err != nil {
		return &LimitError{holdgate.RuleStore, err.Error()}
	}
	wait, over := u.charge(account(agent), time.Now(), maxPace)
	if over != nil || wait <= 0 {
		return over
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return nil
}

func (u *quotas) charge(agent string, now time.Time, patience time.Duration) (time.Duration, *LimitError) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.follow()
	a := u.of(agent)
	if u.now.LogBytes > 0 && u.logFull(a, agent, now) {
		return 0, &LimitError{holdgate.RuleQuota, fmt.Sprintf("the log has taken as much of this agent's calls as it may in an hour, %d bytes (limits.log_bytes_per_hour): %s", u.now.LogBytes, whoCanRaise)}
	}
	if u.now.Decisions <= 0 {
		return 0, nil
	}
	wait, ok := a.decisions.takeToken(now, patience)
	if !ok {
		return 0, &LimitError{holdgate.RuleQuota, fmt.Sprintf("this agent asks for more than %g decisions a second (limits.decisions_per_second): %s", u.now.Decisions, whoCanRaise)}
	}
	return wait, nil
}

// whoCanRaise ends a refusal.
const whoCanRaise = "wait a little; whoever runs holdgate can raise the limit in its configuration"

// logFull reports whether the agent has filled its share of the log.
func (u *quotas) logFull(a *allowance, agent string, now time.Time) bool {
	w := u.log.Written(agent)
	a.bytes.spend(now, float64(w-a.written))
	a.written = w
	return a.bytes.level < 0
}

// tell reports whether the log is to say now that the agent is over a limit,
// and of how many calls it has kept quiet since it did last.
func (u *quotas) tell(agent, rule string, now time.Time) (unsaid int, tell bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	told := u.of(agent).told
	q := told[rule]
	if q == nil {
		q = new(muted)
		told[rule] = q
	}
	if now.Before(q.until) {
		q.count++
		return 0, false
	}
	unsaid = q.count
	*q = muted{until: now.Add(logEvery)}
	return unsaid, true
}

// mayLog reports whether a refusal that policy had no part in is to be logged,
// and how: one of an agent that is over a limit is, once a minute.
func (u *quotas) mayLog(agent holdgate.Agent, rule, message string) (string, bool) {
	name, now := account(agent), time.Now()
	if _, over := u.charge(name, now, 0); over == nil && u.queue.Strained() == nil {
		return message, true
	}
	unsaid, tell := u.tell(name, rule, now)
	if unsaid > 0 {
		message += fmt.Sprintf(" (and %d like it since the log said so last)", unsaid)
	}
	return message, tell
}

// A bucket holds so much, and is filled again over its period.
type bucket struct {
	size, level float64
	perSecond   float64
	at          time.Time
}

// newBucket is a full bucket, of twice what a period fills where that is short:
// a burst is no flood.
func newBucket(perPeriod float64, period time.Duration) bucket {
	size := perPeriod
	if period <= time.Second {
		size *= 2
	}
	return bucket{size: size, level: size, perSecond: perPeriod / period.Seconds()}
}

// become has the bucket be of another size. What was taken out counts, but puts nobody
// over a limit who was not.
func (b *bucket) become(n bucket) {
	n.level, n.at = max(n.size-(b.size-b.level), min(b.level, 0)), b.at
	*b = n
}

// spend takes n out, whether it is there or not.
func (b *bucket) spend(now time.Time, n float64) {
	if !b.at.IsZero() {
		b.level = math.Min(b.size, b.level+now.Sub(b.at).Seconds()*b.perSecond)
	}
	b.at = now
	b.level -= n
}

// takeToken takes one out, and returns how long until it is there. It takes nothing
// where that is longer than the patience given.
func (b *bucket) takeToken(now time.Time, patience time.Duration) (time.Duration, bool) {
	b.spend(now, 1)
	wait := time.Duration(-b.level / b.perSecond * float64(time.Second))
	if wait > patience {
		b.level++
		return 0, false
	}
	return max(wait, 0), true
}

// limitOf returns the limit that an error of the queue's is about, or nil.
func limitOf(err error) *LimitError {
	if e, ok := errors.AsType[*approvals.QuotaError](err); ok {
		return &LimitError{holdgate.RuleQuota, e.Error()}
	}
	if errors.Is(err, approvals.ErrDiskFull) {
		return &LimitError{holdgate.RuleStore, err.Error()}
	}
	return nil
}

// overLimit refuses a call that is over a limit. The log says so once a minute.
func (x *Exchange) overLimit(ctx context.Context, e *Evaluation, o *LimitError) error {
	e.Refuse(noticeLimit(e.Call, o))
	unsaid, tell := x.g.quotas.tell(account(e.Call.Agent), o.Rule, time.Now())
	if !tell {
		return nil
	}
	d := holdgate.Decision{Action: holdgate.Deny, Rule: o.Rule, Reason: o.Why}
	if unsaid > 0 {
		d.Reason += fmt.Sprintf(" (and %d calls more since the log said so last)", unsaid)
	}
	_, err := x.logDecision(ctx, e, d)
	return err
}
