package interactions

import (
	"fmt"
	"iter"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Request reads a model request: the model, whether it streams, the names of the agent's
// tools, and what the provider runs by itself. The body must have passed [wire.Strict].
// One that names neither a model nor an agent is an error that wraps
// [wire.ErrUnsupported].
func (*Codec) Request(_ string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	m := &holdgate.Model{Provider: "gemini"}
	asks := false
	for member, err := range body {
		if err == nil {
			err = requestMember(m, member)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a request for an interaction: %w", err)
		}
		switch string(member.Name) {
		case "model", "agent":
			asks = true
		}
	}
	if !asks {
		return nil, fmt.Errorf("reading a request for an interaction: %w: it names neither a model nor an agent", wire.ErrUnsupported)
	}
	return m, nil
}

func requestMember(m *holdgate.Model, member wire.Member) (err error) {
	switch string(member.Name) {
	case "input", "store", "background", "previous_interaction_id", "continuation_token":
	case "model":
		m.Name, err = wire.TextOrNull(member.Value)
		m.Name = strings.TrimPrefix(m.Name, "models/")
	case "stream":
		m.Stream, err = wire.BoolOrNull(member.Value)
	case "tools":
		err = wire.EachElement(member.Value, func(tool []byte) error { return readTool(m, tool) })
	case "agent": // whose tools are not in the request
		var id string
		if id, err = wire.TextOrNull(member.Value); id != "" {
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: "agent", Name: id})
		}
	default:
		return wire.KnownName(member, "input", "store", "background", "previous_interaction_id", "continuation_token", "model", "stream", "tools", "agent")
	}
	if err != nil {
		return fmt.Errorf("member %q: %w", member.Name, err)
	}
	return nil
}

// readTool reads an element of tools. What is no function runs on the provider's side.
func readTool(m *holdgate.Model, tool []byte) error {
	if err := wire.Known(tool, "type", "name", "url"); err != nil {
		return err
	}
	kind, err := wire.Text(wire.Find(tool, "type"))
	if err != nil {
		return fmt.Errorf("type of a tool: %w", err)
	}
	if kind != "function" {
		m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: kind, Name: wire.TextIn(tool, "name"), URL: wire.TextIn(tool, "url")})
		return nil
	}
	name, err := wire.Text(wire.Find(tool, "name"))
	if err != nil {
		return fmt.Errorf("name of a tool: %w", err)
	}
	m.Tools = append(m.Tools, name)
	return nil
}

// inputSteps returns an input, in each of its forms, as a list of steps.
func inputSteps(input []byte) ([][]byte, error) {
	switch wire.KindOf(input) {
	case "a string":
		return [][]byte{userStep(textContent(input))}, nil
	case "an object":
		return [][]byte{userStep(input)}, nil
	}
	if wire.IsNull(input) {
		return nil, nil
	}
	list, err := wire.List(input)
	if err != nil {
		return nil, fmt.Errorf("reading the input of a request: %w", err)
	}
	if len(list) > 0 && !isStep(list[0]) {
		return [][]byte{userStep(list...)}, nil
	}
	return list, nil
}

// isStep tells a step from a content, of which an input may be a list too.
func isStep(element []byte) bool {
	switch typ := wire.TextIn(element, "type"); typ {
	case "user_input", modelOutput, "thought":
		return true
	default:
		return strings.HasSuffix(typ, "_call") || strings.HasSuffix(typ, "_result")
	}
}

// userStep is what the user says.
func userStep(content ...[]byte) []byte {
	return []byte(`{"type":"user_input","content":` + string(wire.Array(content...)) + `}`)
}

// textContent is a text, a JSON string, as content.
func textContent(text []byte) []byte { return []byte(`{"type":"text","text":` + string(text) + `}`) }

// Instruct puts a text of a person's behind what the agent says to the model. All else
// keeps its bytes. It reports false where the request has no place for it: there is no
// input, or it ends with the model's own words. The body has passed [wire.Strict].
func (*Codec) Instruct(body []byte, text string) ([]byte, bool) {
	input, said := wire.Find(body, "input"), textContent(wire.AppendText(nil, text))
	switch wire.KindOf(input) {
	case "a string":
		own, err := wire.Text(input)
		return wire.SetMember(body, "input", wire.AppendText(nil, own+wire.Apart+text)), err == nil
	case "an object":
		return wire.SetMember(body, "input", wire.Array(input, said)), true
	}
	last := wire.LastElement(body, "input")
	switch {
	case last == nil:
		return nil, false
	case !isStep(last):
		return wire.AppendElement(body, "input", said)
	}
	if typ := wire.TextIn(last, "type"); typ != "user_input" && typ != functionResult {
		return nil, false
	}
	return wire.AppendElement(body, "input", userStep(said))
}
