package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/record"
)

// answerAsk is the button that asks the agent something: to the queue it steers.
const answerAsk holdgate.Answer = "ask"

// answer sends the visitor's answer to a request.
func (s *Server) answer(v *visit) error {
	r, d, err := s.decision(v)
	if err != nil {
		return s.refused(v, r, err)
	}
	if d.Remember != nil && !looked(v.PostForm) {
		return s.showStanding(v, r, d)
	}
	done, err := v.api.Decide(v.Context(), r.ID, d)
	if err != nil {
		return s.refused(v, r, err)
	}
	if !done.Status.Final() { // others have to answer too
		http.Redirect(v.w, v.Request, "/requests/"+done.ID, http.StatusSeeOther)
		return nil
	}
	http.Redirect(v.w, v.Request, "/?done="+url.QueryEscape(done.ID), http.StatusSeeOther)
	return nil
}

// refused shows the request again, with what was wrong with the answer.
func (s *Server) refused(v *visit, r approvals.Request, err error) error {
	p, ok := errors.AsType[*api.Problem](err)
	if !ok || r.ID == "" {
		return err
	}
	if p.Request != nil {
		r = *p.Request
	} else if v.PostForm.Get("decision") == string(holdgate.AnswerEdit) {
		if e, ok := s.again(v, r); ok {
			e.Problem = cmp.Or(e.Problem, p)
			return s.show(v, p.Status, "edit", "Edit", e)
		}
	}
	return s.showRequest(v, p.Status, r, p)
}

// decision reads the form of an answer, and refuses what this screen does not take.
// What the form says of the call is its digest, which the queue compares.
func (s *Server) decision(v *visit) (approvals.Request, api.Decision, error) {
	r, err := v.api.Request(v.Context(), v.PathValue("id"))
	if err != nil {
		return r, api.Decision{}, err
	}
	if err := v.ParseForm(); err != nil {
		return r, api.Decision{}, err
	}
	f := v.PostForm
	r, d, err := s.written(r, f)
	if err != nil {
		return r, d, err
	}
	if d.Signature != nil && !jsontext.Value(d.Signature).IsValid() {
		return r, d, wrong("Not signed", "The signature cannot be read.")
	}
	switch d.Decision {
	case holdgate.AnswerDeny, holdgate.AnswerSteer:
		return r, d, nil
	}
	if err := released(r, d, f); err != nil {
		return r, d, err
	}
	if d.Decision == holdgate.AnswerEdit {
		return r, d, s.sendable(v, r, string(d.Arguments), f)
	}
	return r, d, nil
}

// written is the answer that a form writes.
func (s *Server) written(r approvals.Request, f url.Values) (_ approvals.Request, d api.Decision, err error) {
	d = api.Decision{Decision: holdgate.Answer(f.Get("decision")), Digest: holdgate.Digest(f.Get("digest"))}
	if signed := f.Get("signature"); signed != "" {
		d.Signature = json.RawMessage(signed)
	}
	text := strings.TrimSpace(strings.ReplaceAll(f.Get("text"), "\r\n", "\n"))
	switch d.Decision {
	case holdgate.AnswerDeny:
		d.Reason, d.Rollback, d.Stop = text, f.Has("rollback"), f.Has("stop")
		d.Digest = ""
		return r, d, nil
	case answerAsk:
		if text == "" {
			return r, d, wrong("Nothing asked", "Write your question into the field for the agent.")
		}
		d.Decision, d.Digest = holdgate.AnswerSteer, ""
		d.Instructions = "A person wants to know before they decide: " + text + "\nAnswer that in your next words. If the call is still needed then, make it again."
		return r, d, nil
	case holdgate.AnswerSteer:
		d.Instructions, d.Artifacts = text, strings.Fields(strings.ReplaceAll(f.Get("artifacts"), ",", " "))
		d.Digest = ""
		return r, d, nil
	case holdgate.AnswerApprove:
		d.Reason = text
		d.Remember, err = remember(r, f)
	case holdgate.AnswerChoose:
		if f.Get("choice") == "" {
			return r, d, wrong("Nothing chosen", "Choose one of the options first, then press Choose.")
		}
		d.Choice, d.Instructions = f.Get("choice"), text
	case holdgate.AnswerEdit:
		v := jsontext.Value(f.Get("arguments"))
		if !v.IsValid() {
			return r, d, wrong("No edit", "The arguments are not JSON.")
		}
		d.Arguments, d.Reason = json.RawMessage(v), text
	default:
		return r, d, wrong("No answer", "Choose one of the buttons.")
	}
	return r, d, err
}

// released refuses to let a call go on that the screen did not show whole, or whose
// name was not typed.
func released(r approvals.Request, d api.Decision, f url.Values) error {
	if d.Decision == holdgate.AnswerChoose && !releases(r, d.Choice) {
		return nil
	}
	if why := closedHere(r, f.Has("full")); why != "" {
		return wrong("Not approved", "It cannot be approved here: "+why+".")
	}
	if d.Decision == holdgate.AnswerEdit {
		return nil // it takes what policy's verdict on the edited call says
	}
	return gestured(f, word(r), sure(r), "Not approved", "approve")
}

