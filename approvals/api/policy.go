package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate/approvals/people"
)

// MaxPolicyBody bounds a policy that is pushed, and an input that is asked
// about, in bytes.
const MaxPolicyBody = 1 << 20

// Policies is what the API asks of whoever keeps the policy. It is safe for
// concurrent use.
type Policies interface {
	// State is what is in force, the rules without their source; where rule is not
	// empty, those that give it as their id alone, with their source.
	State(ctx context.Context, rule string) (PolicyState, error)
	// Pushable reports whether Push and RollBack can do anything: not where the
	// policy comes from files or bundles.
	Pushable() bool
	// Push compiles files, runs their tests and puts them in force. The error is
	// a [*PolicyRefusedError] where the caller can do something about it.
	Push(ctx context.Context, by string, p PolicyPush) (PolicyPushed, error)
	// RollBack puts an earlier revision in force: that of the id, or with nil
	// the one before. The error is one of Push's, or [ErrPolicyRevision].
	RollBack(ctx context.Context, by string, id *uint64) (PolicyPushed, error)
	// Eval asks the policy in force about an input, and returns its decision.
	// The error is a [*PolicyRefusedError] where the input cannot be read.
	Eval(ctx context.Context, input []byte) (json.RawMessage, error)
	// Facts are what Eval adds to the input as its facts.
	Facts(ctx context.Context, input []byte) (json.RawMessage, error)
	// Draft drafts a rule for calls like that of a request. The error is a
	// [*PolicyRefusedError] where none can be.
	Draft(ctx context.Context, request, kind string) (PolicyDraft, error)
	// Review says what a push would change, without putting anything in force. Its errors
	// are those of Push.
	Review(ctx context.Context, p PolicyPush) (PolicyReview, error)
	// Suggest names exceptions that would have spared people questions.
	Suggest(ctx context.Context) (PolicySuggestions, error)
}

// ErrPolicyRevision says that there is no revision to roll back to.
var ErrPolicyRevision = errors.New("there is no such revision of the policy")

// A PolicyRefusedError says why a policy, or an input, is not taken. Its text
// is for the caller.
type PolicyRefusedError struct{ Text string }

func (e *PolicyRefusedError) Error() string { return e.Text }

// PolicyState is the answer of GET /v1/policy.
type PolicyState struct {
	Revision  string           `json:"revision"` // as decisions name it
	Name      string           `json:"name,omitempty"`
	Path      string           `json:"path,omitempty"` // where its files are; empty: the shipped pack, or pushed
	Whole     bool             `json:"whole"`          // it stands in place of the shipped pack
	Mode      string           `json:"mode"`           // "enforce" or "observe"
	Pushable  bool             `json:"pushable"`       // PUT is possible
	Modules   int              `json:"modules"`
	Rules     []PolicyRule     `json:"rules"`
	Revisions []PolicyRevision `json:"revisions"` // that were pushed, the oldest first
}

// PolicyRule is a rule in force, as its METADATA describes it.
type PolicyRule struct {
	IDs         []string `json:"ids,omitempty"` // as decisions name it
	Package     string   `json:"package"`
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Risk        string   `json:"risk,omitempty"`
	Location    string   `json:"location"`       // file:line
	Text        string   `json:"text,omitempty"` // its source, where the rule was asked for
}

