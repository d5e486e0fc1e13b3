package approvals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/members"
	"github.com/holdgate/holdgate/approvals/passkeys"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/quota"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/refusals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/approvals/tasks"
	"github.com/holdgate/holdgate/approvals/tools"
	"github.com/holdgate/holdgate/approvals/tracks"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// DefaultRedeem is how long an outcome waits for its call to come again.
const DefaultRedeem = time.Hour

// Config is what a Queue needs. Store, Log, Digester and SealKey must be set.
type Config struct {
	Store store.Store
	// Member names this queue among those that work on the store. Empty: it is alone.
	Member string
	// Others are the other members that work now. Nil: there are none, and what is
	// left of any other is taken up when the queue opens.
	Others    func(context.Context) ([]Other, error)
	Log       *audit.Log
	Digester  *holdgate.Digester
	SealKey   []byte         // 32 bytes, for bodies at rest
	OpenKeys  [][]byte       // earlier ones, which open what they sealed
	People    *people.People // who may answer; nil is one person without a name
	Redeem    time.Duration  // how long an outcome waits for its call to come again; DefaultRedeem
	Limits    Limits
	Retention Retention // of what is over
	Reserve   int64     // bytes of the store's disk that nothing new takes; see [Queue.Strained]
	Logger    *slog.Logger
	NoInputs  bool          // the audit log keeps no arguments
	MaxGrant  time.Duration // how long a grant may last; DefaultMaxGrant
	// Redactions lists what policy redacts of a call, as [holdgate.Decision]
	// does. It is asked about what an edit makes of a call, besides what was
	// redacted of that; where it fails everything of the edit is hidden. Nil
	// redacts nothing more.
	Redactions func(context.Context, holdgate.Call) ([]string, error)
	// Judge is what policy says of a call as a person would edit it, before that is sent:
	// see [Queue.Judge]. Nil: nobody says.
	Judge func(ctx context.Context, c holdgate.Call, answered Answered) holdgate.Decision
	// Confirm is asked before an approval of high risk, or of one that is not known: it
	// fails where it cannot be made sure that by may still give it. Nil: nobody is asked.
	Confirm func(ctx context.Context, by string) error
	// Past makes what judges past calls by the policy of this moment, as an entry of the
	// log has them: the call as policy saw it, and the decision with its facts. It fails
	// where the log has not all of a call. Nil: no past call is compared with another.
	Past func() func(context.Context, audit.Entry) (holdgate.Call, holdgate.Decision, error)
	// Conceal takes credentials out of a text: out of what people write before it is
	// kept, and told to anybody. Nil takes nothing out.
	Conceal func(string) string
	// Begin is the mode that sessions begin in; auto where it is empty.
	Begin sessions.Setting
	Gates sessions.Gates // the types of gate; nil: those that need no configuration
	// InForce, where it is set, is asked for who may answer and for the types of
	// gate, in place of People and Gates: once for each change of state. What it
	// answers is replaced within [Queue.Replace] alone.
	InForce func() InForce
	// Site says where people sign with passkeys; nil: nowhere.
	Site func() passkeys.Site
	// OnEnded, where it is set, is told of each request that has ended, once that is
	// durable. It is called by several goroutines and must be quick.
	OnEnded func(Ended)
}

// Ended is how a request has ended.
type Ended struct {
	ID, Rule string
	Trace    string // see [record.Request.Trace]
	Asked    time.Time
	At       time.Time
	Votes    []record.StoredVote // not to be changed
	Status   holdgate.Status
	Decision holdgate.Answer
	Channel  string // through which the last vote came; empty: it ended without one
}

// InForce is what a queue goes by and what can be replaced while it works: a value
// that never changes, so that nobody sees a part of the new beside a part of the old.
type InForce struct {
	People *people.People
	Gates  sessions.Gates
	Limits Limits
}

// A Queue holds calls until people have decided. It is safe for concurrent
// use. There must be one Queue for a store where its Config names no member.
type Queue struct {
	// Rooms of the queue, each with what it keeps.
	Agents   *agents.Keeper
	Grants   *grants.Keeper
	Sessions *tracks.Keeper
	Tasks    *tasks.Keeper
	Refusals *refusals.Keeper
	Tools    *tools.Keeper
	Passkeys *passkeys.Keeper

	c       Config
	member  *members.Life           // nil where the queue is alone
	own     atomic.Pointer[InForce] // of a queue whose Config has no InForce
	book    *record.Book
	index   *index
	ledger  *quota.Ledger
	disk    store.Disk // nil where the store has none
	strain  atomic.Pointer[strain]
	timer   *timer
	silence *silenceTracker

	reserved *reservations

	life      context.Context // ends with Close
	stop      context.CancelFunc
	goroutine sync.WaitGroup
}

