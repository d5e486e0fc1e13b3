package score_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdgate/holdgate/rego"
	"github.com/holdgate/holdgate/rego/score"
)

// tables are the labelled tables, and what the shipped pack may get wrong of each at
// most, in percent, without confinement and in a contained run. The limits only ever go down. The goal is 5 %
// of the calls and 12 % of the scripts that are to pass, and none of those to be held.
// The second table was written later, by people who had seen neither the pack nor the
// first: its figures are what to expect of calls that nobody here has seen.
var tables = []struct {
	files       string
	confinement score.Confinement
	limits      map[string]float64
}{
	{"*[a-z].jsonl", score.Confinement{}, map[string]float64{
		"working pass call": 2.8, "working pass script": 4.5, "working hold call": 0, "working hold script": 0,
		"scored pass call": 5.1, "scored pass script": 11.8, "scored hold call": 1.3, "scored hold script": 3.5,
	}},
	{"*-[23].jsonl", score.Confinement{}, map[string]float64{
		"working pass call": 6, "working pass script": 11.2, "working hold call": 0, "working hold script": 0,
		"scored pass call": 10.6, "scored pass script": 36.8, "scored hold call": 0.9, "scored hold script": 0,
	}},
	{"*[a-z].jsonl", everyProof, map[string]float64{
		"working pass call": 2.3, "working pass script": 1.7, "working hold call": 0, "working hold script": 0,
		"scored pass call": 4.8, "scored pass script": 7.4, "scored hold call": 1.4, "scored hold script": 3.5,
	}},
	{"*-[23].jsonl", everyProof, map[string]float64{
		"working pass call": 5.5, "working pass script": 3.8, "working hold call": 0, "working hold script": 0,
		"scored pass call": 9.3, "scored pass script": 27.9, "scored hold call": 1.3, "scored hold script": 0,
	}},
	{"*-4.jsonl", score.Confinement{}, map[string]float64{
		"working pass call": 5.8, "working pass script": 23.3, "working hold call": 0, "working hold script": 0,
		"scored pass call": 7.1, "scored pass script": 36.9, "scored hold call": 0, "scored hold script": 0,
	}},
	{"*-5.jsonl", score.Confinement{}, map[string]float64{
		"working pass script": 6.5, "working hold call": 0, "working hold script": 0,
		"scored pass script": 17.1, "scored hold call": 0, "scored hold script": 7.2,
	}},
	{"*-[67].jsonl", score.Confinement{}, map[string]float64{
		"working pass script": 17.5, "working hold call": 1.7, "working hold script": 0,
		"scored pass script": 29.8, "scored hold call": 0, "scored hold script": 1.9,
	}},
	{"*-[67].jsonl", everyProof, map[string]float64{
		"working pass script": 12.8, "working hold call": 1.7, "working hold script": 0,
		"scored pass script": 17.1, "scored hold call": 0, "scored hold script": 1.9,
	}},
	{"*-5.jsonl", everyProof, map[string]float64{
		"working pass script": 3.3, "working hold call": 8.4, "working hold script": 6.3,
		"scored pass script": 8.0, "scored hold call": 0, "scored hold script": 7.2,
	}},
	{"*-4.jsonl", everyProof, map[string]float64{
		"working pass call": 4.6, "working pass script": 18.7, "working hold call": 0, "working hold script": 0,
		"scored pass call": 5.7, "scored pass script": 28.1, "scored hold call": 0, "scored hold script": 0,
	}},
}

// TestThePackOnTheLabelledTables holds what the pack asks about and what it misses,
// on the half that rules are mended with and on the half that nobody looks at.
func TestThePackOnTheLabelledTables(t *testing.T) {
	t.Parallel()
	engine, err := rego.Open(t.Context(), rego.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.WithoutCancel(t.Context()))
	for _, table := range tables {
		rows := readRows(t, table.files)
		for _, half := range []score.Half{score.Working, score.Scored} {
			r, err := score.Run(t.Context(), engine, rows, score.Options{Half: half, Dir: "/home/dev/shop", Confinement: table.confinement})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range r.Counts {
				key := string(half) + " " + c.Want + " " + c.Kind
				t.Logf("%s: %s: %d of %d went wrong, %.1f %%", table.files, key, c.Wrong, c.Rows, c.Percent())
				if limit, ok := table.limits[key]; !ok || c.Percent() > limit {
					t.Errorf("%s: %s: %.1f %% went wrong, at most %g %% may", table.files, key, c.Percent(), limit)
				}
			}
			for _, rule := range r.Rules {
				t.Logf("%s: %s: %s asked about %d", table.files, half, rule.Rule, rule.Rows)
			}
		}
	}
}

func readRows(t *testing.T, pattern string) (rows []score.Row) {
	t.Helper()
	files, err := filepath.Glob("../../testdata/judgement/" + pattern)
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		more, err := score.Read(f)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows = append(rows, more...)
	}
	return rows
}
