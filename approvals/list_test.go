package approvals_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

// pages lists all that the filter selects, page by page.
func (b *bench) pages(f approvals.Filter) (ids []string, pages int) {
	b.t.Helper()
	for {
		p, err := b.queue.Page(b.t.Context(), f)
		if err != nil {
			b.t.Fatal(err)
		}
		if f.Limit > 0 && len(p.Requests) > f.Limit {
			b.t.Errorf("a page of %d requests, want at most %d", len(p.Requests), f.Limit)
		}
		for _, r := range p.Requests {
			ids = append(ids, r.ID)
		}
		if pages++; p.Next == "" {
			return ids, pages
		}
		f.Cursor = p.Next
	}
}

func TestListsArePagedInTheOrderOfAsking(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var asked, pending, denied []string
	for i := range 25 {
		r := b.ask(b.enter(fmt.Sprint("k", i)), bash(0, fmt.Sprint("rm ", i)), hold())
		asked = append(asked, r.ID)
		if i%3 == 0 {
			b.decide(r, deny("ana"))
			denied = append(denied, r.ID)
		} else {
			pending = append(pending, r.ID)
		}
	}
	slices.Reverse(asked)
	slices.Reverse(denied)
	for name, c := range map[string]struct {
		filter approvals.Filter
		want   []string
		pages  int
	}{
		"pending, oldest first":               {approvals.Filter{Status: holdgate.StatusPending}, pending, 1},
		"pending, in pages":                   {approvals.Filter{Status: holdgate.StatusPending, Limit: 5}, pending, 4},
		"all, newest first":                   {approvals.Filter{}, asked, 1},
		"all, in pages":                       {approvals.Filter{Limit: 7}, asked, 4},
		"a page that is exactly full":         {approvals.Filter{Limit: 25}, asked, 1},
		"denied, in pages":                    {approvals.Filter{Status: holdgate.StatusDenied, Limit: 4}, denied, 3},
		"of an agent and a session":           {approvals.Filter{Agent: "claude", Session: "s1", Status: holdgate.StatusDenied}, denied, 1},
		"of an agent that asked nothing":      {approvals.Filter{Agent: "nobody"}, nil, 1},
		"pending of a session that is unused": {approvals.Filter{Status: holdgate.StatusPending, Session: "s2", Limit: 3}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, pages := b.pages(c.filter)
			if !slices.Equal(got, c.want) || pages != c.pages {
				t.Errorf("got %d requests on %d pages: %q\nwant %d on %d: %q", len(got), pages, got, len(c.want), c.pages, c.want)
			}
		})
	}
}

// What is asked and what ends while somebody turns the pages is neither shown
// twice nor hides another.
func TestACursorKeepsItsPlaceWhileRequestsComeAndGo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var asked []approvals.Request
	for i := range 6 {
		asked = append(asked, b.ask(b.enter(fmt.Sprint("k", i)), bash(0, "rm"), hold()))
	}
	f := approvals.Filter{Status: holdgate.StatusPending, Limit: 2}
	first, err := b.queue.Page(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	b.decide(asked[0], deny("ana")) // shown already
	b.decide(asked[2], deny("ana")) // where the cursor stands
	late := b.ask(b.enter("late"), bash(0, "rm"), hold())
	b.reopen()
	f.Cursor = first.Next
	got, _ := b.pages(f)
	if want := []string{asked[3].ID, asked[4].ID, asked[5].ID, late.ID}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestACursorOfNoListIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, cursor := range []string{"x", "../used/", "000000000000000g"} {
		if _, err := b.queue.Page(t.Context(), approvals.Filter{Cursor: cursor}); !errors.Is(err, approvals.ErrCursor) {
			t.Errorf("cursor %q: %v, want ErrCursor", cursor, err)
		}
	}
}

// A text is sought in no more of the history than one page reads, and the cursor leads on.
func TestASearchOfTheHistoryReadsItInPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	x := b.enter("k")
	first := b.ask(x, bash(0, "rm needle"), hold())
	for i := range approvals.MaxPage {
		b.ask(x, bash(i+1, fmt.Sprint("rm ", i)), hold())
	}
	f := approvals.Filter{Text: "NEEDLE"}
	p, err := b.queue.Page(t.Context(), f)
	if err != nil || len(p.Requests) != 0 || p.Next == "" {
		t.Errorf("the first page finds %d requests, and leads to %q: %v", len(p.Requests), p.Next, err)
	}
	if got, pages := b.pages(f); pages != 2 || !slices.Equal(got, []string{first.ID}) {
		t.Errorf("on %d pages it finds %q", pages, got)
	}
	f.Status = holdgate.StatusPending
	if got, pages := b.pages(f); pages != 1 || !slices.Equal(got, []string{first.ID}) {
		t.Errorf("of what waits, on %d pages it finds %q", pages, got)
	}
}
