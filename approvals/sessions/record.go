package sessions

import (
	"errors"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
)

// Bounds of a record: some of it is the agent's own word.
const (
	maxPassed  = 64 // gates
	maxAnswers = 64
	maxNeeded  = 16
	maxTaint   = 16
)

// A Record is one session. It is a value that is never changed once it was
// given to others: see [Record.Clone].
type Record struct {
	V        int       `json:"v"`
	Agent    string    `json:"agent"`
	ID       string    `json:"id"`
	Proven   bool      `json:"proven,omitempty"` // the agent, when the record was written last
	Revision uint64    `json:"revision"`         // 0: not stored yet
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"` // when it was written

	Set   Setting   `json:"set,omitzero"` // by a person
	SetBy string    `json:"set_by,omitempty"`
	SetAt time.Time `json:"set_at,omitzero"`
	Own   Setting   `json:"own,omitzero"` // by the agent; counts where it is stricter
	// Alone is a person's word that what holds this session back, taint apart, holds
	// no other of the agent.
	Alone bool `json:"alone,omitempty"`

	Passed   []Passed   `json:"passed,omitempty"`   // gates, the latest last
	Needed   []string   `json:"needed,omitempty"`   // gates that must be passed before the session changes anything
	NeededAt time.Time  `json:"needed_at,omitzero"` // when a gate came to be needed last
	Answers  []Answered `json:"answers,omitempty"`  // the last to each gate, the latest last
	Report   *Report    `json:"report,omitempty"`   // nil once people have answered for it
	Halt     *Halt      `json:"halt,omitempty"`
	// Taint is what it has been in touch with, TaintedAt when that was last.
	TaintedAt time.Time `json:"tainted_at,omitzero"`
	Taint     []string  `json:"taint,omitempty"`
	// Shell is where its calls may have left the agent's shell: see [holdgate.Facts].
	Shell   string  `json:"shell,omitempty"`
	Counts  Counts  `json:"counts,omitzero"`
	Results Results `json:"results,omitempty"`
	// Usage is what its answers have used. What an agent has spent under the session's
	// name stays, whether the agent is proven or not.
	Usage holdgate.Usage `json:"usage,omitzero"`
	// Counted is how many revisions changed nothing but what is counted.
	Counted uint64 `json:"counted,omitempty"`
}

// Seen is the revision of what people see and change: what is counted meanwhile does not
// keep them from it.
func (r *Record) Seen() uint64 { return r.Revision - r.Counted }

// Passed is a gate that people have let the session pass.
type Passed struct {
	Gate    string    `json:"gate"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Request string    `json:"request,omitempty"` // the approval request
	Silent  bool      `json:"silent,omitempty"`  // nobody has answered, and the rule lets silence approve
}

// Answered is what people said last to a gate.
type Answered struct {
	Gate    string           `json:"gate"`
	Request string           `json:"request"`
	Outcome holdgate.Outcome `json:"outcome"`
}

// A Halt keeps a session from going on until a person answers a request.
type Halt struct {
	Request string    `json:"request"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
	Stopped bool      `json:"stopped,omitempty"` // a person has said no: everything is refused
}

// Counts are what became of a session's calls.
type Counts struct {
	Allowed  int `json:"allowed,omitempty"` // by policy
	Refused  int `json:"refused,omitempty"` // by policy
	Asked    int `json:"asked,omitempty"`
	Approved int `json:"approved,omitempty"` // by people, as the next two
	Denied   int `json:"denied,omitempty"`
	Steered  int `json:"steered,omitempty"`
	Expired  int `json:"expired,omitempty"`
	Reports  int `json:"reports,omitempty"` // of confidence
	// Succeeded and Failed are how tools ended, as far as their results were seen and
	// say so.
	Succeeded int `json:"succeeded,omitempty"`
	Failed    int `json:"failed,omitempty"`
}

// Plus adds counts up.
func (c Counts) Plus(o Counts) Counts {
	return Counts{
		c.Allowed + o.Allowed, c.Refused + o.Refused, c.Asked + o.Asked, c.Approved + o.Approved,
		c.Denied + o.Denied, c.Steered + o.Steered, c.Expired + o.Expired, c.Reports + o.Reports, c.Succeeded + o.Succeeded, c.Failed + o.Failed,
	}
}

// Ended counts a request's outcome.
func (c *Counts) Ended(s holdgate.Status) {
	switch s {
	case holdgate.StatusApproved:
		c.Approved++
	case holdgate.StatusDenied:
		c.Denied++
	case holdgate.StatusSteered:
		c.Steered++
	case holdgate.StatusExpired:
		c.Expired++
	}
}

