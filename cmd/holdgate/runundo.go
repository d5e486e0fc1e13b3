package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
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

// undoFolder is where what runs change is kept.
func undoFolder(stateDir string) string { return filepath.Join(stateDir, "undo") }

// An undoing is what keeps the changes of a run.
type undoing struct {
	store  *undo.Store
	run    *undo.Run
	broker *undo.Broker
}

// beginUndo makes a place for what the agent changes, where that is asked for.
func (r *agentRun) beginUndo(root string) error {
	if !r.c.Bool("undo") {
		return nil
	}
	store, err := undo.Open(undoFolder(r.s.StateDir), undoRunBytes)
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
		return &exitError{code: exitUsage, text: fmt.Sprintf("what the agent changes cannot be undone here, and it was not started: %v", err), hint: "leave --undo out to run it all the same"}
	}
	r.undo = u
	return nil
}

// serveUndo begins to make the agent's changes for it.
func (r *agentRun) serveUndo(spec confine.Spec) (err error) {
	if r.undo == nil {
		return nil
	}
	protected := append(append([]string{}, spec.Mask...), spec.ReadOnly...)
	if r.undo.broker, err = r.undo.run.Serve(r.box.Calls, r.box.Process().Process.Pid, protected); err != nil {
		return fmt.Errorf("keeping what the agent changes: %w", err)
	}
	fmt.Fprintf(r.stderr, "note: what changes in %s can be undone: holdgate undo %s%s\n", holdgate.Visible(spec.Dir), r.undo.run.ID, again(r.c))
	return nil
}

// endUndo says what the run has changed. The agent has ended.
func (r *agentRun) endUndo() error {
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
	if err := errors.Join(err, u.run.End()); err != nil {
		return fmt.Errorf("keeping what the agent changed: %w", err)
	}
	if full {
		fmt.Fprintf(r.stderr, "warning: the agent was refused changes (\"Disk quota exceeded\"), because %d GiB are kept for undo already\n", undoRunBytes>>30)
	}
	if !changed {
		return nil
	}
	list, err := u.store.Plan(u.run.ID)
	if err != nil || len(list) == 0 {
		return err
	}
	fmt.Fprintf(r.stderr, "holdgate: the run changed %s in %s\n", counted(list), holdgate.Visible(u.run.Root))
	for _, c := range list[:min(len(list), shownChanges)] {
		fmt.Fprintf(r.stderr, "  %s\n", changeLine(c))
	}
	if more := len(list) - shownChanges; more > 0 {
		fmt.Fprintf(r.stderr, "  and %d more: holdgate diff %s%s\n", more, u.run.ID, again(r.c))
	}
	fmt.Fprintf(r.stderr, "holdgate: take it back with: holdgate undo %s%s\n", u.run.ID, again(r.c))
	return nil
}

// counted says how many paths were changed how.
func counted(list []undo.Change) string {
	of := map[string]int{}
	for _, c := range list {
		of[c.What]++
	}
	var parts []string
	for _, what := range []string{undo.Created, undo.Changed, undo.Replaced, undo.Deleted, undo.Moved, undo.Mode} {
		if of[what] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of[what], what))
		}
	}
	paths := "paths"
	if len(list) == 1 {
		paths = "path"
	}
	return fmt.Sprintf("%d %s (%s)", len(list), paths, strings.Join(parts, ", "))
}

// changeLine is a change for a screen.
func changeLine(c undo.Change) string {
	line := c.What + ": " + holdgate.Visible(c.Path)
	if c.From != "" {
		line += ", which was " + holdgate.Visible(c.From)
	}
	return line
}
