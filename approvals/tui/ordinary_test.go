package tui

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/plugins/host"
	"github.com/holdgate/holdgate/plugins/sdk"
)

// ordinaryFile is where the tests of channels find what ordinary requests look like.
const ordinaryFile = "../../plugins/sdk/sdktest/ordinary.json"

// TestOrdinaryNotices holds that what channels are tested with is what a sidecar
// with the shipped pack tells them.
func TestOrdinaryNotices(t *testing.T) {
	s := newSidecar(t)
	var all []sdk.Notice
	at := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	for i, c := range ordinary {
		n := host.Notice(s.hold(c.tool, c.arguments))
		if n.Subject == n.ID { // the sidecar's own, another one each time
			n.Subject = fmt.Sprintf("k3v9q2m7x4%02d", i+1)
		}
		n.ID, n.Digest = fmt.Sprintf("k3v9q2m7x4%02d", i+1), fmt.Sprintf("%02dc4e1f0a7b39d52", i+1)
		n.CreatedAt, n.ExpiresAt = at, at.Add(time.Hour)
		for i, f := range n.Place {
			if f.Name == "where" {
				n.Place[i].Text = "/home/ada/shop, branch fix-refunds, on devbox"
			}
		}
		n.Place = append(n.Place, sdk.Fact{Name: "for", Text: "ada, who started it"})
		all = append(all, n)
	}
	got, err := json.Marshal(all, jsontext.WithIndent(" "), json.OmitZeroStructFields(true))
	s.check(err)
	got = append(got, '\n')
	if *update {
		s.check(os.WriteFile(ordinaryFile, got, 0o600))
	}
	want, err := os.ReadFile(ordinaryFile)
	s.check(err)
	if !bytes.Equal(want, got) {
		t.Errorf("%s is not what a sidecar tells; go test ./approvals/tui -run TestOrdinaryNotices -update writes it (-want +got):\n%s", ordinaryFile, cmp.Diff(string(want), string(got)))
	}
}