// gestured refuses an answer without what it takes besides its button.
func gestured(f url.Values, typed string, box bool, not, does string) error {
	if typed != "" && strings.TrimSpace(f.Get("typed")) != typed {
		return wrong(not, "Type "+typed+" into the field to "+does+" it.")
	}
	if box && !f.Has("sure") {
		return wrong(not, "It is of high risk: tick the box above the buttons first, then "+does+" it.")
	}
	return nil
}

// releases reports whether an option lets the call go on.
func releases(r approvals.Request, choice string) bool {
	for _, o := range r.Options {
		if o.ID == choice {
			return !o.Other && (o.Effect == "" || o.Effect == holdgate.EffectApprove)
		}
	}
	return false
}

// remember reads what is to stand for calls to come, nil where nothing is.
func remember(r approvals.Request, f url.Values) (*approvals.Remember, error) {
	kind := record.MatchKind(f.Get("remember"))
	if kind == "" {
		return nil, nil //nolint:nilnil // nothing is asked
	}
	lasts, err := lasting(f.Get("for"), time.Now())
	if err != nil || lasts <= 0 {
		return nil, wrong("Not remembered", "Say for how long it is to be remembered.")
	}
	m := &approvals.Remember{Scope: record.Scope(f.Get("scope")), For: lasts, Match: record.Match{Kind: kind}}
	if uses := f.Get("uses"); uses != "" {
		if m.Uses, err = strconv.Atoi(uses); err != nil || m.Uses < 0 {
			return nil, wrong("Not remembered", "How often it is remembered is a number of calls.")
		}
	}
	if kind != record.MatchPattern {
		return m, nil
	}
	m.Match.Arguments = make(map[string]json.RawMessage)
	for _, pointer := range f["fix"] {
		value, ok := jsontext.Value(nil), false
		if r.Call.Tool != nil {
			value, ok = grants.Argument(r.Call.Tool.Arguments, pointer)
		}
		if !ok {
			return nil, wrong("Not remembered", "The call has no argument "+pointer+".")
		}
		m.Match.Arguments[pointer] = json.RawMessage(value)
	}
	if len(m.Match.Arguments) == 0 {
		return nil, wrong("Not remembered", "Say which arguments have to stay the same.")
	}
	return m, nil
}

// lasting reads how long something is to stand: a length of time, or the time of day
// until which it does.
func lasting(text string, now time.Time) (time.Duration, error) {
	at, err := time.ParseInLocation("15:04", text, now.Location())
	if err != nil {
		return time.ParseDuration(text)
	}
	until := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, now.Location())
	if !until.After(now) {
		until = until.AddDate(0, 0, 1)
	}
	return until.Sub(now).Round(time.Second), nil
}

// wrong is a problem with a form.
func wrong(title, detail string) *api.Problem {
	return &api.Problem{Type: api.ProblemPrefix + "form", Status: http.StatusUnprocessableEntity, Title: title, Detail: detail}
}

// claim says that the visitor looks at a request, or no longer does.
func (s *Server) claim(v *visit) error {
	fn := v.api.Claim
	if v.PostFormValue("claim") == "no" {
		fn = v.api.Unclaim
	}
	r, err := fn(v.Context(), v.PathValue("id"))
	if err != nil {
		if seen, e := v.api.Request(v.Context(), v.PathValue("id")); e == nil {
			return s.refused(v, seen, err)
		}
		return err
	}
	http.Redirect(v.w, v.Request, "/requests/"+r.ID, http.StatusSeeOther)
	return nil
}

// putOff hides a request from the visitor for a time.
func (s *Server) putOff(v *visit) error {
	lasts, next := 10*time.Minute, false
	switch v.PostFormValue("for") {
	case "none":
		lasts = 0
	case "tomorrow":
		lasts = time.Until(morning(time.Now()))
	case "next":
		lasts, next = approvals.MaxDefer, true
	}
	r, err := v.api.Defer(v.Context(), v.PathValue("id"), lasts, next)
	if err != nil {
		if seen, e := v.api.Request(v.Context(), v.PathValue("id")); e == nil {
			return s.refused(v, seen, err)
		}
		return err
	}
	to := "/"
	if lasts == 0 {
		to = "/requests/" + r.ID
	}
	http.Redirect(v.w, v.Request, to, http.StatusSeeOther)
	return nil
}

// morning is the next 8 o'clock: what "until tomorrow" means, after midnight too.
func morning(now time.Time) time.Time {
	at := time.Date(now.Year(), now.Month(), now.Day(), 8, 0, 0, 0, now.Location())
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at
}

// delegate lets somebody else vote in the visitor's place.
func (s *Server) delegate(v *visit) error {
	r, err := v.api.Delegate(v.Context(), v.PathValue("id"), api.Delegation{To: v.PostFormValue("to"), Note: v.PostFormValue("note")})
	if err != nil {
		if seen, e := v.api.Request(v.Context(), v.PathValue("id")); e == nil {
			return s.refused(v, seen, err)
		}
		return err
	}
	http.Redirect(v.w, v.Request, "/requests/"+r.ID, http.StatusSeeOther)
	return nil
}
