// Package quota counts what each agent has waiting in a queue, and refuses what would be
// more than it may have.
package quota

import (
	"fmt"
	"strings"
	"sync"

	"github.com/holdgate/holdgate/approvals/record"
)

// Limits bound what one agent may have in the queue. 0 is no limit. They bind
// to what is proven of an agent: callers of whom nothing is proven share one
// account, whatever name and session they give. Once it is full, a session that has
// little in it may still have a share of the limit waiting, so that one session
// does not keep all others from being heard.
type Limits struct {
	Pending   int   // requests that wait for people
	HeldBytes int64 // of the calls and answers that are kept while they wait
}

// An Error says that an agent has as much in the queue as it may. It reads
// as a sentence for the agent and its user.
type Error struct {
	Limit string // the setting: "limits.pending" or "limits.held_bytes"
	Max   int64
	Have  int64 // what it would come to
}

// Error says which limit it is, how much it allows, and who can raise it.
func (e *Error) Error() string {
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

// Of a full account that callers share, a session may have the limit divided by
// sharers, and all together the limit multiplied by it.
const sharers = 4

// sharedAccount is that of all callers who assert who they are.
const sharedAccount = "shared"

// accountOf names the account of a caller. One that asserts who it is has one for
// each session, beside the one that all such callers share.
func accountOf(id, session string, proven bool) string {
	if !proven {
		return prefixAsserted + id + "/" + session
	}
	return "proven/" + id
}

const prefixAsserted = "asserted/"

// A Ledger keeps the accounts. What a change of state takes is charged while it
// runs, so that those of one batch see each other; what it gives back counts
// once it is durable. It is safe for concurrent use, and a view of the store: see
// [Ledger.AddOpen] and [Ledger.AddAsked], or [Ledger.Share].
type Ledger struct {
	limits func() Limits
	shared bool // the accounts are in the store

	mu       sync.Mutex
	accounts map[string]account
}

// New returns a ledger of nothing. limits are those of the moment; what waits is never over
// one that is lowered, but nothing is added to it.
func New(limits func() Limits) *Ledger {
	return &Ledger{limits: limits, accounts: make(map[string]account)}
}

// AddOpen counts an exchange that is there, over a limit or not.
func (l *Ledger) AddOpen(x record.StoredOpen) {
	l.add(charge{accountOf(x.Agent, x.Session, x.Proven), account{bytes: x.Bytes}})
}

// AddAsked counts a request that waits, over a limit or not.
func (l *Ledger) AddAsked(a record.StoredAsked) {
	l.add(charge{accountOf(a.Agent, a.Session, a.Proven), account{pending: 1}})
}

// reserve charges an account, unless that would exceed a limit.
func (l *Ledger) reserve(c charge) error {
	limits := l.limits()
	l.mu.Lock()
	defer l.mu.Unlock()
	names := c.accounts()
	if err := limits.check(c, l.accounts[names[0]], l.accounts[names[len(names)-1]]); err != nil {
		return err
	}
	l.charge(c)
	return nil
}

// check returns an [*Error] where a charge is too much beside what its account has, and
// the one that it shares; who shares none has the same in both.
func (l Limits) check(c charge, own, all account) error {
	own, all = own.plus(c.account), all.plus(c.account)
	switch {
	case c.pending > 0 && over(int64(own.pending), int64(all.pending), int64(l.Pending)):
		return &Error{Limit: limitPending, Max: int64(l.Pending), Have: int64(all.pending)}
	case c.bytes > 0 && over(own.bytes, all.bytes, l.HeldBytes):
		return &Error{Limit: limitHeldBytes, Max: l.HeldBytes, Have: all.bytes}
	}
	return nil
}

// over reports whether a caller has too much, where own is what its session has and
// all is what the account has that it shares. Who shares none has the same in both.
func over(own, all, limit int64) bool {
	return limit > 0 && all > limit && (own > max(limit/sharers, 1) || own == all || all > limit*sharers)
}

func (a account) plus(b account) account { return account{a.pending + b.pending, a.bytes + b.bytes} }

// accounts are those that a charge changes: its own, and the one that it shares.
func (c charge) accounts() []string {
	if strings.HasPrefix(c.agent, prefixAsserted) {
		return []string{c.agent, sharedAccount}
	}
	return []string{c.agent}
}

// charge changes an account, and the shared one with it. It needs the lock.
func (l *Ledger) charge(c charge) {
	for _, name := range c.accounts() {
		if l.accounts[name] = l.accounts[name].plus(c.account); l.accounts[name] == (account{}) {
			delete(l.accounts, name)
		}
	}
}

func (l *Ledger) add(c charge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.charge(c)
}

// give returns what was charged.
func (l *Ledger) give(c charge) { l.add(charge{c.agent, account{-c.pending, -c.bytes}}) }

// Pending is how many requests wait, of all agents.
func (l *Ledger) Pending() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, a := range l.accounts {
		if name != sharedAccount {
			n += a.pending
		}
	}
	return n
}

// Grow counts so many bytes more of an exchange, or fewer, or returns an [*Error].
func (l *Ledger) Grow(c *record.Change, x *record.StoredExchange, more int64) error {
	agent := accountOf(x.Agent, x.Session, x.Proven)
	if more < 0 {
		return l.gives(c, agent, account{bytes: -more})
	}
	return l.charges(c, agent, account{bytes: more})
}

// charges charges an account, until the change is undone.
func (l *Ledger) charges(c *record.Change, agent string, a account) error {
	what := charge{agent, a}
	if l.shared {
		return l.store(c.Tx, what)
	}
	if err := l.reserve(what); err != nil {
		return err
	}
	c.Undone(func() { l.give(what) })
	return nil
}

// gives returns a charge once the change is durable.
func (l *Ledger) gives(c *record.Change, agent string, a account) error {
	if l.shared {
		return l.store(c.Tx, charge{agent, account{-a.pending, -a.bytes}})
	}
	c.Durable(func() { l.give(charge{agent, a}) })
	return nil
}

// Follow has the ledger follow the changes of a book.
func (l *Ledger) Follow(b *record.Book) {
	b.Asking = append(b.Asking, func(c *record.Change, r *record.StoredRequest) error {
		return l.charges(c, accountOf(r.Agent, r.Session, r.Proven), account{pending: 1, bytes: r.Call.Size()})
	})
	b.Ended = append(b.Ended, func(c *record.Change, r *record.StoredRequest) error {
		return l.gives(c, accountOf(r.Agent, r.Session, r.Proven), account{pending: 1})
	})
	b.Over = append(b.Over, func(c *record.Change, x *record.StoredExchange) error {
		return l.gives(c, accountOf(x.Agent, x.Session, x.Proven), account{bytes: x.Bytes})
	})
}
