package run

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/app"
	"github.com/holdgate/holdgate/cmd/holdgate/app/runs"
	"github.com/holdgate/holdgate/cmd/holdgate/confine"
	"github.com/holdgate/holdgate/cmd/holdgate/handover"
	"github.com/holdgate/holdgate/cmd/holdgate/undo"
	"github.com/holdgate/holdgate/rego/facts/collect"
)

// shownChanges is how many paths the end of a run lists.
const shownChanges = 20

// An undoing is what keeps the changes of a run.
type undoing struct {
	store  *undo.Store
	run    *undo.Run
	broker *undo.Broker
	lapsed atomic.Bool // what it changes cannot be undone any longer

	mu      sync.Mutex
	refused []string        // what runs later and was not changed, since that was told last
	ever    map[string]bool // the same, in the whole run
}

// beginUndo makes a place for what the agent changes, where that is asked for.
func (r *agent) beginUndo(root string) error {
	if !r.Contained.Undo {
		return nil
	}
	c := r.Config
	key, err := app.UndoKey(r.Config.StateDir)
	if err != nil {
		return err
	}
	store, err := undo.Open(undo.Folder(r.Config.StateDir), undo.Options{Key: key, Limit: int64(c.Undo.MaxBytes), Reserve: int64(c.Limits.DiskReserve)})
	if err == nil {
		err = store.Expire(time.Now().Add(-time.Duration(c.Undo.Keep)), int64(c.Undo.AllBytes))
	}
	u := &undoing{store: store, ever: map[string]bool{}}
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
	terms := undo.Terms{
		Protected: append(append([]string{}, spec.Mask...), spec.ReadOnly...),
		Later:     r.runsLater(), Refused: r.undo.refuse, Lapsed: r.undoLapsed,
	}
	if r.undo.broker, err = r.undo.run.Serve(r.box.Calls, r.box.Process().Process.Pid, terms); err != nil {
		return fmt.Errorf("keeping what the agent changes: %w", err)
	}
	return nil
}

// runsLater says whether a file of the agent's folder runs later by itself, and is not
// the agent's to change unasked.
func (r *agent) runsLater() func(rel string) bool {
	var may holdgate.Later
	for _, path := range r.Contained.Later {
		may.Paths = append(may.Paths, r.meant(path))
	}
	root := r.undo.run.Root
	return func(rel string) bool {
		return collect.RunsByItself(rel) && !may.Covers(filepath.Join(root, rel))
	}
}

// maxRefused bounds what is told of what was refused.
const maxRefused = 1000

// refuse takes note of a file that runs later and was not changed.
func (u *undoing) refuse(rel string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.Contains(u.refused, rel) && len(u.refused) < maxRefused {
		u.refused = append(u.refused, rel)
	}
	if len(u.ever) < maxRefused {
		u.ever[rel] = true
	}
}

// settle ends what calls were let, and says what was refused since it was asked last.
func (u *undoing) settle(calls []string) (refused []string) {
	for _, c := range calls {
		u.broker.Ended(c)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	refused, u.refused = u.refused, nil
	return refused
}

// warden is for a sidecar of this process.
func (r *agent) warden() runs.Warden {
	if r.undo == nil {
		return runs.Warden{}
	}
	return runs.Warden{Let: r.undo.broker.Let, Settle: r.undo.settle}
}

// heed does what the sidecar of another process says, until one side has ended.
func (r *agent) heed(lines *handover.Lines) {
	for {
		line, err := lines.Read()
		if err != nil {
			return
		}
		done := handover.Line{N: line.N, Done: true}
		switch {
		case r.undo == nil:
		case line.Let != nil:
			r.undo.broker.Let(line.Call, *line.Let)
		default:
			done.Refused = r.undo.settle(line.Ended)
		}
		if lines.Write(done) != nil {
			return
		}
	}
}

// tellRefused says what was kept from the agent.
func (r *agent) tellRefused() {
	u := r.undo
	if len(u.ever) == 0 {
		return
	}
	paths := slices.Sorted(maps.Keys(u.ever))
	for i, p := range paths {
		paths[i] = holdgate.Visible(p)
	}
	more := ""
	if n := len(paths) - shownHidden; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	r.result("not changed, for it runs later by itself or tells agents what to do, and no call that was let go on named it: %s%s", strings.Join(paths[:min(len(paths), shownHidden)], ", "), more)
}

// undoLapsed says that what the agent changes from now on cannot be undone.
func (r *agent) undoLapsed() {
	r.undo.lapsed.Store(true)
	if r.beside != nil {
		_ = r.beside.lines.Write(handover.Line{Lapsed: true}) // where it has ended nothing goes on
	}
	r.result("this run keeps %s for undo already (undo.max_bytes): changes that cannot be kept are refused (\"Disk quota exceeded\"), and you are asked about its calls as without --undo", r.Config.Undo.MaxBytes)
}

// tellLater says which changes run by themselves, outside of the confinement.
func (r *agent) tellLater(list []undo.Change) {
	var paths, words []string
	for i, c := range list {
		if i+1 < len(list) && strings.HasPrefix(list[i+1].Path, c.Path+"/") {
			continue // what is in it is told
		}
		if c.What == undo.Deleted || collect.Classify(filepath.Join(r.undo.run.Root, c.Path), collect.AccessWrite) != collect.ClassPersistence && filepath.Base(c.Path) != "package.json" {
			continue
		}
		if paths = append(paths, holdgate.Visible(c.Path)); len(paths) <= shownHidden {
			words = append(words, c.Path)
		}
	}
	if len(paths) == 0 {
		return
	}
	what := "%d of these run later by themselves, or tell agents what to do"
	if len(paths) == 1 {
		what = "%d of these runs later by itself, or tells agents what to do"
	}
	more := ""
	if n := len(paths) - shownHidden; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	r.say("warning: ", fmt.Sprintf(what+": %s%s", len(paths), strings.Join(paths[:min(len(paths), shownHidden)], ", "), more), "")
	r.say("holdgate: ", "look at them first, or take them back alone:", r.Command(append([]string{"undo", r.undo.run.ID}, words...)...))
}

// endUndo says what the run has changed. The agent has ended.
func (r *agent) endUndo() error {
	u := r.undo
	if u == nil {
		return nil
	}
	var err error
	if u.broker != nil {
		err = u.broker.Close()
	}
	r.tellRefused()
	changed := u.run.Changed()
	if err := errors.Join(err, u.run.Finish()); err != nil {
		return fmt.Errorf("keeping what the agent changed: %w", err)
	}
	if !changed {
		return nil
	}
	list, err := u.store.Plan(u.run.ID, undo.Selection{})
	if err != nil || len(list) == 0 {
		return err
	}
	r.result("the run changed %s in %s", undo.Summary(list), holdgate.Visible(u.run.Root))
	r.tellLater(list)
	for _, c := range list[:min(len(list), shownChanges)] {
		fmt.Fprintf(r.Stderr, "  %s\n", c)
	}
	if more := len(list) - shownChanges; more > 0 {
		fmt.Fprintf(r.Stderr, "  and %d more: %s\n", more, r.Command("diff", u.run.ID))
	}
	r.say("holdgate: ", "take it back with:", r.Command("undo", u.run.ID))
	return nil
}
