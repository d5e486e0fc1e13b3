// Package undo keeps what an agent changes in its working folder, and brings it
// back. It is for Linux; elsewhere [Open] says so.
//
// Each run of an agent has an entry in a [Store], which must lie on the mount
// of the working folder: what the agent removes is moved there, and is moved
// back without being copied. An entry holds a journal of changes in the order
// in which they were made, and what they replaced:
//
//   - What is unlinked is renamed into the entry.
//   - What a rename overwrites is hard-linked into the entry first.
//   - What is opened for writing is copied into the entry first, once.
//   - Of folders that are removed, and of modes and times that change, the
//     journal itself says what they were.
//
// What the run made itself is not kept when it goes.
//
// Contents are sealed: copies as they are made, and what was moved soon after, at
// the latest when the run ends. What has another name outside of the entry stays as
// it is, for it can be read there.
//
// The journal is written before each change, so that a process that is killed
// leaves at most a record of what it did not come to do. [Store.Undo] takes the
// changes back from the last to the first. Where something is not as the run
// left it, somebody else has changed it since: it stays as it is, and is listed.
// Undoing is a run of its own, and can be undone.
//
// # How an agent's changes get here
//
// A confined agent sees its working folder read-only, and the kernel stops its
// system calls that would change files ([confine.Spec.Undo]). A [Broker] gets
// them, makes the change itself and answers. Where the broker has gone nothing
// can be changed any longer.
package undo

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
)

// Folder is the folder of a [Store] in a state folder.
func Folder(stateDir string) string { return filepath.Join(stateDir, "undo") }

// Options are how a store keeps what it keeps.
type Options struct {
	Key   []byte // seals the contents of files; 32 bytes
	Limit int64  // how many bytes an entry keeps at most, its journal included; 0 is no limit
	// Reserve is how many bytes of the disk stay free: a change that needs room is
	// refused before that.
	Reserve int64
}

// An Entry is a run whose changes are kept.
type Entry struct {
	ID     string    `json:"id"`
	Root   string    `json:"root"` // the working folder
	Agent  string    `json:"agent"`
	Began  time.Time `json:"began"`
	Undoes string    `json:"undoes,omitempty"` // the entry that this one took back, or a part of it

	Running bool      `json:"running"`
	Ended   time.Time `json:"ended,omitzero"` // of one that was killed: when that was seen
	Undone  bool      `json:"undone"`         // all of it was taken back
	Bytes   int64     `json:"bytes"`          // kept, as far as files take them up

	// Damaged says why it cannot be read. Of such a run nothing but ID, Began and Bytes
	// is known, and it goes as others do.
	Damaged string `json:"damaged,omitempty"`
}

// What became of a path.
const (
	Created  = "created"
	Changed  = "changed"
	Deleted  = "deleted"
	Moved    = "moved"
	Mode     = "mode or times"
	Replaced = "replaced" // another file has its name
)

// A Change is what a run did to one path, all in all.
type Change struct {
	Path string `json:"path"` // in the working folder
	What string `json:"what"`
	From string `json:"from,omitempty"` // of what was moved
}

// String is the change as a line for a screen.
func (c Change) String() string {
	line := c.What + ": " + holdgate.Visible(c.Path)
	if c.From != "" {
		line += ", which was " + holdgate.Visible(c.From)
	}
	return line
}

// Summary says how many paths were changed how.
func Summary(list []Change) string {
	of := map[string]int{}
	for _, c := range list {
		of[c.What]++
	}
	if len(list) == 0 {
		return "nothing"
	}
	var parts []string
	for _, what := range []string{Created, Changed, Replaced, Deleted, Moved, Mode} {
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

// Terms are what a [Broker] refuses, and whom it tells. It calls from its own thread.
type Terms struct {
	Protected []string // paths that must not be changed, wherever they lie
	// Later says whether a file of the folder runs later by itself, by its path there. What
	// the agent may do to such files [Broker.Let] says. nil: there are none.
	Later   func(rel string) bool
	Refused func(rel string) // told of each file that runs later and was not changed
	Lapsed  func()           // told once, when a change is refused because the run keeps as much as it may
}

// A Selection is a part of what a run has changed. The zero value is all of it.
type Selection struct {
	From, To time.Time // the time: From is part of it, and To is not; zero: no bound
	Paths    []string  // in the working folder, with all below them; none: all
}

// All reports whether it is all of a run.
func (s Selection) All() bool { return s.From.IsZero() && s.To.IsZero() && len(s.Paths) == 0 }

// A Conflict is a path that stays as it is.
type Conflict struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// A Report is what undoing came to.
type Report struct {
	ID        string     `json:"id"` // of the entry with which it can be undone itself
	Reversed  int        `json:"reversed"`
	Conflicts []Conflict `json:"conflicts,omitempty"`
}
