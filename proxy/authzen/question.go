package authzen

import (
	"encoding/json"
	"slices"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// An entity is a subject, an action or a resource.
type entity struct {
	raw      []byte // canonical, with all that it has
	typ, id  string // of an action the id is its name
	property func(name string) []byte
}

// A question is one evaluation: may this subject do this to this resource? It has what
// an approval belongs to.
type question struct {
	subject, action, resource entity
	context                   []byte // canonical; nil where nothing is in it
	names                     []string
	approval                  string // the id of the approval that is shown; empty: none
}

// machinery are members of a context that this profile itself puts there, and the time,
// which is another one each time: policy has a clock. None of them is decided upon.
var machinery = []string{"approval", "access_request", "evaluation_id", "evaluated_at", "reason", "time"}

// parts are the raw members of a request that make a question.
type parts struct{ subject, action, resource, context []byte }

// partsOf reads an object; what is not known in it is left alone.
func partsOf(object []byte) (parts, error) {
	var p parts
	for m, err := range wire.Members(object) {
		if err != nil {
			return p, malformed("want an object with subject, action and resource")
		}
		switch string(m.Name) {
		case "subject":
			p.subject = m.Value
		case "action":
			p.action = m.Value
		case "resource":
			p.resource = m.Value
		case "context":
			p.context = m.Value
		}
	}
	return p, nil
}

// over puts defaults below the parts: whole entities, and the names of those that have
// none of their own.
func (p parts) over(defaults parts) parts {
	return parts{
		subject:  lain(p.subject, defaults.subject, "type", "id"),
		action:   lain(p.action, defaults.action, "name"),
		resource: lain(p.resource, defaults.resource, "type", "id"),
		context:  lain(p.context, defaults.context),
	}
}

// lain is an object, or what is to be there instead, with the members of these names
// that it lacks.
func lain(object, instead []byte, names ...string) []byte {
	if object == nil || instead == nil {
		return slices.Concat(object, instead) // one of them is nothing
	}
	for _, name := range names {
		v := member(instead, name)
		if v == nil || member(object, name) != nil || object[0] != '{' {
			continue
		}
		rest := object[1:]
		if len(object) > len("{}") && !isEmpty(object) {
			rest = slices.Concat([]byte(","), rest)
		}
		object = slices.Concat([]byte(`{"`+name+`":`), v, rest)
	}
	return object
}

func isEmpty(object []byte) bool {
	for range wire.Members(object) {
		return false
	}
	return true
}

// member is a value in an object, or nil.
func member(object []byte, name string) []byte {
	for m, err := range wire.Members(object) {
		if err == nil && string(m.Name) == name {
			return m.Value
		}
	}
	return nil
}

// question reads the parts.
func (p parts) question() (q question, err error) {
	if q.subject, err = entityOf("subject", p.subject, "type", "id"); err != nil {
		return q, err
	}
	if q.action, err = entityOf("action", p.action, "", "name"); err != nil {
		return q, err
	}
	if q.resource, err = entityOf("resource", p.resource, "type", "id"); err != nil {
		return q, err
	}
	return q, q.within(p.context)
}

// within reads a context.
func (q *question) within(raw []byte) (err error) {
	if raw == nil {
		return nil
	}
	n := 0
	for m, err := range wire.Members(raw) {
		if err != nil {
			return malformed("context must be an object")
		}
		if n++; n > maxMembers || len(m.Name) > maxText {
			return malformed("context must have at most %d members, with names of at most %d bytes", maxMembers, maxText)
		}
		if !slices.Contains(machinery, string(m.Name)) {
			q.names = append(q.names, string(m.Name))
		}
		if string(m.Name) == "approval" {
			q.approval, _ = textOf(member(m.Value, "id")) // one that cannot be read is none
		}
	}
	if len(q.names) == 0 {
		return nil
	}
	if q.context, err = wire.CanonicalWithout(raw, machinery...); err != nil {
		return malformed("context cannot be read: %v", err)
	}
	return nil
}

// entityOf reads an object that must have texts of these names.
func entityOf(what string, raw []byte, typ, id string) (e entity, err error) {
	if raw == nil {
		return e, malformed("%s is missing", what)
	}
	if raw[0] != '{' {
		return e, malformed("%s must be an object", what)
	}
	if err := wire.Strict(raw); err != nil { // it may be put together of two
		return e, malformed("%s cannot be read: %v", what, err)
	}
	for name, into := range map[string]*string{typ: &e.typ, id: &e.id} {
		if name == "" {
			continue
		}
		v := member(raw, name)
		if v == nil {
			return e, malformed("%s.%s is missing", what, name)
		}
		text, ok := textOf(v)
		if !ok || text == "" || len(text) > maxText {
			return e, malformed("%s.%s must be a text of 1 to %d bytes", what, name, maxText)
		}
		*into = text
	}
	properties := member(raw, "properties")
	if properties != nil && properties[0] != '{' {
		return e, malformed("%s.properties must be an object", what)
	}
	e.property = func(name string) []byte {
		if properties == nil {
			return nil
		}
		return member(properties, name)
	}
	if e.raw, err = holdgate.Canonical(raw); err != nil {
		return e, malformed("%s cannot be read: %v", what, err)
	}
	return e, nil
}

// textOf is a JSON string's text.
func textOf(raw []byte) (text string, ok bool) {
	return text, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil
}

// server is the one of calls that are no tool's: an action on a resource.
const server = "authzen"

// call is the question as policy sees it. tools/call of a tool is a call of that tool;
// everything else is a call that is named by the action, with all that was said.
func (q *question) call(trusted bool) (holdgate.Call, error) {
	c := holdgate.Call{Kind: holdgate.KindToolCall, Access: &holdgate.Access{Subject: q.subject.raw, Context: q.context, Proven: trusted}}
	if q.action.id == "tools/call" && q.resource.typ == "tool" {
		t := &holdgate.Tool{Name: q.resource.id}
		if v := q.resource.property("server"); v != nil {
			name, ok := textOf(v)
			if !ok || name == server || len(name) > maxText {
				return c, malformed("resource.properties.server must be the name of an MCP server, other than %s", server)
			}
			t.Server = name
		}
		switch v := q.action.property("arguments"); {
		case v == nil: // nobody knows what the call does
		case v[0] == '{':
			t.Arguments = v
		default:
			t.ArgumentsRaw = string(v)
		}
		c.Tool = t
		return c, nil
	}
	c.Tool = &holdgate.Tool{Name: q.action.id, Server: server, Arguments: q.said()}
	return c, nil
}

// said is all that the question says, as one object.
func (q *question) said() []byte {
	text := slices.Concat([]byte(`{"action":`), q.action.raw)
	if q.context != nil {
		text = slices.Concat(text, []byte(`,"context":`), q.context)
	}
	return slices.Concat(text, []byte(`,"resource":`), q.resource.raw, []byte(`,"subject":`), q.subject.raw, []byte("}"))
}

// whose is a caller in the session of this subject.
func (q *question) whose(d *holdgate.Digester, who approvals.Caller) approvals.Caller {
	who.Session.ID = q.subject.typ + ":" + q.subject.id
	if !gate.NamesSession(who.Session.ID) {
		who.Session.ID = "subject:" + string(d.Fields("authzen.subject", q.subject.typ, q.subject.id))
	}
	return who
}

// fields are all that an approval belongs to.
func (q *question) fields(client string) []string {
	return []string{client, string(q.subject.raw), string(q.action.raw), string(q.resource.raw), string(q.context)}
}
