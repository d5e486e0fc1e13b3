package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/holdgate/holdgate/proxy/route"
	"github.com/holdgate/holdgate/proxy/wire"
)

// failure passes an upstream's error on as it came. Some clients look for
// calls before they look at the status, so it may hold none.
func (a *answer) failure(src io.Reader) {
	raw, err := io.ReadAll(src)
	if err != nil {
		a.broken(err)
		return
	}
	if err := withoutCalls(a.Target.Codec, raw); err != nil {
		a.Malformed(fmt.Errorf("the upstream answered with status %d and a body that is refused: %w", a.status, err))
		return
	}
	_ = a.writePlain(raw) // nothing of it was held: a client that has gone needs no record
}

// withoutCalls says why the body of an error could hold calls for some client.
func withoutCalls(c route.Codec, raw []byte) error {
	text := bytes.TrimLeft(raw, wire.Blanks)
	if len(text) == 0 {
		return nil
	}
	if len(wire.Narrow(raw)) != len(raw) {
		return errors.New("it is not in UTF-8")
	}
	if text[0] != '{' && text[0] != '[' {
		return withoutEvents(text)
	}
	if err := wire.Strict(raw); err != nil {
		return err
	}
	if text[0] == '{' {
		return errorDocument(c, text)
	}
	for e, err := range wire.Elements(text) { // some providers put their errors into a list
		if err != nil {
			return err
		}
		if err := errorDocument(c, e.Value); err != nil {
			return err
		}
	}
	return nil
}

func withoutEvents(text []byte) error {
	for line := range bytes.FieldsFuncSeq(text, func(c rune) bool { return c == '\n' || c == '\r' }) {
		if bytes.HasPrefix(bytes.TrimLeft(line, wire.Blanks), []byte("data:")) {
			return errors.New("it reads as an event stream")
		}
	}
	return nil
}

// errorDocument reports where one JSON value is not plainly an error. What the
// codec takes for an answer must be one without calls; what it does not must
// say nothing but its error.
func errorDocument(c route.Codec, value []byte) error {
	doc, err := c.Answer(value)
	if err == nil {
		if len(doc.Calls()) > 0 {
			return errors.New("it holds calls")
		}
		return nil
	}
	for m, err := range wire.Members(value) {
		if err != nil {
			return err
		}
		switch string(m.Name) {
		case "error", "errors", "detail", "details":
			continue
		}
		if m.Value[0] == '{' || m.Value[0] == '[' {
			return fmt.Errorf("its member %.100q could hold calls", m.Name)
		}
	}
	return nil
}
