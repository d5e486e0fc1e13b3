package approvals

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// A silenceTracker is what the queue knows of requests that silence may approve. Silence
// means something only where people could have spoken: a channel has told them,
// channels reach them still, and this process ran all the time.
type silenceTracker struct {
	mu       sync.Mutex
	channels map[string]bool      // that reach people
	since    map[string]time.Time // by request: since when silence counts, on the monotonic clock
	asking   map[string]string    // by request: whose it is
	screens  map[string]time.Time // by request: when a person's own screen showed it last
	shared   bool                 // asking is in the store
}

// screenFor is how long a screen counts as showing a request after it has said so.
const screenFor = 5 * time.Second

func newSilenceTracker() *silenceTracker {
	return &silenceTracker{
		channels: make(map[string]bool), since: make(map[string]time.Time),
		asking: make(map[string]string), screens: make(map[string]time.Time),
	}
}

// reserve takes note of a request of the agent that silence may approve. It
// refuses where the agent has one already: a row of calls, each harmless by
// itself, must not go by unseen. Its sessions do not count, for it names them
// itself.
func (s *silenceTracker) reserve(request, agent string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, o := range s.asking {
		if o == agent && id != request {
			return false
		}
	}
	s.asking[request] = agent
	return true
}

// reached reports whether people are reached now, by a channel or a screen that shows the
// request.
func (s *silenceTracker) reached(request string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.channels) > 0 || time.Since(s.screens[request]) <= screenFor
}

// knows reports whether the silence of a request counts here.
func (s *silenceTracker) knows(request string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, knows := s.since[request]
	return knows
}

// forget drops a request that has ended, or was never made.
func (s *silenceTracker) forget(request string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asking, request)
	delete(s.since, request)
	delete(s.screens, request)
}

// screen takes note that a person's screen shows a request now. Where no channel
// reaches people and none did until now, the window is a whole one again.
func (s *silenceTracker) screen(request string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, waits := s.since[request]; waits && len(s.channels) == 0 && time.Since(s.screens[request]) > screenFor {
		s.since[request] = time.Now()
	}
	if s.asking[request] != "" || s.shared {
		s.screens[request] = time.Now()
	}
}

// learn takes in a change that is durable.
func (s *silenceTracker) learn(c *record.Change) {
	for _, id := range c.Ended {
		s.forget(id)
	}
}

// listen has silence count from when the change is durable.
func (s *silenceTracker) listen(c *record.Change, request string) {
	c.Durable(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.since[request] = time.Now()
	})
}

// over reports whether people could have answered for d, and have not.
func (s *silenceTracker) over(request string, d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, ok := s.since[request]
	reached := len(s.channels) > 0 || time.Since(s.screens[request]) <= screenFor
	return ok && reached && time.Since(since) >= d
}

// Reaches notes whether a channel reaches people now. While none does, silence
// approves nothing, and once one does again every window is a whole one.
func (q *Queue) Reaches(channel string, people bool) {
	q.silence.mu.Lock()
	defer q.silence.mu.Unlock()
	if people {
		if len(q.silence.channels) == 0 {
			for id := range q.silence.since {
				q.silence.since[id] = time.Now()
			}
		}
		q.silence.channels[channel] = true
	} else {
		delete(q.silence.channels, channel)
	}
}

// Told notes that a channel has shown people a request. Where silence may
// approve it, the window begins with the first channel that has. It returns
// ErrNotFound, or an error of the store.
func (q *Queue) Told(ctx context.Context, id string) error {
	r, err := q.request(ctx, id)
	if err != nil || r.OnTimeout != holdgate.TimeoutApprove || r.Told && q.counts(r) || r.Status.Final() {
		return err
	}
	err = q.transact(ctx, func(t *transition) error {
		r, err := t.Request(id)
		if err != nil || r.OnTimeout != holdgate.TimeoutApprove || r.Status.Final() {
			return err
		}
		if counts, err := q.silenceCounts(t.Tx, r); counts || err != nil {
			return err
		}
		r.Told = true
		t.listen(r)
		if r.Claim != nil {
			return t.Write(r)
		}
		key := record.DueKey(r.Expires, r.ID)
		r.Expires = t.Now.Add(r.Timeout)
		return errors.Join(t.Tx.Delete(key), t.Write(r), t.Schedule(r.Expires, r.ID, record.DueSilence))
	})
	if err != nil {
		return fmt.Errorf("noting that people were told of request %s: %w", id, err)
	}
	return nil
}

// Shown notes that the screen of a person who may answer shows a request now, and
// returns it. A screen that says so every few seconds is as good as a channel that
// has told people ([Queue.Told]) and reaches them ([Queue.Reaches]), for this request.
// It returns ErrNotFound or ErrNotEntitled.
func (q *Queue) Shown(ctx context.Context, id, by string) (Request, error) {
	if _, err := q.People().MayAnswer(by); err != nil {
		return Request{}, err
	}
	q.silence.screen(id)
	if err := q.Told(ctx, id); err != nil {
		return Request{}, err
	}
	return q.Request(ctx, id)
}

// restartSilence gives a request whose silence approves its whole window again.
func (q *Queue) restartSilence(ctx context.Context, d record.Due) error {
	err := q.transact(ctx, func(t *transition) error {
		r, err := t.Request(d.ID)
		if err != nil || r.Status.Final() || !r.Expires.Equal(d.At) {
			return err
		}
		if r.Told {
			t.listen(r)
		}
		r.Expires = t.Now.Add(r.Timeout)
		return errors.Join(t.Tx.Delete(d.Key), t.Write(r), t.Schedule(r.Expires, r.ID, record.DueSilence))
	})
	if err != nil {
		return fmt.Errorf("restarting the window of request %s: %w", d.ID, err)
	}
	return nil
}

// notSilent has silence deny a request that it would have approved, once the time of
// an ordinary hold is over. It leaves writing the request to its caller.
func (t *transition) notSilent(r *record.StoredRequest, why string) error {
	if r.OnTimeout != holdgate.TimeoutApprove {
		return nil
	}
	if err := t.Tx.Delete(record.DueKey(r.Expires, r.ID)); err != nil {
		return err
	}
	r.MustBeAnswered("silence does not approve: " + why)
	if r.Claim == nil {
		r.Expires = r.Created.Add(r.Timeout)
		if soon := t.Now.Add(time.Minute); r.Expires.Before(soon) {
			r.Expires = soon
		}
	}
	t.Durable(func() { t.q.silence.forget(r.ID) })
	if t.q.member != nil {
		if err := t.q.askedNoMore(t.Change, r); err != nil {
			return err
		}
	}
	return t.Schedule(r.Expires, r.ID, r.Timer())
}

// unheard is notSilent for a request to which nothing else happens.
func (t *transition) unheard(r *record.StoredRequest, why string) error {
	return errors.Join(t.notSilent(r, why), t.Write(r), t.Record(r, audit.TypeExtended, record.EventExtended, r.SilenceDenied))
}

// takeUpSilence brings a request that was stored back to what the process knows.
func (q *Queue) takeUpSilence(ctx context.Context, d record.Due) error {
	r, err := q.request(ctx, d.ID)
	if errors.Is(err, ErrNotFound) || errors.Is(err, store.ErrNotFound) {
		return nil // the timer clears it away
	}
	if err != nil {
		return err
	}
	if q.member != nil {
		return nil // the timer finds it where nobody counts its silence
	}
	q.silence.reserve(r.ID, r.Agent)
	return q.restartSilence(ctx, d)
}
