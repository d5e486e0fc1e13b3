package approvals_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/store"
)

func TestTasksAreKeptSealedAndForgottenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		q := b.queue
		ctx := t.Context()
		secret := []byte("what nobody may read on the disk")
		made, err := q.AddTask(ctx, approvals.Task{ID: "a", Owner: "one", State: approvals.TaskHeld, Call: secret, Expires: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Task(ctx, "two", "a"); !errors.Is(err, approvals.ErrNoTask) {
			t.Errorf("another owner gets %v", err)
		}
		if all, err := q.AllTasks(ctx); err != nil || len(all) != 1 || !bytes.Equal(all[0].Call, secret) {
			t.Errorf("all tasks are %+v (%v)", all, err)
		}
		if _, err := q.ChangeTask(ctx, "a", func(t *approvals.Task) error { t.State, t.Answer = approvals.TaskDone, secret; return nil }); err != nil {
			t.Fatal(err)
		}
		if got, err := q.Task(ctx, "one", "a"); err != nil || !bytes.Equal(got.Answer, secret) || !got.Created.Equal(made.Created) {
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
		if _, err := q.Task(ctx, "one", "a"); !errors.Is(err, approvals.ErrNoTask) {
			t.Errorf("after its time: %v", err)
		}
		if n := stored(); n != 0 {
			t.Errorf("%d records of a task that is forgotten", n)
		}
	})
}

func TestOneClientHasOnlySoManyTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newBench(t).queue
		for n := range 101 {
			_, err := q.AddTask(t.Context(), approvals.Task{ID: fmt.Sprint(n), Owner: "one", State: approvals.TaskDone, Expires: time.Now().Add(time.Hour)})
			if want := n == 100; errors.Is(err, approvals.ErrTooManyTasks) != want {
				t.Fatalf("task %d: %v", n, err)
			}
		}
		if _, err := q.AddTask(t.Context(), approvals.Task{ID: "b", Owner: "two", State: approvals.TaskDone, Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Errorf("another client: %v", err)
		}
	})
}
