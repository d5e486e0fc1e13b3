package approvals

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/passkeys"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store/audit"
)

// sure and local are assurances: see [Vote].
const (
	sure  = "strong"
	local = "local"
)

// A ToSign is what a person signs of a vote, and the keys that they can sign it with.
type ToSign struct {
	Challenge []byte
	Keys      []passkeys.Key
	Person    people.Person
}

// ToSign says what the voter has to sign for a vote to be signed. It returns
// ErrNotFound, *EndedError, ErrNotEntitled, or what is wrong with the vote.
func (q *Queue) ToSign(ctx context.Context, id string, v Vote) (s ToSign, err error) {
	if v, err = checked(v); err != nil {
		return s, err
	}
	r, err := q.request(ctx, id)
	if err != nil {
		return s, err
	}
	if r.Status.Final() {
		return s, &EndedError{Request: r.View(q.People())}
	}
	if s.Person, err = q.People().Acting(v.By); err != nil {
		return s, err
	}
	v.By = s.Person.Name
	st, _, _, err := q.statement(r, v)
	if err != nil {
		return s, err
	}
	s.Challenge = st.Challenge()
	s.Keys, err = q.Passkeys.Usable(ctx, s.Person, r.Created)
	return s, err
}

// statement is what a signature on a vote is of. The voter is named as the person.
func (q *Queue) statement(r *record.StoredRequest, v Vote) (s passkeys.Statement, edited holdgate.Digest, remember string, err error) {
	if v.Arguments != nil {
		tool := holdgate.Tool{Name: r.Call.Tool, Server: r.Call.Server, Arguments: v.Arguments}
		if edited, err = q.c.Digester.Tool(&tool); err != nil {
			return s, "", "", err
		}
	}
	if v.Remember != nil {
		b, err := json.Marshal(v.Remember)
		if err != nil {
			return s, "", "", fmt.Errorf("reading what to remember: %w", err)
		}
		remember = string(b)
	}
	return passkeys.Statement{Call: r.Call.Digest, Request: r.ID, Answer: passkeys.Answer(answered(v), edited, remember)}, edited, remember, nil
}

// signed verifies a vote's signature, where it has one. Nothing else makes a vote as
// sure.
func (t *transition) signed(r *record.StoredRequest, n people.Person, v *Vote) error {
	if v.Signed == nil {
		if v.Assurance == sure {
			v.Assurance = local
		}
		return nil
	}
	st, edited, remember, err := t.q.statement(r, *v)
	if err != nil {
		return err
	}
	s := audit.Signature{Credential: v.Signed.Credential, ClientData: v.Signed.ClientData, AuthenticatorData: v.Signed.AuthenticatorData,
		Signature: v.Signed.Signature, Edited: edited, Remember: remember}
	if err := t.q.Passkeys.Sign(t.Change, n, r.Created, st, &s); err != nil {
		return err
	}
	v.Signed, v.Assurance = &s, sure
	return nil
}
