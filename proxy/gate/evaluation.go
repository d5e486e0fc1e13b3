package gate

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/rego"
)

// An Evaluation is one call on its way to a verdict.
type Evaluation struct {
	Call   holdgate.Call    // as it will be sent: the agent's, or what a person made of it
	Fixed  bool             // its arguments cannot be edited
	Unheld string           // why people cannot be asked about it; empty where they can
	Later  bool             // people are asked only once the agent requests that
	Remark string           // what the log says of the call besides the decision
	Hint   string           // the agent's own id of the call in a model's answer
	Seen   bool             // it was decided in a model's answer before, and counted there
	Report *sessions.Report // of confidence, that the call is about
	// Comes is an agent's own call as it will come by at the same door, to be made: another
	// one than Call where permission is asked for it first. Nil where that is not known.
	Comes *holdgate.Tool

	digest    holdgate.Digest
	canonical []byte            // the call's arguments as the digest is over them; nil where not at hand
	edited    string            // the request that gave the call its arguments; empty for the agent's own
	approved  []approval        // of the call as it is
	notes     []string          // what approvers said to the agent
	rounds    int               // how often people, or grants of theirs, have answered
	request   approvals.Request // what waits, while open
	verdict   holdgate.Verdict
	decided   bool
	asks      bool        // it is refused, and people can be asked about it
	why       string      // they would be
	over      *LimitError // why policy was not asked
	repeats   int         // how often the session made the very same call lately
	lately    int         // how many calls the session made lately
	redact    []string    // of the decision that let the call go on
}

// Asked is the evaluation of a call about which people were asked before.
func Asked(c holdgate.Call, r approvals.Request) *Evaluation {
	return &Evaluation{Call: c, request: r, digest: r.Call.Digest}
}

// An approval is one approving outcome that a call rests on, or a grant.
type approval struct {
	answer    rego.Answer
	use       approvals.Use      // zero for a grant
	approvers holdgate.Approvers // that were demanded for it
}

// rules are those that the answer is for.
func (a *approval) rules() []string { return append([]string{a.answer.Rule}, a.answer.Also...) }

// Undecided reports whether the call is undecided: it has a request in the queue.
func (e *Evaluation) Undecided() bool { return !e.decided }

// Released reports whether the call goes on.
func (e *Evaluation) Released() bool { return e.decided && e.verdict.Release }

// Requestable reports whether the call was refused only because people have not been
// asked about it ([Evaluation.Later]), and says what for they would be.
func (e *Evaluation) Requestable() (why string, ok bool) { return e.why, e.asks }

// Over reports whether the call was refused without policy, for a limit of its agent's.
func (e *Evaluation) Over() bool { return e.over != nil }

// Verdict is what becomes of the call. It refuses while the call is open.
func (e *Evaluation) Verdict() holdgate.Verdict { return e.verdict }

// Request is what people were asked last about the call; its ID is empty where
// they were asked nothing.
func (e *Evaluation) Request() approvals.Request { return e.request }

// Digest is that of the call as it is; empty before policy was asked.
func (e *Evaluation) Digest() holdgate.Digest { return e.digest }

// Edited reports whether a person gave the call its arguments.
func (e *Evaluation) Edited() bool { return e.edited != "" }

// Redacts are the JSON pointers to what policy redacts of a call that goes on.
func (e *Evaluation) Redacts() []string { return e.redact }

// Borrowed reports whether the call rests on what a person said of it in a
// model's answer.
func (e *Evaluation) Borrowed() bool {
	return slices.ContainsFunc(e.approved, func(a approval) bool { return a.use.Borrowed })
}

// ByPeople reports whether the call goes on because people have let it, now or by a grant.
// Silence is nobody's approval.
func (e *Evaluation) ByPeople() bool {
	silent := func(a approval) bool { return a.answer.Decision == holdgate.AnswerTimeout }
	return e.Released() && len(e.approved) > 0 && !slices.ContainsFunc(e.approved, silent)
}

// Refuse decides the call: a notice takes its place.
func (e *Evaluation) Refuse(notice string) {
	e.verdict, e.decided = holdgate.Verdict{Notice: notice}, true
}

// Slim lets go of what is not needed while people decide, which may take hours.
func (e *Evaluation) Slim() { e.request = approvals.Request{ID: e.request.ID} }

func (e *Evaluation) release() {
	e.verdict, e.decided = holdgate.Verdict{Release: true, Note: e.note()}, true
	if e.edited != "" {
		e.verdict.Arguments = e.Call.Tool.Arguments
	}
}

// note is what approvers say to the agent, a line for each.
func (e *Evaluation) note() string { return strings.Join(e.notes, "\n") }

// answers is what people have said of the call as it is now, without one.
func (e *Evaluation) answers(without int) []rego.Answer {
	var out []rego.Answer
	for i, a := range e.approved {
		if i != without {
			out = append(out, a.answer)
		}
	}
	return out
}

// Undecided returns those that wait for people.
func Undecided(all []*Evaluation) []*Evaluation {
	return slices.DeleteFunc(slices.Clone(all), func(e *Evaluation) bool { return !e.Undecided() })
}

// Requests names the requests of those that wait for people, in a sentence.
func Requests(all []*Evaluation) string {
	var ids []string
	for _, e := range all {
		if e.Undecided() {
			ids = append(ids, e.request.ID)
		}
	}
	if len(ids) == 1 {
		return "request " + ids[0]
	}
	return "requests " + strings.Join(ids, ", ")
}
