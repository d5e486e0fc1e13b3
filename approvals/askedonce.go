package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	prefixPass = "pass/"
)

// AskedOnceFor is how long after a call in a model's answer was released its
// approval covers the same call at its MCP server's door.
const AskedOnceFor = 10 * time.Minute

// The doors under which such uses are recorded, whichever way the call took there.
const (
	doorServer = "mcp"
	doorHook   = "hook"
)

// A Twin is a call in a model's answer as it will come by once more: at the door
// of the MCP server whose tool it is, or at a hook of the agent that runs it.
type Twin struct {
	Digest     holdgate.Digest // of the call there
	Definition string          // of the tool, as the server gave it: see [holdgate.Definition.Hash]; empty at a hook
	AtHook     bool
}

func (t *Twin) door() string {
	if t.AtHook {
		return doorHook
	}
	return doorServer
}

// storedPass is kept of a use that covers a twin, until the twin has come or the
// request is forgotten.
type storedPass struct {
	record.Header

	Request    string    `json:"request"`
	Exchange   string    `json:"exchange"`
	Position   int       `json:"position"`
	CallID     string    `json:"call_id,omitempty"`
	Definition string    `json:"definition"`
	At         time.Time `json:"at"`
}

func (p *storedPass) live(now time.Time) bool {
	return now.Before(p.At.Add(AskedOnceFor)) && !now.Before(p.At)
}

// passPrefix begins the keys of what covers a call of an agent's. The agent is
// in it with all that is proven of it; what the two ends call their sessions
// is each one's own, and not compared.
func passPrefix(d *holdgate.Digester, a holdgate.Agent, twin holdgate.Digest) string {
	return prefixPass + string(d.Fields("pass", a.ID, fmt.Sprint(a.Proven), a.Confinement, string(twin))) + "/"
}

// leavePass records that a use covers a twin, where a person has approved.
// Silence is nobody's approval.
func (t *transition) leavePass(r *record.StoredRequest, u Use, used *storedUse) error {
	if r.Outcome == nil || r.Outcome.Decision == holdgate.AnswerTimeout {
		return nil
	}
	a := holdgate.Agent{ID: r.Agent, Proven: r.Proven, Confinement: r.Confinement}
	leave := func(twin *Twin, key *string) error {
		if twin == nil {
			return nil
		}
		*key = passPrefix(t.q.c.Digester, a, twin.Digest) + r.ID
		return record.Write(t.Tx, *key, storedPass{
			Header: record.Current(), Request: r.ID, Exchange: r.Exchange, Position: r.Call.Position, CallID: r.Call.ID,
			Definition: twin.Definition, At: t.Now,
		})
	}
	return errors.Join(leave(u.Twin, &used.Pass), leave(u.Hooked, &used.HookPass))
}

// reservations are the passes that exchanges are about to use, so that two calls at the
// same time do not both rest on one.
type reservations struct {
	mu sync.Mutex
	to map[string]*Exchange // by request
}

func newReservations() *reservations { return &reservations{to: make(map[string]*Exchange)} }

// reserve reserves all of the requests, or none.
func (l *reservations) reserve(x *Exchange, requests []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.ContainsFunc(requests, func(id string) bool { _, taken := l.to[id]; return taken }) {
		return false
	}
	for _, id := range requests {
		l.to[id] = x
	}
	return true
}

func (l *reservations) release(x *Exchange, requests []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range requests {
		if l.to[id] == x {
			delete(l.to, id)
		}
	}
}

// Borrow looks for an approval that a person gave to this very call where it
// stood in a model's answer, and keeps it for this exchange until [Exchange.Use]
// with [Use.Twin] and Borrowed, [Exchange.GiveBack] or [Exchange.Leave]. It
// returns the requests that the call rested on there, or none. What must be the
// same is the agent, as far as it is proven, the twin, and the server's
// definition of the tool; the risk may be no higher than it was. It was used
// there within [AskedOnceFor], and not yet here. Where there are several, the
// one whose call has the id hint is taken, or else the oldest: the hint is the
// agent's word, and does no more.
func (x *Exchange) Borrow(ctx context.Context, twin Twin, risk holdgate.Risk, hint string) ([]Request, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gone {
		return nil, errLeft
	}
	var groups [][]Request
	err := x.q.c.Store.View(ctx, func(tx store.Tx) (err error) {
		groups, err = x.q.passes(tx, x.who.Agent, twin, risk, hint)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for an approval in a model's answer: %w", err)
	}
	for _, group := range groups {
		var ids []string
		for _, r := range group {
			ids = append(ids, r.ID)
		}
		if x.q.reserved.reserve(x, ids) {
			x.borrowed = append(x.borrowed, ids...)
			return group, nil
		}
	}
	return nil, nil
}

// GiveBack says that what was borrowed is not needed.
func (x *Exchange) GiveBack() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.giveBack()
}

