package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/client"
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

// A policyView is the policy in force, and what one can do about it.
type policyView struct {
	api.PolicyState

	Days      int
	Rows      []ruleRow
	Input     string          // that was tried
	Tried     *client.Verdict // what came of it; nil: nothing was tried
	Decision  string          // that, as policy writes it
	Facts     string          // that it rests on, as rules read them
	Problem   *api.Problem
	Suggested *api.PolicySuggestions // nil: nobody asked for them
}

// A ruleRow is a rule by its id, with what each of its sources is about and how grave, and
// what came of it.
type ruleRow struct {
	ID            string
	Titles, Risks []string
	Asked         stats.Group
}

// rows has one row for each rule, those that have asked most first.
func rows(rules []api.PolicyRule, asked []stats.Group) (rows []ruleRow) {
	at := map[string]int{}
	for _, r := range rules {
		for _, id := range r.IDs {
			i, ok := at[id]
			if !ok {
				i = len(rows)
				at[id], rows = i, append(rows, ruleRow{ID: id})
			}
			rows[i].Titles, rows[i].Risks = added(rows[i].Titles, r.Title), added(rows[i].Risks, r.Risk)
		}
	}
	for _, g := range asked {
		if i, ok := at[g.Name]; ok {
			rows[i].Asked = g
		}
	}
	slices.SortStableFunc(rows, func(a, b ruleRow) int {
		return cmp.Or(cmp.Compare(b.Asked.Asked, a.Asked.Asked), cmp.Compare(a.ID, b.ID))
	})
	return rows
}

// added is a list with a word, where that is a new one.
func added(list []string, word string) []string {
	if word == "" || slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}

// example is an input to begin with.
const example = `{
  "kind": "tool_call",
  "tool": {"name": "Bash", "arguments": {"command": "git push --force"}}
}`

// policy shows the rules in force.
func (s *Server) policy(v *visit) error { return s.showPolicy(v, policyView{Input: example}) }

func (s *Server) showPolicy(v *visit, pv policyView) (err error) {
	if pv.PolicyState, err = v.api.Policy(v.Context(), ""); err != nil {
		return err
	}
	pv.Days = ruleDays
	st, err := v.api.Stats(v.Context(), time.Now().AddDate(0, 0, -pv.Days), time.Time{})
	if err != nil {
		return err
	}
	pv.Rows = rows(pv.Rules, st.ByRule)
	if v.URL.Query().Has("suggest") {
		found, err := v.api.SuggestPolicy(v.Context())
		if err != nil {
			return err
		}
		pv.Suggested = &found
	}
	status := http.StatusOK
	if pv.Problem != nil {
		status = pv.Problem.Status
	}
	return s.show(v, status, "policy", "Policy", pv)
}

// tryPolicy asks policy about an input that the visitor wrote.
func (s *Server) tryPolicy(v *visit) error {
	pv := policyView{Input: unbroken(v.PostFormValue("input"))}
	if !jsontext.Value(pv.Input).IsValid() {
		pv.Problem = wrong("No input", "It is not JSON.")
		return s.showPolicy(v, pv)
	}
	tried, err := v.api.TryPolicy(v.Context(), []byte(pv.Input))
	if p, ok := errors.AsType[*api.Problem](err); ok {
		pv.Problem = p
	} else if err != nil {
		return err
	} else {
		decision, facts := jsontext.Value(tried.Decision), jsontext.Value(tried.Facts)
		if err := errors.Join(decision.Indent(jsontext.WithIndent("  ")), facts.Indent(jsontext.WithIndent("  "))); err != nil {
			return err
		}
		pv.Tried, pv.Decision, pv.Facts = new(client.Verdict), string(decision), string(facts)
		if json.Unmarshal(tried.Decision, pv.Tried) != nil {
			return fmt.Errorf("reading the decision %q", pv.Decision)
		}
	}
	return s.showPolicy(v, pv)
}
