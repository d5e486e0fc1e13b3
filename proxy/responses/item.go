package responses

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A kind says what is done with an item.
type kind uint8

const (
	kindOther    kind = iota // flows
	kindCall                 // is withheld
	kindObserved             // flows: the provider has run it already
)

// A form says where the arguments of a call lie.
type form uint8

const (
	formRest   form = iota // all members but those that name the item
	formText               // JSON as text in arguments
	formFree               // free text in input
	formObject             // a JSON object in a member of its own
)

// A shape is how a known type of item says what is to be done.
type shape struct {
	tool   string // its name for policy; empty where the item names it
	form   form
	member string // of formObject
	kind   kind
	fixed  bool // nobody can put other arguments into it
}

// shapeOf returns the shape of the items of a type, as far as that is known.
func shapeOf(typ string) (shape, bool) {
	switch typ {
	case "function_call":
		return shape{form: formText, kind: kindCall}, true
	case "custom_tool_call":
		return shape{form: formFree, kind: kindCall, fixed: true}, true
	case "mcp_approval_request": // the provider runs what it has itself
		return shape{form: formText, kind: kindCall, fixed: true}, true
	case "local_shell_call":
		return shape{tool: "local_shell", form: formObject, member: "action", kind: kindCall}, true
	case "shell_call":
		return shape{tool: "shell", form: formObject, member: "action", kind: kindCall}, true
	case "apply_patch_call":
		return shape{tool: "apply_patch", form: formObject, member: "operation", kind: kindCall}, true
	case "tool_search_call":
		return shape{tool: "tool_search", form: formObject, member: "arguments", kind: kindCall}, true
	case "computer_call":
		return shape{tool: "computer", form: formRest, kind: kindCall}, true
	case "mcp_call":
		return shape{form: formText, kind: kindObserved}, true
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "x_search_call":
		return shape{tool: strings.TrimSuffix(typ, "_call"), kind: kindObserved}, true
	case "program":
		return shape{tool: typ, kind: kindObserved}, true
	case "message", "reasoning", "compaction", "item_reference", "mcp_list_tools", "mcp_approval_response", "additional_tools":
		return shape{kind: kindOther}, true
	}
	return shape{}, false
}

// identity are the members that say which item it is and how far it has come,
// and what the provider's tools gave back: none of them says what is to be
// done.
var identity = []string{
	"type", "id", "call_id", "status", "caller", "created_by", "result", "results", "output", "outputs", "error",
}

// doing are the members by which an item of an unknown type looks like a call.
var doing = [...]string{"arguments", "input", "action", "actions", "operation", "command", "commands"}

// members are all that an item is read for.
var members = append([]string{"type", "id", "call_id", "name", "namespace", "server_label", "environment", "execution"}, doing[:]...)

// An item is one element of a response's output, as far as it is read here.
type item struct {
	shape
	raw       []byte // the JSON object
	typ       string
	id        string
	callID    string
	name      string
	namespace string
	server    string
	value     []byte // JSON value of the member where the arguments lie, nil where there is none
	known     bool   // its type is
}

// readItem reads an item. The object must be strict JSON.
func readItem(object []byte) (item, error) {
	it := item{raw: object}
	if wire.KindOf(object) != "an object" {
		return it, fmt.Errorf("reading an item: an object was expected, not %s", wire.KindOf(object))
	}
	var environment, execution []byte
	does := false
	var done [len(doing)][]byte // the values of doing
	for m, err := range wire.Members(object) {
		if err != nil {
			return it, fmt.Errorf("reading an item: %w", err)
		}
		switch name := string(m.Name); name {
		case "type":
			it.typ, err = wire.Text(m.Value)
		case "id":
			it.id, err = wire.TextOrNull(m.Value)
		case "call_id":
			it.callID, err = wire.TextOrNull(m.Value)
		case "name":
			it.name, err = wire.TextOrNull(m.Value)
		case "namespace":
			it.namespace, err = wire.TextOrNull(m.Value)
		case "server_label":
			it.server, err = wire.TextOrNull(m.Value)
		case "environment":
			environment = m.Value
		case "execution":
			execution = m.Value
		default:
			err = wire.KnownName(m, members...)
			if n := slices.Index(doing[:], name); n >= 0 {
				done[n] = m.Value
				does = does || !wire.IsNull(m.Value)
			}
		}
		if err != nil {
			return it, fmt.Errorf("reading %s of an item: %w", m.Name, err)
		}
	}
	if it.typ == "" {
		return it, errors.New("reading an item: it has no type")
	}
	it.shape, it.known = shapeOf(it.typ)
	switch {
	case !it.known && (does || soundsLikeCall(it.typ)):
		it.shape = shape{tool: it.typ, kind: kindCall, fixed: true}
	case it.typ == "shell_call" && inContainer(environment), it.typ == "tool_search_call" && string(execution) == `"server"`:
		it.kind = kindObserved
	}
	if it.kind == kindCall && it.tool == "" && it.name == "" {
		return it, fmt.Errorf("reading an item: a %s has no name", it.typ)
	}
	if it.mayHide() {
		for m, err := range wire.Members(object) {
			if err == nil && string(m.Name) != "type" {
				err = wire.NoCall(m)
			}
			if err != nil {
				return it, fmt.Errorf("reading %s of an item: %w", m.Name, err)
			}
		}
	}
	it.value = it.argumentsValue(func(name string) []byte { return done[slices.Index(doing[:], name)] })
	return it, nil
}

// mayHide reports whether an item is no call and could have one in it. Those
// that list tools have any names, and what a call gave back is none.
func (it *item) mayHide() bool {
	switch it.typ {
	case "mcp_list_tools", "mcp_approval_response", "additional_tools", "item_reference":
		return false
	}
	return it.kind == kindOther && !strings.HasSuffix(it.typ, "_output")
}

// soundsLikeCall reports whether an unknown type could be a call. What a call
// gave back is none.
func soundsLikeCall(typ string) bool {
	typ = strings.ToLower(typ)
	return !strings.HasSuffix(typ, "_output") &&
		(strings.Contains(typ, "call") || strings.Contains(typ, "tool_use") || strings.Contains(typ, "approval_request"))
}

// inContainer reports whether a shell_call runs at the provider. Where it is
// not sure, the client may be the one.
func inContainer(environment []byte) bool {
	if wire.KindOf(environment) != "an object" {
		return false
	}
	typ, err := wire.Text(wire.Find(environment, "type"))
	return err == nil && (typ == "container_reference" || typ == "container_auto")
}

// argumentsValue returns the value of the member where the arguments lie, one of
// doing.
func (it *item) argumentsValue(of func(name string) []byte) []byte {
	switch it.form {
	case formText:
		return of("arguments")
	case formFree:
		return of("input")
	case formObject:
		return of(it.member)
	}
	return wire.RewriteMembers(it.raw, func(m wire.Member) []byte {
		if slices.Contains(identity, string(m.Name)) {
			return nil
		}
		return m.Value
	})
}

// key is what tells a call from others of a response: its call_id or, where it
// has none, its id.
func (it *item) key() string {
	if it.callID != "" {
		return it.callID
	}
	return it.id
}
