package api

import (
	"net/http"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// A GroupDecision is one item of the body of POST /v1/decisions: a decision and
// the request that it is on. Every item carries the digest of what was shown,
// so that a group is what the person saw of it: what came later is in none.
type GroupDecision struct {
	ID string `json:"id"`
	Decision
}

// A GroupResult is what became of one item: either the request as it stands
// then, or why the item decided nothing.
type GroupResult struct {
	ID      string             `json:"id"`
	Request *approvals.Request `json:"request,omitempty"`
	Problem *Problem           `json:"problem,omitempty"`
}

// maxGroup is how many decisions come together.
const maxGroup = 100

// decideGroup serves POST /v1/decisions. Each item is decided or not by
// itself, in the order of the list; the results are in the same order. What is
// of critical risk is approved alone.
func (s *Server) decideGroup(r *request, in []GroupDecision) ([]GroupResult, error) {
	if len(in) == 0 || len(in) > maxGroup {
		return nil, malformed("the list must hold 1 to %d decisions", maxGroup)
	}
	seen := make(map[string]bool, len(in))
	for _, d := range in {
		if d.ID == "" || seen[d.ID] {
			return nil, malformed("each decision must name another request; %q comes twice or is empty", d.ID)
		}
		seen[d.ID] = true
	}
	results := make([]GroupResult, 0, len(in))
	for _, d := range in {
		result, err := s.decideItem(r, d, len(in) == 1)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// decideItem decides one item of a group. An error is one that has no meaning
// for the caller.
func (s *Server) decideItem(r *request, d GroupDecision, alone bool) (GroupResult, error) {
	req, err := s.shown(r, d)
	refuses := d.Decision.Decision == holdgate.AnswerDeny || d.Decision.Decision == holdgate.AnswerSteer
	if err == nil && !alone && !refuses && req.Risk == holdgate.RiskCritical {
		err = problem(http.StatusUnprocessableEntity, ProblemAnswer, "Approved alone", "a call of critical risk is approved by itself alone, not among others")
	}
	if err == nil {
		req, err = s.answerRequest(r, d.ID, d.Decision)
	}
	if err == nil {
		return GroupResult{ID: d.ID, Request: &req}, nil
	}
	p, known := asProblem(err)
	if !known {
		// What was decided before it stays decided: the list says so.
		s.c.Logger.ErrorContext(r.Context(), "deciding a group", "approval", d.ID, "error", err)
	}
	return GroupResult{ID: d.ID, Problem: p}, r.Context().Err()
}

// shown returns the request of an item, if the item carries its digest.
func (s *Server) shown(r *request, d GroupDecision) (approvals.Request, error) {
	if d.Digest == "" {
		return approvals.Request{}, problem(http.StatusBadRequest, "digest-missing", "No digest", "every decision of a group needs digest: the call.digest of the request that was shown")
	}
	req, err := s.c.Queue.Request(r.Context(), d.ID)
	if err != nil {
		return req, err
	}
	if req.Call.Digest != d.Digest {
		p, _ := asProblem(approvals.ErrDigest)
		p.Request = &req
		return req, p
	}
	return req, nil
}
