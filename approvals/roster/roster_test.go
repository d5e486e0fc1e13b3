package roster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/approvals/record/recordtest"
	"github.com/holdgate/holdgate/approvals/roster"
	"github.com/holdgate/holdgate/store"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// names are those of entries, in their order.
func names(list []roster.Entry) (all []string) {
	for _, e := range list {
		all = append(all, e.Name)
	}
	return all
}

func TestAnEntryIsKeptByItsName(t *testing.T) {
	t.Parallel()
	st := recordtest.Store(t)
	ben := roster.Entry{Name: "ben", Roles: []string{"approve"}, Accounts: []string{"slack:U1"}, Token: []byte{1, 2}, By: "ana", At: time.Unix(1, 0).UTC()}
	gone := roster.Entry{Name: "ada", Removed: true, By: "ana", At: time.Unix(2, 0).UTC()}
	must(t, st.Update(t.Context(), func(tx store.Tx) error {
		for _, e := range []roster.Entry{{Name: "ben", By: "before"}, ben, gone, {Name: "eve"}} {
			if err := roster.Put(tx, e); err != nil {
				return err
			}
		}
		return roster.Delete(tx, "eve")
	}))
	list, err := roster.Load(t.Context(), st)
	must(t, err)
	for i := range list {
		list[i].Header = ben.Header
	}
	if d := cmp.Diff([]roster.Entry{gone, ben}, list); d != "" {
		t.Errorf("entries (-want +got):\n%s", d)
	}
}

// The configuration goes before what people changed while the sidecar ran.
func TestWhichEntriesCountBesideAConfiguration(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		entry roster.Entry
		named bool // by the configuration
		want  bool
	}{
		{"somebody was added", roster.Entry{}, false, true},
		{"who was added is named by now", roster.Entry{}, true, false},
		{"somebody was removed whom it names", roster.Entry{Removed: true}, true, true},
		{"who was removed is named no longer", roster.Entry{Removed: true}, false, false},
		{"somebody of the provider was removed", roster.Entry{Removed: true, Accounts: []string{"oidc:1"}}, false, true},
	} {
		kept, over := roster.Settle([]roster.Entry{tt.entry}, func(string) bool { return tt.named })
		if got := len(kept) == 1; got != tt.want || len(kept)+len(over) != 1 {
			t.Errorf("%s: kept %v, over %v", tt.name, names(kept), names(over))
		}
	}
}
