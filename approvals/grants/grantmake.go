package grants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/approvals/redact"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// WayRemember is the way of answering that makes a grant.
const WayRemember = "remember"

// Rememberable says why no answer to the question can stand for later calls,
// or "".
func Rememberable(h holdgate.HoldSpec, rule string, l *record.Similarity) string {
	switch {
	case h.Required:
		return "a person is required each time"
	case h.Kind != holdgate.RequestApproval && h.Kind != "":
		return "a choice is made each time"
	case strings.HasPrefix(rule, "holdgate."):
		return "it is asked because something went wrong"
	case l == nil:
		return "nothing is known of what the call would do"
	case len(l.Unclear) > 0:
		return l.Unclear[0]
	case l.Same == "" && l.Endpoint == "":
		return "policy does not see all of it"
	case !h.Allows(WayRemember):
		return "the rule does not let it be remembered"
	}
	return ""
}

// asked is the question of a request as its rule asked it.
func asked(r *record.StoredRequest) holdgate.HoldSpec {
	return holdgate.HoldSpec{Required: r.Required, Kind: r.Kind, Allow: r.Allow, Approvers: r.Approvers}
}

// Remembers says why the vote's wish to be remembered cannot be met, or nil.
func (k *Keeper) Remembers(r *record.StoredRequest, v record.Vote) error {
	if v.Remember == nil {
		return nil
	}
	m := v.Remember.Complete()
	if v.Decision != holdgate.AnswerApprove {
		return fmt.Errorf("%w: only an approval of the call as it is can be", record.ErrRemember)
	}
	if why := Rememberable(asked(r), r.Rule, r.Similarity); why != "" {
		return fmt.Errorf("%w: %s", record.ErrRemember, why)
	}
	switch {
	case !m.Scope.Known():
		return fmt.Errorf("%w: unknown scope %q: want task, session or agent", record.ErrRemember, m.Scope)
	case m.Scope == record.ScopeTask && r.Task == "":
		return fmt.Errorf("%w for the task: %s", record.ErrRemember, NoTask)
	case m.Scope == record.ScopeTask && r.RunEnded != nil:
		return fmt.Errorf("%w for the task: the run that asked has ended, and its task with it", record.ErrRemember)
	case m.Scope == record.ScopeAgent && !r.Proven:
		return fmt.Errorf("%w for the agent in any session: its name is its own word; remember it for the session", record.ErrRemember)
	case m.For < record.MinGrant || m.For > k.max:
		return fmt.Errorf("%w for %s: the least is %s, the most is %s", record.ErrRemember, record.Lasting(m.For), record.Lasting(record.MinGrant), record.Lasting(k.max))
	}
	if m.Uses < 0 || m.Uses > record.MaxUses {
		return fmt.Errorf("%w for %d calls: the most is %d, and 0 is any number", record.ErrRemember, m.Uses, record.MaxUses)
	}
	return matchable(r, m.Match)
}

// matchable says why no grant can be made of the request with the match.
func matchable(r *record.StoredRequest, m record.Match) error {
	switch {
	case m.Kind == record.MatchExact && r.Similarity.Same != "":
		return nil
	case m.Kind == record.MatchExact:
		return fmt.Errorf("%w as exactly this call: policy does not see all of it; remember the endpoint", record.ErrRemember)
	case m.Kind == record.MatchEndpoint:
		return anywhere(r)
	case m.Kind != record.MatchTool && m.Kind != record.MatchPattern:
		return fmt.Errorf("%w: unknown match %q", record.ErrRemember, m.Kind)
	case !r.Call.IsTool:
		return fmt.Errorf("%w with another match than exact: it is no tool call", record.ErrRemember)
	case r.Rule == holdgate.RuleUnnamed:
		return fmt.Errorf("%w with another match than exact: the rule that asks has no name", record.ErrRemember)
	case m.Kind == record.MatchPattern:
		return fixable(r, m.Arguments)
	case r.Similarity.Acts && r.Similarity.Pinned == "":
		return fmt.Errorf("%w for the whole tool: only calls that read or write files, and do nothing else, can be, and questions about a tool whose server has said what it is; remember this very call, or fix its arguments", record.ErrRemember)
	case r.Similarity.Shape == nil:
		return fmt.Errorf("%w for the whole tool: parts of the call are hidden from you", record.ErrRemember)
	case Gravity(r.Risk) >= Gravity(holdgate.RiskHigh):
		return fmt.Errorf("%w for the whole tool: the risk is %s", record.ErrRemember, r.Risk)
	}
	return nil
}

