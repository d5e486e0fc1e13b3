// Package stats counts what the audit log has of questions to people: how many
// there were, how they ended, how long people took, and which rules ask most and
// are always approved. It reads entries in order and keeps counts; of the
// questions that have not ended it keeps when they were asked.
package stats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// Stats are the counts of a time.
type Stats struct {
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Counts
	ByRule     []Group `json:"by_rule"`
	ByTool     []Group `json:"by_tool"`
	ByAgent    []Group `json:"by_agent"`
	ByApprover []Voter `json:"by_approver"`
	// ByDay are the days that have a count, by their dates on this machine, the first
	// first. What became of a question counts for the day on which it was asked.
	ByDay []Group `json:"by_day"`
	// AlwaysApproved are the rules that asked at least [OftenAsked] times and that
	// people approved each time, those that ask most first.
	AlwaysApproved []Group `json:"always_approved"`
	// Others is how many names there were beyond [MaxNames]; they are counted
	// under [OtherName].
	Others int `json:"others,omitempty"`
}

// Bounds of what is counted.
const (
	OftenAsked = 3
	MaxNames   = 1000 // of each list: names of tools and agents are the agents' word
	OtherName  = "(others)"
)

// Counts are what became of calls and of questions about them.
type Counts struct {
	Allowed int `json:"allowed"` // by policy alone
	Refused int `json:"refused"` // by policy alone
	Granted int `json:"granted"` // questions that a standing approval answered

	Asked     int `json:"asked"`    // questions to people
	Pending   int `json:"pending"`  // of them, not ended yet
	Approved  int `json:"approved"` // edited ones included
	Denied    int `json:"denied"`
	Steered   int `json:"steered"`
	Expired   int `json:"expired"`   // nobody answered, and silence denied
	Silent    int `json:"silent"`    // nobody answered, and silence approved
	Cancelled int `json:"cancelled"` // nobody needed the answer any longer
	// Overrides are answers by which people put something else in the place of
	// the call: edits and directions.
	Overrides int `json:"overrides"`
	// Answer is how long people took, from the question to the outcome.
	Answer Took `json:"answer"`
}

// Took is a distribution of times, in seconds.
type Took struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_seconds"`
	P95   float64 `json:"p95_seconds"`
}

// A Group is the counts of one rule, tool, agent or day.
type Group struct {
	Name string `json:"name"`
	Counts
}

// A Voter is what one person has answered.
type Voter struct {
	Name    string `json:"name"`
	Approve int    `json:"approve"`
	Deny    int    `json:"deny"`
	Steer   int    `json:"steer"`
	Choose  int    `json:"choose"`
	Edit    int    `json:"edit"`
	Answer  Took   `json:"answer"` // from the question to the vote
}

// A tally is counts on their way.
type tally struct {
	Counts

	took histogram
}

type voterTally struct {
	Voter

	took histogram
}

// A Counter counts entries. The zero value counts from the beginning. It is for
// one goroutine.
type Counter struct {
	since  time.Time
	all    tally
	rules  names
	tools  names
	agents names
	days   names
	voters map[string]*voterTally
	open   map[string]asked // by request
	others int
}

// asked is a question that has not ended.
type asked struct {
	at                time.Time
	rule, tool, agent string
}

// names are the counts by name.
type names map[string]*tally

// NewCounter counts questions that were asked since then, and decisions of then
// and later. Entries of before may be left out.
func NewCounter(since time.Time) *Counter {
	return &Counter{since: since, rules: names{}, tools: names{}, agents: names{}, days: names{}, voters: map[string]*voterTally{}, open: map[string]asked{}}
}

// Count counts an entry. Entries come in order.
func (c *Counter) Count(e audit.Entry) {
	if e.Time.Before(c.since) {
		return
	}
	switch e.Type {
	case audit.TypeDecision:
		c.decided(e)
	case audit.TypeGranted:
		c.each(of(e), func(n *tally) { n.Granted++ })
	case audit.TypeVote:
		c.voted(e)
	case audit.TypeOutcome:
		c.ended(e)
	}
}

// of names what a decision is counted under.
func of(e audit.Entry) asked {
	a := asked{at: e.Time}
	if e.Decision != nil {
		a.rule = e.Decision.Rule
	}
	if call := e.Call; call != nil {
		a.agent = call.Agent
		switch {
		case call.Tool != nil:
			a.tool = strings.TrimPrefix(call.Tool.Server+"/"+call.Tool.Name, "/")
		default:
			a.tool = cmp.Or(call.Gate, call.MCP, call.Model, string(call.Kind))
		}
	}
	return a
}

func (c *Counter) decided(e audit.Entry) {
	if e.Decision == nil {
		return
	}
	a := of(e)
	switch {
	case e.RequestID != "":
		c.open[e.RequestID] = a
		c.each(a, func(n *tally) { n.Asked++; n.Pending++ })
	case e.Decision.Action == holdgate.Allow:
		if !answered(e) {
			c.each(a, func(n *tally) { n.Allowed++ })
		}
	default:
		c.each(a, func(n *tally) { n.Refused++ })
	}
}

// answered reports whether policy let a call go because people had answered:
// that question is counted where it was asked.
func answered(e audit.Entry) bool {
	if !bytes.Contains(e.Seen, []byte(`"answers"`)) {
		return false // most by far
	}
	var seen struct {
		Answers []json.RawMessage `json:"answers"`
	}
	return json.Unmarshal(e.Seen, &seen) == nil && len(seen.Answers) > 0
}

