package passkeys

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// ErrSignature says that a signature does not count, and why.
var ErrSignature = errors.New("the signature does not count")

// A Site is where people sign: what browsers bind keys and signatures to.
type Site struct {
	RP     string // the host's name
	Origin string // http://NAME.localhost:7301
}

// A Keeper keeps people's passkeys. It is safe for concurrent use.
type Keeper struct {
	b    *record.Book
	site func() Site
}

// New keeps the passkeys of a book. Without a site nothing can be signed.
func New(b *record.Book, site func() Site) *Keeper {
	if site == nil {
		site = func() Site { return Site{} }
	}
	return &Keeper{b, site}
}

// Site is where people sign at present.
func (k *Keeper) Site() Site { return k.site() }

// List returns the keys of a person, of everybody where person is empty, the oldest first.
func (k *Keeper) List(ctx context.Context, person string) (keys []Key, err error) {
	err = k.b.Store.View(ctx, func(tx store.Tx) error {
		keys, err = list(tx, person)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing passkeys: %w", err)
	}
	return keys, nil
}

// algorithms are those that a key may have: ES256, EdDSA and RS256.
var algorithms = []webauthncose.COSEAlgorithmIdentifier{webauthncose.AlgES256, webauthncose.AlgEdDSA, webauthncose.AlgRS256}

// Algorithms are the COSE numbers of the algorithms that a key may have.
func Algorithms() (list []int) {
	for _, a := range algorithms {
		list = append(list, int(a))
	}
	return list
}

// Register keeps a new key of a person: the browser's answer, in JSON, to a request with
// the challenge. It counts for nothing yet: see the package comment.
func (k *Keeper) Register(ctx context.Context, by, label string, challenge, response []byte) (Key, error) {
	if err := record.Bounded("label", label, people.MaxName); err != nil {
		return Key{}, err
	}
	at := k.site()
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrSignature, plain(err))
	}
	var params []protocol.CredentialParameter
	for _, a := range algorithms {
		params = append(params, protocol.CredentialParameter{Type: protocol.PublicKeyCredentialType, Algorithm: a})
	}
	if _, err := parsed.Verify(base64.RawURLEncoding.EncodeToString(challenge), at.RP, []string{at.Origin}, nil, nil, protocol.TopOriginImplicitVerificationMode,
		false, true, true, nil, params, protocol.AttestationPolicy{}, protocol.SignaturePolicy{}); err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrSignature, plain(err))
	}
	made := parsed.Response.AttestationObject.AuthData.AttData
	key := Key{Header: record.Current(), Label: strings.TrimSpace(label), Fingerprint: Fingerprint(made.CredentialPublicKey), Credential: made.CredentialID,
		PublicKey: made.CredentialPublicKey, RP: at.RP, Origin: at.Origin, Counter: parsed.Response.AttestationObject.AuthData.Counter}
	err = k.b.Change(ctx, func(c *record.Change) error {
		n, err := c.People.MayAnswer(by)
		if err != nil {
			return err
		}
		key.Person, key.Registered = n.Name, c.Now
		all, err := list(c.Tx, "")
		if err != nil {
			return err
		}
		own := 0
		for _, o := range all {
			if o.Fingerprint == key.Fingerprint || bytes.Equal(o.Credential, key.Credential) {
				return fmt.Errorf("%w: it is registered already", ErrSignature)
			}
			if o.Person == key.Person {
				own++
			}
		}
		if own >= MaxKeys {
			return fmt.Errorf("%w: a person may have %d passkeys", ErrSignature, MaxKeys)
		}
		return k.put(c, key, "registered "+key.describe(), &audit.Signature{Key: key.Fingerprint, PublicKey: key.PublicKey, RP: key.RP, Origin: key.Origin,
			Credential: key.Credential, AuthenticatorData: parsed.Response.AttestationObject.RawAuthData})
	})
	if err != nil {
		return Key{}, fmt.Errorf("registering a passkey: %w", err)
	}
	return key, nil
}

// Admit lets a key count for its person, who signs that with one that counts already.
func (k *Keeper) Admit(ctx context.Context, by, fingerprint string, s audit.Signature) error {
	err := k.b.Change(ctx, func(c *record.Change) error {
		n, err := c.People.MayAnswer(by)
		if err != nil {
			return err
		}
		key, err := find(c.Tx, func(o Key) bool { return o.Fingerprint == fingerprint && o.Person == n.Name })
		if err != nil {
			return err
		}
		if why, _ := key.Counts(n); why != "" {
			return fmt.Errorf("%w: this key counts already", ErrSignature)
		}
		if err := k.sign(c, n, c.Now, Statement{Request: fingerprint, Answer: Admission(n.Name)}, &s); err != nil {
			return err
		}
		key.Admitted, key.AdmittedBy = c.Now, s.Key
		return k.put(c, key, "admitted "+key.describe()+" by the passkey "+s.Key, &s)
	})
	if err != nil {
		return fmt.Errorf("admitting a passkey: %w", err)
	}
	return nil
}

// Remove takes a person's own key away; an admin may take anybody's.
func (k *Keeper) Remove(ctx context.Context, by, fingerprint string) error {
	err := k.b.Change(ctx, func(c *record.Change) error {
		n, err := c.People.MayAnswer(by)
		if err != nil {
			return err
		}
		key, err := find(c.Tx, func(o Key) bool {
			return o.Fingerprint == fingerprint && (o.Person == n.Name || n.Has(people.RoleAdmin))
		})
		if err != nil {
			return err
		}
		if err := c.Tx.Delete(key.key()); err != nil {
			return err
		}
		return tell(c, n.Name, "removed "+key.describe(), &audit.Signature{Key: key.Fingerprint})
	})
	if err != nil {
		return fmt.Errorf("removing a passkey: %w", err)
	}
	return nil
}

