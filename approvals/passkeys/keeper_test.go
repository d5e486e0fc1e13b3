package passkeys

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/holdgate/holdgate/approvals/people"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/badger"
)

// TestWhichKeysCount holds that the queue's own door takes no key but one that counted
// for its person before the request was asked, whatever the page offers.
func TestWhichKeysCount(t *testing.T) {
	st, err := badger.Open(t.TempDir(), slog.New(slog.DiscardHandler), badger.WithoutCompaction())
	if err != nil {
		t.Fatal(err)
	}
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
	err = st.Update(t.Context(), func(tx store.Tx) error {
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
