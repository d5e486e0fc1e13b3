package sessions

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
)

// A Report is how sure an agent is of its work, in its own words, and what it
// rests on.
type Report struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Task   string    `json:"task_id,omitempty"`
	Score  float64   `json:"score"` // from 0 to 1
	Source string    `json:"source"`
	// Reasons say why it is not more.
	Reasons      []string      `json:"reasons,omitempty"`
	Verification *Verification `json:"verification,omitempty"`
	Retries      *Retries      `json:"retries,omitempty"`
}

// Lines are the report for people, each safe to show.
func (r *Report) Lines() []string {
	lines := []string{fmt.Sprintf("confidence %.2f", r.Score)}
	if v := r.Verification; v != nil {
		lines = append(lines, v.lines()...)
	}
	if t := r.Retries; t != nil {
		lines = append(lines, fmt.Sprintf("%d retries of at most %d", t.Count, t.Max))
	}
	for _, why := range r.Reasons {
		lines = append(lines, "because: "+why)
	}
	for i, l := range lines {
		lines[i] = holdgate.Visible(strings.Join(strings.Fields(l), " "))
	}
	return lines
}

func (v *Verification) lines() (lines []string) {
	passed := 0
	var failed []string
	for _, c := range v.Checks {
		if c.Passed {
			passed++
			continue
		}
		failed = append(failed, cmp.Or(c.Name, "a check without a name"))
	}
	if len(v.Checks) > 0 {
		lines = append(lines, fmt.Sprintf("%d of %d checks passed", passed, len(v.Checks)))
	}
	for _, name := range failed {
		lines = append(lines, "failed: "+name)
	}
	if v.Confidence != nil {
		lines = append(lines, fmt.Sprintf("another's judgement: confidence %.2f", *v.Confidence))
	}
	return lines
}

// SourceAgent is the source of what an agent says of itself.
const SourceAgent = "agent"

// Verification is how far the work was checked: by checks of its own (tier 1),
// by another's judgement too (tier 2).
type Verification struct {
	Tier       int      `json:"tier"`
	Checks     []Check  `json:"checks,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"` // of the verifier, from 0 to 1
}

// A Check is one check of the work.
type Check struct {
	Name   string `json:"name,omitempty"`
	Passed bool   `json:"passed"`
}

// Retries are how often the work was begun anew.
type Retries struct {
	Count int `json:"count"`
	Max   int `json:"max"`
}

// Bounds of a report.
const (
	maxReasons = 20
	maxReason  = 1000
	maxChecks  = 100
	maxTask    = 256
)

// A FieldError says which field of what somebody sent is wrong, and how.
type FieldError struct {
	Field string // as a path: "verification.confidence"
	What  string
}

func (e *FieldError) Error() string { return e.Field + " " + e.What }

func wrong(field, format string, args ...any) error {
	return &FieldError{Field: field, What: fmt.Sprintf(format, args...)}
}

// Fraction reads a confidence that was written from 0 to 1, or from 0 to 100. A
// number above 1 is of the second kind; 1 is all of the first.
func Fraction(field string, f float64) (float64, error) {
	switch {
	case !(f >= 0 && f <= 100):
		return 0, wrong(field, "must be from 0 to 1, or from 0 to 100")
	case f > 1:
		return f / 100, nil
	}
	return f, nil
}

// Check returns the faults of a report, each a [*FieldError].
func (r *Report) Check() error {
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	if !(r.Score >= 0 && r.Score <= 1) {
		add(wrong("score", "must be from 0 to 1, or from 0 to 100"))
	}
	if len(r.Task) > maxTask || !utf8.ValidString(r.Task) {
		add(wrong("task_id", "must be a text of at most %d bytes", maxTask))
	}
	if len(r.Reasons) > maxReasons {
		add(wrong("reasons", "must be at most %d", maxReasons))
	}
	for i, s := range r.Reasons {
		if len(s) > maxReason || !utf8.ValidString(s) {
			add(wrong(fmt.Sprintf("reasons[%d]", i), "must be a text of at most %d bytes", maxReason))
		}
	}
	if v := r.Verification; v != nil {
		if v.Tier < 0 || v.Tier > 2 {
			add(wrong("verification.tier", "must be 0, 1 or 2"))
		}
		if len(v.Checks) > maxChecks {
			add(wrong("verification.checks", "must be at most %d", maxChecks))
		}
		if c := v.Confidence; c != nil && !(*c >= 0 && *c <= 1) {
			add(wrong("verification.confidence", "must be from 0 to 1, or from 0 to 100"))
		}
	}
	if t := r.Retries; t != nil {
		if t.Count < 0 {
			add(wrong("retries.count", "must be 0 or more"))
		}
		if t.Max < 0 {
			add(wrong("retries.max", "must be 0 or more"))
		}
	}
	return errors.Join(errs...)
}
