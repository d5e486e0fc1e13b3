package passkeys

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
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
}

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
