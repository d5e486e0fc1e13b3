package grants

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	prefixGrant   = "grant/"
	prefixGrantOf = "grant-of/"
)

// ErrNoGrant says that there is no such grant, or none any more.
var ErrNoGrant = errors.New("no such grant")

// A Keeper keeps the grants of a store, and what is counted and learned of calls that
// are alike. It keeps nothing in memory.
type Keeper struct {
	b   *record.Book
	max time.Duration // how long a grant may last
}

// New keeps the grants of a book, and follows its requests.
func New(b *record.Book, max time.Duration) *Keeper {
	k := &Keeper{b, max}
	b.Asked = append(b.Asked, countAsked)
	b.Ended = append(b.Ended, countEnded, k.unlearnEnded)
	return k
}

// A Grant is a standing approval: what people answered to one request stands
// for later calls that it covers, until it expires or is revoked.
type Grant struct {
	ID     string           `json:"id"`
	Covers string           `json:"covers"` // in one line that is safe to show: see [Remember.Words]
	Scope  record.Scope     `json:"scope"`
	Match  record.MatchKind `json:"match"`
	// Arguments are the JSON pointers that a pattern fixes.
	Arguments []string        `json:"arguments,omitempty"`
	Agent     record.AgentRef `json:"agent"`
	Session   record.Ref      `json:"session"`        // that it was made in; it covers no other but with ScopeAgent
	Door      string          `json:"door,omitempty"` // the only one that it is for, where the agent is not proven
	Rule      string          `json:"rule"`           // the question that it answers
	Also      []string        `json:"also,omitempty"` // rules that the same answer was for
	Gate      string          `json:"gate,omitempty"`
	// Risk is the highest that it covers.
	Risk      holdgate.Risk `json:"risk,omitempty"`
	By        []string      `json:"by"`      // who made it
	Request   string        `json:"request"` // that they answered
	CreatedAt time.Time     `json:"created_at"`
	ExpiresAt time.Time     `json:"expires_at"`
	Uses      int           `json:"uses"`
	MaxUses   int           `json:"max_uses,omitempty"` // it ends with that many; 0: with none
	LastUsed  time.Time     `json:"last_used,omitzero"`
	RevokedBy string        `json:"revoked_by,omitempty"`
	// Learned says what the grant was learned from; nil where people asked for it.
	Learned *Lesson `json:"learned,omitempty"`
}

// storedGrant is a grant as stored. It holds no argument, but for what its
// words say.
type storedGrant struct {
	record.Header

	ID          string           `json:"id"`
	Covers      string           `json:"covers"`
	Scope       record.Scope     `json:"scope"`
	Match       record.MatchKind `json:"match"`
	Agent       string           `json:"agent"`
	Proven      bool             `json:"proven,omitempty"`
	Confinement string           `json:"confinement,omitempty"`
	Session     string           `json:"session"`
	Task        holdgate.Digest  `json:"task,omitempty"` // with ScopeTask: see [Keeper.Task]
	Door        string           `json:"door"`

	Kind holdgate.Kind `json:"kind"`
	Rule string        `json:"rule"`
	Also []string      `json:"also,omitempty"`
	Gate string        `json:"gate,omitempty"`
	Risk holdgate.Risk `json:"risk,omitempty"`

	Similarity record.Similarity          `json:"likeness"`
	Fixed      map[string]holdgate.Digest `json:"fixed,omitempty"` // of a pattern, by pointer

	By      []storedGrantor `json:"by"`
	Request string          `json:"request"`
	Created time.Time       `json:"created"`
	Expires time.Time       `json:"expires"`

	Uses    int       `json:"uses,omitempty"`
	Max     int       `json:"max_uses,omitempty"`
	Used    time.Time `json:"used,omitzero"`
	Revoked string    `json:"revoked,omitempty"` // by whom
	Over    bool      `json:"over,omitempty"`    // its task has ended

	Learned *Lesson `json:"learned,omitempty"`
}

// storedGrantor is one of those who made a grant, and how sure their channel
// was of them.
type storedGrantor struct {
	Name      string `json:"name"`
	Channel   string `json:"channel,omitempty"`
	Assurance string `json:"assurance,omitempty"`
}

func (g *storedGrant) view() Grant {
	v := Grant{
		ID: g.ID, Covers: g.Covers, Scope: g.Scope, Match: g.Match,
		Agent: record.AgentRef{ID: g.Agent, Proven: g.Proven, Confinement: g.Confinement}, Session: record.Ref{ID: g.session()},
		Rule: g.Rule, Also: g.Also, Gate: g.Gate, Risk: g.Risk, Request: g.Request,
		CreatedAt: g.Created, ExpiresAt: g.Expires, Uses: g.Uses, MaxUses: g.Max, LastUsed: g.Used, RevokedBy: g.Revoked, Learned: g.Learned,
	}
	for p := range g.Fixed {
		v.Arguments = append(v.Arguments, p)
	}
	slices.Sort(v.Arguments)
	for _, n := range g.By {
		v.By = append(v.By, n.Name)
	}
	if !g.Proven {
		v.Door = g.Door
	}
	return v
}

// Settles returns the rules besides its own that the grant answers of a
// decision: those that were answered with it, and that the decision still
// lets be.
func (g Grant) Settles(d holdgate.Decision) []string {
	var rules []string
	for _, f := range d.Also {
		if slices.Contains(g.Also, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}

// by names those who made the grant.
func (g *storedGrant) by() string { return strings.Join(g.view().By, ", ") }

// answerer is who ends a question by the grant: those who asked for it, or policy.
func (g *storedGrant) answerer() string {
	if g.Learned != nil {
		return byLearning
	}
	return g.by()
}

// ended reports whether the grant covers nothing any more. One that was made
// in what is now the future does not count: the clock was set.
func (g *storedGrant) ended(now time.Time) bool {
	return g.Revoked != "" || g.Over || g.Max > 0 && g.Uses >= g.Max || now.Before(g.Created) || !now.Before(g.Expires)
}

// entry begins an audit entry about the grant.
func (g *storedGrant) entry(typ audit.Type, note string) audit.Entry {
	return audit.Entry{Type: typ, Grant: g.ID, RequestID: g.Request, Door: g.Door, Note: note,
		Call: &audit.Call{Kind: g.Kind, Agent: g.Agent, Session: g.session()}}
}

// grantOf is the key under which an agent's grant is found; grantsOf begins
// the keys of all of them.
func grantOf(agent, id string) string { return grantsOf(agent) + id }

func grantsOf(agent string) string { return prefixGrantOf + url.PathEscape(agent) + "/" }

// find returns a grant, or ErrNoGrant.
func (k *Keeper) find(c *record.Change, id string) (*storedGrant, error) {
	g := new(storedGrant)
	err := record.Read(c.Tx, prefixGrant+id, g)
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrNoGrant
	}
	if err != nil {
		return nil, fmt.Errorf("reading grant %s: %w", id, err)
	}
	return g, nil
}

func (k *Keeper) write(c *record.Change, g *storedGrant) error {
	return record.Write(c.Tx, prefixGrant+g.ID, g)
}
