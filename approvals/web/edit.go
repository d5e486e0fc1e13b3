package web

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
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
	Verdict *api.Checked
	Problem *api.Problem
	Word    string
	Sure    bool   // see [requestPage]
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
	e := edit{Request: r, Word: word(r)}
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
	e := edit{Request: r, Word: word(r), Sure: sure(r), Text: v.PostForm.Get("text")}
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
			return s.show(v, e.Problem.Status, "edit", "Edit", e)
		}
		if len(out) > 1 {
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
	} else if c, err := v.api.Check(v.Context(), r.ID, []byte(e.Result)); err == nil && c.Action != "" {
		e.Verdict = &c
	} else if err != nil {
		s.c.Logger.WarnContext(v.Context(), "asking policy about an edit", "approval", r.ID, "error", err)
	}
	return s.show(v, status, "edit", "Edit", e)
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
