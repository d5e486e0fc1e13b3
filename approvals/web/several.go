package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
)

// maxSeveral bounds how many requests are answered at once: a person has to read them.
const maxSeveral = 50

// A batch is requests that are answered at once, each shown in full.
type batch struct {
	List    []approvals.Request
	Closed  string // why they cannot be approved at once, or nothing
	Sure    bool   // approving takes a second step
	Results []api.GroupResult
}

// several shows requests that the visitor wants to answer at once.
func (s *Server) several(v *visit) error {
	if key := v.URL.Query().Get("answered"); key != "" {
		done, _ := s.signins.told(v.signin.id, key).([]api.GroupResult)
		return s.show(v, http.StatusOK, "several", "Answered", batch{Results: done})
	}
	b, err := s.batch(v, v.URL.Query()["id"])
	if err != nil {
		return err
	}
	return s.show(v, http.StatusOK, "several", fmt.Sprintf("%d at once", len(b.List)), b)
}

func (s *Server) batch(v *visit, ids []string) (b batch, err error) {
	if len(ids) == 0 || len(ids) > maxSeveral {
		return b, wrong("Too many", fmt.Sprintf("1 to %d requests are answered at once.", maxSeveral))
	}
	for _, id := range ids {
		r, err := v.api.Request(v.Context(), id)
		if err != nil {
			return b, err
		}
		if why := closed(r, false); why != "" {
			b.Closed = "request " + r.ID + ": " + why
		}
		if word(r) != "" {
			b.Closed = "calls of critical risk are approved one by one"
		}
		b.Sure = b.Sure || sure(r)
		if r.Status == holdgate.StatusPending {
			b.List = append(b.List, r)
		}
	}
	return b, nil
}

// answerSeveral answers those that the form names, each by the digest that was shown.
func (s *Server) answerSeveral(v *visit) error {
	if err := v.ParseForm(); err != nil {
		return err
	}
	f := v.PostForm
	ids, digests := f["id"], f["digest"]
	b, err := s.batch(v, ids)
	if err != nil {
		return err
	}
	answer := holdgate.Answer(f.Get("decision"))
	switch {
	case len(ids) != len(digests):
		return wrong("No answer", "The form is not whole.")
	case answer != holdgate.AnswerApprove && answer != holdgate.AnswerDeny:
		return wrong("No answer", "Choose one of the buttons.")
	case answer == holdgate.AnswerApprove && b.Closed != "":
		return wrong("Not approved", b.Closed)
	case answer == holdgate.AnswerApprove && b.Sure && !f.Has("sure"):
		return wrong("Not approved", "Some are of high risk: tick the box above the buttons first.")
	}
	var list []api.GroupDecision
	for i, id := range ids {
		list = append(list, api.GroupDecision{ID: id, Decision: api.Decision{Decision: answer, Digest: holdgate.Digest(digests[i]), Reason: strings.TrimSpace(f.Get("text"))}})
	}
	done, err := v.api.DecideGroup(v.Context(), list)
	if err != nil {
		return err
	}
	http.Redirect(v.w, v.Request, "/several?answered="+s.signins.tellLater(v.signin.id, done), http.StatusSeeOther)
	return nil
}
