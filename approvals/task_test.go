package approvals_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate/approvals/tasks"
	"github.com/holdgate/holdgate/store"
)

func TestTasksAreKeptSealedAndForgottenInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		q := b.queue
		ctx := t.Context()
		secret := []byte("what nobody may read on the disk")
		made, err := q.Tasks.Add(ctx, tasks.Task{ID: "a", Owner: "one", State: tasks.Held, Call: secret, Expires: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Tasks.Get(ctx, "two", "a"); !errors.Is(err, tasks.ErrNone) {
			t.Errorf("another owner gets %v", err)
		}
		if all, err := q.Tasks.All(ctx); err != nil || len(all) != 1 || !bytes.Equal(all[0].Call, secret) {
			t.Errorf("all tasks are %+v (%v)", all, err)
		}
		if _, err := q.Tasks.Change(ctx, "a", func(t *tasks.Task) error { t.State, t.Answer = tasks.Done, secret; return nil }); err != nil {
			t.Fatal(err)
		}
		if got, err := q.Tasks.Get(ctx, "one", "a"); err != nil || !bytes.Equal(got.Answer, secret) || !got.Created.Equal(made.Created) {
			t.Errorf("it is %+v (%v)", got, err)
		}
		stored := func() (n int) {
			err := b.store.View(ctx, func(tx store.Tx) error {
				for p, err := range tx.Scan("task", "") {
					if err != nil {
						return err
					}
					n++
					if bytes.Contains(p.Value, secret) {
						t.Errorf("%s holds it in the clear", p.Key)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			return n
		}
		if n := stored(); n != 4 { // the call has been erased
			t.Errorf("%d records of a task that is over", n)
		}
		time.Sleep(4 * time.Hour) // in which the queue tidies up by itself
		if _, err := q.Tasks.Get(ctx, "one", "a"); !errors.Is(err, tasks.ErrNone) {
			t.Errorf("after its time: %v", err)
		}
		if n := stored(); n != 0 {
			t.Errorf("%d records of a task that is forgotten", n)
		}
	})
}

func TestOneClientHasOnlySoManyTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newBench(t).queue
		for n := range 101 {
			_, err := q.Tasks.Add(t.Context(), tasks.Task{ID: fmt.Sprint(n), Owner: "one", State: tasks.Done, Expires: time.Now().Add(time.Hour)})
			if want := n == 100; errors.Is(err, tasks.ErrTooMany) != want {
				t.Fatalf("task %d: %v", n, err)
			}
		}
		if _, err := q.Tasks.Add(t.Context(), tasks.Task{ID: "b", Owner: "two", State: tasks.Done, Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Errorf("another client: %v", err)
		}
	})
}
