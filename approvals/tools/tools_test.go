package tools_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/record/recordtest"
	"github.com/holdgate/holdgate/approvals/tools"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// A world is a keeper over a store on disk.
type world struct {
	*tools.Keeper

	t    *testing.T
	st   store.Store
	book *record.Book
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, st: recordtest.Store(t)}
	w.book = recordtest.Book(t, w.st)
	w.restart()
	return w
}

// restart makes a keeper that knows nothing but what is stored.
func (w *world) restart() {
	w.t.Helper()
	w.Keeper = tools.New(w.book, slog.New(slog.DiscardHandler))
	must(w.t, w.st.View(w.t.Context(), w.TakeUp))
}

// known says in one line what is known of each tool.
func (w *world) known() []string {
	var lines []string
	for _, k := range w.Known().All() {
		l := k.Server + "/" + k.Name + " " + k.Description
		if k.NamedBy != "" {
			l += " by " + k.NamedBy
		}
		if k.Changed {
			l += ", changed"
		}
		if k.Was != nil {
			l += " from " + k.Was.Description
		}
		lines = append(lines, l)
	}
	return lines
}

// approve has a person approve a call of a tool of which this was said last when it was shown.
func (w *world) approve(server, tool, hash string) {
	w.t.Helper()
	r := &record.StoredRequest{Header: record.Current(), ID: "r1", Agent: "ada", Accepts: &record.StoredAccepts{Server: server, Tool: tool, Definition: hash}}
	must(w.t, w.book.Change(w.t.Context(), func(c *record.Change) error { return w.Accept(c, r) }))
}

func (w *world) notes() []string {
	w.t.Helper()
	entries, err := w.book.Log.Query(w.t.Context(), audit.Query{Type: audit.TypeDefinition})
	must(w.t, err)
	var notes []string
	for _, e := range entries {
		notes = append(notes, e.Note)
	}
	return notes
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func says(name, description string) holdgate.Definition {
	return holdgate.Definition{Name: name, Description: description, Schema: []byte(`{"type":"object"}`)}
}

func hash(t *testing.T, d holdgate.Definition) string {
	t.Helper()
	h, err := d.Hash()
	must(t, err)
	return h
}

// Each step goes on from the one before. What is known is the same after a restart.
func TestADefinitionIsAcceptedByAPersonAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	learn := func(namedBy string, list ...holdgate.Definition) func() {
		return func() { must(t, w.Learn(t.Context(), "files", namedBy, list)) }
	}
	approve := func(tool string, d holdgate.Definition) func() {
		return func() { w.approve("files", tool, hash(t, d)) }
	}
	for _, step := range []struct {
		name string
		do   func()
		want []string
		note string // what the log got; empty where nothing
	}{
		{"what is said first counts", learn("bob", says("read", "Reads.")), []string{"files/read Reads. by bob"}, "tools of files seen first: read"},
		{"the same again is nothing new", learn("bob", says("read", "Reads.")), []string{"files/read Reads. by bob"}, ""},
		{"now the configuration has the server: its word counts afresh", learn("", says("read", "Reads a file.")), []string{"files/read Reads a file."}, "tools of files seen first: read"},
		{"what it says otherwise is a change, and a new tool is none", learn("", says("read", "Reads."), says("write", "Writes.")),
			[]string{"files/read Reads., changed from Reads a file.", "files/write Writes."}, "tools of files seen first: write; changed: read"},
		{"a second change is one from what was accepted", learn("", says("read", "Sends.")), []string{"files/read Sends., changed from Reads a file.", "files/write Writes."}, "tools of files changed: read"},
		{"who was shown the first change accepts nothing of the second", approve("read", says("read", "Reads.")), []string{"files/read Sends., changed from Reads a file.", "files/write Writes."}, "accepted: the changed definition of read of files"},
		{"what was shown is accepted", approve("read", says("read", "Sends.")), []string{"files/read Sends.", "files/write Writes."}, "accepted: the changed definition of read of files"},
		{"once", approve("read", says("read", "Sends.")), []string{"files/read Sends.", "files/write Writes."}, ""},
		{"what was accepted before may come back", learn("", says("read", "Reads a file.")), []string{"files/read Reads a file.", "files/write Writes."}, ""},
		{"of a tool that nobody knows nothing is accepted", approve("none", says("none", "")), []string{"files/read Reads a file.", "files/write Writes."}, ""},
	} {
		before := len(w.notes())
		step.do()
		for _, when := range []string{"at once", "after a restart"} {
			if d := cmp.Diff(step.want, w.known()); d != "" {
				t.Errorf("%s, %s (-want +got):\n%s", step.name, when, d)
			}
			w.restart()
		}
		switch notes := w.notes()[before:]; {
		case step.note == "" && len(notes) > 0:
			t.Errorf("%s: the log got %q", step.name, notes)
		case step.note != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0], step.note)):
			t.Errorf("%s: the log got %q, want %q", step.name, notes, step.note)
		}
	}
}