// anywhere says why no grant can be made of the method and address of the request.
func anywhere(r *record.StoredRequest) error {
	switch {
	case r.Similarity.Endpoint == "":
		return fmt.Errorf("%w for the endpoint: it is no HTTP request with one meaning to all servers", record.ErrRemember)
	case r.Rule == holdgate.RuleUnnamed:
		return fmt.Errorf("%w for the endpoint: the rule that asks has no name", record.ErrRemember)
	case r.Similarity.Shape == nil:
		return fmt.Errorf("%w for the endpoint: parts of the request are hidden from you", record.ErrRemember)
	case Gravity(r.Risk) >= Gravity(holdgate.RiskHigh):
		return fmt.Errorf("%w for the endpoint: the risk is %s", record.ErrRemember, r.Risk)
	}
	return nil
}

// fixable says why a pattern cannot be made of these arguments of the request.
func fixable(r *record.StoredRequest, arguments map[string]json.RawMessage) error {
	size := 0
	for p, v := range arguments {
		if size += len(p) + len(v); size > record.MaxFixedBytes || len(arguments) > record.MaxPointers {
			return fmt.Errorf("%w: a pattern has at most %d arguments and %d bytes", record.ErrRemember, record.MaxPointers, record.MaxFixedBytes)
		}
		if err := shows(r, p, jsontext.Value(v)); err != nil {
			return err
		}
	}
	switch {
	case len(arguments) == 0:
		return fmt.Errorf("%w: a pattern fixes at least one argument", record.ErrRemember)
	case !r.Similarity.Acts:
		return nil
	}
	all, _ := topLevel(r.Call.Arguments)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		p := string(jsontext.Pointer("").AppendToken(k))
		_, ok := arguments[p]
		if prose := r.Similarity.Shape != nil && !slices.Contains(r.Similarity.Shape.Keys, k); !ok && !prose {
			return fmt.Errorf("%w: what a call like this does can hang on any of its arguments; fix %s too", record.ErrRemember, p)
		}
	}
	return nil
}

// shows says whether the value is what the request shows at the pointer.
func shows(r *record.StoredRequest, pointer string, v jsontext.Value) error {
	have, ok := Argument(r.Call.Arguments, pointer)
	if !ok {
		return fmt.Errorf("%w: the call has no argument %s", record.ErrRemember, pointer)
	}
	if bytes.Contains(have, []byte(redact.Hidden)) {
		return fmt.Errorf("%w: the argument %s is hidden from you", record.ErrRemember, pointer)
	}
	want, errWant := strictCanonical(v)
	shown, errShown := strictCanonical(have)
	if errWant != nil || errShown != nil || !bytes.Equal(want, shown) {
		return fmt.Errorf("%w: the argument %s of this call is something else", record.ErrRemember, pointer)
	}
	return nil
}

// Make makes the grant that the voters asked for, if each of those whose
// approval counted asked for the same, and returns its id. The note says why
// there is none though somebody asked.
func (k *Keeper) Make(c *record.Change, r *record.StoredRequest) (id, note string, err error) {
	var asked []record.StoredVote
	approving := 0
	for _, v := range r.Votes {
		if v.Decision == holdgate.AnswerApprove {
			approving++
			if v.Remember != nil {
				asked = append(asked, v)
			}
		}
	}
	if len(asked) == 0 && r.Once {
		return k.makeOnce(c, r)
	}
	if len(asked) == 0 {
		return "", "", nil
	}
	m := asked[0].Remember.Complete()
	for _, v := range asked[1:] {
		o := v.Remember.Complete()
		if o.Scope != m.Scope || !sameMatch(o.Match, m.Match) {
			return "", "not remembered: those who approved asked for different things", nil
		}
		if m.For = min(m.For, o.For); m.Uses == 0 || o.Uses > 0 && o.Uses < m.Uses {
			m.Uses = o.Uses
		}
	}
	if len(asked) < approving {
		return "", "not remembered: not all who approved asked for it", nil
	}
	g, err := k.draft(c.Now, c.People, r, m, asked)
	if err == nil {
		err = k.store(c, g)
	}
	if err != nil {
		return "", "", fmt.Errorf("making a grant of request %s: %w", r.ID, err)
	}
	return g.ID, "", nil
}

