package grants

import (
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
)

// A Trial is a grant that nobody has made yet, to be held against past calls.
type Trial struct {
	k     *Keeper
	g     *storedGrant
	Words string // what it would cover: see [record.Remember.Words]
}

// Try is the grant that an approval of a pending request would make. It returns
// [record.ErrRemember] where there can be none.
func (k *Keeper) Try(r *record.StoredRequest, p *people.People, m record.Remember) (*Trial, error) {
	m = m.Complete()
	v := record.Vote{Decision: holdgate.AnswerApprove, Remember: &m}
	if err := k.Remembers(r, v); err != nil {
		return nil, err
	}
	g, err := k.draft(time.Now(), p, r, m, nil)
	if err != nil {
		return nil, err
	}
	return &Trial{k, g, g.Covers}, nil
}

// Session is the only one whose calls the grant covers; "" where it covers any of the
// agent's.
func (t *Trial) Session() string {
	if t.g.Proven && t.g.Scope == record.ScopeAgent {
		return ""
	}
	return t.g.session()
}

// Covers reports whether the grant would have answered the question that the decision
// asks about a past call, had it stood then. How long it lasts, how often it is used
// and who may still answer are left out. Of a past call nobody knows what its server
// said of the tool: that counts as unchanged where the server had said anything.
func (t *Trial) Covers(c holdgate.Call, d holdgate.Decision) bool {
	if d.Action != holdgate.Hold || !t.g.binds(c) || !t.g.answers(d) {
		return false
	}
	like := t.k.Similarity(c, d)
	if like != nil && like.Pinned == "" && t.g.forTool() && c.Tool != nil && d.Hold.Tool {
		if l := c.Tool.Learned; l != nil && l.Configured && !l.Changed {
			like.Pinned = t.g.Similarity.Pinned
		}
	}
	return Rememberable(d.Hold, d.Rule, like) == "" && t.k.matches(t.g, &plea{call: c, decision: d, like: like})
}
