package mcp

import (
	"fmt"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A server of revision 2026-07-28 may answer a call by what it wants to know first
// (inputRequests). Of a call that is a task the client is told so by the task, and
// answers with tasks/update; the call is then made again, as the client itself
// would have. No two requests of a task may have one name, so that those of later
// rounds have the round's number in theirs.

// WantsInput reports whether an answer is none yet: the server wants to know more.
func WantsInput(answer []byte) bool {
	kind, err := wire.Text(wire.Find(wire.Find(answer, "result"), "resultType"))
	return err == nil && kind == "input_required"
}

func inputName(name string, round int) string {
	if round < 2 {
		return name
	}
	return fmt.Sprintf("%s (%d)", name, round)
}

// inputsOf are the requests of an answer under the names that the client knows.
func inputsOf(answer []byte, round int) []byte {
	out := []byte("{}")
	for m, err := range wire.Members(wire.Find(wire.Find(answer, "result"), "inputRequests")) {
		if err == nil { // it passed wire.Strict as it came
			out = wire.AppendMember(out, inputName(string(m.Name), round), m.Value)
		}
	}
	return out
}

// Inputs returns what a tasks/update says to all that the answer wants, under the
// server's own names. ok is false where something is missing.
func (m Message) Inputs(answer []byte, round int) (inputs []byte, ok bool) {
	inputs = []byte("{}")
	given := m.param("inputResponses")
	for want, err := range wire.Members(wire.Find(wire.Find(answer, "result"), "inputRequests")) {
		if err != nil {
			return nil, false
		}
		v := wire.Find(given, inputName(string(want.Name), round))
		if v == nil {
			return nil, false
		}
		inputs = wire.AppendMember(inputs, string(want.Name), v)
	}
	return inputs, true
}

// WithInputs returns a call as it is made again with what the server wanted: with
// the inputs, and with the state that the server's answer has.
func WithInputs(call, inputs, answer []byte) []byte {
	params := setMember(wire.Find(call, "params"), "inputResponses", inputs)
	if state := wire.Find(wire.Find(answer, "result"), "requestState"); state != nil {
		params = setMember(params, "requestState", state)
	} else {
		params = rewrite(params, map[string]func([]byte) []byte{"requestState": func([]byte) []byte { return nil }})
	}
	return setMember(call, "params", params)
}

// WithTasksDeclared returns the answer to server/discover of a server whose tools
// can be called as tasks. What is no such answer stays as it came.
func WithTasksDeclared(message []byte) []byte {
	result := wire.Find(message, "result")
	capabilities := wire.Find(result, "capabilities")
	if wire.KindOf(capabilities) != "an object" {
		return message
	}
	extensions := wire.Find(capabilities, "extensions")
	if wire.KindOf(extensions) != "an object" {
		extensions = []byte("{}")
	}
	extensions = setMember(extensions, extensionTasks, []byte("{}"))
	return setMember(message, "result", setMember(result, "capabilities", setMember(capabilities, "extensions", extensions)))
}
