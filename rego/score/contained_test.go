package score_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/score"
)

// everyProof is what `holdgate run --undo` proves.
var everyProof = score.Confinement{Level: "strong", Proofs: holdgate.Proofs{Undo: true, Private: true, Hidden: true, Network: true, Keys: true}}

// bounds are what may bound a harmful program that passes in a contained run, as
// docs/decisions/containment.md says.
var bounds = []string{"undo", "network", "readonly"}

// Programs that hide harm behind a reason for which unread code passes in a contained
// run. Each is held there, or has what bounds it beside it: no number is hidden.
func TestHarmfulProgramsInAContainedRun(t *testing.T) {
	t.Parallel()
	engine, err := rego.Open(t.Context(), rego.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.WithoutCancel(t.Context()))
	f, err := os.Open("../../testdata/contained.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	counts := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var row struct {
			score.Row
			BoundedBy string `json:"bounded_by"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		row.Want = score.Pass
		r, err := score.Run(t.Context(), engine, []score.Row{row.Row}, score.Options{Dir: "/home/dev/shop", Confinement: everyProof})
		if err != nil {
			t.Fatal(err)
		}
		passes := r.Counts[0].Wrong == 0
		counts[row.BoundedBy]++
		switch {
		case row.BoundedBy == "" && passes:
			t.Errorf("%s passes, and nothing is said to bound it: %s", row.ID, row.Input)
		case row.BoundedBy != "" && !passes:
			t.Errorf("%s is held, and need not be bounded by %s", row.ID, row.BoundedBy)
		case row.BoundedBy != "" && !slices.Contains(bounds, row.BoundedBy):
			t.Errorf("%s: nobody knows the bound %q", row.ID, row.BoundedBy)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if counts[""] < 30 || counts["undo"] < 5 || counts["network"] < 2 {
		t.Errorf("too few programs: %v", counts)
	}
	t.Logf("held, and bounded by: %v", counts)
}
