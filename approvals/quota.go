package approvals

import (
	"fmt"
	"sync"
)

// Limits bound what one agent may have in the queue. 0 is no limit. They bind
// to what is proven of an agent: callers of whom nothing is proven share one
// account, whatever name and session they give.
type Limits struct {
	Pending   int   // requests that wait for people
	HeldBytes int64 // of the calls and answers that are kept while they wait
}

// A QuotaError says that an agent has as much in the queue as it may. It reads
// as a sentence for the agent and its user.
type QuotaError struct {
	Limit string // the setting: "limits.pending" or "limits.held_bytes"
	Max   int64
	Have  int64 // what it would come to
}

// Error says which limit it is, how much it allows, and who can raise it.
func (e *QuotaError) Error() string {
	what := fmt.Sprintf("%d calls of this agent would wait for people, and %d may", e.Have, e.Max)
	if e.Limit == limitHeldBytes {
		what = fmt.Sprintf("what this agent has waiting would take %d bytes, and %d are allowed", e.Have, e.Max)
	}
	return fmt.Sprintf("%s (%s): once some have been decided there is room again; whoever runs holdgate can raise the limit in its configuration", what, e.Limit)
}

const (
	limitPending   = "limits.pending"
	limitHeldBytes = "limits.held_bytes"
)

// An account is what one agent has in the queue.
type account struct {
	pending int
	bytes   int64
}

// A charge is a change of an account.
type charge struct {
	agent string
	account
}

// accountOf names the account of an agent.
func accountOf(id string, proven bool) string {
	if !proven {
		return ""
	}
	return "proven/" + id
}

// A ledger keeps the accounts. What a transition takes is charged while it
// runs, so that those of one batch see each other; what it gives back counts
// once it is durable.
type ledger struct {
	limits Limits

	mu       sync.Mutex
	accounts map[string]account
}

func newLedger(l Limits) *ledger { return &ledger{limits: l, accounts: make(map[string]account)} }

// take charges an account, unless that would exceed a limit.
func (l *ledger) take(c charge) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[c.agent]
	a.pending += c.pending
	a.bytes += c.bytes
	switch {
	case c.pending > 0 && l.limits.Pending > 0 && a.pending > l.limits.Pending:
		return &QuotaError{Limit: limitPending, Max: int64(l.limits.Pending), Have: int64(a.pending)}
	case c.bytes > 0 && l.limits.HeldBytes > 0 && a.bytes > l.limits.HeldBytes:
		return &QuotaError{Limit: limitHeldBytes, Max: l.limits.HeldBytes, Have: a.bytes}
	}
	l.accounts[c.agent] = a
	return nil
}

// add charges accounts with what is there, over a limit or not.
func (l *ledger) add(charges ...charge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range charges {
		a := l.accounts[c.agent]
		a.pending += c.pending
		a.bytes += c.bytes
		l.accounts[c.agent] = a
	}
}

// give returns what was charged.
func (l *ledger) give(charges []charge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range charges {
		a := l.accounts[c.agent]
		a.pending -= c.pending
		a.bytes -= c.bytes
		if a == (account{}) {
			delete(l.accounts, c.agent)
			continue
		}
		l.accounts[c.agent] = a
	}
}

// pending is how many requests wait, of all agents.
func (l *ledger) pending() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.accounts {
		n += a.pending
	}
	return n
}

// Pending is how many requests wait for people.
func (q *Queue) Pending() int { return q.ledger.pending() }

// take charges the agent of an exchange; see [ledger].
func (t *transition) take(agent string, a account) error {
	c := charge{agent, a}
	if err := t.q.ledger.take(c); err != nil {
		return err
	}
	t.taken = append(t.taken, c)
	return nil
}

// give returns a charge once the transition is durable.
func (t *transition) give(agent string, a account) { t.given = append(t.given, charge{agent, a}) }

// undo returns what a run of the transition took that did not come to pass.
func (t *transition) undo() {
	if t != nil {
		t.q.ledger.give(t.taken)
		t.undoSessions()
	}
}

// size is what a held call is charged with.
func (c *storedCall) size() int64 {
	n := len(c.Arguments) + len(c.ArgumentsRaw)
	if c.Gate != nil {
		n += len(c.Gate.Message) + len(c.Gate.Context)
	}
	return int64(n)
}

// account is that of the exchange's agent.
func (x *storedExchange) account() string { return accountOf(x.Agent, x.Proven) }

// account is that of the request's agent.
func (a *storedAsked) account() string { return accountOf(a.Agent, a.Proven) }

func (r *storedRequest) account() string { return accountOf(r.Agent, r.Proven) }
