package anthropic

import "github.com/holdgate/holdgate/proxy/wire"

// Instruct puts a text of a person's behind what the agent says to the model, as
// a message of the user's. All else keeps its bytes. It reports false where the request
// has no place for it: the messages are missing, or end with the model's own words, to be
// continued. The API joins messages of one role, so that results of tools stay where they
// are. The body has passed [wire.Strict].
func (*Codec) Instruct(body []byte, text string) ([]byte, bool) {
	last := wire.LastElement(body, "messages")
	if role, err := wire.Text(wire.Find(last, "role")); err == nil && role == "assistant" {
		return nil, false
	}
	message := wire.AppendText([]byte(`{"role":"user","content":[{"type":"text","text":`), text)
	return wire.AppendElement(body, "messages", append(message, `}]}`...))
}
