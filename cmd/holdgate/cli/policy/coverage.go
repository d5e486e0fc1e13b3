package policy

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/open-policy-agent/opa/v1/cover"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// writeCoverage prints a line for each file: how much of it the tests reach, and
// the lines that they do not.
func writeCoverage(w io.Writer, r *cover.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "REACHED\tLINES\tFILE\tNOT REACHED")
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		f := r.Files[name]
		lines := f.CoveredLines + f.NotCoveredLines
		if lines == 0 {
			continue
		}
		fmt.Fprintf(t, "%.1f %%\t%d\t%s\t%s\n", 100*float64(f.CoveredLines)/float64(lines), lines, holdgate.Visible(fromHere(name)), ranges(f.NotCovered))
	}
	fmt.Fprintf(t, "%.1f %%\t%d\tall\n", r.Coverage, r.CoveredLines+r.NotCoveredLines)
	return t.Flush()
}

// ranges are lines of a file, such as 3, 7-9.
func ranges(list []cover.Range) string {
	var all []string
	for i := 0; i < len(list); i++ {
		first, last := list[i].Start.Row, list[i].End.Row
		for ; i+1 < len(list) && list[i+1].Start.Row == last+1; i++ {
			last = list[i+1].End.Row
		}
		if first == last {
			all = append(all, fmt.Sprint(first))
		} else {
			all = append(all, fmt.Sprintf("%d-%d", first, last))
		}
	}
	return command.Dash(strings.Join(all, ", "))
}

// fromHere is a path as short as it is from the working folder.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
