package web

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/people"
)

// A draftView is files of a policy on their way into force.
type draftView struct {
	Request  string // that it is drafted from
	What     string // what that does, where it is known
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
	if r, err := v.api.Request(v.Context(), d.Request); err == nil {
		d.What = r.Briefing.Summary
	}
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
