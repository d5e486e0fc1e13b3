package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/approvals/record"
)

// An edit is the arguments of a call as the visitor changes them.
type edit struct {
	approvals.Request

	Fields  []field
	Changes []string
	Result  string // the arguments as they would be sent; empty where they cannot be
	Verdict *api.Checked
	Problem *api.Problem
	Word    string // what sending it has to be typed, or nothing
	Sure    bool   // sending it takes a box that is ticked first
	Text    string // that goes along
}

// A field is one argument.
type field struct {
	Name  string
	Value string
	Text  bool // it is a text; else JSON

	Absent  bool     // the call does not have it, and its schema does
	Options []string // all values that it can have
	Help    string   // what its schema says of it
}

// A property is what a JSON Schema says of an argument, as far as a form can use it.
type property struct {
	Type        any               `json:"type"`
	Enum        []json.RawMessage `json:"enum"`
	Description string            `json:"description"`
}

// maxFields bounds the fields of a form, those that the call does not have included.
const maxFields = 60

// describe adds to the fields what the tool's schema says of them, and the fields that
// the call could have besides. A schema that says something else is passed over.
func describe(list []field, schema json.RawMessage) []field {
	var s struct {
		Properties map[string]property `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return list
	}
	for i := range list {
		if p, ok := s.Properties[list[i].Name]; ok {
			list[i].by(p)
			delete(s.Properties, list[i].Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if len(list) >= maxFields {
			break
		}
		p := s.Properties[name]
		f := field{Name: name, Absent: true, Text: p.Type == "string"}
		f.by(p)
		list = append(list, f)
	}
	return list
}

// by takes over what a schema says.
func (f *field) by(p property) {
	f.Help = holdgate.Bounded(p.Description, 300)
	if p.Type == "boolean" {
		f.Options = []string{"true", "false"}
	}
	for _, v := range p.Enum {
		var text string
		if f.Text && json.Unmarshal(v, &text) == nil {
			f.Options = append(f.Options, text)
		} else if !f.Text {
			f.Options = append(f.Options, string(v))
		}
	}
	if len(f.Options) > 0 && !f.Absent && !slices.Contains(f.Options, f.Value) {
		f.Options = nil // what the call has is none of them: it is shown as it is
	}
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

// fields are a call's arguments, with what the schema of its tool says of them.
func (s *Server) fields(v *visit, r approvals.Request) ([]field, []member, error) {
	list, members, err := fieldsOf(r)
	if err != nil {
		return nil, nil, err
	}
	c, err := v.api.Check(v.Context(), r.ID, nil)
	if err != nil {
		return nil, nil, err
	}
	return describe(list, c.Schema), members, nil
}

// edit shows a call's arguments as fields.
func (s *Server) edit(v *visit) error {
	r, err := v.api.Request(v.Context(), v.PathValue("id"))
	if err != nil {
		return err
	}
	e := edit{Request: r}
	if e.Fields, _, err = s.fields(v, r); err != nil {
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
	was, members, err := s.fields(v, r)
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
	e := edit{Request: r, Text: v.PostForm.Get("text")}
	if err := e.write(was, members, values); err != nil {
		return err
	}
	if e.Problem == nil {
		e.judge(s, v)
	}
	status := http.StatusOK
	if e.Problem != nil {
		status = e.Problem.Status
	}
	return s.show(v, status, "edit", "Edit", e)
}

// write makes the arguments of what the fields of a form have, in the order of the call. What is
// wrong with them is the edit's problem.
func (e *edit) write(was []field, members []member, values []string) (err error) {
	for i, f := range was {
		f.Value = unbroken(values[i])
		e.Fields = append(e.Fields, f)
	}
	out := []byte{'{'}
	for i, old := range was {
		now, value := e.Fields[i].Value, jsontext.Value(nil)
		if old.Absent && now == "" {
			continue
		}
		if !old.Absent {
			value = members[i].value
		}
		if old.Absent || now != unbroken(old.Value) {
			e.Changes = append(e.Changes, difference(old.Name, old.Value, now)...)
			if value = jsontext.Value(now); old.Text {
				if value, err = jsontext.AppendQuote(nil, now); err != nil {
					return wrong("No edit", old.Name+" is no text.")
				}
			}
		}
		if !value.IsValid() {
			e.Problem = wrong("No JSON", old.Name+" is not JSON.")
			return nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, old.Name); err != nil {
			return err
		}
		out = append(append(out, ':'), value...)
	}
	if e.Result = string(append(out, '}')); len(e.Changes) == 0 {
		e.Result, e.Problem = "", wrong("No edit", "Nothing is changed.")
	}
	return nil
}

// judge asks policy about the arguments as they would be sent.
func (e *edit) judge(s *Server, v *visit) {
	c, err := s.verdict(v, e.ID, e.Result)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusForbidden {
		e.Result, e.Problem = "", p
		return
	}
	if err != nil {
		s.c.Logger.WarnContext(v.Context(), "asking policy about an edit", "approval", e.ID, "error", err)
	}
	e.Verdict = c
	e.Word, e.Sure = takes(e.Request, c)
}

// verdict is what policy says of these arguments now.
func (s *Server) verdict(v *visit, id, arguments string) (*api.Checked, error) {
	c, err := v.api.Check(v.Context(), id, []byte(arguments))
	if err != nil {
		return nil, err
	}
	return &c, nil
}

// takes is what sending an edit of the request takes besides its button, by policy's verdict on
// the edited call: a word that is typed, or a box that is ticked. Without a verdict it is what
// the call itself takes, and no less than the box.
func takes(r approvals.Request, c *api.Checked) (typed string, box bool) {
	if c == nil {
		r.Risk = record.Graver(r.Risk, holdgate.RiskHigh)
		return word(r), sure(r)
	}
	if r.Risk = c.Risk; word(r) != "" {
		return cmp.Or(c.Target, word(r)), false
	}
	return "", sure(r)
}

// sendable refuses to send an edit without what its verdict of now takes.
func (s *Server) sendable(v *visit, r approvals.Request, arguments string, f url.Values) error {
	c, err := s.verdict(v, r.ID, arguments)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusForbidden {
		return p
	}
	if c != nil && c.Action == holdgate.Deny.String() {
		return wrong("Not sent", "Policy refuses the edited call, by the rule "+c.Rule+": "+c.Reason)
	}
	typed, box := takes(r, c)
	return gestured(f, typed, box, "Not sent", "send")
}

// again is an edit that was not sent, as its form wrote it, where it can be sent yet.
func (s *Server) again(v *visit, r approvals.Request) (e edit, ok bool) {
	f := v.PostForm
	given, err := objectOf([]byte(f.Get("arguments")))
	if err != nil || r.Status != holdgate.StatusPending || f.Get("digest") != string(r.Call.Digest) {
		return e, false
	}
	was, members, err := s.fields(v, r)
	if err != nil {
		return e, false
	}
	values := make([]string, len(was))
	for _, m := range given {
		i := slices.IndexFunc(was, func(o field) bool { return o.Name == m.name })
		if i < 0 {
			return e, false
		}
		if values[i] = string(m.value); was[i].Text && json.Unmarshal(m.value, &values[i]) != nil {
			return e, false
		}
	}
	e = edit{Request: r, Text: f.Get("text")}
	if err := e.write(was, members, values); err != nil {
		return e, false
	}
	if e.Problem == nil {
		e.judge(s, v)
	}
	return e, true
}

// unbroken is a text with the line ends that it had before a form wrote its own.
func unbroken(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// difference is one argument that differs, as lines of a diff.
func difference(name, old, now string) []string {
	lines := []string{"  " + holdgate.Visible(name)}
	unified := strings.Split(strings.TrimSuffix(udiff.Unified("a", "b", old+"\n", now+"\n"), "\n"), "\n")
	for _, l := range unified[min(len(unified), 2):] { // after the names of files
		switch {
		case strings.HasPrefix(l, "@@"):
			continue
		case l != "":
			l = l[:1] + " " + holdgate.Visible(l[1:])
		}
		lines = append(lines, l)
	}
	return lines
}
