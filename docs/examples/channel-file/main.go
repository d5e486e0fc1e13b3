package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/holdgate/holdgate/plugins/sdk"
)

func main() { sdk.Serve(&channel{open: map[string]sdk.Notice{}}) }

// channel writes requests to one file and reads answers from another, one on a
// line: "deny REQUEST-ID ada not today".
type channel struct {
	conf struct {
		Out string `json:"out"`
		In  string `json:"in"`
	}

	mu   sync.Mutex
	open map[string]sdk.Notice
}

// Info says what it is. Anybody who can write the file can answer: that is Text,
// which may deny and steer.
func (c *channel) Info() sdk.Info {
	return sdk.Info{Name: "file", Assurance: sdk.Text, Forgets: true}
}

func (c *channel) Configure(_ context.Context, config []byte) error {
	if err := sdk.Decode(config, &c.conf); err != nil {
		return err
	}
	if c.conf.Out == "" || c.conf.In == "" {
		return errors.New("out and in must name files")
	}
	return nil
}

// Notify returns once people can see the request. It may come twice.
func (c *channel) Notify(_ context.Context, n sdk.Notice) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[n.ID] = n
	lines := append([]string{fmt.Sprintf("%s risk, %s left, then %s: %s", n.Risk, n.Left(time.Now()).Truncate(time.Second), n.OnTimeout, n.Summary)}, n.Warnings...)
	if n.Hidden > 0 {
		lines = append(lines, fmt.Sprintf("%d values or characters are not shown", n.Hidden))
	}
	lines = append(lines, n.Details...)
	if n.Closed != "" {
		lines = append(lines, n.Closed) // why it may not approve
	}
	if len(n.Answers) > 0 {
		lines = append(lines, fmt.Sprintf("answer with: %s %s YOUR-NAME WORDS", strings.Join(n.Answers, "|"), n.ID))
	}
	return c.write("%s", strings.Join(lines, "\n  "))
}

// Update says what has become of it.
func (c *channel) Update(_ context.Context, n sdk.Notice) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.open[n.ID]; !known {
		return nil
	}
	if !n.Ended() {
		return c.write("%s: %d of %d have approved", n.ID, n.Votes, n.Quorum)
	}
	delete(c.open, n.ID)
	return c.write("%s is %s by %s", n.ID, n.Status, n.Outcome.By)
}

func (c *channel) Health(context.Context) error { return c.write("") }

func (c *channel) write(format string, args ...any) error {
	f, err := os.OpenFile(c.conf.Out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if format != "" {
		_, err = fmt.Fprintf(f, format+"\n", args...)
	}
	return errors.Join(err, f.Close())
}

// Answers looks for new lines until ctx ends. Those that were there before it began may have
// been taken already.
func (c *channel) Answers(ctx context.Context, answer sdk.Answerer) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	before, err := lines(c.conf.In)
	if err != nil {
		return err
	}
	for read := len(before); ; {
		lines, err := lines(c.conf.In)
		if err != nil {
			return err
		}
		for ; read < len(lines); read++ {
			c.give(ctx, lines[read], answer)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lines are those that have their end: what is behind it is still being written.
func lines(name string) ([]string, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	all := strings.Split(string(b), "\n")
	return all[:len(all)-1], err
}

func (c *channel) give(ctx context.Context, line string, answer sdk.Answerer) {
	words := strings.Fields(line)
	if len(words) < 3 {
		return
	}
	c.mu.Lock()
	n, known := c.open[words[1]]
	c.mu.Unlock()
	if !known || !n.May(words[0]) {
		_ = c.write("%s cannot be answered so", words[1])
		return
	}
	a := n.Answer(words[0], words[2]) // with the nonce and digest of what was shown
	a.Reason = strings.Join(words[3:], " ")
	if words[0] == sdk.Steer {
		a.Reason, a.Instructions = "", a.Reason
	}
	var refused *sdk.Refused
	if status, err := answer(ctx, a); errors.As(err, &refused) {
		_ = c.write("%s: %s", n.ID, refused.Reason) // in words for the person
	} else if err == nil {
		_ = c.write("%s: thank you, it is %s", n.ID, status)
	}
}