// PolicyRevision is a policy that was pushed.
type PolicyRevision struct {
	ID       uint64    `json:"id"`
	Name     string    `json:"name"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Revision string    `json:"revision"`
	InUse    bool      `json:"in_use"`
}

// PolicyPush is the body of PUT /v1/policy.
type PolicyPush struct {
	Name  string            `json:"name"`
	Files map[string]string `json:"files"` // texts, by names such as "deploys.rego"
	// Add puts the files beside those that were pushed last, in place of those of the same
	// names.
	Add bool `json:"add,omitempty"`
	// Reviewed is the revision that a review named. Where something else was put in force
	// since, the push would bring another, and is refused.
	Reviewed string `json:"reviewed,omitempty"`
}

// PolicyDraftOf is the body of POST /v1/policy/draft.
type PolicyDraftOf struct {
	Request string `json:"request"` // whose call the rule is for
	Kind    string `json:"kind"`    // "ask", "never", "refuse" or "two"
}

// PolicyDraft is a rule with its test, which is not in force.
type PolicyDraft struct {
	Name  string            `json:"name"`
	Files map[string]string `json:"files"`
}

// PolicyReview says what a policy would change that is not in force.
type PolicyReview struct {
	Revision  string         `json:"revision"`
	Change    string         `json:"change"` // what differs, in words
	MayLoosen bool           `json:"may_loosen"`
	Tests     int            `json:"tests"` // of its own, all of which pass
	Since     time.Time      `json:"since"` // of the calls that were judged again
	Calls     int            `json:"calls"`
	Same      int            `json:"same"`
	Changed   int            `json:"changed"`
	Unknown   int            `json:"unknown"` // the log has not all of them
	Table     []PolicyChange `json:"table"`   // what changes, the most calls first
	// Refused are the calls of the whole log that were ever refused, RefusedUnknown those
	// of them that cannot be judged again, Passing those that would pass, and Passes the
	// first of these.
	Refused        int          `json:"refused"`
	RefusedUnknown int          `json:"refused_unknown"`
	Passing        int          `json:"passing"`
	Passes         []PolicyPass `json:"passes"`
}

// PolicyChange counts calls that a policy would decide otherwise.
type PolicyChange struct {
	Was     string `json:"was"` // allow, deny or hold
	Now     string `json:"now"`
	WasRule string `json:"was_rule"`
	NowRule string `json:"now_rule"`
	Calls   int    `json:"calls"`
}

// PolicyPass is a call that was refused and that a policy would let pass.
type PolicyPass struct {
	Seq       uint64    `json:"seq"` // of its entry in the log
	Time      time.Time `json:"time"`
	RequestID string    `json:"request_id,omitempty"`
	What      string    `json:"what"`
	WasRule   string    `json:"was_rule"`
}

// PolicySuggestions is the answer of GET /v1/policy/suggestions.
type PolicySuggestions struct {
	Questions   int                `json:"questions"` // of the last 30 days
	Spares      int                `json:"spares"`    // how many all suggestions together would have spared
	Denied      int                `json:"denied"`    // calls of the whole log, none of which would pass
	Suggestions []PolicySuggestion `json:"suggestions"`
}

// PolicySuggestion is an exception that would have spared people questions.
type PolicySuggestion struct {
	Rule      string            `json:"rule"`
	Tool      string            `json:"tool,omitempty"`
	About     []string          `json:"about,omitempty"`
	Spares    int               `json:"spares"`
	WholeTool bool              `json:"whole_tool,omitempty"` // it covers calls of the tool with other arguments
	Files     map[string]string `json:"files"`                // settings, to be reviewed and pushed
}

// PolicyPushed says what is in force after a push or a rollback.
type PolicyPushed struct {
	ID        uint64 `json:"id"` // 0: the shipped pack alone
	Name      string `json:"name,omitempty"`
	Revision  string `json:"revision"`
	Change    string `json:"change"` // what differs, in words
	MayLoosen bool   `json:"may_loosen"`
}

// PolicyRollback is the body of POST /v1/policy/rollback.
type PolicyRollback struct {
	ID *uint64 `json:"id,omitempty"` // without it, the revision that was in use before; 0: the shipped pack alone
}

// PolicyQuestion is the body of POST /v1/policy/eval.
type PolicyQuestion struct {
	Input jsontext.Value `json:"input"`
	Facts bool           `json:"facts,omitempty"` // the answer has the facts besides
}

// PolicyTried is the answer to a question that asks for the facts.
type PolicyTried struct {
	Decision json.RawMessage `json:"decision"`
	Facts    json.RawMessage `json:"facts"`
}

// policy serves GET /v1/policy.
func (s *Server) policy(r *request) (PolicyState, error) {
	q, err := query(r, "rule")
	if err != nil {
		return PolicyState{}, err
	}
	if s.c.Policy == nil {
		return PolicyState{}, noPolicy()
	}
	return s.c.Policy.State(r.Context(), q.Get("rule"))
}

// pushPolicy serves PUT /v1/policy.
func (s *Server) pushPolicy(r *request, in PolicyPush) (PolicyPushed, error) {
	if s.c.Policy == nil {
		return PolicyPushed{}, noPolicy()
	}
	if err := s.admin(r, "changing the policy"); err != nil {
		return PolicyPushed{}, err
	}
	p, err := s.c.Policy.Push(r.Context(), r.by, in)
	return p, policyProblem(err)
}

// rollBackPolicy serves POST /v1/policy/rollback.
func (s *Server) rollBackPolicy(r *request, in PolicyRollback) (PolicyPushed, error) {
	if s.c.Policy == nil {
		return PolicyPushed{}, noPolicy()
	}
	if err := s.admin(r, "changing the policy"); err != nil {
		return PolicyPushed{}, err
	}
	p, err := s.c.Policy.RollBack(r.Context(), r.by, in.ID)
	return p, policyProblem(err)
}

// evalPolicy serves POST /v1/policy/eval.
func (s *Server) evalPolicy(r *request, in PolicyQuestion) (json.RawMessage, error) {
	switch {
	case s.c.Policy == nil:
		return nil, noPolicy()
	case len(in.Input) == 0:
		return nil, malformed("the body has no input")
	}
	d, err := s.c.Policy.Eval(r.Context(), in.Input)
	if err != nil || !in.Facts {
		return d, policyProblem(err)
	}
	f, err := s.c.Policy.Facts(r.Context(), in.Input)
	if err != nil {
		return nil, policyProblem(err)
	}
	return json.Marshal(PolicyTried{d, f})
}

// pushable serves what changes the policy, where it can be changed here. allow
// lists the methods that its path has besides.
func (s *Server) pushable(allow string, h handler) handler {
	return func(w http.ResponseWriter, r *request) {
		if s.c.Policy == nil || s.c.Policy.Pushable() {
			h(w, r)
			return
		}
		w.Header().Set("Allow", allow)
		s.fail(w, r.Request, problem(http.StatusMethodNotAllowed, "policy-elsewhere", "The policy is changed elsewhere",
			"the policy comes from files or bundles (policy.path, policy.opa_config), and is changed there"))
	}
}

// draftPolicy serves POST /v1/policy/draft.
func (s *Server) draftPolicy(r *request, in PolicyDraftOf) (PolicyDraft, error) {
	if s.c.Policy == nil {
		return PolicyDraft{}, noPolicy()
	}
	d, err := s.c.Policy.Draft(r.Context(), in.Request, in.Kind)
	return d, policyProblem(err)
}

// reviewPolicy serves POST /v1/policy/review.
func (s *Server) reviewPolicy(r *request, in PolicyPush) (PolicyReview, error) {
	if s.c.Policy == nil {
		return PolicyReview{}, noPolicy()
	}
	v, err := s.c.Policy.Review(r.Context(), in)
	return v, policyProblem(err)
}

// suggestPolicy serves GET /v1/policy/suggestions.
func (s *Server) suggestPolicy(r *request) (PolicySuggestions, error) {
	if _, err := query(r); err != nil {
		return PolicySuggestions{}, err
	}
	if s.c.Policy == nil {
		return PolicySuggestions{}, noPolicy()
	}
	return s.c.Policy.Suggest(r.Context())
}

func noPolicy() error {
	return problem(http.StatusNotFound, ProblemNotFound, "Not found", "this sidecar does not serve its policy")
}

// admin refuses whoever has not the role admin, and says for what it is needed.
func (s *Server) admin(r *request, what string) error {
	if p, ok := s.c.Queue.People().Find(r.by); ok && p.Has(people.RoleAdmin) {
		return nil
	}
	return problem(http.StatusForbidden, "not-entitled", "Not entitled", what+" needs the role "+people.RoleAdmin)
}

// policyProblem is the problem document for an error of Policies.
func policyProblem(err error) error {
	refused, isRefused := errors.AsType[*PolicyRefusedError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrPolicyRevision):
		return problem(http.StatusNotFound, ProblemNotFound, "Not found", err.Error())
	case isRefused:
		return problem(http.StatusUnprocessableEntity, "policy-refused", "Refused", refused.Text)
	}
	return err
}
