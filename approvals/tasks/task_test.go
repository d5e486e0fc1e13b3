package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record/recordtest"
	"github.com/holdgate/holdgate/approvals/tasks"
	"github.com/holdgate/holdgate/store"
)

const owner holdgate.Digest = "owner"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newKeeper(t *testing.T) (*tasks.Keeper, store.Store) {
	t.Helper()
	st := recordtest.Store(t)
	return tasks.New(recordtest.Book(t, st), func(int64) error { return nil }), st
}

// held is a new task, which lasts for an hour.
func held(id string) tasks.Task {
	return tasks.Task{ID: id, Owner: owner, State: tasks.Held, Exchange: "x", Call: []byte("the call"), Expires: time.Now().Add(time.Hour)}
}

func add(t *testing.T, k *tasks.Keeper, task tasks.Task) tasks.Task {
	t.Helper()
	got, err := k.Add(t.Context(), task)
	must(t, err)
	return got
}

// ids are those of a list, in order.
func ids(list []tasks.Task, err error) string {
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, t := range list {
		names = append(names, t.ID)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// Each state of a task: who sees its call and its answer, and whether what it takes to
// make the call is still there for a sidecar that starts.
func TestWhatIsKeptOfATaskInEachState(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		state                    tasks.State
		seesCall, seesAnswer     bool // its owner
		unfinished, callIsStored bool
	}{
		{tasks.Held, false, false, true, true},
		{tasks.Sending, false, false, true, true},
		{tasks.Asks, true, true, true, true},
		{tasks.Theirs, false, true, false, false},
		{tasks.Done, false, true, false, false},
		{tasks.Cancelled, false, true, false, false},
	} {
		t.Run(string(tt.state), func(t *testing.T) {
			t.Parallel()
			k, _ := newKeeper(t)
			add(t, k, held("a"))
			_, err := k.Change(t.Context(), "a", func(task *tasks.Task) error {
				task.State, task.Answer, task.Theirs, task.Round = tt.state, []byte("the answer"), "there", 3
				return nil
			})
			must(t, err)
			got, err := k.Get(t.Context(), owner, "a")
			must(t, err)
			if got.State != tt.state || got.Theirs != "there" || got.Round != 3 || got.Exchange != "x" || got.State.Unfinished() != tt.unfinished {
				t.Errorf("its owner sees %+v", got)
			}
			if (string(got.Call) == "the call") != tt.seesCall || (string(got.Answer) == "the answer") != tt.seesAnswer {
				t.Errorf("its owner sees the call %q and the answer %q", got.Call, got.Answer)
			}
			all, err := k.All(t.Context())
			must(t, err)
			if len(all) != 1 || (string(all[0].Call) == "the call") != tt.callIsStored {
				t.Errorf("a sidecar that starts finds %+v", all)
			}
		})
	}
}

func TestATaskIsItsOwnersForItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, st := newKeeper(t)
		longer := held("b")
		longer.Expires = longer.Expires.Add(time.Minute)
		other := held("c")
		other.Owner = "other"
		for _, task := range []tasks.Task{held("a"), longer, other} {
			if got := add(t, k, task); !got.Created.Equal(time.Now()) || !got.Updated.Equal(got.Created) {
				t.Errorf("%s was made at %v", got.ID, got.Created)
			}
		}
		if _, err := k.Get(t.Context(), "other", "a"); !errors.Is(err, tasks.ErrNone) {
			t.Errorf("another's task: %v", err)
		}
		is := func(when, of, all string) {
			t.Helper()
			if got := ids(k.Of(t.Context(), owner)); got != of {
				t.Errorf("%s the owner has %s, want %s", when, got, of)
			}
			if got := ids(k.All(t.Context())); got != all {
				t.Errorf("%s there are %s, want %s", when, got, all)
			}
		}
		is("at first", "a b", "a b c")
		time.Sleep(time.Hour)
		is("after an hour", "b", "b")
		if _, err := k.Get(t.Context(), owner, "a"); !errors.Is(err, tasks.ErrNone) {
			t.Errorf("a task whose time is over: %v", err)
		}
		_, err := k.Change(t.Context(), "b", func(task *tasks.Task) error { task.Expires = task.Expires.Add(time.Hour); return nil })
		must(t, err)
		time.Sleep(2 * time.Minute)
		must(t, k.Forget(t.Context()))
		is("when it lasts longer", "b", "b")
		time.Sleep(time.Hour)
		must(t, k.Forget(t.Context()))
		must(t, st.View(t.Context(), func(tx store.Tx) error {
			for p, err := range tx.Scan("task", "") {
				if err != nil || strings.HasPrefix(p.Key, "task") {
					return errors.Join(err, fmt.Errorf("%s is left", p.Key))
				}
			}
			return nil
		}))
	})
}

func TestATaskIsSealed(t *testing.T) {
	t.Parallel()
	k, st := newKeeper(t)
	task := held("a")
	task.Answer = []byte("the answer")
	add(t, k, task)
	must(t, st.View(t.Context(), func(tx store.Tx) error {
		for p, err := range tx.Scan("", "") {
			if err != nil {
				return err
			}
			if strings.Contains(string(p.Value), "the call") || strings.Contains(string(p.Value), "the answer") {
				t.Errorf("%s can be read on the disk", p.Key)
			}
		}
		return nil
	}))
}

func TestWhatChangesNoTask(t *testing.T) {
	t.Parallel()
	k, _ := newKeeper(t)
	add(t, k, held("a"))
	no := errors.New("no")
	if _, err := k.Change(t.Context(), "a", func(task *tasks.Task) error { task.State = tasks.Done; return no }); !errors.Is(err, no) {
		t.Errorf("the function's error: %v", err)
	}
	if _, err := k.Change(t.Context(), "b", func(*tasks.Task) error { return nil }); !errors.Is(err, tasks.ErrNone) {
		t.Errorf("a task that is not there: %v", err)
	}
	if got, err := k.Get(t.Context(), owner, "a"); err != nil || got.State != tasks.Held {
		t.Errorf("the task is %+v, %v", got, err)
	}
	// Who asks may be gone: the change comes to its end.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := k.Change(ctx, "a", func(task *tasks.Task) error { task.State = tasks.Sending; return nil }); err != nil || got.State != tasks.Sending {
		t.Errorf("whose client has gone: %+v, %v", got, err)
	}
}

func TestOneOwnerHasSoManyTasks(t *testing.T) {
	t.Parallel()
	k, _ := newKeeper(t)
	for i := range 100 {
		add(t, k, held(fmt.Sprint(i)))
	}
	if _, err := k.Add(t.Context(), held("more")); !errors.Is(err, tasks.ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	other := held("other")
	other.Owner = "other"
	add(t, k, other)
}

func TestNoTaskIsTakenWithoutSpace(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	k := tasks.New(recordtest.Book(t, recordtest.Store(t)), func(bytes int64) error {
		if bytes >= int64(len("the call")) {
			return full
		}
		return nil
	})
	if _, err := k.Add(t.Context(), held("a")); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if got := ids(k.All(t.Context())); got != "" {
		t.Errorf("there are %s", got)
	}
}