// New is the record of a session of which nothing is stored.
func New(agent, id string, now time.Time) *Record {
	return &Record{V: version, Agent: agent, ID: id, First: now, Last: now}
}

// For is the record for an agent that is proven or is not: what the other kind has
// earned under the same names (gates that it passed, answers, how it fared) does
// not count. What holds it back does.
func (r *Record) For(proven bool) *Record {
	if r.Proven == proven || r.Revision == 0 {
		return r
	}
	c := r.Clone()
	c.Proven, c.Passed, c.Answers, c.Counts, c.Results = proven, nil, nil, Counts{}, ""
	return c
}

// Clone is a copy to be changed.
func (r *Record) Clone() *Record {
	c := *r
	c.Passed, c.Needed, c.Answers, c.Taint = slices.Clone(r.Passed), slices.Clone(r.Needed), slices.Clone(r.Answers), slices.Clone(r.Taint)
	return &c
}

// Setting is the mode that counts: the person's, else the one that all sessions
// begin in, and the agent's own where that asks more.
func (r *Record) Setting(begin Setting) Setting {
	s := r.Set.or(begin)
	if r.Own.Mode != "" && r.Own.asksAsMuch(s) {
		return r.Own
	}
	return s
}

// ErrLooser says that an agent wanted to be asked less.
var ErrLooser = errors.New("an agent can only tighten its session's mode: auto, then confidence_threshold from a lower to a higher line, then manual")

// Tighten takes a setting of the agent's own.
func (r *Record) Tighten(s, begin Setting) error {
	if err := s.Check(); err != nil {
		return err
	}
	if !s.asksAsMuch(r.Setting(begin)) {
		return ErrLooser
	}
	r.Own = s
	return nil
}

// SetMode takes a person's setting, in place of the agent's own.
func (r *Record) SetMode(s Setting, by string, at time.Time) error {
	if err := s.Check(); err != nil {
		return err
	}
	r.Set, r.SetBy, r.SetAt, r.Own = s, by, at, Setting{}
	return nil
}

// Pass takes note that people have let the session pass a gate.
func (r *Record) Pass(p Passed) {
	r.Passed = slices.DeleteFunc(r.Passed, func(o Passed) bool { return o.Gate == p.Gate })
	r.Passed = latest(append(r.Passed, p), maxPassed)
	r.Needed = slices.DeleteFunc(r.Needed, func(g string) bool { return g == p.Gate })
	if !p.Silent && (p.Gate == GateConfidence || p.Gate == GateDiagnostics) {
		r.Report = nil // a person has answered for it
	}
}

// Reports takes a new report. need says that the session must pass the gate
// [GateConfidence] before it changes anything; what it passed with another report
// does not count.
func (r *Record) Reports(rep *Report, need bool, at time.Time) {
	r.Report = rep
	r.Counts.Reports++
	r.Needed = slices.DeleteFunc(r.Needed, func(g string) bool { return g == GateConfidence })
	r.Passed = slices.DeleteFunc(r.Passed, func(p Passed) bool { return p.Gate == GateConfidence })
	if need {
		r.Need(GateConfidence, at)
	}
}

// HasPassed reports whether the session was let pass the gate.
func (r *Record) HasPassed(gate string) bool {
	return slices.ContainsFunc(r.Passed, func(p Passed) bool { return p.Gate == gate })
}

// Need says that the session must pass a gate before it changes anything more.
func (r *Record) Need(gate string, at time.Time) {
	r.NeededAt = at
	r.Passed = slices.DeleteFunc(r.Passed, func(p Passed) bool { return p.Gate == gate })
	if !slices.Contains(r.Needed, gate) {
		r.Needed = latest(append(r.Needed, gate), maxNeeded)
	}
}

// Answer takes note of what people said to a gate.
func (r *Record) Answer(a Answered) {
	r.Answers = slices.DeleteFunc(r.Answers, func(o Answered) bool { return o.Gate == a.Gate })
	r.Answers = latest(append(r.Answers, a), maxAnswers)
}

// Answered returns what people said last to a gate.
func (r *Record) Answered(gate string) (Answered, bool) {
	i := slices.IndexFunc(r.Answers, func(a Answered) bool { return a.Gate == gate })
	if i < 0 {
		return Answered{}, false
	}
	return r.Answers[i], true
}

// Touch takes note of what the session has been in touch with.
func (r *Record) Touch(what string, at time.Time) {
	r.TaintedAt = at
	if !slices.Contains(r.Taint, what) && len(r.Taint) < maxTaint {
		r.Taint = append(r.Taint, what)
	}
}

// latest keeps the end of a list.
func latest[T any](list []T, most int) []T { return list[max(0, len(list)-most):] }
