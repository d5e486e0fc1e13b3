package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
)

// An edit is the arguments of a call as the visitor changes them.
type edit struct {
	approvals.Request

	Fields  []field
	Changes []string
	Result  string // the arguments as they would be sent, once they are checked
	Problem *api.Problem
	Word    string
	Text    string // that goes along
}

// A field is one argument.
type field struct {
	Name  string
	Value string
	Text  bool // it is a text; else JSON
}

// fieldsOf are a call's arguments.
func fieldsOf(r approvals.Request) (list []field, members []member, err error) {
	if r.Call.Tool == nil || r.Call.Tool.Arguments == nil || r.Briefing.Counts.Redacted > 0 {
		return nil, nil, wrong("Cannot be edited", "Its arguments are no JSON object, or not all of them are shown.")
	}
	if members, err = objectOf(r.Call.Tool.Arguments); err != nil {
		return nil, nil, err
	}
	for _, m := range members {
		f := field{Name: m.name, Value: string(m.value)}
		if f.Text = m.value.Kind() == '"'; f.Text {
			if err := json.Unmarshal(m.value, &f.Value); err != nil {
				return nil, nil, err
			}
		}
		list = append(list, f)
	}
	return list, members, nil
}

// edit shows a call's arguments as fields.
func (s *Server) edit(v *visit) error {
	r, err := v.api.Request(v.Context(), v.PathValue("id"))
	if err != nil {
		return err
	}
	e := edit{Request: r, Word: word(r)}
	if e.Fields, _, err = fieldsOf(r); err != nil {
		return err
	}
	return s.show(v, http.StatusOK, "edit", "Edit", e)
}

// checkEdit shows what the visitor's edit changes, to be sent or changed again.
func (s *Server) checkEdit(v *visit) error {
	r, err := v.api.Request(v.Context(), v.PathValue("id"))
	if err != nil {
		return err
	}
	was, members, err := fieldsOf(r)
	if err != nil {
		return err
	}
	if err := v.ParseForm(); err != nil {
		return err
	}
	values := v.PostForm["value"]
	if len(values) != len(was) || v.PostForm.Get("digest") != string(r.Call.Digest) {
		return wrong("No edit", "The form is not that of this call.")
	}
	e := edit{Request: r, Word: word(r), Text: v.PostForm.Get("text")}
	out := []byte{'{'}
	for i, old := range was {
		now, value := unbroken(values[i]), members[i].value
		e.Fields = append(e.Fields, field{Name: old.Name, Value: now, Text: old.Text})
		if now != unbroken(old.Value) {
			e.Changes = append(e.Changes, difference(old.Name, old.Value, now)...)
			if value = jsontext.Value(now); old.Text {
				if value, err = jsontext.AppendQuote(nil, now); err != nil {
					return wrong("No edit", old.Name+" is no text.")
				}
			}
		}
		if !value.IsValid() {
			e.Problem = wrong("No JSON", old.Name+" is not JSON.")
			return s.show(v, e.Problem.Status, "edit", "Edit", e)
		}
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, old.Name); err != nil {
			return err
		}
		out = append(append(out, ':'), value...)
	}
	status := http.StatusOK
	if e.Result = string(append(out, '}')); len(e.Changes) == 0 {
		e.Result, e.Problem, status = "", wrong("No edit", "Nothing is changed."), http.StatusUnprocessableEntity
	}
	return s.show(v, status, "edit", "Edit", e)
}

// unbroken is a text with the line ends that it had before a form wrote its own.
func unbroken(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// difference is one argument that differs, as lines of a diff.
func difference(name, old, now string) []string {
	lines := []string{"  " + holdgate.Visible(name)}
	for l := range strings.SplitSeq(old, "\n") {
		lines = append(lines, "- "+holdgate.Visible(l))
	}
	for l := range strings.SplitSeq(now, "\n") {
		lines = append(lines, "+ "+holdgate.Visible(l))
	}
	return lines
}
