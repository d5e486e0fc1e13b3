package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/holdgate/holdgate/approvals"
)

// maxEvent bounds one event of the stream, in bytes.
const maxEvent = 16 << 20

var errEventSize = errors.New("an event is too long")

// Events calls fn for each event after the given sequence number, in order, those
// to come included, until ctx ends, the sidecar ends the stream or fn returns an
// error. It never returns nil: [io.EOF] is a stream that the sidecar has ended.
func (c *Client) Events(ctx context.Context, after uint64, fn func(approvals.Event) error) error {
	req, err := c.request(ctx, http.MethodGet, "/v1/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	resp, err := c.answer(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	for {
		data, err := nextEvent(in)
		if err != nil {
			return err
		}
		var e approvals.Event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("reading the sidecar's events: %w", err)
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// nextEvent is the data of the stream's next event. Those of the sidecar have one
// line of data each.
func nextEvent(in *bufio.Reader) (data []byte, err error) {
	for {
		line, err := eventLine(in)
		if err != nil {
			return nil, err
		}
		switch text, isData := bytes.CutPrefix(line, []byte("data: ")); {
		case isData:
			data = text
		case len(line) == 0 && data != nil:
			return data, nil
		}
	}
}

// eventLine is a line without its end.
func eventLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxEvent {
			return nil, fmt.Errorf("reading the sidecar's events: %w", errEventSize)
		}
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		default:
			return nil, fmt.Errorf("reading the sidecar's events: %w", err)
		}
	}
}
