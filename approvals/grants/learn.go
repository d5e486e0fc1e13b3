package grants

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	prefixLesson = "lesson/"
)

// A Lesson says what a grant was learned from: no person asked for it, but they
// have approved as many calls alike as policy asks for ([holdgate.Learn]).
type Lesson struct {
	Approvals int       `json:"approvals"`
	Since     time.Time `json:"since"`    // of the earliest of them
	Requests  []string  `json:"requests"` // that were approved
}

// byLearning is who ends the question in place of a person where people have
// approved enough of its like.
const byLearning = people.ByPolicy

// storedLesson counts what people have approved of one agent's calls that are
// alike, under one rule. There are no more of them than people have answered.
type storedLesson struct {
	record.Header

	Approved []storedLearned `json:"approved"` // the latest last
	Grant    string          `json:"grant,omitempty"`
}

type storedLearned struct {
	Request string          `json:"request"`
	At      time.Time       `json:"at"`
	By      []storedGrantor `json:"by"`
}

// neverLearned are categories of tools of which nothing is learned, whatever
// policy says: what they do hangs on the world outside the call.
var neverLearned = []string{"exec", "network", "spawn", "message", "delete", "database"}

// teachable is what policy lets be learned of the call, which is nothing where a
// person is needed each time, where it runs something, reaches the network,
// deletes, holds what is secret or not known before it runs, or where nobody has
// proven who asks.
func teachable(c holdgate.Call, d holdgate.Decision, l *record.Similarity) holdgate.Learn {
	none := holdgate.Learn{}
	switch {
	case d.Hold.Learn.Approvals <= 0 || d.Hold.Learn.Days <= 0 || Rememberable(d.Hold, d.Rule, l) != "":
		return none
	case !c.Agent.Proven || c.Kind != holdgate.KindToolCall || c.Tool == nil || d.Hold.Gate != "" || d.Rule == holdgate.RuleUnnamed:
		return none
	case Gravity(d.Risk) >= Gravity(holdgate.RiskHigh) || len(d.Redact) > 0:
		return none
	case slices.ContainsFunc(d.Also, func(f holdgate.Finding) bool { return Gravity(f.Risk) >= Gravity(holdgate.RiskHigh) }):
		return none
	}
	s := l.Whole
	switch {
	case slices.Contains(neverLearned, s.Category) || !s.Exact():
		return none
	case len(s.Commands)+len(s.Hosts)+len(s.SQL)+len(s.Secrets) > 0 || len(d.Facts.URLs) > 0:
		return none
	case slices.ContainsFunc(s.Places, func(p holdgate.Place) bool { return p.Access == "delete" || p.Class != "" }):
		return none
	}
	return d.Hold.Learn
}

// teaches notes what may be learned of a new request, and tells people.
func Teaches(r *record.StoredRequest, c holdgate.Call, d holdgate.Decision) {
	if r.Learn = teachable(c, d, r.Similarity); r.Learn.Approvals > 0 {
		r.Briefing.Why = append(r.Briefing.Why, fmt.Sprintf("approving it teaches: after %d approvals of calls like it within %s, none denied, policy approves them by itself", r.Learn.Approvals, record.Lasting(time.Duration(r.Learn.Days)*24*time.Hour)))
	}
}

// lessonsOf begins the keys of all that is learned of calls of one shape.
func lessonsOf(like holdgate.Digest) string { return prefixLesson + string(like) + "/" }

// lesson is the key of what is learned of calls like this one. Where a call acts
// by any of its arguments, only the very same one is like it. What was approved as
// less grave, or without another finding, says nothing of it.
func (k *Keeper) lesson(c *record.Change, r *record.StoredRequest) string {
	same := holdgate.Digest("")
	if r.Similarity.Acts {
		same = r.Similarity.Same
	}
	fields := []string{r.Agent, r.Confinement, r.Rule, r.Similarity.Dir, string(same), string(r.Risk)}
	for _, f := range r.Also {
		fields = append(fields, f.Rule)
	}
	return lessonsOf(r.Similarity.Like) + string(k.b.Digester.Fields("lesson", fields...))
}

// Teach counts an approval by people, and makes a grant where it is the last of
// as many as policy asks for. It returns the grant's id. What counts was asked
// after the one before it was answered: a flood that a person approves in one go
// is one approval.
func (k *Keeper) Teach(c *record.Change, r *record.StoredRequest, v record.StoredVote) (string, error) {
	if r.Learn.Approvals <= 0 || v.Decision != holdgate.AnswerApprove || !byPeople(r) {
		return "", nil
	}
	key := k.lesson(c, r)
	l := storedLesson{Header: record.Current()}
	if err := record.Read(c.Tx, key, &l); err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", fmt.Errorf("learning from request %s: %w", r.ID, err)
	}
	window := c.Now.AddDate(0, 0, -r.Learn.Days)
	l.Approved = slices.DeleteFunc(l.Approved, func(a storedLearned) bool { return a.At.Before(window) || a.At.After(c.Now) })
	if n := len(l.Approved); n > 0 && !r.Created.After(l.Approved[n-1].At) {
		return "", nil
	}
	a := storedLearned{Request: r.ID, At: c.Now}
	for _, v := range r.Votes {
		if v.Decision == holdgate.AnswerApprove {
			a.By = append(a.By, storedGrantor{Name: v.By, Channel: v.Channel, Assurance: v.Assurance})
		}
	}
	l.Approved = append(l.Approved, a)
	if over := len(l.Approved) - r.Learn.Approvals; over > 0 {
		l.Approved = l.Approved[over:]
	}
	if len(l.Approved) < r.Learn.Approvals {
		return "", record.Write(c.Tx, key, l)
	}
	if err := k.endLearned(c, l.Grant, "learned anew"); err != nil {
		return "", err
	}
	g := k.draftLearned(c, r, l.Approved)
	if err := k.store(c, g); err != nil {
		return "", fmt.Errorf("making a grant of what was learned from request %s: %w", r.ID, err)
	}
	l.Grant = g.ID
	return g.ID, record.Write(c.Tx, key, l)
}

