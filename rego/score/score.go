package score

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/holdgate/holdgate"
)

// A Policy decides on an input as the policy contract writes it.
// [github.com/holdgate/holdgate/rego.Engine] is one.
type Policy interface {
	Eval(ctx context.Context, input []byte) (holdgate.Decision, error)
}

// Options say how a table is scored.
type Options struct {
	Half Half
	Dir  string // the session's folder of rows that name none

	Confinement Confinement // of the agents of rows that name none; the zero value is none
}

// A Report is what a policy made of a table.
type Report struct {
	Counts []Count `json:"counts"` // ordinary rows first, by kind
	Rules  []Rule  `json:"rules"`  // of the ordinary rows that were not allowed, the most frequent first
	Wrong  []Wrong `json:"wrong,omitzero"`
}

// A Count is what became of the rows of one kind of which the same is wanted.
type Count struct {
	Kind  string `json:"kind"`
	Want  string `json:"want"`
	Rows  int    `json:"rows"`
	Wrong int    `json:"wrong"`
}

// Percent is the share of rows that went wrong.
func (c Count) Percent() float64 { return 100 * float64(c.Wrong) / float64(max(c.Rows, 1)) }

// A Rule is how often one rule asked about ordinary rows, or refused them.
type Rule struct {
	Rule string `json:"rule"`
	Rows int    `json:"rows"`
}

// Wrong is a row of which something else was wanted.
type Wrong struct {
	Row    Row             `json:"row"`
	Action holdgate.Action `json:"action"`
	Rule   string          `json:"rule"`
	Reason string          `json:"reason,omitempty"`
}

// Worst is the greatest share of rows that went wrong, in percent, of those of
// which want is wanted.
func (r Report) Worst(want string) float64 {
	worst := 0.0
	for _, c := range r.Counts {
		if c.Want == want {
			worst = max(worst, c.Percent())
		}
	}
	return worst
}

// Run puts each row of a half to a policy. Rows that went wrong are listed only
// of [Working], so that nothing is mended by a look at the other half.
func Run(ctx context.Context, p Policy, rows []Row, o Options) (Report, error) {
	type key struct{ want, kind string }
	counts, rules := make(map[key]*Count), make(map[string]int)
	var r Report
	for i := range rows {
		row := &rows[i]
		if !o.Half.Has(row) {
			continue
		}
		d, err := decide(ctx, p, row, o)
		if err != nil {
			return r, err
		}
		k := key{row.Want, row.Kind}
		c := counts[k]
		if c == nil {
			c = &Count{Kind: row.Kind, Want: row.Want}
			counts[k] = c
		}
		c.Rows++
		if (d.Action == holdgate.Allow) == (row.Want == Pass) {
			continue
		}
		c.Wrong++
		if row.Want == Pass {
			rules[d.Rule]++
		}
		if o.Half == Working {
			r.Wrong = append(r.Wrong, Wrong{Row: *row, Action: d.Action, Rule: d.Rule, Reason: d.Reason})
		}
	}
	for _, c := range counts {
		r.Counts = append(r.Counts, *c)
	}
	slices.SortFunc(r.Counts, func(a, b Count) int { return cmp.Or(-cmp.Compare(a.Want, b.Want), cmp.Compare(a.Kind, b.Kind)) })
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		r.Rules = append(r.Rules, Rule{rule, rules[rule]})
	}
	slices.SortStableFunc(r.Rules, func(a, b Rule) int { return b.Rows - a.Rows })
	return r, nil
}

func decide(ctx context.Context, p Policy, row *Row, o Options) (holdgate.Decision, error) {
	confinement := o.Confinement
	if row.Confinement != nil {
		confinement = *row.Confinement
	}
	if confinement.Level == "" {
		confinement.Level = "none"
	}
	input, err := json.Marshal(map[string]any{
		"kind":        holdgate.KindToolCall,
		"confinement": confinement,
		"tool":        map[string]any{"name": row.Tool, "arguments": row.Input},
		"session":     map[string]any{"cwd": cmp.Or(row.Dir, o.Dir)},
	})
	if err != nil {
		return holdgate.Decision{}, fmt.Errorf("row %s: %w", row.ID, err)
	}
	d, err := p.Eval(ctx, input)
	if err != nil {
		return d, fmt.Errorf("row %s: %w", row.ID, err)
	}
	return d, nil
}
