package approvals

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

// A Delivery is how far telling people of one request through one channel has
// come. There is one from when they were first told until they were told of
// the end.
type Delivery struct {
	Request string
	Told    time.Time
	Seen    time.Time // when somebody is known to have opened it; zero: not known
	// Shown is the form in which they know it, in words of the channel's host.
	Shown     string
	Escalated int // how many escalations had come when they were told last
}

// storedDelivery is a Delivery at delivery/REQUEST/CHANNEL.
type storedDelivery struct {
	record.Header

	Told  time.Time `json:"told"`
	Seen  time.Time `json:"seen,omitzero"`
	Shown string    `json:"shown,omitempty"`

	Escalated int `json:"escalated,omitempty"`
}

func deliveryKey(request, channel string) string {
	return record.PrefixDelivery + request + "/" + channel
}

// Deliveries lists the deliveries of a channel.
func (q *Queue) Deliveries(ctx context.Context, channel string) (all []Delivery, err error) {
	err = q.c.Store.View(ctx, func(tx store.Tx) error {
		all = nil
		for p, err := range tx.Scan(record.PrefixDelivery, "") {
			if err != nil {
				return err
			}
			request, of, _ := strings.Cut(strings.TrimPrefix(p.Key, record.PrefixDelivery), "/")
			if of != channel {
				continue
			}
			var s storedDelivery
			if err := record.Decode(p.Key, p.Value, &s); err != nil {
				return err
			}
			all = append(all, Delivery{Request: request, Told: s.Told, Seen: s.Seen, Shown: s.Shown, Escalated: s.Escalated})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the deliveries of channel %s: %w", channel, err)
	}
	return all, nil
}

// SetDelivery stores a delivery of a channel. It survives the death of this
// process; a power cut within 100 ms may take it, and then people are told
// again. A request that is gone has none.
func (q *Queue) SetDelivery(ctx context.Context, channel string, d Delivery) error {
	err := q.c.Store.UpdateSoon(ctx, func(tx store.Tx) error {
		var r record.StoredRequest
		if err := record.Read(tx, record.PrefixRequest+d.Request, &r); errors.Is(err, store.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		return record.Write(tx, deliveryKey(d.Request, channel), storedDelivery{Header: record.Current(), Told: d.Told, Seen: d.Seen, Shown: d.Shown, Escalated: d.Escalated})
	})
	if err != nil {
		return fmt.Errorf("noting that channel %s has told of request %s: %w", channel, d.Request, err)
	}
	return nil
}

// DropDelivery forgets a delivery: people know how the request has ended.
func (q *Queue) DropDelivery(ctx context.Context, channel, request string) error {
	err := q.c.Store.UpdateSoon(ctx, func(tx store.Tx) error { return tx.Delete(deliveryKey(request, channel)) })
	if err != nil {
		return fmt.Errorf("forgetting that channel %s has told of request %s: %w", channel, request, err)
	}
	return nil
}

// forgetDeliveries drops what is left of a request's deliveries.
func forgetDeliveries(tx store.Tx, request string) error {
	for p, err := range tx.Scan(record.PrefixDelivery+request+"/", "") {
		if err != nil {
			return err
		}
		if err := tx.Delete(p.Key); err != nil {
			return err
		}
	}
	return nil
}
