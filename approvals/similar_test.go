package approvals_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
)

func TestWhatBecameOfSimilarCalls(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	write := func(path string) approvals.Request {
		c := call("write_file", args{"path": path, "content": path})
		return b.asks(c, seen(c, dir))
	}
	similar := func(r approvals.Request) *approvals.Similar { return b.request(r.ID).Similar }

	first := write("src/a.go")
	if first.Shape != "write_file (content, path), in ./src" {
		t.Errorf("the shape is %q", first.Shape)
	}
	if s := similar(first); s != nil {
		t.Errorf("the first of its shape: %+v", s)
	}
	second := write("src/b.go")
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
	third := write("src/c.go")
	b.decide(third, steer("eve", "otherwise"))
	cancelled := write("src/d.go")
	if _, err := b.queue.Cancel(t.Context(), cancelled.ID, ""); err != nil {
		t.Fatal(err)
	}
	write("docs/a.md") // of another shape
	b.reopen()

	last := write("src/e.go")
	want := &approvals.Similar{Approved: 1, Denied: 1, Steered: 1, LastBy: "eve"}
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
	c := call("write_file", args{"path": "src/z.go", "content": "z"})
	d := seen(c, dir)
	got, err := b.queue.Grants.Similar(t.Context(), holdgate.ShapeOf(c, *d.Facts))
	if err != nil || got.Approved != 1 || got.Pending != 1 || time.Since(got.LastAt) < 0 {
		t.Errorf("by its shape: %+v, %v", got, err)
	}
}
