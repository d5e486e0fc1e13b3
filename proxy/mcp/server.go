package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/proxy/wire"
)

// A ServerMessage is one message that a server sent.
type ServerMessage struct {
	Raw []byte
	// ID is the message's own, as written; nil for a notification.
	ID []byte
	// Asks are what the server asks of the client: the message itself where it
	// is a request, or what a result of revision 2026-07-28 wants to have put
	// in before it can be a result (inputRequests).
	Asks []Message

	result []byte // of a response; nil where it has none
	fails  bool   // a response has an error
}

// Ended says how the tool ended whose call the message answers: not where there is
// more to come.
func (m ServerMessage) Ended() wire.Ended {
	switch {
	case !m.IsResponse() || len(m.Asks) > 0:
		return wire.EndedUnknown
	case m.fails:
		return wire.EndedBadly
	case wire.Find(m.result, "content") == nil && wire.Find(m.result, "structuredContent") == nil:
		return wire.EndedUnknown // a task, for one
	}
	return wire.EndedIn(string(wire.Find(m.result, "isError")) == "true")
}

// IsResponse reports whether the message answers a request of the client's.
func (m ServerMessage) IsResponse() bool { return m.ID != nil && !m.IsRequest() }

// IsRequest reports whether the message asks the client for an answer.
func (m ServerMessage) IsRequest() bool { return len(m.Asks) == 1 && m.Asks[0].ID != nil }

// ParseServer reads what a server sent: a message, or a batch of them. What
// does not begin as JSON objects and arrays do holds no message: the result is
// empty then.
//
// A result may hold anything, and is not looked into beyond its own members.
// What asks for something must be JSON that every reader reads alike, and an
// error says that it is not. So it does of what some readers take for JSON and
// others do not, and of what has another value behind it.
func ParseServer(data []byte) (msgs []ServerMessage, batch bool, err error) {
	text := bytes.Trim(data, " \t\r\n")
	switch {
	case len(text) == 0:
		return nil, false, nil
	case isMarked(text):
		return nil, false, errors.New("a byte order mark comes before it, or it is in UTF-16 or UTF-32")
	case text[0] == '{':
		m, err := parseServerMessage(text)
		return []ServerMessage{m}, false, err
	case text[0] != '[':
		return nil, false, nil
	}
	end := 1
	for e, err := range wire.Elements(text) {
		if err != nil {
			return nil, true, fmt.Errorf("reading a batch: %w", err)
		}
		m, err := parseServerMessage(e.Value)
		if err != nil {
			return nil, true, fmt.Errorf("reading message %d of a batch: %w", len(msgs), err)
		}
		if msgs = append(msgs, m); len(msgs) > maxBatch {
			return nil, true, fmt.Errorf("a batch has more than %d messages", maxBatch)
		}
		end = e.End
	}
	return msgs, true, closes(text[end:], "]")
}

// isMarked reports whether a text begins as in an encoding other than plain
// UTF-8: some readers find JSON in it.
func isMarked(text []byte) bool {
	for _, mark := range []string{"\xEF\xBB\xBF", "\xFE\xFF", "\xFF\xFE"} {
		if bytes.HasPrefix(text, []byte(mark)) {
			return true
		}
	}
	return bytes.IndexByte(text[:min(len(text), 4)], 0) >= 0
}

// closes checks that what is left behind the last part of an object or array is
// its end and nothing else.
func closes(rest []byte, end string) error {
	if string(bytes.TrimLeft(rest, " \t\r\n")) != end {
		return errors.New("something follows the value")
	}
	return nil
}

