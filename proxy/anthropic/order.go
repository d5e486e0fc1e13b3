package anthropic

import (
	"fmt"
	"strings"

	"github.com/holdgate/holdgate/proxy/wire"
)

// A stage is how far a message has come.
type stage uint8

const (
	stageBefore  stage = iota // message_start is yet to come
	stageContent              // blocks may come
	stageClosing              // after message_delta
	stageClosed               // after message_stop or an error
)

// eventFields says whether events have an event field. Some clients drop
// events without one, others drop none: if only some had it, clients would see
// different answers.
type eventFields uint8

const (
	fieldsUnknown eventFields = iota
	fieldsPresent
	fieldsMissing
)

// order refuses an event that cannot come where it does.
func (r *reader) order(ev wire.Event, e event) error {
	fields := fieldsPresent
	if ev.Type == "" {
		fields = fieldsMissing
	}
	if r.fields == fieldsUnknown {
		r.fields = fields
	}
	if r.fields != fields {
		return fmt.Errorf("some events have an event field and some have none")
	}
	ok := true
	switch e.typ {
	case messageStart:
		ok = r.stage == stageBefore
	case blockStart:
		ok = r.stage == stageContent && !r.open
	case blockDelta, blockStop:
		ok = r.stage == stageContent && r.open
		if ok && e.index != r.blocks-1 {
			return fmt.Errorf("a %s has index %d while block %d is open", e.typ, e.index, r.blocks-1)
		}
	case messageDelta, messageStop:
		ok = (r.stage == stageContent || r.stage == stageClosing) && !r.open
	case failure:
		if r.keeps() {
			return fmt.Errorf("the provider ended the answer inside the call of %s: %.300s", r.block.name, e.failure)
		}
	default:
		if r.keeps() {
			return fmt.Errorf("an event of type %q is inside a call", e.typ)
		}
	}
	if !ok || r.stage == stageClosed {
		return fmt.Errorf("a %s comes where it cannot", e.typ)
	}
	return nil
}

// contentOf returns the blocks that a message_start brings with it: calls of
// code that the provider runs come so, and clients take them for the answer's
// first blocks.
func contentOf(message []byte) (content []block, err error) {
	for m, err := range wire.Members(message) {
		switch {
		case err != nil:
		case string(m.Name) != "content":
			err = wire.NoCall(m, "content", "type", "role", "stop_reason")
		case !wire.IsNull(m.Value):
			content, err = readBlocks(m.Value)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the message of a message_start: %w", err)
		}
	}
	return content, nil
}

func readBlocks(array []byte) (blocks []block, err error) {
	for e, err := range wire.Elements(array) {
		if err != nil {
			return nil, err
		}
		b, err := readBlock(e.Value)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// checkMessageDelta refuses a message_delta that brings content with it.
func checkMessageDelta(delta []byte) error {
	for m, err := range wire.Members(delta) {
		if err == nil {
			err = wire.NoCall(m, "content", "stop_reason")
		}
		if err != nil {
			return fmt.Errorf("reading the delta of a message_delta: %w", err)
		}
		if string(m.Name) == "content" {
			return fmt.Errorf("reading the delta of a message_delta: it has content")
		}
	}
	return nil
}

// checkUnknown lets events of unknown types through, for the API says that
// there may be new ones.
func checkUnknown(e event) error {
	for _, known := range knownTypes() {
		if strings.EqualFold(e.typ, known) {
			return fmt.Errorf("an event of type %q is %q in another case", e.typ, known)
		}
	}
	return nil
}
