package responses

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// The Responses API over a WebSocket: the client's messages are objects of the type
// response.create with the members that a POST has in its body, and the provider's are the
// events of a stream. A later request names the response that it goes on from, and brings
// only what is new. A client whose connection is lost says everything again on another one.

const create = "response.create"

var _ wire.Talk = (*talk)(nil)

// Talks implements route.Talker.
func (c *Codec) Talks(path string, models bool) bool {
	return models && wire.Gets(http.MethodGet, path, "/responses")
}

// Talk implements route.Talker.
func (c *Codec) Talk() wire.Talk { return &talk{} }

// maxTurns is how many responses of a connection a request may go on from and still be
// known again when it is repeated on another one. Providers keep the last one.
const maxTurns = 32

// A talk is what was said on one connection.
type talk struct {
	turns []turn // after which responses ended, the latest last
	now   said   // in the request under way, and its answer so far
	task  string
}

// A turn is what was said up to the end of a response.
type turn struct {
	response string
	said     said
}

// said stands for the items of a conversation, in their order. It is the same for a client
// that repeats them: it says nothing of ids, of reasoning, or of how an item is written.
type said struct {
	all   digest
	asked digest // up to the last item that is the client's own
}

type digest [sha256.Size]byte

// client and model add what one of them said. What the model had begun to say when a
// connection was lost stands at the end of what a client repeats.
func (s said) client(words ...string) said {
	all := s.all.and(words...)
	return said{all, all}
}

func (s said) model(words ...string) said { return said{s.all.and(words...), s.asked} }

func (d digest) and(words ...string) digest {
	h := sha256.New()
	_, _ = h.Write(d[:]) // a hash takes everything
	for _, w := range words {
		_, _ = fmt.Fprintf(h, "%d:%s", len(w), w)
	}
	return digest(h.Sum(nil))
}

// transport are the members of a message that are of the connection, or that a client
// writes in another way when it asks again.
var transport = []string{"type", "stream", "stream_options", "input", "previous_response_id", "client_metadata"}

// Asks implements [wire.Talk].
func (t *talk) Asks(message []byte) (*wire.TalkMessage, error) {
	if err := wire.Strict(message); err != nil {
		return nil, err
	}
	message = bytes.TrimLeft(message, wire.Blanks)
	if wire.KindOf(message) != "an object" {
		return nil, fmt.Errorf("a message is an object of the type %s, not %s", create, wire.KindOf(message))
	}
	var input, previous []byte
	typ := ""
	for m, err := range wire.Members(message) {
		if err != nil {
			return nil, err
		}
		switch string(m.Name) {
		case "type":
			typ, err = wire.Text(m.Value)
		case "input":
			input = m.Value
		case "previous_response_id":
			previous = m.Value
		case "stream_id":
			err = onlyNull(m, "responses side by side on one connection are not followed: open a connection for each")
		case "background":
			var is bool
			if is, err = wire.BoolOrNull(m.Value); is {
				err = errors.New("a response in the background is asked for over HTTP")
			}
		case "response":
			err = onlyNull(m, "what is asked for stands in the message itself, not in a member response")
		default:
			err = wire.KnownName(m, "type", "input", "previous_response_id", "stream_id", "background", "response", "stream", "conversation")
		}
		if err != nil {
			return nil, fmt.Errorf("reading %.80s of a message: %w", m.Name, err)
		}
	}
	if typ != create {
		return nil, fmt.Errorf("a message of the type %.80q is not understood here: a client may send %s, and closes the connection to cancel", typ, create)
	}
	before, err := wire.TextOrNull(previous)
	if err != nil {
		return nil, fmt.Errorf("reading previous_response_id of a message: %w", err)
	}
	if t.now, err = t.after(before).input(input); err != nil {
		return nil, err
	}
	identity, err := t.now.identity(message)
	if err != nil {
		return nil, err
	}
	known := &wire.TalkMessage{Identity: identity, Task: t.task}
	if said := wire.LastUser(message); said != "" {
		t.task = said
	}
	return known, nil
}

// Identity implements route.Talker.
func (*Codec) Identity(body []byte) ([]byte, error) {
	before, err := wire.TextOrNull(wire.Find(body, "previous_response_id"))
	if err != nil {
		return nil, err
	}
	now, err := (&talk{}).after(before).input(wire.Find(body, "input"))
	if err != nil {
		return nil, err
	}
	return now.identity(body)
}

// identity names a request by what was said, and by its members besides.
func (s said) identity(request []byte) ([]byte, error) {
	canon, err := wire.CanonicalWithout(request, transport...)
	return slices.Concat(s.asked[:], canon), err
}

func onlyNull(m wire.Member, why string) error {
	if wire.IsNull(m.Value) {
		return nil
	}
	return errors.New(why)
}

