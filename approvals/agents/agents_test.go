package agents_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/agents"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/record/recordtest"
	"github.com/holdgate/holdgate/store"
)

// A world is a keeper over a store on disk, and what others were told.
type world struct {
	*agents.Keeper

	t    *testing.T
	st   store.Store
	book *record.Book
	told []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, st: recordtest.Store(t)}
	w.restart()
	for _, id := range []string{"ada", "eve"} {
		w.Know(id)
	}
	return w
}

// restart makes a keeper that knows nothing but what is stored, and returns who was stopped.
func (w *world) restart() (stopped []string) {
	w.t.Helper()
	w.book = recordtest.Book(w.t, w.st)
	w.Keeper = agents.New(w.book, agents.Followers{
		Resumed: func(_ *record.Change, agent, by string) error {
			w.told = append(w.told, fmt.Sprintf("%q resumed by %s", agent, by))
			return nil
		},
		Redirected: func(_ *record.Change, agent, by, what string) error {
			w.told = append(w.told, fmt.Sprintf("%q redirected by %s: %s", agent, by, what))
			return nil
		},
	})
	must(w.t, w.st.View(w.t.Context(), func(tx store.Tx) (err error) { stopped, err = w.TakeUp(tx); return err }))
	return stopped
}

func (w *world) does(action agents.Action, agent, by string) error {
	_, err := w.Intervene(w.t.Context(), agent, agents.Intervention{Action: action, By: by, Reason: "why", Instruction: "do less"})
	return err
}

func (w *world) status(agent string) string {
	s, _ := w.Status(agent)
	return s.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Each step goes on from the one before. What it comes to is the same after a restart.
func TestPeopleHaltAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, step := range []struct {
		name     string
		action   agents.Action
		agent    string
		by       string
		err      error
		ada, eve string
	}{
		{"one is paused", agents.Pause, "ada", "oda", nil, "paused by oda: why", "running"},
		{"by somebody who may not", agents.Resume, "ada", "ana", people.ErrNotEntitled, "paused by oda: why", "running"},
		{"an agent that nobody knows", agents.Pause, "bob", "oda", agents.ErrNoAgent, "paused by oda: why", "running"},
		{"what is no intervention", "restart", "ada", "oda", agents.ErrIntervention, "paused by oda: why", "running"},
		{"all are paused", agents.Pause, agents.Everybody, "oda", nil, "paused by oda: why", "paused by oda: why"},
		{"one goes on, and all do not", agents.Resume, "ada", "oda", nil, "paused by oda: why", "paused by oda: why"},
		{"all go on", agents.Resume, agents.Everybody, "oda", nil, "running", "running"},
		{"one is stopped", agents.Stop, "eve", "oda", nil, "running", "stopped by oda: why"},
		{"who is stopped is not paused", agents.Pause, "eve", "oda", agents.ErrStopped, "running", "stopped by oda: why"},
		{"to stop it again changes nothing", agents.Stop, "eve", "oda", nil, "running", "stopped by oda: why"},
		{"all are paused, and one is stopped", agents.Pause, agents.Everybody, "oda", nil, "paused by oda: why", "stopped by oda: why"},
		{"all are stopped", agents.Stop, agents.Everybody, "oda", nil, "stopped by oda: why", "stopped by oda: why"},
	} {
		if err := w.does(step.action, step.agent, step.by); !errors.Is(err, step.err) || (err == nil) != (step.err == nil) {
			t.Errorf("%s: got %v, want %v", step.name, err, step.err)
		}
		for _, when := range []string{"", ", after a restart"} {
			if ada, eve := w.status("ada"), w.status("eve"); ada != step.ada || eve != step.eve {
				t.Errorf("%s%s: ada is %s, want %s; eve is %s, want %s", step.name, when, ada, step.ada, eve, step.eve)
			}
			if when == "" {
				w.restart()
				w.Know("ada")
				w.Know("eve")
			}
		}
	}
	if d := cmp.Diff([]string{`"ada" resumed by oda`, `"" resumed by oda`}, w.told); d != "" {
		t.Errorf("others were told (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"", "eve"}, w.restart()); d != "" {
		t.Errorf("stopped (-want +got):\n%s", d)
	}
}

func TestOneAgentIsRedirected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.does(agents.Redirect, "ada", "oda"))
	if err := w.does(agents.Redirect, agents.Everybody, "oda"); !errors.Is(err, agents.ErrIntervention) {
		t.Errorf("all: %v", err)
	}
	if err := w.does(agents.Redirect, "ada", "ana"); !errors.Is(err, people.ErrNotEntitled) {
		t.Errorf("by somebody who may not: %v", err)
	}
	if d := cmp.Diff([]string{`"ada" redirected by oda: do less`}, w.told); d != "" {
		t.Errorf("others were told (-want +got):\n%s", d)
	}
}

