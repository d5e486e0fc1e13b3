package gate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/proxy/gate"
	"github.com/holdgate/holdgate/proxy/wire"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/store/audit"
)

// A wardened setup has an agent whose changes can be undone, and a warden that keeps what
// each call was let.
type wardened struct {
	*setup
	let     map[string]holdgate.Later // by the call's name
	ended   []string
	refused []string
	onLet   func()
}

func newWardened(t *testing.T, p policy) *wardened {
	t.Helper()
	w := &wardened{let: map[string]holdgate.Later{}, onLet: func() {}}
	w.setup = newSetup(t, p, func(c *gate.Config) {
		c.Warden = gate.Warden{
			Let: func(agent, call string, may holdgate.Later) {
				if agent != "ada" || call == "" || w.let[call].Paths != nil {
					t.Errorf("%s of %s was let %+v", call, agent, may)
				}
				w.let[call] = may
				w.onLet()
			},
			Settle: func(_ string, calls []string) []string {
				for _, c := range calls {
					if _, was := w.let[c]; !was {
						t.Errorf("%s ended, and was not let", c)
					}
					delete(w.let, c)
				}
				w.ended = append(w.ended, calls...)
				refused := w.refused
				w.refused = nil
				return refused
			},
		}
	})
	w.from.At, w.from.Agent.Undo = gate.InAnswer, true
	return w
}

// calls has the model make calls with these ids.
func (w *wardened) calls(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		x, e := w.begin()
		e.Call.ID = id
		must(w.t, x.Pass(w.t.Context(), e, inLine))
	}
}

// shows brings a request with results of calls.
func (w *wardened) shows(ids ...string) {
	w.t.Helper()
	var h wire.History
	for _, id := range ids {
		h.Results = append(h.Results, wire.Result{ID: id, Tool: "run", Arguments: []byte(`{"n":1}`)})
	}
	x := w.g.Begin(w.from, func() (holdgate.Digest, error) { return "key", nil })
	x.Shown(w.t.Context(), &holdgate.Model{}, h)
}

func lets(rego.Input) holdgate.Decision {
	d := allow(rego.Input{})
	d.Later = &holdgate.Later{Paths: []string{"/p/.envrc"}}
	return d
}

// What a call may change later it may from before it goes on until its result is seen.
func TestACallIsLetUntilItsResult(t *testing.T) {
	w := newWardened(t, lets)
	x, e := w.begin()
	e.Call.ID = "a"
	w.onLet = func() {
		if e.Released() {
			t.Error("the call went on before it was let")
		}
	}
	must(t, x.Pass(t.Context(), e, inLine))
	w.onLet = func() {}
	w.calls("b", "")
	for _, step := range []struct {
		shows []string
		open  int // calls that are let afterwards
	}{
		{nil, 3},
		{[]string{"x"}, 2}, // the one without an id ends with any
		{[]string{"x", "a"}, 1},
		{[]string{"x", "a", "b"}, 0},
	} {
		if w.shows(step.shows...); len(w.let) != step.open {
			t.Errorf("after the results of %q %d calls are let, want %d", step.shows, len(w.let), step.open)
		}
	}
	w.calls("a", "b")
	if w.shows(""); len(w.let) != 0 {
		t.Errorf("%d calls are let after a result without an id", len(w.let))
	}
}

func TestNoOtherCallIsLet(t *testing.T) {
	for name, c := range map[string]struct {
		policy policy
		change func(*wardened)
	}{
		"one that is denied":                   {func(rego.Input) holdgate.Decision { d := lets(rego.Input{}); d.Action = holdgate.Deny; return d }, nil},
		"one that waits":                       {func(rego.Input) holdgate.Decision { d := lets(rego.Input{}); d.Action = holdgate.Hold; return d }, nil},
		"one that names nothing":               {allow, nil},
		"one of an agent without undo":         {lets, func(w *wardened) { w.from.Agent.Undo = false }},
		"one at the door of its MCP server":    {lets, func(w *wardened) { w.from.At = gate.AtServer }},
		"one that is judged, and not the call": {lets, func(w *wardened) { w.from.At = gate.Elsewhere }},
	} {
		w := newWardened(t, c.policy)
		if c.change != nil {
			c.change(w)
		}
		x, e := w.begin()
		must(t, x.Pass(t.Context(), e, gate.Later))
		if len(w.let) > 0 {
			t.Errorf("%s was let %+v", name, w.let)
		}
	}
}

// A result in one session ends nothing in another.
func TestACallOfAnotherSessionGoesOn(t *testing.T) {
	w := newWardened(t, lets)
	w.calls("a")
	one := w.from.Session
	w.from.Session.ID = "two"
	if w.shows("a"); len(w.let) != 1 {
		t.Error("another session's result has ended it")
	}
	w.from.Session = one
	if w.shows("a"); len(w.let) != 0 {
		t.Error("its own result has not")
	}
}

// Of calls whose results never come the oldest end.
func TestCallsWithoutResultsEnd(t *testing.T) {
	w := newWardened(t, lets)
	w.refused = []string{".git/hooks/x"}
	for i := range 200 {
		w.calls(fmt.Sprint(i))
	}
	if len(w.let) != 100 || len(w.ended) != 100 {
		t.Errorf("%d calls are let, and %d have ended", len(w.let), len(w.ended))
	}
	if len(w.q.remarks) != 1 {
		t.Errorf("the model is told %q", w.q.remarks)
	}
}

// The model and the log are told once what was refused, and no more than fits.
func TestWhatWasRefusedIsTold(t *testing.T) {
	w := newWardened(t, allow)
	w.calls("a")
	for i := range 7 {
		w.refused = append(w.refused, fmt.Sprintf(".git/hooks/%d", i))
	}
	w.shows("a")
	w.shows("a")
	if len(w.q.remarks) != 1 || len(w.q.found) != 1 {
		t.Fatalf("the model is told %q, and the log %q", w.q.remarks, w.q.found)
	}
	for _, told := range []string{w.q.remarks[0], w.q.found[0]} {
		if !strings.Contains(told, ".git/hooks/0, ") || !strings.Contains(told, ".git/hooks/4 and 2 more") {
			t.Errorf("what is told: %s", told)
		}
	}
	if !strings.Contains(w.q.remarks[0], "names the path") || !strings.Contains(w.q.remarks[0], "git") {
		t.Errorf("the model is not told what to do: %s", w.q.remarks[0])
	}
	if !slices.ContainsFunc(w.q.found, func(s string) bool { return strings.HasPrefix(s, "not changed") }) {
		t.Errorf("the log has %q", w.q.found)
	}
}

func (q *queue) Find(_ context.Context, _ approvals.Caller, _ *audit.Call, note string) error {
	if strings.HasPrefix(note, "not changed") { // of what else the setup's results are is another test's
		q.found = append(q.found, note)
	}
	return nil
}

func (q *queue) Remark(_ context.Context, _ approvals.Caller, what string) error {
	q.remarks = append(q.remarks, what)
	return nil
}
