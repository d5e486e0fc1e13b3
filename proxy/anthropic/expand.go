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
	message, err := wire.ObjectOf(plain)
	if err != nil {
		return nil, err
	}
	content := message.Value("content")
	if content == nil {
		return wire.AppendEvent(nil, failure, plain), nil
	}
	var last wire.Object
	for _, name := range []string{"stop_reason", "stop_sequence", "stop_details"} {
		if v := message.Value(name); v != nil {
			last.Set(name, v)
			message.Set(name, []byte("null"))
		}
	}
	message.Set("content", []byte("[]"))
	out := wire.AppendEvent(nil, messageStart, []byte(`{"type":"message_start","message":`+string(message.JSON())+`}`))
	if !wire.IsNull(content) {
		if out, err = expandBlocks(out, content); err != nil {
			return nil, err
		}
	}
	end := wire.Object{{Name: "type", Value: []byte(`"message_delta"`)}, {Name: "delta", Value: last.JSON()}}
	if usage := message.Value("usage"); usage != nil {
		end.Set("usage", usage)
	}
	out = wire.AppendEvent(out, messageDelta, end.JSON())
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
	f, err := wire.ObjectOf(object)
	if err != nil {
		return nil, nil, err
	}
	move := func(typ, member, left string) {
		value := f.Value(member)
		if wire.KindOf(value) != "a string" {
			return
		}
		if len(value) > len(`""`) {
			deltas = append(deltas, deltaOf(typ, member, value))
		}
		f.Set(member, []byte(left))
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
		deltas = append(deltas, deltaOf(inputDelta, "partial_json", []byte(wire.Quote(string(b.input)))))
		f.Set("input", []byte("{}"))
	case takesInput(b.typ) && wire.KindOf(b.input) == "a string" && !isEmpty(b.input):
		deltas = append(deltas, deltaOf(inputDelta, "partial_json", b.input))
		f.Set("input", []byte("{}"))
	}
	return f.JSON(), deltas, nil
}

func moveCitations(f *wire.Object, deltas *[][]byte) error {
	citations := f.Value("citations")
	if citations == nil || wire.IsNull(citations) {
		return nil
	}
	for e, err := range wire.Elements(citations) {
		if err != nil {
			return errors.New("the citations of a text are no array")
		}
		*deltas = append(*deltas, deltaOf(citationsDelta, "citation", e.Value))
	}
	f.Set("citations", []byte("[]"))
	return nil
}

func deltaOf(typ, member string, value []byte) []byte {
	return wire.Object{{Name: "type", Value: []byte(`"` + typ + `"`)}, {Name: member, Value: value}}.JSON()
}
