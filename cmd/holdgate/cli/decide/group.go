package decide

import (
	"cmp"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/cmd/holdgate/cli/command"
)

// An alike is requests of one agent, by one rule and gate, about calls of one
// shape.
type alike struct {
	Count  int           `json:"count"`
	Agent  string        `json:"agent"`
	Rule   string        `json:"rule"`
	Gate   string        `json:"gate,omitempty"`
	Risk   holdgate.Risk `json:"risk,omitempty"`
	Shape  string        `json:"shape"` // or, where there is none, what the call does
	Oldest time.Time     `json:"oldest"`
	IDs    []string      `json:"ids"`
}

// groupsOf puts alike requests together, the largest group first. A request
// whose shape nobody may see is alone.
func groupsOf(list []approvals.Request) []alike {
	groups := []alike{}
	for _, r := range list {
		i := slices.IndexFunc(groups, func(g alike) bool {
			return r.Shape != "" && g.Shape == r.Shape && g.Agent == r.Agent.ID && g.Rule == r.Rule && g.Gate == r.Gate && g.Risk == r.Risk
		})
		if i < 0 {
			groups = append(groups, alike{Agent: r.Agent.ID, Rule: r.Rule, Gate: r.Gate, Risk: r.Risk, Shape: cmp.Or(r.Shape, r.Briefing.Summary), Oldest: r.CreatedAt})
			i = len(groups) - 1
		}
		groups[i].Count++
		groups[i].IDs = append(groups[i].IDs, r.ID)
	}
	slices.SortStableFunc(groups, func(a, b alike) int { return b.Count - a.Count })
	return groups
}

func (e *env) printGroups(groups []alike, asJSON bool) error {
	if asJSON {
		return command.PrintJSON(e.Stdout, groups)
	}
	if len(groups) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "COUNT\tRISK\tAGENT\tRULE\tSHAPE\tOLDEST")
	for _, g := range groups {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", g.Count, command.Known(string(g.Risk)), holdgate.Visible(g.Agent), holdgate.Visible(g.Rule), holdgate.Visible(g.Shape), g.IDs[0])
	}
	return w.Flush()
}