// What is pending of an agent that is stopped is cancelled, and nothing else.
func TestAStopCancelsWhatIsPending(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		agent    string
		action   agents.Action
		ada, eve holdgate.Status
	}{
		{"one is paused", "ada", agents.Pause, holdgate.StatusPending, holdgate.StatusPending},
		{"one is stopped", "ada", agents.Stop, holdgate.StatusCancelled, holdgate.StatusPending},
		{"all are", agents.Everybody, agents.Stop, holdgate.StatusCancelled, holdgate.StatusCancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, id := range []string{"ada", "eve"} {
				recordtest.Ask(t, w.book, record.StoredRequest{ID: "of-" + id, Agent: id})
			}
			must(t, w.does(tt.action, tt.agent, "oda"))
			for id, want := range map[string]holdgate.Status{"of-ada": tt.ada, "of-eve": tt.eve} {
				must(t, w.book.Change(t.Context(), func(c *record.Change) error {
					r, err := c.Request(id)
					if err == nil && r.Status != want {
						t.Errorf("%s is %s, want %s", id, r.Status, want)
					}
					return err
				}))
			}
			list, err := w.List(t.Context())
			must(t, err)
			pending := map[holdgate.Status]int{holdgate.StatusPending: 1}
			if len(list) != 2 || list[0].ID != "ada" || list[0].Pending != pending[tt.ada] || list[1].Pending != pending[tt.eve] {
				t.Errorf("agents are %+v", list)
			}
		})
	}
}

// Whoever waits hears of a stop once, and of a pause not at all.
func TestWhoWaitsHearsOfAStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var heard []string
	hears := func(name, agent string) func() {
		return w.WhenStopped(agent, func() { heard = append(heard, name) })
	}
	hears("ada", "ada")
	hears("given up", "ada")()
	hears("eve", "eve")
	_, changed := w.Status("ada")
	must(t, w.does(agents.Pause, "ada", "oda"))
	<-changed
	if heard != nil {
		t.Errorf("at a pause %v heard", heard)
	}
	must(t, w.does(agents.Stop, "ada", "oda"))
	must(t, w.does(agents.Stop, "ada", "oda"))
	hears("late", "ada")
	if d := cmp.Diff([]string{"ada", "late"}, heard); d != "" {
		t.Errorf("heard (-want +got):\n%s", d)
	}
}

// An agent's name is its own word: it is proven where it was each time.
func TestWhatIsSeenOfAnAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := func(proven bool, door, session string) {
		w.Seen(record.Caller{Agent: holdgate.Agent{ID: "bob", Proven: proven}, Door: door, Session: holdgate.Session{ID: session}})
	}
	bob := func() agents.Agent {
		list, err := w.List(t.Context())
		must(t, err)
		return list[1] // of ada, bob and eve
	}
	w.Expect(holdgate.Agent{ID: "bob", Proven: true, Confinement: "strong"})
	if got := bob(); !got.Proven || got.Confinement != "strong" || !got.LastSeen.IsZero() {
		t.Errorf("one that is expected: %+v", got)
	}
	for i := range 20 {
		seen(true, "anthropic", fmt.Sprint("s", i))
	}
	seen(true, "mcp", "s9")
	if got := bob(); !got.Proven || len(got.Sessions) != 16 || got.Sessions[15] != "s9" || got.Sessions[0] != "s4" {
		t.Errorf("sessions are %v", got.Sessions)
	} else if d := cmp.Diff([]string{"anthropic", "mcp"}, got.Doors); d != "" {
		t.Errorf("doors (-want +got):\n%s", d)
	}
	seen(false, "mcp", "s9")
	seen(true, "mcp", "s9")
	if bob().Proven {
		t.Error("it counts as proven, and was not once")
	}
}