// each counts under all that a decision is counted under.
func (c *Counter) each(a asked, count func(*tally)) {
	count(&c.all)
	for _, at := range []struct {
		names names
		name  string
	}{{c.rules, a.rule}, {c.tools, a.tool}, {c.agents, a.agent}, {c.days, a.at.Local().Format(time.DateOnly)}} {
		count(c.counts(at.names, at.name))
	}
}

func (c *Counter) counts(in names, name string) *tally {
	if in[name] == nil {
		if len(in) >= MaxNames {
			c.others++
			name = OtherName
		}
		if in[name] == nil {
			in[name] = new(tally)
		}
	}
	return in[name]
}

func (c *Counter) voted(e audit.Entry) {
	a, ok := c.open[e.RequestID]
	if !ok || e.Outcome == nil {
		return
	}
	v := c.voters[e.Outcome.By]
	if v == nil {
		v = &voterTally{Voter: Voter{Name: e.Outcome.By}}
		c.voters[e.Outcome.By] = v
	}
	switch e.Outcome.Decision {
	case holdgate.AnswerApprove:
		v.Approve++
	case holdgate.AnswerDeny:
		v.Deny++
	case holdgate.AnswerSteer:
		v.Steer++
	case holdgate.AnswerChoose:
		v.Choose++
	case holdgate.AnswerEdit:
		v.Edit++
	}
	v.took.add(e.Time.Sub(a.at))
}

func (c *Counter) ended(e audit.Entry) {
	a, ok := c.open[e.RequestID]
	if !ok || e.Outcome == nil {
		return
	}
	delete(c.open, e.RequestID)
	o := *e.Outcome
	c.each(a, func(n *tally) {
		n.Pending--
		switch o.Decision {
		case holdgate.AnswerTimeout:
			if e.Status == holdgate.StatusApproved {
				n.Silent++
			} else {
				n.Expired++
			}
			return
		case holdgate.AnswerCancel:
			n.Cancelled++
			return
		case holdgate.AnswerDeny:
			n.Denied++
		case holdgate.AnswerSteer:
			n.Steered++
			n.Overrides++
		case holdgate.AnswerEdit:
			n.Approved++
			n.Overrides++
		default:
			n.Approved++
		}
		n.took.add(e.Time.Sub(a.at))
	})
}

// Stats are what was counted so far.
func (c *Counter) Stats() Stats {
	s := Stats{Since: c.since, Counts: c.all.done(), ByRule: c.rules.groups(), ByTool: c.tools.groups(), ByAgent: c.agents.groups(),
		ByDay: c.days.groups(), ByApprover: []Voter{}, AlwaysApproved: []Group{}, Others: c.others}
	slices.SortFunc(s.ByDay, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	for _, v := range c.voters {
		done := v.Voter
		done.Answer = v.took.took()
		s.ByApprover = append(s.ByApprover, done)
	}
	slices.SortFunc(s.ByApprover, func(a, b Voter) int {
		return cmp.Or(cmp.Compare(b.Answer.Count, a.Answer.Count), cmp.Compare(a.Name, b.Name))
	})
	for _, g := range s.ByRule {
		if ended := g.Asked - g.Pending - g.Cancelled; g.Name != OtherName && ended >= OftenAsked && g.Approved == ended && g.Overrides == 0 {
			s.AlwaysApproved = append(s.AlwaysApproved, g)
		}
	}
	return s
}

func (t *tally) done() Counts {
	c := t.Counts
	c.Answer = t.took.took()
	return c
}

// groups are those that asked most, first.
func (in names) groups() []Group {
	list := []Group{}
	for name, n := range in {
		list = append(list, Group{name, n.done()})
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Asked, a.Asked), cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Allowed, a.Allowed), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// A histogram counts times in buckets that are at most 1/16 wide, so that a
// quantile is right to 7 %. It takes milliseconds and up to 49 days.
type histogram struct {
	n       int
	buckets map[int]int
}

func (h *histogram) add(d time.Duration) {
	if h.buckets == nil {
		h.buckets = map[int]int{}
	}
	h.n++
	h.buckets[bucket(uint32(min(max(d.Milliseconds(), 0), 1<<32-1)))]++
}

// bucket is the number of the bucket of so many milliseconds: below 16 each has
// its own, above each doubling has 16.
func bucket(ms uint32) int {
	if ms < 16 {
		return int(ms)
	}
	shift := bits.Len32(ms) - 5
	return 16*shift + int(ms>>shift)
}

// middle is the middle of a bucket, in milliseconds.
func middle(b int) float64 {
	if b < 32 {
		return float64(b)
	}
	shift := b/16 - 1
	return (float64(b-16*shift) + 0.5) * float64(uint64(1)<<shift)
}

func (h *histogram) took() Took {
	return Took{Count: h.n, P50: h.quantile(0.50), P95: h.quantile(0.95)}
}

// quantile is the time, in seconds, that a share of them took at most.
func (h *histogram) quantile(share float64) float64 {
	rank := int(share*float64(h.n-1)) + 1
	list := make([]int, 0, len(h.buckets))
	for b := range h.buckets {
		list = append(list, b)
	}
	slices.Sort(list)
	for _, b := range list {
		if rank -= h.buckets[b]; rank <= 0 {
			return middle(b) / 1000
		}
	}
	return 0
}