func parseServerMessage(raw []byte) (ServerMessage, error) {
	m := ServerMessage{Raw: raw}
	asks := false
	end := 1
	for f, err := range wire.Members(raw) {
		if err != nil {
			return m, err
		}
		end = f.End
		switch name := string(f.Name); {
		case strings.EqualFold(name, "method"):
			asks = true
		case name == "id" && !bytes.Equal(f.Value, []byte("null")):
			m.ID = f.Value
		case strings.EqualFold(name, "result"):
			if m.result != nil {
				return m, errors.New("a response has two results")
			}
			m.result = f.Value
		case name == "error":
			m.fails = !wire.IsNull(f.Value)
		}
	}
	if err := closes(raw[end:], "}"); err != nil {
		return m, err
	}
	if asks {
		if err := wire.Strict(raw); err != nil {
			return m, err
		}
		request, err := parseMessage(raw)
		if err == nil && request.IsRequest() {
			m.Asks = []Message{request}
		}
		return m, err
	}
	var err error
	m.Asks, err = inputRequests(raw, m.result)
	return m, err
}

// inputRequests returns what a result asks of the client. The requests have no
// ids: they are answered together, in the client's next request.
func inputRequests(raw, result []byte) ([]Message, error) {
	if wire.KindOf(result) != "an object" {
		return nil, nil
	}
	wanted := false
	for f, err := range wire.Members(result) {
		if err != nil {
			return nil, err
		}
		wanted = wanted || strings.EqualFold(string(f.Name), "inputRequests")
	}
	if !wanted {
		return nil, nil
	}
	if err := errors.Join(wire.Strict(raw), wire.Known(raw, "id", "result"), wire.Known(result, "inputRequests")); err != nil {
		return nil, err
	}
	var asks []Message
	for f, err := range wire.Members(wire.Find(result, "inputRequests")) {
		if err != nil {
			return nil, fmt.Errorf("reading inputRequests: %w", err)
		}
		method, err := wire.Text(wire.Find(f.Value, "method"))
		if err == nil {
			err = wire.Known(f.Value, "method", "params")
		}
		if err != nil {
			return nil, fmt.Errorf("reading input request %.50q: %w", f.Name, err)
		}
		if _, err := checkParams(method, wire.Find(f.Value, "params")); err != nil {
			return nil, fmt.Errorf("reading input request %.50q: %w", f.Name, err)
		}
		asks = append(asks, Message{Raw: f.Value, Method: method, Params: wire.Find(f.Value, "params"), Input: string(f.Name)})
	}
	return asks, nil
}

// ServerCall returns a request of the server's as policy sees it.
func (m Message) ServerCall(server string) holdgate.Call {
	return holdgate.Call{
		ID: strings.Trim(string(m.ID), `"`), Kind: holdgate.KindMCPRequest,
		MCP: &holdgate.MCP{Server: server, Method: m.Method, Name: m.subject(), Params: bytes.Clone(m.Params), FromServer: true},
	}
}

// Answers returns what a message answers of what the server asked: the message
// itself where it is a response that brings a result, or what a request of
// revision 2026-07-28 puts in (inputResponses).
func (m Message) Answers() []Message {
	if m.IsResponse() {
		if m.Result == nil {
			return nil // an error says nothing that could be kept from the server
		}
		return []Message{m}
	}
	var all []Message
	for f, err := range wire.Members(m.param("inputResponses")) {
		if err == nil { // nothing, or no object, has no members
			all = append(all, Message{Raw: f.Value, ID: m.ID, Result: f.Value, Input: string(f.Name)})
		}
	}
	return all
}

// AnswerCall returns a client's answer to a server's request of this method as
// policy sees it.
func (m Message) AnswerCall(server, method string) holdgate.Call {
	return holdgate.Call{
		ID: strings.Trim(string(m.ID), `"`), Kind: holdgate.KindMCPRequest,
		MCP: &holdgate.MCP{Server: server, Method: method, Params: bytes.Clone(m.Result), Answer: true},
	}
}

// Replace returns a message or a batch of them in which those of these numbers
// are others. Nil leaves a message out of a batch; of one by itself nothing is
// left then. All other bytes stay.
func Replace(data []byte, batch bool, instead map[int][]byte) []byte {
	if !batch {
		return instead[0]
	}
	return wire.RewriteElements(data, func(i int, raw []byte) []byte {
		if other, ok := instead[i]; ok {
			return other
		}
		return raw
	})
}
