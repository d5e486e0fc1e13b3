package command

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"":                     {},
		"2026-11-22":           day,
		"2026-11-22 05:00":     day.Add(5 * time.Hour),
		"2026-11-22 05:00:07":  day.Add(5*time.Hour + 7*time.Second),
		"2026-11-22T05:00":     day.Add(5 * time.Hour),
		"2026-11-22T05:00:00Z": time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC),
	} {
		if got, err := Moment("since", text); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %s (%v), want %s", text, got, err, want)
		}
	}
	if got, err := Moment("until", "2026-11-22"); err != nil || !got.Equal(day.AddDate(0, 0, 1)) {
		t.Errorf("until that day: got %s (%v), want its end", got, err)
	}
	for text, ago := range map[string]time.Duration{"2h": 2 * time.Hour, "0s": 0} {
		if got, err := Moment("since", text); err != nil || (time.Since(got)-ago).Abs() > time.Hour/2 {
			t.Errorf("%q: got %s (%v)", text, got, err)
		}
	}
	for _, text := range []string{"-2h", "yesterday", "2026-13-01", "22.11.2026", "7dd"} {
		if got, err := Moment("since", text); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
}
