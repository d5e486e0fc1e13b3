package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/holdgate/holdgate"
)

// Dash is s made visible, or a dash.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return holdgate.Visible(s)
}

// ReasonFlag is the note of a decision.
func ReasonFlag(aliases ...string) cli.Flag {
	return &cli.StringFlag{Name: "reason", Aliases: aliases, Usage: "why; kept with the outcome"}
}

// JSONFlag is the --json of every command that prints data.
func JSONFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON"}
}

// PrintJSON writes v, indented. Characters that a screen would hide or obey
// are written as \u escapes: the value stays the same.
func PrintJSON(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err := w.Write(holdgate.VisibleJSON(buf.Bytes()))
	return err
}

// Short writes a duration as people read it: its two largest units, rounded
// down.
func Short(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}

// Ago is how long ago t was, or a dash where nobody wrote it down.
func Ago(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return Short(now.Sub(t)) + " ago"
}

// Known is s, or a word for what is not known.
func Known(s string) string {
	if s == "" {
		return "unknown"
	}
	return holdgate.Visible(s)
}

// Screen returns how wide a line of w is, 0 where nobody knows, and whether it
// has colour: only on a terminal that is not a dumb one, and never where
// NO_COLOR is set.
func (e *Env) Screen(w io.Writer) (width int, colour bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	if cols, _, err := term.GetSize(int(f.Fd())); err == nil {
		width = cols
	}
	return width, e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"
}
