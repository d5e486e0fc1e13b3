package responses

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holdgate/holdgate/proxy/wire"
)

// Collect turns a whole streamed answer into the plain response that says the
// same: the snapshot that ends it. Where that leaves out a call, as some
// providers' snapshots leave out all items, the items are those of the stream.
// A stream that ends otherwise has no plain form.
func (c *Codec) Collect(raw []byte) ([]byte, error) {
	s := c.stream() // finds the calls, and refuses what is not understood
	parts, err := s.Push(raw)
	if err != nil {
		return nil, err
	}
	more, err := s.End()
	if err != nil {
		return nil, err
	}
	last := lastResponse(append(parts, more...))
	if last == nil {
		return nil, errors.New("collecting a streamed response: it has no end")
	}
	body := last.response
	if _, err := wire.TextOrNull(wire.Find(body, "status")); err != nil {
		return nil, fmt.Errorf("collecting a streamed response: reading its status: %w", err)
	}
	if !last.snap.whole || last.snap.items == 0 {
		body = wire.SetMember(body, "output", s.output(last))
	}
	if err := wire.Strict(body); err != nil {
		return nil, fmt.Errorf("collecting a streamed response: %w", err)
	}
	return body, nil
}

// lastResponse returns the event that ends the response, nil where none does.
func lastResponse(parts []wire.Part) *event {
	for _, p := range slices.Backward(parts) {
		switch t := p.Tag.(type) {
		case *event:
			if t.terminal() {
				return t
			}
		case callTag:
			if t.group == nil {
				continue
			}
			for _, e := range t.group.events {
				if e.terminal() {
					return e
				}
			}
		}
	}
	return nil
}

// output returns the items of the stream, and those that only the snapshot
// has.
func (s *stream) output(last *event) []byte {
	var items [][]byte
	for _, index := range slices.Sorted(maps.Keys(s.items)) {
		items = append(items, s.items[index].item.raw)
	}
	for _, at := range slices.Sorted(maps.Keys(last.snap.calls)) {
		if c := last.snap.calls[at]; s.items[c.index] == nil || s.items[c.index].call != c && s.items[c.index].item.kind != kindObserved {
			items = append(items, c.item.raw)
		}
	}
	return append(append([]byte{'['}, bytes.Join(items, []byte{','})...), ']')
}
