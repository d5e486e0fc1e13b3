package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/plugins/sdk"
)

// decideDeadline bounds what one answer may take.
const decideDeadline = 10 * time.Second

// maxUser bounds a person's name as a channel gives it, in bytes.
const maxUser = 128

// taker returns what takes the process's answers, one after the other.
func (c *channel) taker(p *process) sdk.Answerer {
	return func(ctx context.Context, a sdk.Answer) (string, error) {
		if err := c.answer.Wait(ctx); err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(ctx, decideDeadline)
		defer cancel()
		r, err := c.take(ctx, a, p.info.Assurance)
		if err != nil {
			c.log.Warn("an answer does not count", "request", text(a.ID), "decision", text(a.Decision), "by", text(a.By), "err", shown(err))
		}
		return string(r.Status), err
	}
}

// take makes a vote of an answer that has shown all that it has to.
func (c *channel) take(ctx context.Context, a sdk.Answer, assurance sdk.Assurance) (approvals.Request, error) {
	digest := holdgate.Digest(a.Digest)
	if !c.nonces.match(a.Nonce, c.c.Name, a.ID, digest) {
		return approvals.Request{}, refuse("this channel was never asked about this call")
	}
	by, err := c.voter(a.By)
	if err != nil {
		return approvals.Request{}, err
	}
	r, err := c.queue.Request(ctx, a.ID)
	if err != nil {
		return r, counts(err)
	}
	if r.Call.Digest != digest {
		return r, counts(approvals.ErrDigest)
	}
	v := approvals.Vote{
		Decision: holdgate.Answer(a.Decision), By: by, Channel: c.c.Name, Assurance: assurance.String(), Digest: digest,
		Reason: a.Reason, Instructions: a.Instructions, Choice: a.Choice,
	}
	switch a.Decision {
	case sdk.Deny, sdk.Steer:
	case sdk.Approve, sdk.Choose:
		if why := closed(r, assurance, callOf(r.Call).Cut > 0); why != "" {
			return r, refuse(why)
		}
	default:
		return r, refuse("a channel may approve, deny, steer or choose")
	}
	now, err := c.queue.Decide(ctx, a.ID, v)
	if err != nil {
		return r, counts(err)
	}
	return now, nil
}

// voter is the name under which a person of this channel votes.
func (c *channel) voter(user string) (string, error) {
	user = strings.TrimSpace(user)
	if user == "" || len(user) > maxUser || user != holdgate.Visible(user) {
		return "", refuse(fmt.Sprintf("an answer needs the name of a person: at most %d bytes, without hidden characters", maxUser))
	}
	return c.c.Name + ":" + user, nil
}

func refuse(reason string) error { return &sdk.Refused{Reason: reason} }

// counts turns an error of the queue that is about the answer into words for
// the person. Any other stays what it is, and the channel is not told.
func counts(err error) error {
	if _, ended := errors.AsType[*approvals.EndedError](err); ended {
		return refuse(text(err.Error()))
	}
	for _, known := range []error{
		approvals.ErrNotFound, approvals.ErrDigest, approvals.ErrSteerEmpty, approvals.ErrSteerNotAllowed,
		approvals.ErrAnswer, approvals.ErrNotEntitled,
	} {
		if errors.Is(err, known) {
			return refuse(text(err.Error()))
		}
	}
	return fmt.Errorf("deciding: %w", err)
}
