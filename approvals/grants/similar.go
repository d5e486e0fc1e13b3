package grants

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

// prefixAnswers has the name of what was counted here once.
const prefixAnswers = "shape/"

// storedAnswers is what people have answered to one call in one folder: see [record.Similar].
// The key is a digest: the call itself may have what policy redacts.
type storedAnswers struct {
	record.Header

	Approved int       `json:"approved,omitempty"`
	Denied   int       `json:"denied,omitempty"`
	Steered  int       `json:"steered,omitempty"`
	Edited   int       `json:"edited,omitempty"`
	Pending  int       `json:"pending,omitempty"`
	At       time.Time `json:"at,omitzero"`
	By       string    `json:"by,omitempty"`
}

func (s storedAnswers) view() record.Similar {
	return record.Similar{Approved: s.Approved, Denied: s.Denied, Steered: s.Steered, Edited: s.Edited, Pending: s.Pending, LastAt: s.At, LastBy: s.By}
}

// without is what is counted of the others. Who answered last before the
// request's own answer is not known any more.
func (s storedAnswers) without(r *record.StoredRequest) storedAnswers {
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
func (s *storedAnswers) counter(r *record.StoredRequest) *int {
	switch r.Outcome.Decision {
	case holdgate.AnswerTimeout, holdgate.AnswerCancel:
		return nil
	case holdgate.AnswerEdit:
		return &s.Edited
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

// SimilarTo is what became of other requests like this one; nil where there
// are none.
func SimilarTo(tx store.Tx, r *record.StoredRequest) (*record.Similar, error) {
	if r.Similarity == nil {
		return nil, nil //nolint:nilnil // nothing is known of the call
	}
	s, err := counted(tx, r)
	if err != nil {
		return nil, fmt.Errorf("reading what became of requests like %s: %w", r.ID, err)
	}
	v := s.without(r).view()
	if v == (record.Similar{}) {
		return nil, nil //nolint:nilnil // it is the first
	}
	return &v, nil
}

// answersKey is the key of what is counted for the request's call.
func answersKey(r *record.StoredRequest) string {
	same := r.Similarity.Same
	if same == "" {
		same = r.Call.Digest
	}
	of := sha256.Sum256([]byte(strings.Join([]string{string(r.Similarity.Like), string(same), r.Similarity.Dir}, "\x00")))
	return prefixAnswers + hex.EncodeToString(of[:])
}

// counted reads the counts of the request's call; they are zero where there are none.
func counted(tx store.Tx, r *record.StoredRequest) (s storedAnswers, err error) {
	err = record.Read(tx, answersKey(r), &s)
	if errors.Is(err, store.ErrNotFound) {
		return storedAnswers{Header: record.Current()}, nil
	}
	return s, err
}

// count changes the counts of the request's call.
func count(c *record.Change, r *record.StoredRequest, change func(*storedAnswers)) error {
	if r.Similarity == nil {
		return nil
	}
	s, err := counted(c.Tx, r)
	if err != nil {
		return fmt.Errorf("counting request %s: %w", r.ID, err)
	}
	change(&s)
	return record.Write(c.Tx, answersKey(r), s)
}

// ForgetAnswers deletes what is counted of the call of a request that is forgotten, unless
// another one was answered since, or waits.
func ForgetAnswers(tx store.Tx, r *record.StoredRequest) error {
	if r.Similarity == nil || r.Outcome == nil {
		return nil
	}
	s, err := counted(tx, r)
	if err != nil || s.Pending > 0 || s.At.After(r.Outcome.At) {
		return err
	}
	return tx.Delete(answersKey(r))
}

// countAsked counts a new request.
func countAsked(c *record.Change, r *record.StoredRequest) error {
	return count(c, r, func(s *storedAnswers) { s.Pending++ })
}

// countEnded counts a request's outcome; only what people said counts.
func countEnded(c *record.Change, r *record.StoredRequest) error {
	return count(c, r, func(s *storedAnswers) {
		s.Pending = max(s.Pending-1, 0)
		if n := s.counter(r); n != nil {
			*n++
			s.At, s.By = r.Outcome.At, r.Outcome.By
		}
	})
}
