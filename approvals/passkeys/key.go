package passkeys

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

const prefix = "passkey/"

// MaxKeys is how many keys a person may have.
const MaxKeys = 20

// ErrNoKey says that there is no such key.
var ErrNoKey = errors.New("no such passkey")

// ByConfiguration is why a key counts that the configuration names.
const ByConfiguration = "configuration"

// A Key is a person's passkey.
type Key struct {
	record.Header

	Person      string    `json:"person"`
	Label       string    `json:"label,omitempty"`
	Fingerprint string    `json:"fingerprint"`
	Credential  []byte    `json:"credential"` // its id, as the authenticator calls it
	PublicKey   []byte    `json:"public_key"` // COSE
	RP          string    `json:"rp_id"`
	Origin      string    `json:"origin"`
	Registered  time.Time `json:"registered"`
	Admitted    time.Time `json:"admitted,omitzero"`     // by another key
	AdmittedBy  string    `json:"admitted_by,omitempty"` // that key's fingerprint
	// Counter is how often the authenticator says that it has signed, with Last, the
	// hash of the newest signature; 0: it does not count.
	Counter uint32 `json:"counter,omitempty"`
	Last    []byte `json:"last,omitempty"`
}

// CountsFor reports whether the key counts for its person, who is n, about a request
// that was asked at a time.
func (k Key) CountsFor(n people.Person, asked time.Time) bool {
	by, since := k.Counts(n)
	return by != "" && since.Before(asked)
}

// used takes note of a signature that was verified. A counter that does not go on says
// that another authenticator has the same key. The newest signature may come again.
func (k *Key) used(s audit.Signature) error {
	data := s.AuthenticatorData
	if len(data) < counterEnds {
		return fmt.Errorf("%w: its data is cut", ErrSignature)
	}
	n, sum := binary.BigEndian.Uint32(data[counterEnds-4:counterEnds]), sha256.Sum256(s.Signature)
	if (n > 0 || k.Counter > 0) && n <= k.Counter && !bytes.Equal(sum[:], k.Last) {
		return fmt.Errorf("%w: the authenticator has counted to %d before, and says %d now: somebody may have a copy of the passkey %s; remove it, and register a new one",
			ErrSignature, k.Counter, n, k.Fingerprint)
	}
	k.Counter, k.Last = n, sum[:]
	return nil
}

// counterEnds is where the counter ends in an authenticator's data: after the hash of
// the site and the flags.
const counterEnds = 37

// Counts says why the key counts for its person, who is n, and since when. Where it does not,
// by is empty.
func (k Key) Counts(n people.Person) (by string, since time.Time) {
	switch {
	case n.Name != k.Person:
		return "", time.Time{}
	case slices.Contains(n.Passkeys, k.Fingerprint):
		return ByConfiguration, k.Registered
	case !k.Admitted.IsZero():
		return k.AdmittedBy, k.Admitted
	}
	return "", time.Time{}
}

// list returns the keys of a person, of everybody where person is empty, the oldest
// first.
func list(tx store.Tx, person string) (keys []Key, err error) {
	for p, err := range tx.Scan(prefix, "") {
		if err != nil {
			return nil, err
		}
		var k Key
		if err := record.Decode(p.Key, p.Value, &k); err != nil {
			return nil, err
		}
		if person == "" || k.Person == person {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(a.Registered.Compare(b.Registered), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return keys, nil
}

// find returns the key that is so.
func find(tx store.Tx, is func(Key) bool) (Key, error) {
	keys, err := list(tx, "")
	if err != nil {
		return Key{}, err
	}
	i := slices.IndexFunc(keys, is)
	if i < 0 {
		return Key{}, ErrNoKey
	}
	return keys[i], nil
}

func (k Key) key() string { return prefix + k.Fingerprint }

func (k Key) describe() string {
	text := fmt.Sprintf("the passkey %s of %s", k.Fingerprint, k.Person)
	if k.Label != "" {
		text += fmt.Sprintf(" (%s)", k.Label)
	}
	return text
}
