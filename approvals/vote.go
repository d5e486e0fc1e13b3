package approvals

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
)

// Limits of a vote, in bytes.
const (
	maxArtifacts = 100     // how many
	maxArtifact  = 4 << 10 // each
)

// admits reports whether the vote may be counted on this request. Its voter is
// known.
func (t *transition) admits(r *record.StoredRequest, v Vote) error {
	n, err := t.People.MayAnswer(v.By)
	if err != nil {
		return err
	}
	approving := r.Effect(record.StoredVote(v)) == holdgate.EffectApprove
	if approving {
		if err := r.Eligibility(t.People).Entitles(n, v.Channel, v.Assurance); err != nil {
			return err
		}
		if v.Assurance == assuranceText {
			if why := NotByText(r.View(t.People)); why != "" {
				return fmt.Errorf("%w: %s", people.ErrNotEntitled, why)
			}
		}
	}
	if err := takes(r, v); err != nil {
		return err
	}
	if err := t.q.Grants.Remembers(r, v); err != nil {
		return err
	}
	switch {
	case v.Stop && !n.Has(people.RoleOperate):
		return fmt.Errorf("%w: stopping the agent takes the role %s; answer without stopping it, or ask somebody who has the role", people.ErrNotEntitled, people.RoleOperate)
	case approving && v.Decision != holdgate.AnswerEdit && approvedBy(r, t.People, n):
		return ErrVoted
	}
	return nil
}

// assuranceText is that of a vote whose voter nothing proves but the place that it came
// from.
const assuranceText = "text"

// NotByText says why nobody may approve the request by an answer of the assurance text, or
// nothing: such answers count up to medium risk, for no quorum and for no passkey.
func NotByText(r Request) string {
	switch {
	case r.Risk != holdgate.RiskLow && r.Risk != holdgate.RiskMedium:
		return fmt.Sprintf("an answer given there counts up to medium risk, and this is of %s risk", cmp.Or(string(r.Risk), "unknown"))
	case r.Approvers.Quorum > 1:
		return fmt.Sprintf("an answer given there counts for no quorum, and %d people must approve", r.Approvers.Quorum)
	case people.Assurance(r.Approvers.Demands()) > people.Assurance(assuranceText):
		return fmt.Sprintf("approving it needs an assurance (%s) that an answer given there does not have", r.Approvers.Demands())
	}
	return ""
}

// approvedBy reports whether the person has voted for the call already.
func approvedBy(r *record.StoredRequest, p *people.People, n people.Person) bool {
	return slices.ContainsFunc(r.Votes, func(o record.StoredVote) bool {
		return r.Effect(o) == holdgate.EffectApprove && p.Same(o.By, n.Name)
	})
}

// takes reports whether the request can be answered in this way, whoever
// votes.
func takes(r *record.StoredRequest, v Vote) error {
	switch v.Decision {
	case holdgate.AnswerDeny:
		return nil
	case holdgate.AnswerSteer:
		if !slices.Contains(r.Allow, waySteer) {
			return ErrSteerNotAllowed
		}
		return nil
	case holdgate.AnswerApprove:
		if r.Kind != holdgate.RequestApproval {
			return fmt.Errorf("%w: it is a choice, and needs one of its options", ErrAnswer)
		}
	case holdgate.AnswerEdit:
		if !slices.Contains(r.Allow, wayEdit) {
			return fmt.Errorf("%w: its arguments cannot be edited", ErrAnswer)
		}
	case holdgate.AnswerChoose:
		o, ok := r.Option(v.Choice)
		if !ok {
			return fmt.Errorf("%w: it has no option %q", ErrAnswer, v.Choice)
		}
		if o.Other && v.Instructions == "" {
			return fmt.Errorf("%w: the option %q is a text of your own", ErrSteerEmpty, o.ID)
		}
	default:
		return fmt.Errorf("%w: %q is not an answer that it takes", ErrAnswer, v.Decision)
	}
	if v.Digest == "" || v.Digest != r.Call.Digest {
		return ErrDigest
	}
	return nil
}

// checked returns the vote as it will be stored, or what is wrong with it on
// any request.
func checked(v Vote) (Vote, error) {
	v.Instructions = strings.TrimSpace(v.Instructions)
	switch {
	case v.Decision == holdgate.AnswerSteer && v.Instructions == "":
		return v, ErrSteerEmpty
	case v.Decision != holdgate.AnswerDeny && (v.Rollback || v.Stop):
		return v, fmt.Errorf("%w: rollback and stop come with a denial", ErrAnswer)
	case v.Decision != holdgate.AnswerEdit && v.Arguments != nil:
		return v, fmt.Errorf("%w: arguments come with an edit", ErrAnswer)
	case v.Decision == holdgate.AnswerEdit:
		v.Arguments = bytes.Trim(v.Arguments, " \t\r\n")
		if err := strictObject(v.Arguments); err != nil {
			return v, err
		}
	}
	if len(v.Artifacts) > maxArtifacts {
		return v, fmt.Errorf("%w: %d artifacts, at most %d", ErrAnswer, len(v.Artifacts), maxArtifacts)
	}
	for _, a := range v.Artifacts {
		if err := checkArtifact(a); err != nil {
			return v, err
		}
	}
	for _, f := range []struct {
		name, text string
		limit      int
	}{
		{"reason", v.Reason, record.MaxText},
		{"instructions", v.Instructions, record.MaxText},
		{"voter", v.By, people.MaxName},
		{"channel", v.Channel, people.MaxName},
		{"choice", v.Choice, people.MaxName},
		{"digest", string(v.Digest), people.MaxName},
	} {
		if err := record.Bounded(f.name, f.text, f.limit); err != nil {
			return v, err
		}
	}
	v.Artifacts = slices.Clone(v.Artifacts)
	if v.Decision != holdgate.AnswerChoose {
		v.Choice = ""
	}
	return v, nil
}

// checkArtifact returns an error for what names no file or other thing that a
// steer can be about.
func checkArtifact(a string) error {
	if strings.TrimSpace(a) == "" {
		return fmt.Errorf("%w: it is empty", ErrArtifact)
	}
	if slices.Contains(strings.FieldsFunc(a, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
		return fmt.Errorf("%w: %q climbs out of its folder", ErrArtifact, holdgate.Visible(a))
	}
	return record.Bounded("artifact", a, maxArtifact)
}
