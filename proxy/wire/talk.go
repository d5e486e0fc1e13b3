package wire

import "net/http"

// A Talk follows what is said on one connection. It is for one goroutine at a time.
type Talk interface {
	// Asks reads a message of the client's. Its error says why it is no request that can be
	// judged and sent.
	Asks(message []byte) (*TalkMessage, error)

	// Tells takes note of an event that the client gets in the answer to what it asked last.
	Tells(event []byte)

	// Ends reports whether nothing follows an event in its answer. It may be called while
	// others are.
	Ends(event []byte) bool

	// Between reports whether a message of the provider's may come between two answers.
	Between(event []byte) bool

	// Refusal is an event that fails a request: it says what an answer over HTTP with this
	// status, header and body would.
	Refusal(status int, header http.Header, body []byte) []byte

	// Idle is an event that means nothing, before others have come.
	Idle() []byte
}

// A TalkMessage is a request that came as a message on a connection which keeps what was said
// before.
type TalkMessage struct {
	// Identity names what is asked, with all that was said before it. A client that asks
	// again on another connection, where it has to repeat that, asks the same.
	Identity []byte
	// Task is what the agent's user said last, as far as the message does not say it.
	Task string
	// Credential is the name of what was put in when the connection was made.
	Credential string
}
