package approvals

import (
	"context"
	"fmt"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/grants"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

const (
	// PreviewTime is how far back a preview looks.
	PreviewTime = 7 * 24 * time.Hour
	// maxPreviewed is how many questions a preview compares, the newest.
	maxPreviewed = 500
	// maxCovered is how many calls a preview names.
	maxCovered = 20
)

// A Preview says which past questions a standing approval would have answered.
type Preview struct {
	Words     string    `json:"words"` // what the standing approval would cover
	Since     time.Time `json:"since"`
	Questions int       `json:"questions"` // that the same rule asked about the agent's calls
	Compared  int       `json:"compared"`  // the newest of them
	Unknown   int       `json:"unknown"`   // of those compared: the log has not all of them
	Covered   int       `json:"covered"`   // of those compared
	Refused   int       `json:"refused"`   // of those covered: people did not let them go on as they were
	Calls     []Covered `json:"calls"`     // the newest of those covered
}

// A Covered is a past call that a standing approval would have answered for.
type Covered struct {
	Time      time.Time `json:"time"`
	RequestID string    `json:"request_id,omitempty"`
	Session   string    `json:"session"`
	Call      string    `json:"call"`   // in words that are safe to show
	Became    string    `json:"became"` // what became of it
}

// Preview says which questions of the last week a standing approval would have
// answered, were it made of a pending request. Nothing is decided or logged. It
// returns ErrNotFound, *EndedError, or [record.ErrRemember] where the approval cannot be
// made to stand so.
func (q *Queue) Preview(ctx context.Context, id string, m Remember) (Preview, error) {
	r, err := q.request(ctx, id)
	if err != nil {
		return Preview{}, err
	}
	if r.Status.Final() {
		return Preview{}, &EndedError{Request: r.View(q.People())}
	}
	trial, err := q.Grants.Try(r, q.People(), m)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Words: trial.Words, Since: time.Now().Add(-PreviewTime).UTC().Truncate(time.Second), Calls: []Covered{}}
	asked, ended, err := q.questions(ctx, trial, r, &p)
	if err != nil {
		return Preview{}, fmt.Errorf("looking for calls that it would have covered: %w", err)
	}
	var again func(context.Context, audit.Entry) (holdgate.Call, holdgate.Decision, error)
	if q.c.Past != nil {
		again = q.c.Past()
	}
	for i := len(asked) - 1; i >= 0; i-- {
		e := asked[i]
		p.Compared++
		if again == nil {
			p.Unknown++
			continue
		}
		c, d, err := again(ctx, e)
		switch {
		case ctx.Err() != nil:
			return Preview{}, ctx.Err()
		case err != nil:
			p.Unknown++
		case trial.Covers(c, d):
			p.cover(e, ended[e.RequestID])
		}
	}
	return p, nil
}

// questions are what the rule has asked about the agent's calls since, the newest last,
// and what became of requests.
func (q *Queue) questions(ctx context.Context, trial *grants.Trial, r *record.StoredRequest, p *Preview) (asked []audit.Entry, ended map[string]*holdgate.Outcome, err error) {
	from, err := q.c.Log.At(ctx, p.Since)
	if err != nil {
		return nil, nil, err
	}
	ended = make(map[string]*holdgate.Outcome)
	err = q.c.Log.Each(ctx, audit.Query{Agent: r.Agent, Session: trial.Session(), From: from, Since: p.Since}, func(e audit.Entry) error {
		switch {
		case e.Type == audit.TypeOutcome:
			ended[e.RequestID] = e.Outcome
		case e.RequestID == r.ID || e.Decision == nil || e.Decision.Action != holdgate.Hold || e.Decision.Rule != r.Rule:
		case e.Type == audit.TypeDecision || e.Type == audit.TypeGranted:
			p.Questions++
			if asked = append(asked, e); len(asked) > 2*maxPreviewed {
				asked = append(asked[:0], asked[len(asked)-maxPreviewed:]...)
			}
		}
		return nil
	})
	return asked[max(0, len(asked)-maxPreviewed):], ended, err
}

// cover counts a question that would have been answered.
func (p *Preview) cover(e audit.Entry, o *holdgate.Outcome) {
	p.Covered++
	became := "waits"
	switch {
	case e.Type == audit.TypeGranted:
		became = "let on by a standing approval"
	case o != nil:
		became = string(o.Decision) + " by " + holdgate.Visible(o.By)
	}
	if o != nil && e.Type != audit.TypeGranted {
		switch o.Decision {
		case holdgate.AnswerDeny, holdgate.AnswerSteer, holdgate.AnswerEdit:
			p.Refused++
		}
	}
	if len(p.Calls) < maxCovered {
		p.Calls = append(p.Calls, Covered{Time: e.Time, RequestID: e.RequestID, Session: e.Call.Session, Call: CallLine(e), Became: became})
	}
}
