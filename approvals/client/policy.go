package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdgate/holdgate/approvals/api"
)

// Policy returns what is in force, with all rules; where rule is not empty, those that
// give it as their id alone, with their source.
func (c *Client) Policy(ctx context.Context, rule string) (api.PolicyState, error) {
	q := url.Values{}
	set(q, "rule", rule)
	return get[api.PolicyState](ctx, c, "/v1/policy", q)
}

// A Verdict is what the policy in force makes of a call.
type Verdict struct {
	Action string `json:"action"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Risk   string `json:"risk"`
}

// EvalPolicy asks the policy in force about an input. Nothing is held or logged.
func (c *Client) EvalPolicy(ctx context.Context, input []byte) (Verdict, error) {
	return send[Verdict](ctx, c, http.MethodPost, "/v1/policy/eval", api.PolicyQuestion{Input: input})
}

// RollBackPolicy puts an earlier pushed policy in force: that of the id (0 is the
// shipped one alone), or with nil the one before.
func (c *Client) RollBackPolicy(ctx context.Context, id *uint64) (api.PolicyPushed, error) {
	return send[api.PolicyPushed](ctx, c, http.MethodPost, "/v1/policy/rollback", api.PolicyRollback{ID: id})
}

// PushPolicy puts files in force.
func (c *Client) PushPolicy(ctx context.Context, p api.PolicyPush) (api.PolicyPushed, error) {
	return send[api.PolicyPushed](ctx, c, http.MethodPut, "/v1/policy", p)
}

// DraftPolicy drafts a rule for calls like that of a request: see [api.PolicyDraftOf].
func (c *Client) DraftPolicy(ctx context.Context, request, kind string) (api.PolicyDraft, error) {
	return send[api.PolicyDraft](ctx, c, http.MethodPost, "/v1/policy/draft", api.PolicyDraftOf{Request: request, Kind: kind})
}

// ReviewPolicy says what a push would change. Nothing is put in force.
func (c *Client) ReviewPolicy(ctx context.Context, p api.PolicyPush) (api.PolicyReview, error) {
	return send[api.PolicyReview](ctx, c, http.MethodPost, "/v1/policy/review", p)
}

// SuggestPolicy names exceptions that would have spared people questions.
func (c *Client) SuggestPolicy(ctx context.Context) (api.PolicySuggestions, error) {
	return get[api.PolicySuggestions](ctx, c, "/v1/policy/suggestions", nil)
}

// TryPolicy asks the policy in force about an input, and returns the decision as policy
// writes it, with the facts that it rests on.
func (c *Client) TryPolicy(ctx context.Context, input []byte) (api.PolicyTried, error) {
	return send[api.PolicyTried](ctx, c, http.MethodPost, "/v1/policy/eval", api.PolicyQuestion{Input: input, Facts: true})
}
