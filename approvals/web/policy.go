package web

import (
	"net/http"
	"time"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/stats"
)

// ruleDays is how far back a rule's questions are counted.
const ruleDays = 30

// A ruleView is a rule by its id: what its sources say, and what came of it.
type ruleView struct {
	ID    string
	Rules []api.PolicyRule
	Asked stats.Group
	Days  int
}

// rule shows a rule.
func (s *Server) rule(v *visit) error {
	r := ruleView{ID: v.URL.Query().Get("id"), Days: ruleDays}
	p, err := v.api.Policy(v.Context(), r.ID)
	if err != nil {
		return err
	}
	if r.ID != "" {
		r.Rules = p.Rules
	}
	st, err := v.api.Stats(v.Context(), time.Now().AddDate(0, 0, -r.Days), time.Time{})
	if err != nil {
		return err
	}
	for _, g := range st.ByRule {
		if g.Name == r.ID {
			r.Asked = g
		}
	}
	return s.show(v, http.StatusOK, "rule", "Rule "+r.ID, r)
}
