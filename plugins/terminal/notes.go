package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

// errNews ends the reading of a line, for there is something to say.
var errNews = errors.New("there is news")

// note adds lines that are shown as soon as nobody is asked for words. It needs
// the lock.
func (c *Channel) note(lines ...string) {
	if len(lines) == 0 {
		return
	}
	c.notes = append(c.notes, lines...)
	if c.stir != nil {
		c.stir(errNews)
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// showNotes shows the lines that were noted.
func (c *Channel) showNotes() error {
	c.mu.Lock()
	notes := c.notes
	c.notes = nil
	c.mu.Unlock()
	if len(notes) == 0 {
		return nil
	}
	c.screen.line("")
	for _, l := range notes {
		c.screen.line("%s", l)
	}
	return c.screen.flush()
}

// line reads a line, or returns [errNews] where something was noted meanwhile.
func (c *Channel) line(ctx context.Context) (string, error) {
	reading, stir := context.WithCancelCause(ctx)
	defer stir(nil)
	c.mu.Lock()
	if len(c.notes) > 0 {
		stir(errNews)
	}
	c.stir = stir
	c.mu.Unlock()
	line, err := c.tty.readLine(reading)
	c.mu.Lock()
	c.stir = nil
	c.mu.Unlock()
	return line, err
}

// changes says in lines what is new about a request that waits.
func changes(old, n sdk.Notice) (lines []string) {
	if n.Quorum > 1 && n.Votes != old.Votes {
		l := fmt.Sprintf("%d of %d have approved", n.Votes, n.Quorum)
		if len(n.Approved) > 0 {
			l += ": " + strings.Join(n.Approved, ", ")
		}
		if missing := n.Quorum - n.Votes; missing > 0 {
			l += fmt.Sprintf("; it takes %d more", missing)
		}
		lines = append(lines, l)
	}
	for _, l := range n.People {
		if !slices.Contains(old.People, l) {
			lines = append(lines, l)
		}
	}
	if old.Claim != nil && n.Claim == nil {
		lines = append(lines, old.Claim.By+" looks at it no longer")
	}
	if n.Claim == nil && !n.ExpiresAt.Equal(old.ExpiresAt) && !n.ExpiresAt.IsZero() {
		lines = append(lines, "there is time until "+n.ExpiresAt.Local().Format(time.TimeOnly))
	}
	for i, l := range lines {
		lines[i] = "Request " + n.ID + ": " + l + "."
	}
	return lines
}

// ending says how a request has ended on which this person has voted.
func ending(n sdk.Notice) string {
	l := "Request " + n.ID + " is " + n.Status
	if n.Outcome == nil {
		return l + "."
	}
	if n.Outcome.By != "" {
		l += ", by " + n.Outcome.By
	}
	if n.Outcome.Reason != "" {
		l += ": " + n.Outcome.Reason
	}
	return l + "."
}
