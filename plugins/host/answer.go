package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/plugins/sdk"
	"github.com/holdgate/holdgate/store"
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
		r, err := c.applyAnswer(ctx, a, p.info)
		if err != nil {
			c.log.Warn("an answer does not count", "approval", text(a.ID), "decision", text(a.Decision), "by", text(a.By), "err", shown(err))
		}
		return string(r.Status), err
	}
}

// applyAnswer does what an answer says that has shown all that it has to.
func (c *channel) applyAnswer(ctx context.Context, a sdk.Answer, i sdk.Info) (approvals.Request, error) {
	digest := holdgate.Digest(a.Digest)
	if !c.nonces.match(a.Nonce, c.c.Name, a.ID, digest) {
		return approvals.Request{}, refuse("this channel was never asked about this call")
	}
	r, err := c.queue.Request(ctx, a.ID)
	if err != nil {
		return r, counts(err)
	}
	if r.Call.Digest != digest {
		return r, counts(approvals.ErrDigest)
	}
	if a.Decision == sdk.Seen && i.Sees {
		if err := c.opened(ctx, r.ID, time.Now()); err != nil {
			return r, err
		}
		return r, nil
	}
	by, err := c.voter(a.By)
	if err != nil {
		return r, err
	}
	i.Assurance = sure(i.Assurance, a.Assurance)
	if err := offered(r, i, a.Decision); err != nil {
		return r, err
	}
	with, done := c.agenda.answer(r.ID)
	defer done()
	now, err := c.apply(ctx, a, by, i)
	if err != nil {
		return r, counts(err)
	}
	c.answerRow(ctx, a, by, i, with)
	return now, nil
}

// sure is how sure a channel is of one answer: as it is of all, or less where it
// says so. What it says that is not known here is the least.
func sure(channel, answer sdk.Assurance) sdk.Assurance {
	switch {
	case answer == 0:
		return channel
	case answer < sdk.Text || answer > sdk.Local:
		return sdk.Text
	}
	return min(channel, answer)
}

// offered reports whether a channel may give the answer to a request that is
// pending; how a request ended is for the queue to say.
func offered(r approvals.Request, i sdk.Info, decision string) error {
	why := closed(r, i.Assurance, callOf(r.Call).Cut > 0)
	switch decision {
	case sdk.Deny, sdk.Steer:
		return nil
	case sdk.Approve, sdk.Choose, sdk.Edit:
		switch {
		case why != "":
			return refuse(why)
		case decision == sdk.Edit && !i.Edits:
			return refuse("this channel has not said that it can edit")
		case decision == sdk.Edit && r.Status == holdgate.StatusPending && editable(r, i, why) == "":
			return refuse("the arguments of this call cannot be edited in a channel")
		}
		return nil
	case sdk.Claim, sdk.Unclaim:
		if i.Claims {
			return nil
		}
	}
	return refuse("a channel may approve, deny, steer, choose or edit, and claim where it has said so")
}

// apply hands an answer to the queue.
func (c *channel) apply(ctx context.Context, a sdk.Answer, by string, i sdk.Info) (approvals.Request, error) {
	switch a.Decision {
	case sdk.Claim:
		return c.queue.Claim(ctx, a.ID, by)
	case sdk.Unclaim:
		return c.queue.Unclaim(ctx, a.ID, by)
	}
	v := approvals.Vote{
		Decision: holdgate.Answer(a.Decision), By: by, Channel: c.c.Name, Assurance: i.Assurance.String(), Digest: holdgate.Digest(a.Digest),
		Reason: a.Reason, Instructions: a.Instructions, Choice: a.Choice,
	}
	if a.Decision == sdk.Edit {
		v.Arguments = []byte(a.Arguments)
	}
	return c.queue.Decide(ctx, a.ID, v)
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
	if errors.Is(err, store.ErrUnknown) {
		return refuse("it could not be written to the end, and may count all the same: look again once Holdgate works")
	}
	if _, ended := errors.AsType[*approvals.EndedError](err); ended {
		return refuse(text(err.Error()))
	}
	for _, known := range []error{
		approvals.ErrNotFound, approvals.ErrDigest, approvals.ErrSteerEmpty, approvals.ErrArtifact, approvals.ErrSteerNotAllowed,
		approvals.ErrAnswer, people.ErrNotEntitled, approvals.ErrClaimed,
	} {
		if errors.Is(err, known) {
			return refuse(text(err.Error()))
		}
	}
	return fmt.Errorf("deciding: %w", err)
}