// put stores a key, and tells everybody.
func (k *Keeper) put(c *record.Change, key Key, note string, s *audit.Signature) error {
	if err := record.Write(c.Tx, key.key(), key); err != nil {
		return err
	}
	return tell(c, key.Person, note, s)
}

func tell(c *record.Change, by, note string, s *audit.Signature) error {
	note = by + " " + note
	seq, err := c.Append(audit.Entry{Type: audit.TypePasskey, Note: note, Outcome: &holdgate.Outcome{By: by, At: c.Now}, Signed: s})
	if err != nil {
		return err
	}
	return c.Note(record.EventPasskey, "", note, seq)
}

// Sign verifies what the person signed of a vote on a request that was asked at a time,
// fills in what the log keeps, and says with an error that wraps [ErrSignature] why it
// does not count.
func (k *Keeper) Sign(c *record.Change, n people.Person, asked time.Time, st Statement, s *audit.Signature) error {
	return k.sign(c, n, asked, st, s)
}

func (k *Keeper) sign(c *record.Change, n people.Person, asked time.Time, st Statement, s *audit.Signature) error {
	key, by, err := k.counting(c.Tx, n, asked, s.Credential)
	if err != nil {
		return err
	}
	at := k.site()
	if err := verify(st.Challenge(), at.RP, at.Origin, key.PublicKey, *s); err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	if err := key.used(*s); err != nil {
		return err
	}
	if err := record.Write(c.Tx, key.key(), key); err != nil {
		return err
	}
	*s = audit.Signature{Admitted: by, Answer: st.Answer, AuthenticatorData: s.AuthenticatorData, Call: st.Call, ClientData: s.ClientData, Credential: s.Credential,
		Edited: s.Edited, Key: key.Fingerprint, Origin: at.Origin, PublicKey: key.PublicKey, Remember: s.Remember, Request: st.Request, RP: at.RP, Signature: s.Signature}
	return nil
}

// counting finds the key of the credential, which must count for the person since
// before a time.
func (k *Keeper) counting(tx store.Tx, n people.Person, before time.Time, credential []byte) (Key, string, error) {
	key, err := find(tx, func(o Key) bool { return bytes.Equal(o.Credential, credential) })
	if errors.Is(err, ErrNoKey) {
		return key, "", fmt.Errorf("%w: the key is not registered", ErrSignature)
	}
	if err != nil {
		return key, "", err
	}
	switch by, since := key.Counts(n); {
	case key.Person != n.Name:
		return key, "", fmt.Errorf("%w: the key is not that of %s", ErrSignature, n.Name)
	case by == "":
		return key, "", fmt.Errorf("%w: the key is registered and not admitted: another key of %s must admit it, or the configuration name it", ErrSignature, n.Name)
	case !since.Before(before):
		return key, "", fmt.Errorf("%w: the key is younger than the request", ErrSignature)
	default:
		return key, by, nil
	}
}

// Usable returns the keys that a person can sign with about a request that was asked at
// a time.
func (k *Keeper) Usable(ctx context.Context, n people.Person, asked time.Time) ([]Key, error) {
	keys, err := k.List(ctx, n.Name)
	return slices.DeleteFunc(keys, func(key Key) bool { return !key.CountsFor(n, asked) }), err
}

// Holder says whose key made a signature over a challenge of the caller's, for signing
// in.
func (k *Keeper) Holder(ctx context.Context, challenge []byte, s audit.Signature) (name string, err error) {
	at := k.site()
	err = k.b.Change(ctx, func(c *record.Change) error {
		key, err := find(c.Tx, func(o Key) bool { return bytes.Equal(o.Credential, s.Credential) })
		if errors.Is(err, ErrNoKey) {
			return fmt.Errorf("%w: the key is not registered", ErrSignature)
		}
		if err != nil {
			return err
		}
		n, known := c.People.Find(key.Person)
		if by, _ := key.Counts(n); !known || by == "" {
			return fmt.Errorf("%w: the key is not admitted", ErrSignature)
		}
		if err := verify(challenge, at.RP, at.Origin, key.PublicKey, s); err != nil {
			return fmt.Errorf("%w: %w", ErrSignature, err)
		}
		if err := key.used(s); err != nil {
			return err
		}
		name = key.Person
		return record.Write(c.Tx, key.key(), key)
	})
	return name, err
}

// ParseAssertion reads a browser's answer to a request for a signature, in JSON.
func ParseAssertion(response []byte) (audit.Signature, error) {
	var in struct {
		RawID    protocol.URLEncodedBase64 `json:"rawId"`
		Response struct {
			ClientData        protocol.URLEncodedBase64 `json:"clientDataJSON"`
			AuthenticatorData protocol.URLEncodedBase64 `json:"authenticatorData"`
			Signature         protocol.URLEncodedBase64 `json:"signature"`
		} `json:"response"`
	}
	if err := json.Unmarshal(response, &in); err != nil {
		return audit.Signature{}, fmt.Errorf("%w: it cannot be read", ErrSignature)
	}
	return audit.Signature{Credential: in.RawID, ClientData: in.Response.ClientData, AuthenticatorData: in.Response.AuthenticatorData, Signature: in.Response.Signature}, nil
}
