package approvals_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// A vote that is cast while people are replaced is checked against those in force at
// its decision: in the log it stands before the entry about them, or it is refused.
func TestAVoteDuringAReplacementIsBeforeItOrRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := team(t)
	without, err := people.New("root", all.All()[:2]) // eve goes
	if err != nil {
		t.Fatal(err)
	}
	before, refused := 0, 0
	for round := range 60 {
		b.setPeople(all)
		x := b.enter(fmt.Sprint(round))
		r := b.ask(x, bash(0, fmt.Sprint("rm ", round)), hold())
		var voted, replaced error
		var both sync.WaitGroup
		vote := func() { _, voted = b.queue.Decide(t.Context(), r.ID, approve(r, "eve")) }
		replace := func() { replaced = b.queue.SetPeople(t.Context(), without) }
		first, second := vote, replace // the later one of a group often begins
		if round%2 == 0 {
			first, second = replace, vote
		}
		both.Go(first)
		both.Go(second)
		both.Wait()
		x.Leave()
		if replaced != nil {
			t.Fatal(replaced)
		}
		voteAt, persons := uint64(0), uint64(0)
		entries, err := b.log.Query(t.Context(), audit.Query{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			switch {
			case e.Type == audit.TypeVote && e.RequestID == r.ID:
				voteAt = e.Seq
			case e.Type == audit.TypePeople:
				persons = max(persons, e.Seq)
			}
		}
		switch {
		case voted == nil && voteAt != 0 && voteAt < persons:
			before++
		case errors.Is(voted, people.ErrNotEntitled) && voteAt == 0 && b.request(r.ID).Status == holdgate.StatusPending:
			refused++
		default:
			t.Fatalf("the vote (%v) is entry %d, that about the people %d", voted, voteAt, persons)
		}
	}
	t.Logf("%d votes before, %d refused", before, refused)
}

func TestAReplacementThatIsNotLetChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	no := errors.New("no")
	e := audit.Entry{Type: audit.TypeConfig, Note: "never"}
	swapped := false
	err := b.queue.Replace(t.Context(), record.EventConfig, e, func(approvals.InForce) error { return no }, nil, func() { swapped = true })
	if !errors.Is(err, no) || swapped {
		t.Errorf("got %v, swapped %v", err, swapped)
	}
	if entries, err := b.log.Query(t.Context(), audit.Query{Type: audit.TypeConfig}); err != nil || len(entries) > 0 {
		t.Errorf("the log has %+v, %v", entries, err)
	}
	// The entry is on disk before the change counts.
	err = b.queue.Replace(t.Context(), record.EventConfig, e, nil, nil, func() {
		if entries, err := b.log.Query(t.Context(), audit.Query{Type: audit.TypeConfig}); err != nil || len(entries) != 1 {
			t.Errorf("at the change the log has %+v, %v", entries, err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
