package approvals

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/teststore"
)

func TestWhichEventsAreCollected(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	type consumer struct {
		taken uint64
		idle  time.Duration
	}
	tests := []struct {
		name      string
		ages      []time.Duration // of events 1, 2, ...
		consumers []consumer
		want      []string // events by number, consumers by name
	}{
		{"nothing is stored", nil, nil, nil},
		{"young events stay", []time.Duration{day / 2}, nil, nil},
		{"old events go where nobody takes them", []time.Duration{3 * day, 2 * day, 0}, nil, []string{"1", "2"}},
		{"what a consumer has not taken stays", []time.Duration{3 * day, 2 * day}, []consumer{{1, 0}}, []string{"1"}},
		{"the slowest consumer counts", []time.Duration{3 * day, 2 * day}, []consumer{{2, 0}, {0, 0}}, nil},
		{"a consumer that was away for a day keeps nothing, and is forgotten", []time.Duration{3 * day, 2 * day}, []consumer{{1, 2 * day}}, []string{"1", "2", "consumer 0"}},
		{"an idle consumer that missed nothing is remembered", []time.Duration{3 * day, 2 * day, 0}, []consumer{{2, 2 * day}}, []string{"1", "2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := teststore.Open(t, t.TempDir())
			defer st.Close()
			var got, want []string
			for _, name := range tt.want {
				var n uint64
				if _, err := fmt.Sscanf(name, "consumer %d", &n); err == nil {
					want = append(want, record.PrefixConsumer+name)
				} else if _, err := fmt.Sscan(name, &n); err == nil {
					want = append(want, record.PrefixOutbox+store.Seq(n))
				}
			}
			err := st.Update(t.Context(), func(tx store.Tx) error {
				for i, age := range tt.ages {
					if err := record.Write(tx, record.PrefixOutbox+store.Seq(uint64(i+1)), record.StoredEvent{Header: record.Current(), Time: record.Now().Add(-age)}); err != nil {
						return err
					}
				}
				for i, c := range tt.consumers {
					if err := record.Write(tx, fmt.Sprint(record.PrefixConsumer, "consumer ", i), storedConsumer{record.Current(), c.taken, record.Now().Add(-c.idle)}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			q := &Queue{c: Config{Store: st}}
			if err := st.View(t.Context(), func(tx store.Tx) (err error) {
				got, err = collectable(tx, record.Now().Add(-keepEvents))
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("collected (-want +got):\n%s", diff)
			}
			if err := q.collect(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := st.View(t.Context(), func(tx store.Tx) error {
				for _, key := range want {
					if _, err := tx.Get(key); err == nil {
						t.Errorf("%s is still there", key)
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
