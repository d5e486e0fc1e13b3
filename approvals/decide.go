package approvals

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store/audit"
)

// Limits of a vote, in bytes.
const (
	maxText      = 8 << 10 // reason and instructions, each
	maxName      = 256     // voter, channel and choice, each
	maxArtifacts = 100     // how many
	maxArtifact  = 4 << 10 // each
)

// Decide takes one person's vote. Approving answers (approve, choose) must
// carry the digest of the call that the person was shown. With a quorum that
// many different people must approve (or choose the same); one denial or steer
// ends the request at once.
//
// Nothing has happened where it returns an error: ErrNotFound, *EndedError,
// ErrDigest, ErrSteerEmpty, ErrSteerNotAllowed, ErrAnswer, ErrVoted or
// ErrNotEntitled, which say more when printed, or one of the store.
func (q *Queue) Decide(ctx context.Context, id string, v Vote) (Request, error) {
	v, err := checked(v)
	if err != nil {
		return Request{}, err
	}
	var r *storedRequest
	err = q.transact(ctx, func(t *transition) error {
		if r, err = t.request(id); err != nil {
			return err
		}
		if r.Status.Final() {
			return &EndedError{Request: r.view()}
		}
		if err := r.admits(v); err != nil {
			return err
		}
		v.At = t.now
		return t.vote(r, storedVote(v))
	})
	if err != nil {
		return Request{}, err
	}
	return r.view(), nil
}

// Cancel ends a pending request that needs no answer any more. It returns
// ErrNotFound or *EndedError.
func (q *Queue) Cancel(ctx context.Context, id, reason string) (Request, error) {
	if err := bounded("reason", reason, maxText); err != nil {
		return Request{}, err
	}
	var r *storedRequest
	err := q.transact(ctx, func(t *transition) (err error) {
		if r, err = t.request(id); err != nil {
			return err
		}
		if r.Status.Final() {
			return &EndedError{Request: r.view()}
		}
		return t.end(r, holdgate.StatusCancelled, holdgate.Outcome{Decision: holdgate.AnswerCancel, By: byHoldgate, Reason: reason}, "")
	})
	if err != nil {
		return Request{}, err
	}
	return r.view(), nil
}

// vote stores the vote and ends the request where that settles it.
func (t *transition) vote(r *storedRequest, v storedVote) error {
	r.Votes = append(r.Votes, v)
	e := r.entry(audit.TypeVote)
	e.Outcome = &holdgate.Outcome{Decision: v.Decision, By: v.By, At: v.At, Reason: v.Reason, Instructions: v.Instructions, Choice: v.Choice}
	e.Note = "through " + v.Channel
	seq, err := t.log(e)
	if err != nil {
		return err
	}
	if err := t.tell(EventVoted, r, seq); err != nil {
		return err
	}
	status, by := r.tally(v)
	if !status.Final() {
		return t.write(r)
	}
	return t.end(r, status, holdgate.Outcome{
		Decision: v.Decision, By: by, Reason: v.Reason, Instructions: v.Instructions, Choice: v.Choice,
	}, "")
}

// tally says where the request stands after its latest vote, and who brought
// it there.
func (r *storedRequest) tally(v storedVote) (holdgate.Status, string) {
	switch {
	case v.Decision == holdgate.AnswerSteer:
		return holdgate.StatusSteered, v.By
	case !r.approves(v):
		return holdgate.StatusDenied, v.By
	}
	var people []string
	for _, o := range r.Votes {
		if r.approves(o) && o.Choice == v.Choice && !slices.Contains(people, o.By) {
			people = append(people, o.By)
		}
	}
	if len(people) < r.Approvers.Quorum {
		return holdgate.StatusPending, ""
	}
	return holdgate.StatusApproved, strings.Join(people, ", ")
}

// approves reports whether a vote speaks for the call.
func (r *storedRequest) approves(v storedVote) bool {
	switch v.Decision {
	case holdgate.AnswerApprove:
		return true
	case holdgate.AnswerChoose:
		o, ok := r.option(v.Choice)
		return ok && o.Effect != "deny"
	}
	return false
}

func (r *storedRequest) option(id string) (holdgate.Option, bool) {
	i := slices.IndexFunc(r.Options, func(o holdgate.Option) bool { return o.ID == id })
	if i < 0 {
		return holdgate.Option{}, false
	}
	return r.Options[i], true
}

