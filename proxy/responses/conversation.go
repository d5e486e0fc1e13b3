package responses

import (
	"github.com/holdgate/holdgate/proxy/wire"
)

// Conversation is the id of the stored conversation that a request goes on with,
// or "". It is a text, or an object with the id.
func (c *Codec) Conversation(request *wire.Document) string {
	v := request.Find("conversation")
	if wire.IsNull(v) {
		return ""
	}
	if v[0] == '{' {
		v = wire.Find(v, "id")
	}
	id, err := wire.TextOrNull(v)
	if err != nil {
		return ""
	}
	return id
}
