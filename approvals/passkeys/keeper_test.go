package passkeys

import (
	"errors"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/teststore"
)

// TestWhichKeysCount holds that the queue's own door takes no key but one that counted
// for its person before the request was asked, whatever the page offers.
func TestWhichKeysCount(t *testing.T) {
	st := teststore.Open(t, t.TempDir())
	defer st.Close()
	asked := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	before, after := asked.Add(-time.Hour), asked.Add(time.Hour)
	key := func(name, person string, registered, admitted time.Time) Key {
		return Key{Header: record.Current(), Person: person, Fingerprint: name, Credential: []byte(name), Registered: registered, Admitted: admitted, AdmittedBy: "named"}
	}
	ann := people.Person{Name: "ann", Passkeys: []string{"named", "named late"}}
	keys := []Key{
		key("named", "ann", before, time.Time{}), key("named late", "ann", after, time.Time{}), key("registered", "ann", before, time.Time{}),
		key("admitted", "ann", before, before), key("admitted late", "ann", before, after), key("bob's", "bob", before, before),
	}
	err := st.Update(t.Context(), func(tx store.Tx) error {
		for _, k := range keys {
			if err := record.Write(tx, k.key(), k); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for credential, by := range map[string]string{"named": ByConfiguration, "admitted": "named", "named late": "", "registered": "", "admitted late": "", "bob's": "", "unknown": ""} {
		err := st.View(t.Context(), func(tx store.Tx) error {
			_, got, err := (&Keeper{}).counting(tx, ann, asked, []byte(credential))
			if got != by {
				t.Errorf("%s counts by %q, want %q", credential, got, by)
			}
			return err
		})
		if by == "" && !errors.Is(err, ErrSignature) || by != "" && err != nil {
			t.Errorf("%s: %v", credential, err)
		}
	}
}

// A counter that goes back, or stands still, says that two authenticators have one key.
func TestACopyOfAKeyIsNoticed(t *testing.T) {
	signed := func(counter byte, signature string) audit.Signature {
		data := make([]byte, counterEnds)
		data[counterEnds-1] = counter
		return audit.Signature{AuthenticatorData: data, Signature: []byte(signature)}
	}
	for name, tt := range map[string]struct {
		signatures []audit.Signature
		refused    bool // the last one
	}{
		"goes on":                   {[]audit.Signature{signed(1, "a"), signed(2, "b"), signed(7, "c")}, false},
		"never counts":              {[]audit.Signature{signed(0, "a"), signed(0, "b")}, false},
		"the same one again":        {[]audit.Signature{signed(4, "a"), signed(4, "a")}, false},
		"stands still":              {[]audit.Signature{signed(4, "a"), signed(4, "b")}, true},
		"goes back":                 {[]audit.Signature{signed(4, "a"), signed(3, "b")}, true},
		"does not count any longer": {[]audit.Signature{signed(4, "a"), signed(0, "b")}, true},
		"cut":                       {[]audit.Signature{{AuthenticatorData: make([]byte, counterEnds-1)}}, true},
	} {
		var k Key
		for i, s := range tt.signatures {
			err := k.used(s)
			if refused := tt.refused && i == len(tt.signatures)-1; errors.Is(err, ErrSignature) != refused {
				t.Errorf("%s: signature %d: %v", name, i, err)
			}
		}
	}
}
