package web

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/people"
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
	Input     string // that was tried
	Decision  string // what came of it
	Problem   *api.Problem
	Suggested *api.PolicySuggestions // nil: nobody asked for them
}

// A ruleRow is a rule, and what came of it.
type ruleRow struct {
	api.PolicyRule

	ID    string
	Asked stats.Group
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
	by := map[string]stats.Group{}
	for _, g := range st.ByRule {
		by[g.Name] = g
	}
	for _, r := range pv.Rules {
		for _, id := range r.IDs {
			pv.Rows = append(pv.Rows, ruleRow{r, id, by[id]})
		}
	}
	slices.SortStableFunc(pv.Rows, func(a, b ruleRow) int {
		return cmp.Or(cmp.Compare(b.Asked.Asked, a.Asked.Asked), cmp.Compare(a.ID, b.ID))
	})
	pv.Rows = slices.CompactFunc(pv.Rows, func(a, b ruleRow) bool { return a.ID == b.ID && a.Title == b.Title })
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
	d, err := v.api.DecidePolicy(v.Context(), []byte(pv.Input))
	if p, ok := errors.AsType[*api.Problem](err); ok {
		pv.Problem = p
	} else if err != nil {
		return err
	} else {
		shown := jsontext.Value(d)
		if err := shown.Indent(jsontext.WithIndent("  ")); err != nil {
			return err
		}
		pv.Decision = string(shown)
	}
	return s.showPolicy(v, pv)
}

// A draftView is files of a policy on their way into force.
type draftView struct {
	Request  string // that it is drafted from
	Name     string
	Files    []draftFile
	Review   *api.PolicyReview // nil: nobody has seen yet what it would change
	Seen     string            // names the files that were reviewed
	Pushable bool
	Admin    bool
	Problem  *api.Problem
}

type draftFile struct{ Name, Text string }

// draft offers rules for calls like that of a request, and shows the one that was chosen.
func (s *Server) draft(v *visit) error {
	d := draftView{Request: v.FormValue("request")}
	if kind := v.PostFormValue("kind"); kind != "" {
		found, err := v.api.DraftPolicy(v.Context(), d.Request, kind)
		if p, ok := errors.AsType[*api.Problem](err); ok {
			d.Problem = p
		} else if err != nil {
			return err
		}
		d.Name, d.Files = found.Name, filesOf(found.Files)
	}
	return s.showDraft(v, d)
}

func filesOf(files map[string]string) (list []draftFile) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list = append(list, draftFile{name, files[name]})
	}
	return list
}

func (s *Server) showDraft(v *visit, d draftView) error {
	state, err := v.api.Policy(v.Context(), "-")
	if err != nil {
		return err
	}
	me, _ := s.c.People().Find(v.signin.credential.Person)
	d.Pushable, d.Admin = state.Pushable, me.Has(people.RoleAdmin)
	status := http.StatusOK
	if d.Problem != nil {
		status = d.Problem.Status
	}
	return s.show(v, status, "draft", "A rule", d)
}

// drafted are the files of a form.
func drafted(f url.Values) (draftView, api.PolicyPush, error) {
	d := draftView{Request: f.Get("request"), Name: strings.TrimSpace(f.Get("name"))}
	names, texts := f["file"], f["text"]
	if len(names) == 0 || len(names) != len(texts) {
		return d, api.PolicyPush{}, wrong("No rule", "The form is not whole.")
	}
	push := api.PolicyPush{Name: d.Name, Files: map[string]string{}, Add: true}
	sum := sha256.New()
	for i, name := range names {
		text := unbroken(texts[i])
		d.Files = append(d.Files, draftFile{name, text})
		push.Files[name] = text
		sum.Write([]byte(name + "\x00" + text + "\x00"))
	}
	d.Seen = base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:12])
	return d, push, nil
}

// reviewDraft shows what files would change, before they can be put in force.
func (s *Server) reviewDraft(v *visit) error {
	if err := v.ParseForm(); err != nil {
		return err
	}
	d, push, err := drafted(v.PostForm)
	if err != nil {
		return err
	}
	r, err := v.api.ReviewPolicy(v.Context(), push)
	if p, ok := errors.AsType[*api.Problem](err); ok {
		d.Problem = p
	} else if err != nil {
		return err
	} else {
		d.Review = &r
	}
	return s.showDraft(v, d)
}

// pushDraft puts files in force whose review the visitor was shown.
func (s *Server) pushDraft(v *visit) error {
	if err := v.ParseForm(); err != nil {
		return err
	}
	d, push, err := drafted(v.PostForm)
	if err != nil {
		return err
	}
	push.Reviewed = v.PostForm.Get("reviewed")
	if v.PostForm.Get("seen") != d.Seen || push.Reviewed == "" {
		return wrong("Not in force", "See first what it would change.")
	}
	if _, err := v.api.PushPolicy(v.Context(), push); err != nil {
		return err
	}
	http.Redirect(v.w, v.Request, "/policy", http.StatusSeeOther)
	return nil
}
