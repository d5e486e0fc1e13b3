package tracks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/briefing"
	"github.com/holdgate/holdgate/approvals/record"
)

// taintAgain is how long what a session is in touch with is known well enough:
// within it the same is not written again.
const taintAgain = 5 * time.Minute

// Taint takes note of what the caller's session is in touch with from now on, and
// by what: on return it is durable, so that what brings it may be released.
func (p *Keeper) Taint(ctx context.Context, who record.Caller, words []string, by string) error {
	if len(words) == 0 {
		return nil
	}
	s, err := p.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil {
		return fmt.Errorf("reading the session: %w", err)
	}
	had := s.Record()
	isNew := func(word string) bool { return !slices.Contains(had.Taint, word) }
	if !slices.ContainsFunc(words, isNew) && time.Since(had.TaintedAt) < taintAgain {
		return nil
	}
	err = p.b.Change(ctx, func(c *record.Change) error {
		r, err := p.record(c, who.Agent.ID, who.Session.ID, who.Agent.Proven, true)
		if err != nil {
			return err
		}
		before := len(r.Taint)
		for _, w := range words {
			r.Touch(w, c.Now)
		}
		if len(r.Taint) == before {
			return nil
		}
		return p.tell(c, r, "in touch with "+strings.Join(r.Taint[before:], ", ")+" by "+by)
	})
	if err != nil {
		return fmt.Errorf("recording what the session is in touch with: %w", err)
	}
	return nil
}

// Left takes note of where a call leaves the agent's shell: see [holdgate.Facts].
// A grant is for calls from where the shell stood when it was made.
func (p *Keeper) Left(ctx context.Context, who record.Caller, at string) error {
	s, err := p.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil {
		return fmt.Errorf("reading the session: %w", err)
	}
	if s.Record().Shell == at {
		return nil
	}
	err = p.b.Change(ctx, func(c *record.Change) error {
		r, err := p.record(c, who.Agent.ID, who.Session.ID, who.Agent.Proven, true)
		if err == nil {
			r.Shell = at
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("recording where the session's shell is: %w", err)
	}
	return nil
}

// TaintOf shows what the session has been in touch with.
func (p *Keeper) TaintOf(ctx context.Context, who record.Caller) []briefing.Section {
	s, err := p.Track(ctx, who.Agent.ID, who.Session.ID)
	if err != nil || len(s.Taint()) == 0 {
		return nil
	}
	var lines []string
	for _, w := range s.Taint() {
		switch w {
		case "untrusted":
			w = "text that strangers wrote (untrusted)"
		case "private":
			w = "data of people (private)"
		}
		lines = append(lines, holdgate.Visible(w))
	}
	return []briefing.Section{{Title: "the session has been in touch with", Kind: briefing.KindBefore, Lines: lines}}
}
