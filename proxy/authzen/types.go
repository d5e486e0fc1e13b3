package authzen

import "time"

// Metadata is the document at [MetadataPath].
type Metadata struct {
	Point        string   `json:"policy_decision_point"`
	Evaluation   string   `json:"access_evaluation_endpoint"`
	Evaluations  string   `json:"access_evaluations_endpoint"`
	Requests     string   `json:"access_request_endpoint"`
	Capabilities []string `json:"capabilities"`
}

// Decision answers one evaluation.
type Decision struct {
	Decision bool     `json:"decision"`
	Context  *Context `json:"context,omitempty"`
}

// Decisions answer several, in their order.
type Decisions struct {
	Evaluations []Decision `json:"evaluations"`
}

// Reasons of decisions, which programs can tell apart.
const (
	ReasonDenied   = "denied"            // by policy, or by people
	ReasonApproval = "approval_required" // people can be asked, or are being asked
	ReasonPaused   = "paused"            // people have paused or stopped the client, or this subject's session
	ReasonRate     = "rate_limited"      // the client asks for more than it may
	ReasonError    = "error"
)

// Context says more of a decision.
type Context struct {
	Reason string `json:"reason,omitempty"`
	// Text is for the user, by language: why it is denied, or what an approver says.
	Text map[string]string `json:"reason_user,omitempty"`

	EvaluationID string         `json:"evaluation_id,omitempty"`
	EvaluatedAt  *time.Time     `json:"evaluated_at,omitempty"`
	Request      *AccessRequest `json:"access_request,omitempty"`
	Approval     *Approval      `json:"approval,omitempty"`
	Error        *EvaluationErr `json:"error,omitempty"`
}

// AccessRequest says that people can be asked about a denial, and until when.
type AccessRequest struct {
	Endpoint  string    `json:"endpoint"`
	ExpiresAt time.Time `json:"expires_at"`
}

// EvaluationErr is what is wrong with one of several evaluations.
type EvaluationErr struct {
	Status  int    `json:"status"`
	Message string `json:"message"`
}

// Approval is what people have approved. It permits nothing by itself: an evaluation
// that shows it is decided anew.
type Approval struct {
	ID            string     `json:"id"`
	ApprovedAt    *time.Time `json:"approved_at,omitempty"`
	ApprovedUntil time.Time  `json:"approved_until"`
}

// Tasked is where an access request stands.
type Tasked struct {
	Task   Task    `json:"task"`
	Result *Result `json:"result,omitempty"` // of an approved task
}

// Task is an access request.
type Task struct {
	ID        string     `json:"id"`
	Status    string     `json:"status"`
	Endpoint  string     `json:"status_endpoint"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // while it is pending
	Display   *Display   `json:"display,omitempty"`
}

// Display is for the requester.
type Display struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

// Result says how an approved task is completed: by an evaluation anew.
type Result struct {
	Mode     string   `json:"mode"` // "reevaluate"
	Approval Approval `json:"approval"`
}

// Problem is an error of an access request (RFC 9457).
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}
