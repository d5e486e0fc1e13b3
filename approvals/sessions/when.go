package sessions

import (
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
)

// When is the condition of a gate. Each part that is set must be met, by one of
// what it lists; where a call does not say enough to tell, it is.
type When struct {
	// Paths are patterns of what the call touches: "*" and "?" stay within a folder,
	// "**" does not. One that does not begin with a slash may begin in any folder.
	Paths      []string `yaml:"paths"`
	Tools      []string `yaml:"tools"`      // names, as name or server/name; "*" is any text
	Categories []string `yaml:"categories"` // what tools do, such as write
	// Below is a confidence, from 0 to 1 or from 0 to 100, that is not reached, or of
	// which there is no report.
	Below float64  `yaml:"confidence_below"`
	Taint []string `yaml:"taint"` // what the session has been in touch with
	Risk  string   `yaml:"risk"`  // as grave, or graver, as another rule says the call is
}

// check returns a [*FieldError] for what is wrong.
func (w *When) check() error {
	if w == nil {
		return nil
	}
	if len(w.Paths)+len(w.Tools)+len(w.Categories)+len(w.Taint) == 0 && w.Below == 0 && w.Risk == "" {
		return wrong("when", "names no condition: name paths, tools, categories, confidence_below, taint or risk, or leave it out")
	}
	for field, patterns := range map[string][]string{"when.paths": w.Paths, "when.tools": w.Tools} {
		for _, p := range patterns {
			if p == "" || strings.ContainsAny(p, `[]{}!\`) {
				return wrong(field, `must be patterns of names with *, ** and ?, not %q`, p)
			}
		}
	}
	if err := known("when.categories", w.Categories, "read", "write", "delete", "exec", "network", "spawn", "database", "message", "unknown"); err != nil {
		return err
	}
	if err := known("when.taint", w.Taint, "untrusted", "private", "secrets"); err != nil {
		return err
	}
	if w.Risk != "" {
		if err := known("when.risk", []string{w.Risk}, string(holdgate.RiskLow), string(holdgate.RiskMedium), string(holdgate.RiskHigh), string(holdgate.RiskCritical)); err != nil {
			return err
		}
	}
	_, err := Fraction("when.confidence_below", w.Below)
	return err
}

// Line is the confidence that is not reached, from 0 to 1.
func (w *When) Line() float64 {
	line, _ := Fraction("when.confidence_below", w.Below) // which was checked
	return line
}

func known(field string, words []string, all ...string) error {
	for _, w := range words {
		if !slices.Contains(all, w) {
			return wrong(field, "must be of %s, not %q", strings.Join(all, ", "), w)
		}
	}
	return nil
}

// Conditions are the gates that have one, by type.
func (all Gates) Conditions() map[string]*When {
	var with map[string]*When
	for name, g := range all {
		if g.When != nil {
			if with == nil {
				with = make(map[string]*When)
			}
			with[name] = g.When
		}
	}
	return with
}
