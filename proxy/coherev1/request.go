package coherev1

import (
	"fmt"
	"iter"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// Request reads a model request: the model, whether it streams, the names of the agent's
// tools, and the connectors that the provider asks by itself. The body must have passed
// [wire.Strict]. One without a message is another API's, which is an error that wraps
// [wire.ErrUnsupported].
func (*Codec) Request(_ string, body iter.Seq2[wire.Member, error]) (*holdgate.Model, error) {
	m := &holdgate.Model{Provider: "cohere"}
	asks := false
	for member, err := range body {
		if err == nil {
			err = requestMember(m, member)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a request to Cohere: %w", err)
		}
		asks = asks || string(member.Name) == "message"
	}
	if !asks {
		return nil, fmt.Errorf("reading a request to Cohere: %w: it has no message", wire.ErrUnsupported)
	}
	return m, nil
}

func requestMember(m *holdgate.Model, member wire.Member) (err error) {
	switch name := string(member.Name); name {
	case "message", "chat_history", "tool_results", "conversation_id":
	case "model":
		m.Name, err = wire.TextOrNull(member.Value)
	case "stream":
		m.Stream, err = wire.BoolOrNull(member.Value)
	case "tools":
		err = wire.EachElement(member.Value, func(tool []byte) error {
			if err := wire.Known(tool, "name"); err != nil {
				return err
			}
			name, err := wire.Text(wire.Find(tool, "name"))
			m.Tools = append(m.Tools, name)
			return err
		})
	case "connectors":
		err = wire.EachElement(member.Value, func(connector []byte) error {
			id, err := wire.TextOrNull(wire.Find(connector, "id"))
			m.ServerTools = append(m.ServerTools, holdgate.ServerTool{Type: "connector", Name: id})
			return err
		})
	default:
		return wire.KnownName(member, "message", "chat_history", "tool_results", "conversation_id", "model", "stream", "tools", "connectors")
	}
	if err != nil {
		return fmt.Errorf("member %q: %w", member.Name, err)
	}
	return nil
}

// Instruct puts a text of a person's behind what the agent says to the model. All else
// keeps its bytes. It reports false where the request has no place for it: it brings
// results of tools, or has no message. The body has passed [wire.Strict].
func (*Codec) Instruct(body []byte, text string) ([]byte, bool) {
	said, err := wire.Text(wire.Find(body, "message"))
	if err != nil || said == "" || !wire.IsEmpty(wire.Find(body, "tool_results")) {
		return nil, false
	}
	return wire.SetMember(body, "message", wire.AppendText(nil, said+wire.Apart+text)), true
}
