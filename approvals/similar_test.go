package approvals_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

func TestWhatPeopleAnsweredToTheSameCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	write := func(path, dir string) approvals.Request {
		c := call("write_file", args{"path": path, "content": "x"})
		d := seen(c, dir)
		d.Hold.Allow = []string{"steer", "edit"}
		return b.asks(c, d)
	}
	same := func() approvals.Request { return write("src/a.go", dir) }
	similar := func(r approvals.Request) *approvals.Similar { return b.request(r.ID).Similar }

	first := same()
	if first.Shape != "write_file (content, path), in ./src" {
		t.Errorf("the shape is %q", first.Shape)
	}
	if s := similar(first); s != nil {
		t.Errorf("the first: %+v", s)
	}
	second := same()
	if diff := cmp.Diff(&approvals.Similar{Pending: 1}, similar(second)); diff != "" {
		t.Errorf("while another waits (-want +got):\n%s", diff)
	}
	b.decide(first, approve(first, "ana"))
	if diff := cmp.Diff(&approvals.Similar{Pending: 1}, similar(first)); diff != "" {
		t.Errorf("of the only one that was answered (-want +got):\n%s", diff)
	}
	b.decide(second, deny("ben"))
	if diff := cmp.Diff(&approvals.Similar{Approved: 1}, similar(second)); diff != "" {
		t.Errorf("of the last that was answered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&approvals.Similar{Denied: 1, LastBy: "ben"}, similar(first), cmpopts.IgnoreFields(approvals.Similar{}, "LastAt")); diff != "" {
		t.Errorf("of one before the last (-want +got):\n%s", diff)
	}
	third := same()
	b.decide(third, steer("eve", "otherwise"))
	cancelled := same()
	if _, err := b.queue.Cancel(t.Context(), cancelled.ID, ""); err != nil {
		t.Fatal(err)
	}
	edited := same()
	b.decide(edited, edit(edited, "eve", `{"path":"src/b.go","content":"x"}`))
	for _, another := range []approvals.Request{write("src/b.go", dir), write("src/a.go", "/elsewhere")} {
		if s := similar(another); s != nil {
			t.Errorf("another call, or one in another folder: %+v", s)
		}
		b.decide(another, approve(another, "ana"))
	}
	b.reopen()

	last := same()
	want := &approvals.Similar{Approved: 1, Denied: 1, Steered: 1, Edited: 1, LastBy: "eve"}
	if diff := cmp.Diff(want, similar(last), cmpopts.IgnoreFields(approvals.Similar{}, "LastAt")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	list, err := b.queue.List(t.Context(), approvals.Filter{Status: holdgate.StatusPending})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if diff := cmp.Diff(similar(r), r.Similar); diff != "" {
			t.Errorf("as listed (-alone +listed):\n%s", diff)
		}
	}
}