// admits reports whether the vote may be counted on this request.
func (r *storedRequest) admits(v Vote) error {
	if err := r.entitles(v); err != nil {
		return err
	}
	switch v.Decision {
	case holdgate.AnswerDeny:
		return nil
	case holdgate.AnswerSteer:
		if !slices.Contains(r.Allow, "steer") {
			return ErrSteerNotAllowed
		}
		return nil
	case holdgate.AnswerApprove:
		if r.Kind != holdgate.RequestApproval {
			return fmt.Errorf("%w: it is a choice, and needs one of its options", ErrAnswer)
		}
	case holdgate.AnswerChoose:
		if _, ok := r.option(v.Choice); !ok {
			return fmt.Errorf("%w: it has no option %q", ErrAnswer, v.Choice)
		}
	default:
		return fmt.Errorf("%w: %q is not an answer that it takes", ErrAnswer, v.Decision)
	}
	if v.Digest == "" || v.Digest != r.Call.Digest {
		return ErrDigest
	}
	if r.approves(storedVote(v)) && slices.ContainsFunc(r.Votes, func(o storedVote) bool { return o.By == v.By }) {
		return ErrVoted
	}
	return nil
}

// entitles reports whether the voter may answer this request in this way. A
// demand that cannot be checked is not met.
func (r *storedRequest) entitles(v Vote) error {
	a := r.Approvers
	switch {
	case v.By == "" || v.By == byPolicy || v.By == byHoldgate:
		return fmt.Errorf("%w: a vote needs a person's name", ErrNotEntitled)
	case len(a.Roles) > 0:
		return fmt.Errorf("%w: it asks for the role %s, and nobody's roles are known", ErrNotEntitled, strings.Join(a.Roles, " or "))
	case len(a.Users) > 0 && !slices.Contains(a.Users, v.By):
		return fmt.Errorf("%w: it is for %s", ErrNotEntitled, strings.Join(a.Users, ", "))
	case v.Decision == holdgate.AnswerDeny || v.Decision == holdgate.AnswerSteer:
		return nil
	case assurance(a.Assurance) > voteAssurance(v):
		return fmt.Errorf("%w: approving it needs an assurance (%s) that %s does not have", ErrNotEntitled, a.Assurance, v.Channel)
	}
	return nil
}

// assurance ranks how sure a channel is of who speaks. What is not known ranks
// above everything.
func assurance(name string) int {
	i := slices.Index([]string{"", "text", "interactive", "local", "strong"}, name)
	if i < 0 {
		return 5
	}
	return i
}

// voteAssurance is that of a vote; one that nobody vouches for is text.
func voteAssurance(v Vote) int {
	if i := assurance(v.Assurance); i > 0 && i <= assurance("strong") {
		return i
	}
	return assurance("text")
}

// checked returns the vote as it will be stored, or what is wrong with it on
// any request.
func checked(v Vote) (Vote, error) {
	if v.Decision == holdgate.AnswerSteer {
		if v.Instructions = strings.TrimSpace(v.Instructions); v.Instructions == "" {
			return v, ErrSteerEmpty
		}
	}
	if len(v.Artifacts) > maxArtifacts {
		return v, fmt.Errorf("%w: %d artifacts, at most %d", ErrAnswer, len(v.Artifacts), maxArtifacts)
	}
	for _, a := range v.Artifacts {
		if err := bounded("artifact", a, maxArtifact); err != nil {
			return v, err
		}
	}
	for _, f := range []struct {
		name, text string
		limit      int
	}{
		{"reason", v.Reason, maxText},
		{"instructions", v.Instructions, maxText},
		{"voter", v.By, maxName},
		{"channel", v.Channel, maxName},
		{"choice", v.Choice, maxName},
		{"digest", string(v.Digest), maxName},
	} {
		if err := bounded(f.name, f.text, f.limit); err != nil {
			return v, err
		}
	}
	v.Artifacts = slices.Clone(v.Artifacts)
	if v.Decision != holdgate.AnswerChoose {
		v.Choice = ""
	}
	return v, nil
}

func bounded(name, s string, limit int) error {
	if len(s) > limit {
		return fmt.Errorf("%w: the %s has %d bytes, at most %d", ErrAnswer, name, len(s), limit)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%w: the %s is not UTF-8", ErrAnswer, name)
	}
	return nil
}