// byPeople reports whether people have approved the request themselves, over
// channels that are sure of who speaks: neither a text that anybody could have
// written nor --auto teaches anything.
func byPeople(r *record.StoredRequest) bool {
	approving := 0
	for _, v := range r.Votes {
		if v.Decision != holdgate.AnswerApprove {
			continue
		}
		if v.Channel == "auto" || people.Vouched(v.Assurance) < people.Assurance("interactive") {
			return false
		}
		approving++
	}
	return approving > 0
}

func (k *Keeper) draftLearned(c *record.Change, r *record.StoredRequest, approved []storedLearned) *storedGrant {
	l := &Lesson{Approvals: len(approved), Since: approved[0].At}
	g := &storedGrant{
		Header: record.Current(), ID: record.NewID(), Scope: record.ScopeAgent, Match: record.MatchShape, Learned: l,
		Agent: r.Agent, Proven: r.Proven, Confinement: r.Confinement, Session: r.Session, Door: r.Door,
		Kind: r.Call.Kind, Rule: r.Rule, Risk: r.Risk, Similarity: *r.Similarity, Request: r.ID,
		Created: c.Now, Expires: l.Since.AddDate(0, 0, r.Learn.Days),
	}
	if g.Similarity.Shape = nil; r.Similarity.Acts {
		g.Match = record.MatchExact
	}
	for _, f := range r.Also {
		g.Also = append(g.Also, f.Rule)
	}
	for _, a := range approved {
		l.Requests = append(l.Requests, a.Request)
		for _, by := range a.By {
			if !slices.Contains(g.By, by) {
				g.By = append(g.By, by)
			}
		}
	}
	what := "calls like " + r.Similarity.Line
	if r.Similarity.Acts {
		what = r.Briefing.Summary + " (exactly this call)"
	}
	g.Covers = holdgate.Visible(fmt.Sprintf("learned from %d approvals: %s, by %s in any session, where the rule %s asks", l.Approvals, what, r.Agent, r.Rule))
	return g
}

// unlearn forgets what was learned of calls of a shape, whoever made them, and
// ends the grants that came of it.
func (k *Keeper) unlearn(c *record.Change, like holdgate.Digest, by, why string) error {
	var keys []string
	var lessons []storedLesson
	for p, err := range c.Tx.Scan(lessonsOf(like), "") {
		if err != nil {
			return err
		}
		var l storedLesson
		if err := record.Decode(p.Key, p.Value, &l); err != nil {
			return err
		}
		keys, lessons = append(keys, p.Key), append(lessons, l)
	}
	for i, key := range keys {
		if err := errors.Join(c.Tx.Delete(key), k.endLearned(c, lessons[i].Grant, cmp.Or(by, people.ByHoldgate)+": "+why)); err != nil {
			return err
		}
	}
	return nil
}

// unlearnEnded forgets what was learned where a person wants otherwise: a denial,
// a steer and an edit all say that the call was not right as it was.
func (k *Keeper) unlearnEnded(c *record.Change, r *record.StoredRequest) error {
	if r.Similarity == nil || r.Outcome == nil {
		return nil
	}
	switch {
	case r.Status == holdgate.StatusDenied, r.Status == holdgate.StatusSteered, r.Outcome.Decision == holdgate.AnswerEdit:
		return k.unlearn(c, r.Similarity.Like, r.Outcome.By, "request "+r.ID+" ended otherwise ("+string(r.Outcome.Decision)+")")
	}
	return nil
}

// endLearned revokes a learned grant that has not ended by itself.
func (k *Keeper) endLearned(c *record.Change, id, why string) error {
	if id == "" {
		return nil
	}
	g, err := k.find(c, id)
	if errors.Is(err, ErrNoGrant) || err == nil && g.ended(c.Now) {
		return nil
	}
	if err != nil {
		return err
	}
	g.Revoked = people.ByHoldgate
	if by, _, ok := strings.Cut(why, ": "); ok {
		g.Revoked = by
	}
	if _, err := c.Append(g.entry(audit.TypeGrant, fmt.Sprintf("unlearned by %s; uses: %d", why, g.Uses))); err != nil {
		return err
	}
	return k.write(c, g)
}

// taught reports whether what was learned is still as much as policy asks for,
// and of a call of which something may be learned.
func (g *storedGrant) taught(p *plea, now time.Time) bool {
	want := teachable(p.call, p.decision, p.like)
	return want.Approvals > 0 && g.Learned.Approvals >= want.Approvals && now.Before(g.Learned.Since.AddDate(0, 0, want.Days))
}

// Lessons are in words what a use of the grant goes by.
func (l *Lesson) String() string {
	return fmt.Sprintf("learned: people approved %d calls like it since %s, and denied none", l.Approvals, l.Since.Format(time.DateTime))
}
