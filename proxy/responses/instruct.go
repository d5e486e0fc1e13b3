package responses

import "github.com/holdgate/holdgate/proxy/wire"

// Instruct puts a text of a person's behind what the agent says to the model, as
// a message of the user's. All else keeps its bytes. It reports false where the request
// has no place for it: the input is missing, or ends with the model's own words, to be
// continued. The body has passed [wire.Strict].
func (*Codec) Instruct(body []byte, text string) ([]byte, bool) {
	if said, err := wire.Text(wire.Find(body, "input")); err == nil {
		return wire.RewriteMembers(body, func(m wire.Member) []byte {
			if string(m.Name) != "input" {
				return m.Value
			}
			return wire.AppendText(nil, said+"\n\n"+text)
		}), true
	}
	last := wire.LastElement(body, "input")
	if role, err := wire.Text(wire.Find(last, "role")); err == nil && role == "assistant" {
		return nil, false
	}
	message := wire.AppendText([]byte(`{"type":"message","role":"user","content":[{"type":"input_text","text":`), text)
	return wire.AppendElement(body, "input", append(message, `}]}`...))
}