// makeOnce makes the grant that policy asked for with the question, where
// people have approved it.
func (k *Keeper) makeOnce(c *record.Change, r *record.StoredRequest) (id, note string, err error) {
	votes := slices.DeleteFunc(slices.Clone(r.Votes), func(v record.StoredVote) bool { return v.Decision != holdgate.AnswerApprove })
	if len(votes) == 0 {
		return "", "", nil
	}
	g, err := k.draft(c.Now, c.People, r, onceForSession, votes)
	if err == nil {
		err = k.store(c, g)
	}
	if err != nil {
		return "", "", fmt.Errorf("making a grant of request %s: %w", r.ID, err)
	}
	return g.ID, "", nil
}

// onceForSession is what an approval stands for where policy asks once.
var onceForSession = record.Remember{Scope: record.ScopeSession, Match: record.Match{Kind: record.MatchProvided}, For: record.DefaultGrant}

// AsksOnce notes that policy asks the question once, and tells people.
func AsksOnce(r *record.StoredRequest, h holdgate.HoldSpec) {
	l := r.Similarity
	if r.Once = h.Once && l != nil && l.Provided != "" && l.Shape != nil && Rememberable(h, r.Rule, l) == ""; r.Once {
		r.Briefing.Why = append(r.Briefing.Why, "approving it answers for this session: for "+record.Lasting(onceForSession.For)+", while no other tools run at the provider")
	}
}

func (k *Keeper) draft(at time.Time, p *people.People, r *record.StoredRequest, m record.Remember, votes []record.StoredVote) (*storedGrant, error) {
	g := &storedGrant{
		Header: record.Current(), ID: record.NewID(), Covers: m.Words(r.View(p)), Scope: m.Scope, Match: m.Match.Kind,
		Agent: r.Agent, Proven: r.Proven, Confinement: r.Confinement, Session: r.Session, Door: r.Door,
		Kind: r.Call.Kind, Rule: r.Rule, Gate: r.Gate, Risk: r.Risk,
		Similarity: *r.Similarity, Request: r.ID, Created: at, Expires: at.Add(m.For), Max: m.Uses,
	}
	if m.Scope == record.ScopeTask {
		g.Task, g.Session = r.Task, r.Session+ofTask
	}
	if m.Match.Kind != record.MatchTool {
		g.Similarity.Shape = nil // only a tool's reach is compared with it
	}
	if !g.forTool() { // else what the others ask of a call is asked of each
		for _, f := range r.Also {
			g.Also = append(g.Also, f.Rule)
		}
	}
	for pointer, v := range m.Match.Arguments {
		d, ok := k.fixed(pointer, jsontext.Value(v))
		if !ok {
			return nil, fmt.Errorf("the value of %s is no JSON", pointer)
		}
		if g.Fixed == nil {
			g.Fixed = make(map[string]holdgate.Digest)
		}
		g.Fixed[pointer] = d
	}
	for _, v := range votes {
		g.By = append(g.By, storedGrantor{Name: v.By, Channel: v.Channel, Assurance: v.Assurance})
	}
	return g, nil
}

// store stores a new grant.
func (k *Keeper) store(c *record.Change, g *storedGrant) error {
	note := g.Covers
	if k.b.NoInputs {
		note = fmt.Sprintf("%s, %s, until %s", g.Match, g.Scope, g.Expires.Format(time.RFC3339))
	}
	e := g.entry(audit.TypeGrant, "made by "+g.by()+": "+note)
	if _, err := c.Append(e); err != nil {
		return err
	}
	if err := c.Tx.Set(grantOf(g.Agent, g.ID), []byte(g.ID)); err != nil {
		return err
	}
	if err := c.Schedule(g.Expires, g.ID, record.DueGrant); err != nil {
		return err
	}
	return k.write(c, g)
}

// sameMatch reports whether two matches cover the same.
func sameMatch(m, o record.Match) bool {
	return m.Kind == o.Kind && maps.EqualFunc(m.Arguments, o.Arguments, func(a, b json.RawMessage) bool {
		x, errX := strictCanonical(jsontext.Value(a))
		y, errY := strictCanonical(jsontext.Value(b))
		return errX == nil && errY == nil && bytes.Equal(x, y)
	})
}

// Gravity ranks risks. One that is not known ranks with medium.
func Gravity(r holdgate.Risk) int {
	switch r {
	case holdgate.RiskLow:
		return 1
	case holdgate.RiskMedium, "":
		return 2
	case holdgate.RiskHigh:
		return 3
	}
	return 4
}
