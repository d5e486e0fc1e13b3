package client_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/holdgate/holdgate/approvals/client"
	"github.com/holdgate/holdgate/store/audit"
)

// The newest entries are those at the end of the log, also where many of them are
// wanted, few are selected, and the log is longer than what is asked for at once.
func TestNewest(t *testing.T) {
	dir := stateDir(t)
	s, _, log := logging(t)
	serve(t, listen(t, "unix", filepath.Join(dir, client.SocketName)), s)
	c := open(t, client.Options{StateDir: dir})
	for i := range 3000 {
		note := "plain"
		if i%500 == 0 {
			note = "rare"
		}
		if _, err := log.Write(t.Context(), audit.Entry{Type: audit.TypeFinding, Note: fmt.Sprint(note, i)}, false); err != nil {
			t.Fatal(err)
		}
	}
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end := head.Seq
	for _, tt := range []struct {
		text        string
		last        uint64
		n           int
		first, many uint64 // the newest, and how many
	}{
		{"", 0, 100, end, 100},
		{"", 0, 500, end, 500},
		{"", 0, 1500, end, 1500},
		{"", end - 40, 100, end - 40, 100},
		{"", 7, 100, 7, 7},
		{"rare", 0, 100, end - 499, 6},
		{"rare", 0, 2, end - 499, 2},
		{"none", 0, 5, 0, 0},
	} {
		list, err := c.Newest(t.Context(), audit.Query{Text: tt.text}, tt.last, tt.n)
		if err != nil || uint64(len(list)) != tt.many || len(list) > 0 && list[0].Seq != tt.first {
			t.Errorf("%q, %d up to %d: %d entries, %v", tt.text, tt.n, tt.last, len(list), err)
		}
		for i := range max(len(list)-1, 0) {
			if list[i].Seq <= list[i+1].Seq {
				t.Fatalf("%q: entry %d stands before %d", tt.text, list[i].Seq, list[i+1].Seq)
			}
		}
	}
}
