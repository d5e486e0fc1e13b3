package grants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

const (
	prefixShape = "shape/"
)

// storedShape is what is counted of a shape. The key is a digest: the shape
// itself may name what policy redacts.
type storedShape struct {
	record.Header

	Approved int       `json:"approved,omitempty"`
	Denied   int       `json:"denied,omitempty"`
	Steered  int       `json:"steered,omitempty"`
	Pending  int       `json:"pending,omitempty"`
	At       time.Time `json:"at,omitzero"`
	By       string    `json:"by,omitempty"`
}

func (s storedShape) view() record.Similar {
	return record.Similar{Approved: s.Approved, Denied: s.Denied, Steered: s.Steered, Pending: s.Pending, LastAt: s.At, LastBy: s.By}
}

// without is what is counted of the others. Who answered last before the
// request's own answer is not known any more.
func (s storedShape) without(r *record.StoredRequest) storedShape {
	if !r.Status.Final() {
		s.Pending = max(s.Pending-1, 0)
		return s
	}
	if n := s.counter(r); n != nil {
		*n = max(*n-1, 0)
		if s.At.Equal(r.Outcome.At) && s.By == r.Outcome.By {
			s.At, s.By = time.Time{}, ""
		}
	}
	return s
}

// counter is the count that the request's outcome belongs to; nil where no
// person said it.
func (s *storedShape) counter(r *record.StoredRequest) *int {
	switch r.Outcome.Decision {
	case holdgate.AnswerTimeout, holdgate.AnswerCancel:
		return nil
	}
	switch r.Status {
	case holdgate.StatusApproved:
		return &s.Approved
	case holdgate.StatusDenied:
		return &s.Denied
	case holdgate.StatusSteered:
		return &s.Steered
	}
	return nil
}

// Similar returns what became of calls of the shape.
func (k *Keeper) Similar(ctx context.Context, s holdgate.Shape) (record.Similar, error) {
	var found storedShape
	err := k.b.Store.View(ctx, func(tx store.Tx) (err error) {
		found, err = counted(tx, k.like(s))
		return err
	})
	if err != nil {
		return record.Similar{}, fmt.Errorf("reading what became of %s: %w", s, err)
	}
	return found.view(), nil
}

// SimilarTo is what became of other requests like this one; nil where there
// are none.
func SimilarTo(tx store.Tx, r *record.StoredRequest) (*record.Similar, error) {
	if r.Similarity == nil {
		return nil, nil //nolint:nilnil // nothing is known of the call
	}
	s, err := counted(tx, r.Similarity.Like)
	if err != nil {
		return nil, fmt.Errorf("reading what became of requests like %s: %w", r.ID, err)
	}
	v := s.without(r).view()
	if v == (record.Similar{}) {
		return nil, nil //nolint:nilnil // it is the first of its shape
	}
	return &v, nil
}

// counted reads the counts of a shape; they are zero where there are none.
func counted(tx store.Tx, like holdgate.Digest) (s storedShape, err error) {
	err = record.Read(tx, prefixShape+string(like), &s)
	if errors.Is(err, store.ErrNotFound) {
		return storedShape{Header: record.Current()}, nil
	}
	return s, err
}

// count changes the counts of the request's shape.
func count(c *record.Change, r *record.StoredRequest, change func(*storedShape)) error {
	if r.Similarity == nil {
		return nil
	}
	s, err := counted(c.Tx, r.Similarity.Like)
	if err != nil {
		return fmt.Errorf("counting request %s: %w", r.ID, err)
	}
	change(&s)
	return record.Write(c.Tx, prefixShape+string(r.Similarity.Like), s)
}

// countAsked counts a new request.
func countAsked(c *record.Change, r *record.StoredRequest) error {
	return count(c, r, func(s *storedShape) { s.Pending++ })
}

// countEnded counts a request's outcome; only what people said counts.
func countEnded(c *record.Change, r *record.StoredRequest) error {
	return count(c, r, func(s *storedShape) {
		s.Pending = max(s.Pending-1, 0)
		if n := s.counter(r); n != nil {
			*n++
			s.At, s.By = r.Outcome.At, r.Outcome.By
		}
	})
}
