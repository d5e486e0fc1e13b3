package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/holdgate/holdgate/approvals"
)

const (
	heartbeat    = 15 * time.Second // between comments on an event stream
	writeTimeout = 30 * time.Second // of one event, to a client that reads no more
)

// events serves GET /v1/events: what happens to requests, as server-sent
// events, beginning after Last-Event-ID or, without one, with the oldest event
// that is kept. An event's id is its sequence number, its data the JSON of an
// [approvals.Event].
func (s *Server) events(w http.ResponseWriter, r *request) error {
	if _, err := query(r); err != nil {
		return err
	}
	var after uint64
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		var err error
		if after, err = strconv.ParseUint(last, 10, 64); err != nil {
			return malformed("Last-Event-ID must be a sequence number")
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := &eventWriter{w: w, rc: http.NewResponseController(w)}
	if err := out.comment("holdgate"); err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(r.Context())
	events := make(chan approvals.Event)
	done := make(chan struct{})
	var sourceErr error // to be read once done is closed
	go func() {
		defer close(done)
		sourceErr = s.c.Queue.Events(ctx, after, func(e approvals.Event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	err := s.pump(r, out, events, done)
	cancel()
	<-done
	switch {
	case r.Context().Err() != nil, errors.Is(sourceErr, context.Canceled):
		return err // the client has gone, or the server closes
	default:
		return errors.Join(err, sourceErr)
	}
}

// pump writes events and heartbeats until the source or the server ends, the
// client cannot be written to, or its token is known no longer.
func (s *Server) pump(r *request, out *eventWriter, events <-chan approvals.Event, done <-chan struct{}) error {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		var err error
		select {
		case e := <-events:
			if s.revoked(r) {
				return nil
			}
			err = out.event(e)
		case <-tick.C:
			if s.revoked(r) {
				return nil
			}
			err = out.comment("")
		case <-done:
			return nil
		case <-s.closed:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// An eventWriter writes server-sent events, each flushed.
type eventWriter struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (o *eventWriter) event(e approvals.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing event %d: %w", e.Seq, err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, data)
	return o.write(b.Bytes())
}

func (o *eventWriter) comment(text string) error { return o.write([]byte(": " + text + "\n\n")) }

func (o *eventWriter) write(b []byte) error {
	if err := o.rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return fmt.Errorf("bounding the time of an event: %w", err)
	}
	if _, err := o.w.Write(b); err != nil {
		return err
	}
	return o.rc.Flush()
}
