package responses

import (
	"github.com/holdgate/holdgate/proxy/wire"
)

// Conversation is the id of the stored conversation that a request goes on with,
// or "". It is a text, or an object with the id.
func (c *Codec) Conversation(_ string, request *wire.Document) string {
	return idOf(request.Find("conversation"))
}

// conversationOf is the id of the conversation that a response belongs to.
func conversationOf(response []byte) string { return idOf(wire.Find(response, "conversation")) }

func idOf(v []byte) string {
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

// Took implements proxy.Converser. What was said is added when a response is
// made, whole or cut at a limit; one in the background that has begun is going
// to be.
func (*Codec) Took(answer []byte) bool {
	status, err := wire.TextOrNull(wire.Find(answer, "status"))
	return err == nil && status != "failed" && status != "cancelled" && !isError(answer)
}

// Took implements proxy.Taker.
func (s *stream) Took() bool { return s.took }

// tookIn reports whether an event with the whole response shows what [Codec.Took]
// does of one. A response that is not made in the background may still fail
// until it ends.
func tookIn(e *event) bool {
	switch e.typ {
	case responseCompleted, responseIncomplete:
		return true
	case responseFailed:
		return false
	}
	return string(wire.Find(e.response, "background")) == "true"
}
