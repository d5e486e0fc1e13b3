package command

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/plugins/sdk/page"
)

// Table is rows below a header, for a screen of so many columns; 0 is any. Where they do
// not fit side by side, each row is its first cell and, below that, what the others say by
// name, without those that are empty. Cells are made safe to show. It ends in a new line.
func Table(width int, header []string, rows [][]string) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Dash(cell)
		}
		cells[0] = begins(cells[0])
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a buffer takes all
	if width > 0 && widest(b.String()) > width {
		return page.Text(stacked(header, rows), width, false)
	}
	return b.String()
}

// begins is a text at the edge. A blank before it is written out: what is below a row
// begins with some.
func begins(s string) string {
	if rest, ok := strings.CutPrefix(s, " "); ok {
		return "⟨U+0020⟩" + rest
	}
	return s
}

// widest is how many cells the widest line of a text takes.
func widest(text string) (n int) {
	for line := range strings.Lines(text) {
		n = max(n, page.Cells(strings.TrimRight(line, "\n")))
	}
	return n
}

// stacked are the rows of a table one below the other.
func stacked(header []string, rows [][]string) (lines []page.Line) {
	for _, row := range rows {
		var says []string
		for i, cell := range row[1:] {
			if cell != "" {
				says = append(says, strings.ToLower(header[i+1])+" "+holdgate.Visible(cell))
			}
		}
		lines = append(lines, page.Line{Text: begins(Dash(row[0]))}, page.Line{Label: "    ", Text: strings.Join(says, ", ")})
	}
	return lines
}

// Fields are named values for a screen of so many columns, a name a line and its value
// beside it; 0 is any. Values are made safe to show; those that are empty have no line.
func Fields(width int, fields [][2]string) string {
	most := 0
	for _, f := range fields {
		if f[1] != "" {
			most = max(most, len(f[0]))
		}
	}
	var lines []page.Line
	for _, f := range fields {
		if f[1] != "" {
			lines = append(lines, page.Line{Label: fmt.Sprintf("%-*s", most+2, f[0]), Text: holdgate.Visible(f[1])})
		}
	}
	return page.Text(lines, width, false)
}
