package approvals

import (
	"errors"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
)

// Where several members work on the store, the silence of a request counts with one of
// them: the one whose channel has told people. While that one works, the others leave the
// request alone. Once it has ended, or no channel of its own reaches people any more,
// another that reaches them gives the request a whole window again.

// prefixAsking begins the keys that say which request of an agent silence may approve.
const prefixAsking = "asking/"

// anotherWaits is why silence denies a request that it could have approved.
const anotherWaits = "silence does not approve: another call of the agent waits for it"

// askOnly keeps silence from approving a request while it may approve another one of the
// agent: see [silenceTracker.reserve].
func (q *Queue) askOnly(c *record.Change, r *record.StoredRequest) error {
	if r.OnTimeout != holdgate.TimeoutApprove {
		return nil
	}
	switch _, err := c.Tx.Get(prefixAsking + r.Agent); {
	case err == nil:
		r.MustBeAnswered(anotherWaits)
		return nil
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	return c.Tx.Set(prefixAsking+r.Agent, []byte(r.ID))
}

// askedNoMore lets silence approve the agent's next request.
func (q *Queue) askedNoMore(c *record.Change, r *record.StoredRequest) error {
	switch id, err := c.Tx.Get(prefixAsking + r.Agent); {
	case errors.Is(err, store.ErrNotFound) || err == nil && string(id) != r.ID:
		return nil
	case err != nil:
		return err
	}
	return c.Tx.Delete(prefixAsking + r.Agent)
}

// listen has the silence of a request count here, from when the change is durable.
func (t *transition) listen(r *record.StoredRequest) {
	if t.q.member != nil {
		r.ToldBy = t.q.member.ID()
	}
	t.q.silence.listen(t.Change, r.ID)
}

// silenceCounts reports whether the silence of a request counts with a member that works.
func (q *Queue) silenceCounts(tx store.Tx, r *record.StoredRequest) (bool, error) {
	if !r.Told || q.counts(r) {
		return r.Told, nil
	}
	return q.member.Other(tx, r.ToldBy)
}

// counts reports whether the silence of a request counts here.
func (q *Queue) counts(r *record.StoredRequest) bool {
	return q.member == nil || r.ToldBy == q.member.ID()
}

// keeps reports whether the silence of a request goes on to count here. Where no channel
// of this member reaches people, another may take it.
func (t *transition) keeps(r *record.StoredRequest) (bool, error) {
	if t.q.member == nil || t.q.silence.reached(r.ID) {
		return true, nil
	}
	r.ToldBy = ""
	return false, t.Write(r)
}

// leaves reports whether what is due is another member's business: the silence of a
// request that counts there, or that people have been told of and whom nothing here reaches.
func (q *Queue) leaves(tx store.Tx, d record.Due) (bool, error) {
	if q.member == nil || d.What != record.DueSilence {
		return false, nil
	}
	var r record.StoredRequest
	err := record.Read(tx, record.PrefixRequest+d.ID, &r)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || r.Status.Final() || !r.Told || r.RunEnded != nil || q.counts(&r) {
		return false, err
	}
	counts, err := q.member.Other(tx, r.ToldBy)
	return counts || !q.silence.reached(r.ID), err
}
