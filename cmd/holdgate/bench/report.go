package bench

import (
	"fmt"
	"io"
	"runtime"
)

// Report writes the results as a table for people, under what was measured.
func Report(w io.Writer, results []Result) error {
	fmt.Fprintf(w, "Every request, and the tool call in its answer, is decided by the shipped pack\n"+
		"and logged; settings as shipped (mode enforce, audit.sync batched).\n"+
		"All processes share %d CPUs; %s, %s/%s.\n", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	last := ""
	for _, r := range results {
		if r.Name != last {
			fmt.Fprintf(w, "%s\n"+row, "\n"+r.Name, "", "req/s", "of", "of", "p50", "added", "p99", "first", "CPU ms")
			fmt.Fprintf(w, row, "", "", "direct", "goproxy", "ms", "ms", "ms", "byte ms", "per req")
		}
		last = r.Name
		n := func(format string, v float64) string { return fmt.Sprintf(format, v) }
		if _, err := fmt.Fprintf(w, row, r.Target, n("%.0f", r.RPS), n("%.3f", r.OfDir), n("%.2f", r.OfBare), n("%.2f", r.P50), n("%+.2f", r.Added),
			n("%.2f", r.P99), n("%.2f", r.First), n("%.3f", r.CPU)); err != nil {
			return err
		}
	}
	return nil
}

// row is a line of the table, of 79 columns where no figure is out of all proportion.
const row = "  %-20s %6s %6s %7s %6s %6s %6s %7s %7s\n"
