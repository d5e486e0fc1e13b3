package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
)

// PrefixMessage begins the keys of messages.
const PrefixMessage = "session-message/"

// MessageType says what a message is for.
type MessageType string

// The types of message.
const (
	MessageGuidance MessageType = "guidance"               // of a person: how to go on
	MessageRedirect MessageType = "redirect"               // of a person: do this instead
	MessageQuestion MessageType = "clarification_request"  // of either side
	MessageAnswer   MessageType = "clarification_response" // to a question, of either side
	MessageStatus   MessageType = "status"                 // of an agent: where it stands
	MessageNotice   MessageType = "notice"                 // of Holdgate: what it has done
)

// A Message goes from people to a session or back.
type Message struct {
	V         int         `json:"v"`
	Seq       uint64      `json:"seq"` // that of the audit entry which records it
	Agent     string      `json:"agent"`
	Session   string      `json:"session"` // empty: whichever comes next
	Type      MessageType `json:"type"`
	From      string      `json:"from,omitempty"` // the person; empty: the agent
	Content   string      `json:"content"`
	InReplyTo uint64      `json:"in_reply_to,omitempty"`
	At        time.Time   `json:"at"`
	Delivered time.Time   `json:"delivered,omitzero"` // when the agent got it
	Into      string      `json:"into,omitempty"`     // how: "request" or "api"
	To        string      `json:"to,omitempty"`       // the session that got it, where none was named
	Gate      string      `json:"gate,omitempty"`     // the approval request of a gate that it answers
}

// FromPerson reports whether a person wrote it.
func (m Message) FromPerson() bool { return m.From != "" }

// Waits reports whether the agent has still to get it.
func (m Message) Waits() bool { return m.FromPerson() && m.Delivered.IsZero() }

// Bounds of messages.
const (
	MaxContent  = 8 << 10 // bytes
	maxMessages = 500     // of one session; the oldest that was delivered makes room
	maxWaiting  = 50      // from people to one session, or from one session in a row
)

// CheckContent returns a [*FieldError] for a text that no message may have.
func CheckContent(s string) error {
	switch {
	case s == "":
		return wrong("content", "must not be empty")
	case len(s) > MaxContent:
		return wrong("content", "must be at most %d bytes", MaxContent)
	}
	return nil
}

func messagesOf(agent, session string) string {
	return PrefixMessage + key(agent, session)[len(Prefix):] + "/"
}

func messageKey(m Message) string { return messagesOf(m.Agent, m.Session) + store.Seq(m.Seq) }

// ErrFull says that a session has as many messages waiting as it may.
var ErrFull = errors.New("too many messages wait for this session already")

// Add stores a message. It returns [ErrFull] where too many wait, but for one that
// answers a gate: the answer counts already.
func Add(tx store.Tx, m Message) error {
	all, err := Messages(tx, m.Agent, m.Session, 0)
	if err != nil {
		return err
	}
	waiting := 0
	for _, o := range all {
		if o.FromPerson() == m.FromPerson() && (o.Waits() || !o.FromPerson()) {
			waiting++
		} else if !m.FromPerson() {
			waiting = 0 // a person has said something since
		}
	}
	if waiting >= maxWaiting && m.Gate == "" {
		return ErrFull
	}
	if len(all) >= maxMessages {
		if i := slices.IndexFunc(all, func(o Message) bool { return !o.Waits() }); i >= 0 {
			if err := tx.Delete(messageKey(all[i])); err != nil {
				return err
			}
		}
	}
	return PutMessage(tx, m)
}

// PutMessage writes a message anew.
func PutMessage(tx store.Tx, m Message) error {
	m.V = version
	raw, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	return tx.Set(messageKey(m), raw)
}

// Messages returns a session's messages with higher numbers, in order.
func Messages(tx store.Tx, agent, session string, after uint64) ([]Message, error) {
	prefix := messagesOf(agent, session)
	var list []Message
	for p, err := range tx.Scan(prefix, prefix+store.Seq(after+1)) {
		if err != nil {
			return nil, err
		}
		var m Message
		if err := json.Unmarshal(p.Value, &m); err != nil {
			return nil, fmt.Errorf("reading %s: %w", p.Key, err)
		}
		if m.V != version {
			return nil, fmt.Errorf("reading %s: version %d of the record is not known here", p.Key, m.V)
		}
		list = append(list, m)
	}
	return list, nil
}

// Line is a message in one line, for the log.
func (m Message) Line() string {
	who := "the agent"
	if m.FromPerson() {
		who = m.From
	}
	return holdgate.Visible(fmt.Sprintf("%s of %s: %s", m.Type, who, visible(m.Content)))
}

func readMessage(p store.Pair) (m Message, err error) {
	if err := json.Unmarshal(p.Value, &m); err != nil {
		return m, fmt.Errorf("reading %s: %w", p.Key, err)
	}
	return m, nil
}

// Addressee is the agent for which the message with a key waits; empty: it does not.
func Addressee(tx store.Tx, key string) (string, error) {
	raw, err := tx.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	m, err := readMessage(store.Pair{Key: key, Value: raw})
	if err != nil || !m.Waits() {
		return "", err
	}
	return m.Agent, nil
}

// Addressees lists the agents for which messages of people wait.
func Addressees(tx store.Tx) ([]string, error) {
	var agents []string
	for p, err := range tx.Scan(PrefixMessage, "") {
		if err != nil {
			return nil, err
		}
		m, err := readMessage(p)
		if err != nil {
			return nil, err
		}
		if m.Waits() && !slices.Contains(agents, m.Agent) {
			agents = append(agents, m.Agent)
		}
	}
	return agents, nil
}