func (x *Exchange) giveBack() {
	x.q.reserved.release(x, x.borrowed)
	x.borrowed = nil
}

// passes are the approvals that cover a twin, call by call, the best first.
func (q *Queue) passes(tx store.Tx, a holdgate.Agent, twin Twin, risk holdgate.Risk, hint string) ([][]Request, error) {
	type call struct {
		exchange string
		position int
	}
	type group struct {
		requests []Request
		hinted   bool
		at       time.Time
	}
	found := map[call]*group{}
	refused := map[call]bool{}
	for p, err := range tx.Scan(passPrefix(q.c.Digester, a, twin.Digest), "") {
		if err != nil {
			return nil, err
		}
		var pass storedPass
		if err := record.Decode(p.Key, p.Value, &pass); err != nil {
			return nil, err
		}
		of := call{pass.Exchange, pass.Position}
		r := new(record.StoredRequest)
		if err := record.Read(tx, record.PrefixRequest+pass.Request, r); err != nil {
			return nil, err
		}
		if !pass.live(record.Now()) || pass.Definition != twin.Definition || grants.Gravity(risk) > grants.Gravity(r.Risk) {
			refused[of] = true
			continue
		}
		g := found[of]
		if g == nil {
			g = &group{hinted: hint != "" && pass.CallID == hint, at: pass.At}
			found[of] = g
		}
		g.requests = append(g.requests, r.View(q.People()))
	}
	var groups []*group
	for of, g := range found {
		if !refused[of] { // all that the call rested on, or nothing
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a, b *group) int {
		if a.hinted != b.hinted {
			return cmp.Compare(b2i(b.hinted), b2i(a.hinted))
		}
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.requests[0].ID, b.requests[0].ID))
	})
	out := make([][]Request, len(groups))
	for i, g := range groups {
		slices.SortFunc(g.requests, func(a, b Request) int { return a.CreatedAt.Compare(b.CreatedAt) })
		out[i] = g.requests
	}
	return out, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// useBorrowed uses the approval of another exchange's request.
func (t *transition) useBorrowed(x *record.StoredExchange, a holdgate.Agent, u Use) error {
	if u.Twin == nil || u.Digest != u.Twin.Digest {
		return fmt.Errorf("request %s: %w", u.RequestID, ErrDigest)
	}
	r, err := t.Request(u.RequestID)
	if err != nil {
		return err
	}
	key := record.UsedKey(r.ID, u.Twin.door())
	switch _, err := t.Tx.Get(key); {
	case err == nil:
		return fmt.Errorf("request %s: %w", r.ID, ErrUsed)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	at := passPrefix(t.q.c.Digester, a, u.Twin.Digest) + r.ID
	var pass storedPass
	err = record.Read(t.Tx, at, &pass)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("request %s: %w for this call", r.ID, ErrNotApproved)
	case err != nil:
		return err
	case pass.Definition != u.Twin.Definition, !pass.live(t.Now):
		return fmt.Errorf("request %s: %w for this call any more: call the tool again", r.ID, ErrNotApproved)
	}
	x.Requests = append(x.Requests, record.StoredRef{ID: r.ID, Status: r.Status, Used: true, Borrowed: true})
	if err := errors.Join(t.Tx.Delete(at), record.Write(t.Tx, key, storedUse{Header: record.Current(), Exchange: x.ID, Digest: u.Digest, At: t.Now})); err != nil {
		return err
	}
	e := r.Entry(audit.TypeUsed)
	e.Door, e.Exchange, e.Call.Digest = x.Door, x.ID, u.Digest
	e.Note = "asked once: it was approved where it came by before"
	_, err = t.Append(e)
	return err
}
