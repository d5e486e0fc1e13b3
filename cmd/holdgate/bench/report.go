package bench

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
)

// Report writes the results as a table for people, under what was measured.
func Report(w io.Writer, results []Result) error {
	fmt.Fprintf(w, "Every request and the tool call in its answer are decided by the shipped pack and logged; settings as shipped\n"+
		"(mode enforce, audit.sync batched). All processes share %d CPUs; %s, %s/%s.\n\n", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "scenario\ttarget\treq/s\tof direct\tof goproxy\tp50 ms\tadded ms\tp99 ms\tfirst byte ms\tof direct\tCPU ms/req\t")
	last := ""
	for _, r := range results {
		name := r.Name
		if name == last {
			name = ""
		}
		last = r.Name
		fmt.Fprintf(tw, "%s\t%s\t%.0f\t%.3f\t%.2f\t%.3f\t%+.3f\t%.3f\t%.3f\t%.2f\t%.3f\t\n",
			name, r.Target, r.RPS, r.OfDir, r.OfBare, r.P50, r.Added, r.P99, r.First, r.FirstOf, r.CPU)
	}
	return tw.Flush()
}
