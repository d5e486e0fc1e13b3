package anthropic

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Expand turns a plain message into the stream that says the same: a
// message_start with all that is known beforehand, each block with its text,
// thinking, citations or input in deltas, and the stop reason and usage at the
// end. A document of type error becomes an error event.
func (c *Codec) Expand(plain []byte) ([]byte, error) {
	if _, err := c.Answer(plain); err != nil {
		return nil, err
	}
	out, err := expand(plain)
	if err != nil {
		return nil, fmt.Errorf("expanding a message: %w", err)
	}
	return out, nil
}

func expand(plain []byte) ([]byte, error) {
	message, err := fieldsOf(plain)
	if err != nil {
		return nil, err
	}
	content := message.value("content")
	if content == nil {
		return wire.AppendEvent(nil, failure, plain), nil
	}
	var last fieldset
	for _, name := range []string{"stop_reason", "stop_sequence", "stop_details"} {
		if v := message.value(name); v != nil {
			last.set(name, v)
			message.set(name, []byte("null"))
		}
	}
	message.set("content", []byte("[]"))
	out := wire.AppendEvent(nil, messageStart, []byte(`{"type":"message_start","message":`+string(message.json())+`}`))
	if !wire.IsNull(content) {
		if out, err = expandBlocks(out, content); err != nil {
			return nil, err
		}
	}
	end := fieldset{{"type", []byte(`"message_delta"`)}, {"delta", last.json()}}
	if usage := message.value("usage"); usage != nil {
		end.set("usage", usage)
	}
	out = wire.AppendEvent(out, messageDelta, end.json())
	return wire.AppendEvent(out, messageStop, []byte(`{"type":"message_stop"}`)), nil
}

func expandBlocks(out, content []byte) ([]byte, error) {
	index := 0
	for e, err := range wire.Elements(content) {
		if err != nil {
			return nil, err
		}
		start, deltas, err := expandBlock(e.Value)
		if err != nil {
			return nil, err
		}
		at := `","index":` + strconv.Itoa(index)
		out = wire.AppendEvent(out, blockStart, []byte(`{"type":"`+blockStart+at+`,"content_block":`+string(start)+`}`))
		for _, d := range deltas {
			out = wire.AppendEvent(out, blockDelta, []byte(`{"type":"`+blockDelta+at+`,"delta":`+string(d)+`}`))
		}
		out = append(out, closeText(index)...)
		index++
	}
	return out, nil
}

// expandBlock takes out of a block what comes in deltas.
func expandBlock(object []byte) (start []byte, deltas [][]byte, err error) {
	b, err := readBlock(object)
	if err != nil {
		return nil, nil, err
	}
	f, err := fieldsOf(object)
	if err != nil {
		return nil, nil, err
	}
	move := func(typ, member, left string) {
		value := f.value(member)
		if wire.KindOf(value) != "a string" {
			return
		}
		if len(value) > len(`""`) {
			deltas = append(deltas, deltaOf(typ, member, value))
		}
		f.set(member, []byte(left))
	}
	switch {
	case b.typ == "text":
		if err := moveCitations(&f, &deltas); err != nil {
			return nil, nil, err
		}
		move(textDelta, "text", `""`)
	case b.typ == "thinking":
		move(thinkingDelta, "thinking", `""`)
		move(signatureDelta, "signature", `""`)
	case takesInput(b.typ) && wire.KindOf(b.input) == "an object" && !isEmpty(b.input):
		deltas = append(deltas, deltaOf(inputDelta, "partial_json", []byte(quote(string(b.input)))))
		f.set("input", []byte("{}"))
	case takesInput(b.typ) && wire.KindOf(b.input) == "a string" && !isEmpty(b.input):
		deltas = append(deltas, deltaOf(inputDelta, "partial_json", b.input))
		f.set("input", []byte("{}"))
	}
	return f.json(), deltas, nil
}

func moveCitations(f *fieldset, deltas *[][]byte) error {
	citations := f.value("citations")
	if citations == nil || wire.IsNull(citations) {
		return nil
	}
	for e, err := range wire.Elements(citations) {
		if err != nil {
			return errors.New("the citations of a text are no array")
		}
		*deltas = append(*deltas, deltaOf(citationsDelta, "citation", e.Value))
	}
	f.set("citations", []byte("[]"))
	return nil
}

func deltaOf(typ, member string, value []byte) []byte {
	return fieldset{{"type", []byte(`"` + typ + `"`)}, {member, value}}.json()
}
