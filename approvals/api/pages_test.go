package api_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/api"
	"github.com/holdgate/holdgate/store/audit"
)

// follow reads a list page by page, by the links alone.
func follow[Item any](d *door, path string) (pages [][]Item) {
	d.t.Helper()
	for path != "" {
		req, err := http.NewRequestWithContext(d.t.Context(), "GET", d.http.URL+path, nil)
		if err != nil {
			d.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := d.http.Client().Do(req)
		if err != nil {
			d.t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 {
			d.t.Fatalf("%s: %d %s, %v", path, resp.StatusCode, text, err)
		}
		if pages = append(pages, decode[[]Item](d.t, string(text))); len(pages) > 100 {
			d.t.Fatal("the links lead round in a circle")
		}
		link := resp.Header.Get("Link")
		if path, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">"); link != "" && !strings.HasSuffix(link, `>; rel="next"`) {
			d.t.Fatalf("Link is %q", link)
		}
	}
	return pages
}

func TestPagesHoldEveryRequestOnce(t *testing.T) {
	d := newDoor(t)
	var want []string
	for range 7 {
		want = append(want, d.hold(holdgate.HoldSpec{}).ID)
	}
	ids := func(pages [][]approvals.Request) (ids []string) {
		for _, p := range pages {
			for _, r := range p {
				ids = append(ids, r.ID)
			}
		}
		return ids
	}
	pages := follow[approvals.Request](d, "/v1/approvals?status=pending&agent=builder&limit=3")
	if got := ids(pages); len(pages) != 3 || !slices.Equal(got, want) {
		t.Errorf("pending: %d pages of %v, want %v", len(pages), got, want)
	}
	slices.Reverse(want)
	if got := ids(follow[approvals.Request](d, "/v1/approvals?limit=2")); !slices.Equal(got, want) {
		t.Errorf("all, newest first: %v, want %v", got, want)
	}
	if pages := follow[approvals.Request](d, "/v1/approvals?status=pending"); len(pages) != 1 {
		t.Errorf("without a limit there are %d pages of what is pending", len(pages))
	}
}

func TestPagesHoldEveryEntryOnce(t *testing.T) {
	d := newDoor(t)
	for range 7 {
		d.hold(holdgate.HoldSpec{})
	}
	for _, path := range []string{"/v1/audit?limit=3&type=decision", "/v1/audit?limit=3&from=2"} {
		var seqs []uint64
		for _, p := range follow[audit.Entry](d, path) {
			for _, e := range p {
				seqs = append(seqs, e.Seq)
			}
		}
		if len(seqs) < 6 || !slices.IsSorted(seqs) || len(slices.Compact(slices.Clone(seqs))) != len(seqs) {
			t.Errorf("%s: entries %v", path, seqs)
		}
	}
}

func TestACursorThatIsNoneIsRefused(t *testing.T) {
	d := newDoor(t)
	for _, path := range []string{
		"/v1/approvals?cursor=x", "/v1/approvals?limit=0", "/v1/approvals?limit=1001", "/v1/approvals?limit=many",
		"/v1/audit?cursor=1", "/v1/audit?cursor=0000000000000001&from=1",
	} {
		if status, body := d.ask("GET", path, ""); status != 400 || decode[api.Problem](t, body).Detail == "" {
			t.Errorf("%s: %d %s, want 400", path, status, body)
		}
	}
}
