package bedrock

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// The types of event that are understood.
const (
	messageStart = "messageStart"
	blockStart   = "contentBlockStart"
	blockDelta   = "contentBlockDelta"
	blockStop    = "contentBlockStop"
	messageStop  = "messageStop"
	metadata     = "metadata"
)

// none is an index where there is none.
const none = -1

// An event is what a message of a stream says, as far as it is read here. Its
// slices are JSON values in the message's payload.
type event struct {
	wire.Message
	typ   string // empty for what is no event that is understood
	index int    // contentBlockIndex; none where there is none
	start []byte
	delta []byte
}

// decode reads a message. Exceptions and events of unknown types are let
// through; no client looks for calls there, as long as they have no member that
// belongs to an event that is known.
func decode(m wire.Message) (event, error) {
	e := event{Message: m, index: none}
	if m.Kind == "event" {
		for _, known := range []string{messageStart, blockStart, blockDelta, blockStop, messageStop, metadata} {
			switch {
			case m.Type == known:
				e.typ = known
			case strings.EqualFold(m.Type, known):
				return e, fmt.Errorf("an event of type %q is %q in another case", m.Type, known)
			}
		}
	}
	if e.typ == "" && len(m.Payload) == 0 {
		return e, nil
	}
	if err := wire.StrictEvent(m.Payload); err != nil {
		return e, fmt.Errorf("reading an event: %w", err)
	}
	for mem, err := range wire.Members(m.Payload) {
		if err == nil {
			err = e.member(mem)
		}
		if err != nil {
			return e, fmt.Errorf("reading an event of type %q: %w", m.Type, err)
		}
	}
	blocks := e.typ == blockStart || e.typ == blockDelta || e.typ == blockStop
	if blocks && e.index == none || e.typ == blockStart && e.start == nil || e.typ == blockDelta && e.delta == nil {
		return e, fmt.Errorf("an event of type %q does not say all that it must", m.Type)
	}
	return e, nil
}

func (e *event) member(m wire.Member) error {
	types := map[string][]string{
		"contentBlockIndex": {blockStart, blockDelta, blockStop},
		"start":             {blockStart},
		"delta":             {blockDelta},
		"stopReason":        {messageStop},
		"role":              {messageStart},
		"bytes":             nil, // InvokeModel's
		"content":           nil,
	}
	name := string(m.Name)
	fits, known := types[name]
	if !known {
		return noCall(m, "contentBlockIndex", "start", "delta", "stopReason", "role", "bytes", "content")
	}
	if !slices.Contains(fits, e.typ) {
		return fmt.Errorf("it has the member %q of another type", name)
	}
	switch name {
	case "contentBlockIndex":
		n, err := strconv.ParseUint(string(m.Value), 10, 16)
		if err != nil {
			return fmt.Errorf("its index is %.20q", m.Value)
		}
		e.index = int(n)
	case "start":
		e.start = m.Value
	case "delta":
		e.delta = m.Value
	}
	return nil
}

// noCall is [wire.NoCall], and refuses what is named as the API names calls.
func noCall(m wire.Member, known ...string) error {
	if err := wire.KnownName(m, known...); err != nil {
		return err
	}
	if strings.Contains(strings.ToLower(string(m.Name)), "tooluse") && !wire.IsEmpty(m.Value) {
		return fmt.Errorf("there is a %q where no call belongs", m.Name)
	}
	return wire.NoCall(m, known...)
}

// The kinds of the unions of the API that are read, or hold no call.
var (
	blockKinds = []string{"text", toolUse, "toolResult", "reasoningContent", "citationsContent", "image", "guardContent"}
	startKinds = []string{toolUse, "toolResult", "image"}
	deltaKinds = []string{"text", toolUse, "toolResult", "reasoningContent", "citation", "image"}
)

// only returns the value of the one member of a union that is not null, and its
// name, which says the kind of the value. Kinds that are not known are let
// through as long as they have no name of a call.
func only(object []byte, known []string) (kind string, value []byte, err error) {
	for m, err := range wire.Members(object) {
		switch {
		case err != nil:
			return "", nil, err
		case wire.IsNull(m.Value):
			continue
		case !slices.Contains(known, string(m.Name)):
			if err := noCall(m, known...); err != nil {
				return "", nil, err
			}
		}
		if kind != "" {
			return "", nil, fmt.Errorf("there is both %q and %q where one may be", kind, m.Name)
		}
		kind, value = string(m.Name), m.Value
	}
	if kind != toolUse {
		if err := wire.HiddenCall(value); err != nil {
			return "", nil, err
		}
	}
	if kind == "" {
		return "", nil, errors.New("it is empty")
	}
	return kind, value, nil
}
