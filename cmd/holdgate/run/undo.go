package run

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/undo"
)

// What is kept for undo: of one run, of all of them, and for how long.
const (
	undoRunBytes = 8 << 30
	undoAllBytes = 16 << 30
	undoKeep     = 14 * 24 * time.Hour
)

// shownChanges is how many paths the end of a run lists.
const shownChanges = 20

// An undoing is what keeps the changes of a run.
type undoing struct {
	store  *undo.Store
	run    *undo.Run
	broker *undo.Broker
}

// beginUndo makes a place for what the agent changes, where that is asked for.
func (r *agent) beginUndo(root string) error {
	if !r.Contained.Undo {
		return nil
	}
	key, err := app.UndoKey(r.Config.StateDir)
	if err != nil {
		return err
	}
	store, err := undo.Open(undo.Folder(r.Config.StateDir), undo.Options{Key: key, Limit: undoRunBytes})
	if err == nil {
		err = store.Expire(time.Now().Add(-undoKeep), undoAllBytes)
	}
	u := &undoing{store: store}
	if err == nil {
		agent := r.o.Agent.ID
		if r.beside != nil {
			agent = r.beside.terms.Agent
		}
		u.run, err = store.Begin(root, agent)
	}
	if err != nil {
		return &RefusedError{Text: fmt.Sprintf("what the agent changes cannot be undone here, and it was not started: %v", err), Hint: "leave --undo out to run it all the same"}
	}
	r.undo = u
	return nil
}

// serveUndo begins to make the agent's changes for it.
func (r *agent) serveUndo(spec confine.Spec) (err error) {
	if r.undo == nil {
		return nil
	}
	protected := append(append([]string{}, spec.Mask...), spec.ReadOnly...)
	if r.undo.broker, err = r.undo.run.Serve(r.box.Calls, r.box.Process().Process.Pid, protected); err != nil {
		return fmt.Errorf("keeping what the agent changes: %w", err)
	}
	return nil
}

// endUndo says what the run has changed. The agent has ended.
func (r *agent) endUndo() error {
	u := r.undo
	if u == nil {
		return nil
	}
	var err error
	full := false
	if u.broker != nil {
		err = u.broker.Close()
		full = u.broker.Full()
	}
	changed := u.run.Changed()
	if err := errors.Join(err, u.run.Finish()); err != nil {
		return fmt.Errorf("keeping what the agent changed: %w", err)
	}
	if full {
		fmt.Fprintf(r.Stderr, "warning: the agent was refused changes (\"Disk quota exceeded\"), because %d GiB are kept for undo already\n", undoRunBytes>>30)
	}
	if !changed {
		return nil
	}
	list, err := u.store.Plan(u.run.ID)
	if err != nil || len(list) == 0 {
		return err
	}
	fmt.Fprintf(r.Stderr, "holdgate: the run changed %s in %s\n", undo.Summary(list), holdgate.Visible(u.run.Root))
	for _, c := range list[:min(len(list), shownChanges)] {
		fmt.Fprintf(r.Stderr, "  %s\n", c)
	}
	if more := len(list) - shownChanges; more > 0 {
		fmt.Fprintf(r.Stderr, "  and %d more: %s\n", more, r.Command("diff", u.run.ID))
	}
	fmt.Fprintf(r.Stderr, "holdgate: take it back with: %s\n", r.Command("undo", u.run.ID))
	return nil
}
