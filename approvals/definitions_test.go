package approvals_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdgate/holdgate"
)

func (b *bench) learn(server string, defs ...holdgate.Definition) {
	b.t.Helper()
	if err := b.queue.Tools.Learn(b.t.Context(), server, "", defs); err != nil {
		b.t.Fatal(err)
	}
}

// tools says in one line what is known of each tool.
func (b *bench) tools() []string {
	var lines []string
	for _, k := range b.queue.Tools.Known().All() {
		l := k.Server + "/" + k.Name + ": " + k.Description + string(k.Schema)
		if k.Changed {
			l += ", changed"
		}
		if k.Was != nil {
			l += " from " + k.Was.Description
		}
		if k.Cut {
			l += ", cut"
		}
		lines = append(lines, l)
	}
	return lines
}

func says(name, description string) holdgate.Definition {
	return holdgate.Definition{Name: name, Description: description, Schema: []byte(`{"b":1, "a":2}`)}
}

func TestWhatIsLearnedOfToolsIsDurable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		check := func(want ...string) {
			t.Helper()
			for range 2 {
				if got := b.tools(); !slices.Equal(got, want) {
					t.Errorf("known: %q, want %q", got, want)
				}
				b.reopen()
			}
		}
		b.learn("s", says("x", "one"), says("y", "why"))
		b.learn("r", says("x", "one"))
		check(`r/x: one{"b":1, "a":2}`, `s/x: one{"b":1, "a":2}`, `s/y: why{"b":1, "a":2}`)
		before := b.queue.Tools.Known()
		b.learn("s", holdgate.Definition{Name: "x", Description: "one", Schema: []byte(`{"a":2,"b":1}`)})
		if b.queue.Tools.Known() != before {
			t.Error("the same in other blanks and another order counts as something else")
		}
		b.learn("s", says("x", "two"))
		check(`r/x: one{"b":1, "a":2}`, `s/x: two{"b":1, "a":2}, changed from one`, `s/y: why{"b":1, "a":2}`)
		b.learn("s", says("x", "three"))
		check(`r/x: one{"b":1, "a":2}`, `s/x: three{"b":1, "a":2}, changed from one`, `s/y: why{"b":1, "a":2}`)
		if err := b.queue.Tools.LearnUnread(t.Context(), "s", "", "it is no list"); err != nil {
			t.Fatal(err)
		}
		b.reopen()
		if got := b.queue.Tools.Known().Unread("s"); got != "it is no list" {
			t.Errorf("the list is unread because %q", got)
		}
		b.learn("s", says("x", "one"))
		check(`r/x: one{"b":1, "a":2}`, `s/x: one{"b":1, "a":2}`, `s/y: why{"b":1, "a":2}`)
		if got := b.queue.Tools.Known().Unread("s"); got != "" {
			t.Errorf("the list is unread because %q", got)
		}
	})
}

func TestWhatIsLearnedOfToolsIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		long := says("long", strings.Repeat("x", 70<<10))
		b.learn("s", long)
		long.Description += "y"
		b.learn("s", long)
		if k := b.queue.Tools.Known().All()[0]; !k.Changed || !k.Cut || k.Was == nil || len(k.Description) > 4<<10 || k.Schema != nil {
			t.Errorf("of a long definition: changed %v, cut %v, %d bytes", k.Changed, k.Cut, len(k.Description))
		}
		big := make([]holdgate.Definition, 60)
		for i := range big {
			big[i] = says(fmt.Sprint("big", i), strings.Repeat("x", 60<<10))
		}
		b.learn("s", big...)
		for i := range big {
			big[i].Description += "y"
		}
		b.learn("s", big...)
		if n := len(b.queue.Tools.Known().All()); n != 61 {
			t.Errorf("%d tools are known, want 61", n)
		}
		var many []holdgate.Definition
		for i := range 1100 {
			many = append(many, says(fmt.Sprint("t", i), ""))
		}
		b.learn("many", many...)
		if n := len(b.queue.Tools.Known().All()); n != 1061 {
			t.Errorf("%d tools are known, want 1061", n)
		}
	})
}

func TestToolsAreLearnedFromManySides(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 5 {
				if err := b.queue.Tools.Learn(t.Context(), "s", "", []holdgate.Definition{says("x", fmt.Sprint(i, j))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	known := b.tools()
	b.reopen()
	if got := b.tools(); !slices.Equal(got, known) || len(got) != 1 {
		t.Errorf("in memory %q, stored %q", known, got)
	}
}

// Agents can invent names of servers: what they fill is their own share.
func TestServersThatAgentsNameTakeNoRoomFromOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		learn := func(server, by string) (known bool) {
			t.Helper()
			if err := b.queue.Tools.Learn(t.Context(), server, by, []holdgate.Definition{says("x", "one")}); err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(b.tools(), func(line string) bool { return strings.HasPrefix(line, server+"/x:") })
		}
		for i := range 64 {
			if !learn(fmt.Sprint("invented", i), "liar") {
				t.Fatalf("there was no room for server %d", i)
			}
		}
		if learn("one-more", "liar") {
			t.Error("an agent could name more servers than its share")
		}
		b.reopen()
		if learn("one-more", "liar") {
			t.Error("an agent's share is new after a restart")
		}
		if !learn("invented3", "liar") || !learn("another", "honest") {
			t.Error("another agent has no room, or what was known is not")
		}
		for i := range 300 {
			learn(fmt.Sprint("more", i), fmt.Sprint("agent", i))
		}
		if learn("late", "late") || !learn("configured", "") {
			t.Error("agents could fill all there is, or more than theirs")
		}
		if n := len(b.tools()); n != 256+1 {
			t.Errorf("%d tools are known, want 257", n)
		}
		if err := b.queue.Tools.LearnUnread(t.Context(), "late", "late", "it is no list"); err != nil || b.queue.Tools.Known().Unread("late") != "" {
			t.Errorf("something was kept of a server for which there is no room (%v)", err)
		}
	})
}
