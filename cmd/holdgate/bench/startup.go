package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A Startup is how long a command takes from its start to its end that does
// nothing: alone, and under `holdgate run` with each confinement.
type Startup struct {
	How     string  `json:"how"`
	Runs    int     `json:"runs"`
	Median  float64 `json:"median_ms"`
	Least   float64 `json:"least_ms"`
	Most    float64 `json:"most_ms"`
	Missing string  `json:"missing,omitempty"` // why there are no figures
}

// startups are the ways, in the order in which they take turns.
func startups(exe, state string) []struct {
	how  string
	args []string
} {
	run := func(how string, flags ...string) []string {
		return append(append([]string{exe, "--state-dir", filepath.Join(state, how), "run"}, flags...), "--", "true")
	}
	return []struct {
		how  string
		args []string
	}{
		{"alone", []string{"true"}},
		{"run, unconfined", run("unconfined", "--unconfined")},
		{"run, weak", run("weak", "--confine", "weak")},
		{"run, strong", run("strong", "--confine", "strong")},
	}
}

// RunStartup measures each way n times in turns, after one run that does not
// count: it makes the state folder, which later runs find.
func RunStartup(ctx context.Context, exe string, n int) ([]Startup, error) {
	dir, err := os.MkdirTemp("", "holdgate-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return nil, err
	}
	ways := startups(exe, dir)
	took := make([][]float64, len(ways))
	missing := make([]string, len(ways))
	for i := range n + 1 {
		for j, way := range ways {
			if missing[j] != "" {
				continue
			}
			began := time.Now()
			cmd := exec.CommandContext(ctx, way.args[0], way.args[1:]...)
			cmd.Dir = work
			if out, err := cmd.CombinedOutput(); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				missing[j] = cmp.Or(strings.TrimSpace(string(out)), err.Error())
			} else if i > 0 {
				took[j] = append(took[j], ms(time.Since(began)))
			}
		}
	}
	results := make([]Startup, len(ways))
	for j, way := range ways {
		results[j] = Startup{How: way.how, Runs: len(took[j]), Missing: missing[j]}
		if len(took[j]) > 0 {
			results[j].Least, results[j].Most, results[j].Median = slices.Min(took[j]), slices.Max(took[j]), median(took[j])
		}
	}
	return results, nil
}

// ReportStartup writes the figures as a table for people.
func ReportStartup(w io.Writer, results []Startup) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "the command true\truns\tmedian ms\tleast\tmost")
	for _, r := range results {
		if r.Missing != "" {
			fmt.Fprintf(tw, "%s\tnot possible here: %s\n", r.How, strings.ReplaceAll(r.Missing, "\n", " "))
			continue
		}
		fmt.Fprintf(tw, "%s\t%d\t%.1f\t%.1f\t%.1f\n", r.How, r.Runs, r.Median, r.Least, r.Most)
	}
	return tw.Flush()
}