// after is what was said up to the end of a response. Of one that this connection does not
// know, its id is all that is known.
func (t *talk) after(response string) said {
	if response == "" {
		return said{}
	}
	for _, known := range slices.Backward(t.turns) {
		if known.response == response {
			return known.said
		}
	}
	return said{}.client("response", response)
}

// Tells implements [wire.Talk].
func (t *talk) Tells(event []byte) {
	switch wire.TextIn(event, "type") {
	case itemDone:
		t.now = t.now.item(wire.Find(event, "item"))
	case responseCompleted, responseIncomplete:
		id := wire.TextIn(wire.Find(event, "response"), "id")
		if id == "" {
			return
		}
		if len(t.turns) == maxTurns {
			t.turns = slices.Delete(t.turns, 0, 1)
		}
		t.turns = append(t.turns, turn{id, t.now})
	}
}

// Ends implements [wire.Talk].
func (t *talk) Ends(event []byte) bool {
	switch typ := wire.TextIn(event, "type"); typ {
	case responseCompleted, responseIncomplete, responseFailed, failure:
		return true
	case "":
		return !wire.IsNull(wire.Find(event, "error")) // so gateways write it
	default:
		return strings.EqualFold(typ, "response.cancelled") || strings.EqualFold(typ, "response.canceled")
	}
}

// Between implements [wire.Talk]. It is none of the events of a response.
func (*talk) Between(event []byte) bool {
	if wire.Strict(event) != nil || wire.Known(event, "type", "response", "item", "error") != nil {
		return false
	}
	typ := wire.TextIn(event, "type")
	return typ != "" && typ != failure && !strings.HasPrefix(strings.ToLower(typ), "response.") && wire.Find(event, "response") == nil && wire.Find(event, "item") == nil
}

// input adds the items of a request.
func (s said) input(input []byte) (said, error) {
	switch wire.KindOf(input) {
	case "a string":
		return s.client("message", "user", content(input)), nil
	case "an array":
		err := wire.EachElement(input, func(item []byte) error {
			s = s.item(item)
			return nil
		})
		return s, err
	}
	return s.client("input", string(input)), nil
}

// item adds one item.
func (s said) item(item []byte) said {
	typ, id, role := told(item)
	switch {
	case typ == "reasoning": // clients leave it away
		return s
	case role == "assistant" && (typ == "message" || typ == ""):
		return s.model("message", role, content(wire.Find(item, "content")))
	case role != "" && (typ == "message" || typ == ""):
		return s.client("message", role, content(wire.Find(item, "content")))
	case id != "" && strings.HasSuffix(typ, "_output"):
		rest, err := wire.CanonicalWithout(item, "id", "status", "call_id", "type", "output")
		if err != nil {
			rest = item
		}
		return s.client(typ, id, content(wire.Find(item, "output")), string(rest))
	case id != "" && strings.HasSuffix(typ, "_call"):
		return s.model(typ, id)
	}
	canon, err := wire.CanonicalWithout(item, "status")
	if err != nil {
		canon = item // no object
	}
	return s.client("item", string(canon))
}

// content is what a text or a list of parts says: each part for itself, with all that it has.
func content(value []byte) string {
	var b strings.Builder
	part := func(text string, rest []byte) { _, _ = fmt.Fprintf(&b, "%d:%s%s", len(text), text, rest) }
	switch wire.KindOf(value) {
	case "a string":
		text, _ := wire.Text(value)
		part(text, []byte("{}"))
	case "an array":
		for e, err := range wire.Elements(value) {
			if err != nil {
				break
			}
			rest, err := wire.CanonicalWithout(e.Value, partsAside(e.Value)...)
			if err != nil {
				rest = e.Value
			}
			part(wire.TextIn(e.Value, "text"), rest)
		}
	default:
		return string(value)
	}
	return b.String()
}

// partsAside are the members of a part that its text says, or that the provider adds.
func partsAside(part []byte) []string {
	switch wire.TextIn(part, "type") {
	case "", "text", "input_text", "output_text":
		return []string{"type", "text", "annotations", "logprobs"}
	}
	return nil
}

// Refusal implements [wire.Talk]. Clients differ in whether they read status or
// status_code.
func (*talk) Refusal(status int, header http.Header, body []byte) []byte {
	reason := wire.Find(body, "error")
	if wire.KindOf(reason) != "an object" {
		reason = errorObject(errorType(status), strings.ToValidUTF8(string(bytes.TrimSpace(body)), ""))
	}
	code := strconv.Itoa(status)
	data := `{"type":"error","status":` + code + `,"status_code":` + code + `,"error":` + string(reason)
	if after := header.Get("Retry-After"); after != "" {
		data += `,"headers":{"retry-after":` + wire.Quote(after) + `}`
	}
	return []byte(data + "}")
}

// Idle implements [wire.Talk].
func (*talk) Idle() []byte { return []byte(`{"type":"keepalive"}`) }