// An edit that several people must approve accepts nothing by the first of them.
func TestAnEditOfAQuorumAcceptsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.Learn(t.Context(), "files", "", []holdgate.Definition{says("read", "Reads.")}))
	must(t, w.Learn(t.Context(), "files", "", []holdgate.Definition{says("read", "Sends.")}))
	for _, quorum := range []int{2, 1} {
		r := &record.StoredRequest{Header: record.Current(), Edit: new(record.StoredEdit), Approvers: holdgate.Approvers{Quorum: quorum},
			Accepts: &record.StoredAccepts{Server: "files", Tool: "read", Definition: hash(t, says("read", "Sends."))}}
		must(t, w.book.Change(t.Context(), func(c *record.Change) error { return w.Accept(c, r) }))
		if changed := w.Known().All()[0].Changed; changed != (quorum == 2) {
			t.Errorf("edited where %d must answer: changed %t", quorum, changed)
		}
	}
}

// Where the transaction fails nothing was said, and where it is made again there are no two of it.
func TestWhatWasNotStoredIsNotKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.Learn(t.Context(), "files", "", []holdgate.Definition{says("read", "Reads.")}))
	must(t, w.Learn(t.Context(), "files", "", []holdgate.Definition{says("read", "Sends.")}))
	before := w.Known()
	broken := errors.New("the disk is full")
	r := &record.StoredRequest{Accepts: &record.StoredAccepts{Server: "files", Tool: "read", Definition: hash(t, says("read", "Sends."))}}
	err := w.book.Change(t.Context(), func(c *record.Change) error { return errors.Join(w.Accept(c, r), broken) })
	if !errors.Is(err, broken) || w.Known() != before {
		t.Errorf("it failed with %v, and %q are known", err, w.known())
	}
}

// Names that agents make up take only so much room, each agent's and all of theirs; nothing of it is the configured
// servers'.
func TestServersThatAgentsNameHaveTheirOwnRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tool := []holdgate.Definition{says("x", "one")}
	servers := func(namedBy string) (n int) {
		for _, k := range w.Known().All() {
			if k.NamedBy == namedBy {
				n++
			}
		}
		return n
	}
	for i := range 70 {
		must(t, w.Learn(t.Context(), fmt.Sprint("ada", i), "ada", tool))
	}
	if n := servers("ada"); n != 64 {
		t.Errorf("one agent named %d servers that are known, want 64", n)
	}
	for i := range 250 {
		must(t, w.Learn(t.Context(), fmt.Sprint("others", i), fmt.Sprint("agent", i/50), tool))
	}
	if n := len(w.Known().All()); n != 256 {
		t.Errorf("agents named %d servers that are known, want 256", n)
	}
	must(t, w.Learn(t.Context(), "configured", "", tool))
	must(t, w.Learn(t.Context(), "ada69", "", tool)) // the configuration has it now
	if n := servers(""); n != 2 {
		t.Errorf("%d configured servers are known, want 2", n)
	}
}

func TestAListThatCannotBeReadMakesItsServerUnread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.LearnUnread(t.Context(), "made up", "ada", "it is cut"))
	if why := w.Known().Unread("made up"); why != "" {
		t.Errorf("of a server that an agent made up %q is kept", why)
	}
	must(t, w.LearnUnread(t.Context(), "files", "", "it has\x1b[2J two of a name"))
	must(t, w.LearnUnread(t.Context(), "files", "", "it has\x1b[2J two of a name"))
	for _, when := range []string{"at once", "after a restart"} {
		if why := w.Known().Unread("files"); !strings.Contains(why, "two of a name") || strings.Contains(why, "\x1b") {
			t.Errorf("%s: it could not be read because %q", when, why)
		}
		w.restart()
	}
	if notes := w.notes(); len(notes) != 1 {
		t.Errorf("the log says it %d times: %q", len(notes), notes)
	}
	must(t, w.Learn(t.Context(), "files", "", []holdgate.Definition{says("read", "Reads.")}))
	for _, when := range []string{"at once", "after a restart"} {
		if why := w.Known().Unread("files"); why != "" {
			t.Errorf("%s: its list was read, and it is unread because %q", when, why)
		}
		w.restart()
	}
}

// Approving a call accepts a change only where people were shown it.
func TestWhatACallAccepts(t *testing.T) {
	t.Parallel()
	is := says("read", "Sends.")
	for _, tt := range []struct {
		name    string
		change  func(*holdgate.Call)
		accepts bool
	}{
		{"a changed tool", func(*holdgate.Call) {}, true},
		{"no tool", func(c *holdgate.Call) { c.Tool = nil }, false},
		{"a tool that nothing is known of", func(c *holdgate.Call) { c.Tool.Learned = nil }, false},
		{"a tool that has not changed", func(c *holdgate.Call) { c.Tool.Learned.Changed = false }, false},
		{"a tool of a list that cannot be read", func(c *holdgate.Call) { c.Tool.Learned.Unread = "it is cut" }, false},
		{"a change that cannot be shown", func(c *holdgate.Call) { c.Tool.Learned.Is = nil }, false},
		{"a result", func(c *holdgate.Call) { c.Result = new(holdgate.Result) }, false},
	} {
		c := holdgate.Call{Tool: &holdgate.Tool{Name: "mcp__files__read", Learned: &holdgate.Learned{Server: "files", Tool: "read", Definition: "h", Changed: true, Is: &is}}}
		tt.change(&c)
		if got := tools.Accepts(c); (got != nil) != tt.accepts || got != nil && *got != (record.StoredAccepts{Server: "files", Tool: "read", Definition: "h"}) {
			t.Errorf("%s accepts %+v", tt.name, got)
		}
	}
}
