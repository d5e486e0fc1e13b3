package command

import (
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/holdgate/holdgate/approvals/sessions"
	"github.com/holdgate/holdgate/store/audit"
)

// Moment reads a time, or how long ago it was; "" is the zero time. What names no zone is
// of this machine's. An until that is a day includes it.
func Moment(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return time.Now().Add(-d), nil
	}
	if days, err := strconv.ParseUint(strings.TrimSuffix(s, "d"), 10, 16); err == nil && strings.HasSuffix(s, "d") {
		return time.Now().AddDate(0, 0, -int(days)), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		if flag == "until" {
			day = day.AddDate(0, 0, 1)
		}
		return day, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, Usage("--%s %q: want how long ago, such as 2h or 7d, or a time, such as 2026-11-22, \"2026-11-22 05:00\" or 2026-11-22T05:00:00Z", flag, s)
}

// Replayed reads the time of past calls.
func Replayed(c *cli.Context, name string) (q audit.Query, err error) {
	if c.Args().Present() {
		return q, Usage("%s takes no arguments, got %q", name, c.Args().First())
	}
	if q.Since, err = Moment("since", c.String("since")); err != nil {
		return q, err
	}
	q.Until, err = Moment("until", c.String("until"))
	return q, err
}

// SessionMode reads --mode and --confidence-threshold. It is empty where neither
// is set.
func SessionMode(c *cli.Context) (sessions.Setting, error) {
	m := sessions.Setting{Mode: sessions.Mode(c.String("mode"))}
	if c.IsSet("confidence-threshold") {
		var err error
		if m.Threshold, err = sessions.Fraction("--confidence-threshold", c.Float64("confidence-threshold")); err != nil {
			return m, Usage("%v", err)
		}
		if m.Mode == "" {
			m.Mode = sessions.ModeThreshold
		}
	}
	if m.Mode == "" {
		return m, nil
	}
	if err := m.Check(); err != nil {
		return m, Usage("%v", err)
	}
	return m, nil
}
