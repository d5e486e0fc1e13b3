package gemini

import "github.com/holdgate/holdgate/proxy/wire"

// Instruct puts a text of a person's behind what the agent says to the model, as
// a content of the user's. All else keeps its bytes. It reports false where the request
// has no place for it: the contents are missing, or end with the model's own words, to be
// continued. The body has passed [wire.Strict].
func (*Codec) Instruct(body []byte, text string) ([]byte, bool) {
	last := wire.LastElement(body, "contents")
	if role, err := wire.Text(wire.Find(last, "role")); err == nil && role == "model" {
		return nil, false
	}
	message := wire.AppendText([]byte(`{"role":"user","parts":[{"text":`), text)
	return wire.AppendElement(body, "contents", append(message, `}]}`...))
}
