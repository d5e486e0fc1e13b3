package grants

import (
	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
)

// pinned names the tool of a call together with all that its server says of it, by
// which a standing approval for the tool knows it again: at its server's door and in
// a model's answer. It is "" where the question is not about the tool itself, where
// nobody could be shown what its server says, and where what a call does hangs on
// programs or SQL in its arguments, which are questions of their own.
func (k *Keeper) pinned(c holdgate.Call, d holdgate.Decision, s holdgate.Shape) holdgate.Digest {
	if !d.Hold.Tool || c.Tool == nil || len(s.Commands)+len(s.SQL) > 0 {
		return ""
	}
	l := c.Tool.Learned
	if l == nil || !l.Configured || l.Changed || l.Is == nil {
		return ""
	}
	return k.b.Digester.Fields("grant.pinned", l.Server, l.Tool, l.Definition)
}

// AboutTool reports whether an approval of the request can be remembered for the
// tool itself.
func AboutTool(r *record.StoredRequest) bool {
	return r.Similarity != nil && r.Similarity.Pinned != "" && matchable(r, record.Match{Kind: record.MatchTool}) == nil
}

// forTool reports whether the grant is for a tool itself.
func (g *storedGrant) forTool() bool { return g.Match == record.MatchTool && g.Similarity.Pinned != "" }

// pins reports whether a grant for a tool itself covers the call: its server says
// the same of the tool, the arguments are such as it says, and the call reaches no
// further than the one that was shown.
func (g *storedGrant) pins(p *plea) bool {
	if g.Similarity.Pinned != p.like.Pinned || !p.like.Whole.Reaches(*g.Similarity.Shape) {
		return false
	}
	if len(p.like.Whole.Places) > 0 && g.Similarity.Dir != p.like.Dir {
		return false
	}
	switch p.call.Tool.Learned.Schema {
	case holdgate.FitWhole:
		return true
	case holdgate.FitNot:
		return false
	}
	return p.like.Whole.Within(*g.Similarity.Shape) // nobody knows which arguments the tool takes
}