// Open reads what is stored, marks as unknown what was being delivered when
// the process died, and takes up every timer again. Windows whose silence
// approves begin anew. ctx bounds the opening alone.
func Open(ctx context.Context, c Config) (*Queue, error) {
	if c.Store == nil || c.Log == nil || c.Digester == nil {
		return nil, errors.New("opening the queue: a store, a log and a digester are needed")
	}
	if c.Redeem <= 0 {
		c.Redeem = DefaultRedeem
	}
	c.Retention = c.Retention.withDefaults()
	if c.MaxGrant <= 0 {
		c.MaxGrant = record.DefaultMaxGrant
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	seal, err := record.NewSealer(c.SealKey, c.OpenKeys...)
	if err != nil {
		return nil, fmt.Errorf("opening the queue: %w", err)
	}
	if c.People == nil {
		c.People = people.Alone("")
	}
	if c.Gates == nil {
		if c.Gates, err = sessions.NewGates(nil); err != nil {
			return nil, fmt.Errorf("opening the queue: %w", err)
		}
	}
	q := &Queue{
		c: c, index: newIndex(), timer: newTimer(), silence: newSilenceTracker(),

		reserved: newReservations(),
	}
	if q.own.Store(&InForce{c.People, c.Gates, c.Limits}); c.InForce == nil {
		q.c.InForce = func() InForce { return *q.own.Load() }
	}
	q.ledger = quota.New(func() Limits { return q.c.InForce().Limits })
	q.disk, _ = c.Store.(store.Disk)
	q.book = &record.Book{Store: c.Store, Log: c.Log, Digester: c.Digester, Seal: seal, Redeem: c.Redeem, NoInputs: c.NoInputs, People: q.People, Conceal: c.Conceal}
	q.Tasks, q.Refusals, q.Tools = tasks.New(q.book, q.checkSpace), refusals.New(q.book, c.Retention.Refused, q.checkSpace), tools.New(q.book, c.Logger)
	q.ledger.Follow(q.book)
	q.tellEnded()
	q.Agents = agents.New(q.book, agents.Followers{
		Resumed: func(c *record.Change, agent, by string) error { return q.Sessions.Resume(c, agent, by) },
		Redirected: func(c *record.Change, agent, by, what string) error {
			return q.Sessions.Redirect(c, agent, by, what)
		},
	})
	q.Grants = grants.New(q.book, c.MaxGrant)
	q.Passkeys = passkeys.New(q.book, c.Site)
	q.Sessions = tracks.New(q.book, tracks.Config{
		Shared: c.Others != nil, Begin: c.Begin, Keep: c.Retention.Requests, Logger: c.Logger, Gates: q.Gates, Knows: q.Agents.Knows, Halted: q.Agents.Halted,
		Goes: func(agent, session string) agents.Status {
			s, _ := q.Agents.StatusOf(agent, session)
			return s
		},
	})
	q.book.Durable = append(q.book.Durable, q.index.learn, q.silence.learn, q.timer.learn)
	q.life, q.stop = context.WithCancel(context.WithoutCancel(ctx))
	err = q.joinMembers(ctx)
	if err == nil {
		err = q.takeUp(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the queue: %w", err), q.Close())
	}
	q.timer.expect(0)
	q.goroutine.Go(func() { q.keepTime(q.life) })
	return q, nil
}

// tellEnded tells of requests that have ended.
func (q *Queue) tellEnded() {
	tell := q.c.OnEnded
	if tell == nil {
		return
	}
	q.book.Ended = append(q.book.Ended, func(c *record.Change, r *record.StoredRequest) error {
		e := Ended{ID: r.ID, Rule: r.Rule, Trace: r.Trace, Asked: r.Created, At: c.Now, Votes: r.Votes, Status: r.Status, Decision: r.Outcome.Decision}
		switch e.Decision {
		case holdgate.AnswerTimeout, holdgate.AnswerCancel:
		default:
			if n := len(r.Votes); n > 0 {
				e.Channel = r.Votes[n-1].Channel
			}
		}
		c.Durable(func() { tell(e) })
		return nil
	})
}

// Close stops the timers and waits for them; whoever waits for a request gets
// store.ErrClosed. It stores what sessions have used, as far as the store takes it, and
// does not close the store.
func (q *Queue) Close() error {
	q.stop()
	q.goroutine.Wait()
	if err := q.Sessions.Save(context.WithoutCancel(q.life)); err != nil {
		q.c.Logger.Warn("what sessions have used in the last minute is lost", "err", err)
	}
	return nil
}

// Pending is how many requests wait for people.
func (q *Queue) Pending() int { return q.ledger.Pending() }

// People returns who may answer.
func (q *Queue) People() *people.People { return q.c.InForce().People }

// Gates are the types of gate.
func (q *Queue) Gates() sessions.Gates { return q.c.InForce().Gates }

// Replace writes the audit entry, tells of it with an event of the type (of none
// where that is empty), and has swap replace what [Config.InForce] answers. No change of state is under way
// meanwhile: a vote is checked against those who may answer before, and stands
// before the entry, or it is checked against those who may answer from then on. ok
// is asked first, with what is in force; its error leaves all as it is. What also
// writes is part of the entry's transaction. Replace may not be called in swap or ok.
func (q *Queue) Replace(ctx context.Context, typ EventType, e audit.Entry, ok func(InForce) error, also func(store.Tx) error, swap func()) error {
	return q.book.Alone(ctx, func() error {
		if ok == nil {
			return nil
		}
		return ok(q.c.InForce())
	}, announcing(typ, e, also), swap)
}

// SetPeople replaces who may answer, from now on and for what is pending too: a
// vote counts only as long as its voter may give it. It is for queues whose Config
// has no InForce.
func (q *Queue) SetPeople(ctx context.Context, p *people.People) error {
	next := *q.own.Load()
	next.People = p
	e := audit.Entry{Type: audit.TypePeople, Note: p.Describe()}
	return q.Replace(ctx, "", e, nil, nil, func() { q.own.Store(&next) })
}

// takeUp brings the index to what is stored.
func (q *Queue) takeUp(ctx context.Context) error {
	var orphans []string
	var restart []record.Due
	var stopped []string
	err := q.c.Store.View(ctx, func(tx store.Tx) error {
		err := record.EachOpen(tx, func(id string, x record.StoredOpen) (err error) {
			q.index.add(id, callerKey{x.Agent, x.Proven, x.Session, x.Door}, x.Key)
			if q.member == nil { // else the store has the accounts
				q.ledger.AddOpen(x)
			}
			taken := false
			if q.member != nil {
				if taken, err = q.member.Other(tx, x.Member); err != nil {
					return err
				}
			}
			if x.Sending && !taken {
				orphans = append(orphans, id)
			}
			return nil
		})
		if err != nil {
			return err
		}
		err = record.EachAsked(tx, func(a record.StoredAsked) {
			if q.member == nil {
				q.ledger.AddAsked(a)
			}
			q.Agents.Know(a.Agent)
		})
		if err != nil {
			return err
		}
		if stopped, err = q.Agents.TakeUp(tx); err != nil {
			return err
		}
		if err := errors.Join(q.Sessions.TakeUp(tx), q.Tools.TakeUp(tx), q.Refusals.TakeUp(tx)); err != nil {
			return err
		}
		restart, err = silences(tx)
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range orphans {
		if err := q.settleOrphan(ctx, id, "the sidecar ended while the call was under way"); err != nil {
			return err
		}
	}
	for _, d := range restart {
		if err := q.takeUpSilence(ctx, d); err != nil {
			return err
		}
	}
	for _, a := range stopped { // where the process died before all was cancelled
		if err := q.Agents.Sweep(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// silences are the entries of the timer whose end approves.
func silences(tx store.Tx) ([]record.Due, error) {
	var found []record.Due
	for p, err := range tx.Scan(record.PrefixDue, "") {
		if err != nil {
			return nil, err
		}
		d, err := record.ParseDue(p)
		if err != nil {
			return nil, err
		}
		if d.What == record.DueSilence {
			found = append(found, d)
		}
	}
	return found, nil
}

// settleOrphan records that nobody knows what arrived of an exchange.
func (q *Queue) settleOrphan(ctx context.Context, id, note string) error {
	err := q.transact(ctx, func(t *transition) error {
		x, err := t.Exchange(id)
		if err != nil || x.State.Final() {
			return err
		}
		x.Member = ""
		return t.Orphan(x, note)
	})
	if err != nil {
		return fmt.Errorf("settling exchange %s: %w", id, err)
	}
	q.index.reopen(id)
	return nil
}
