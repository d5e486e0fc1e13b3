package approvals_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals"
	"github.com/holdgate/holdgate/approvals/refusals"
)

func refusedBy(agent, session, door string, proven bool) approvals.Caller {
	return approvals.Caller{Agent: holdgate.Agent{ID: agent, Proven: proven}, Session: holdgate.Session{ID: session}, Door: door}
}

const account = holdgate.Digest("account")

func (b *bench) remember(who approvals.Caller, records ...string) {
	b.t.Helper()
	var all [][]byte
	for _, r := range records {
		all = append(all, []byte(r))
	}
	if err := b.queue.Refusals.Keep(b.t.Context(), who, account, all); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) remembered(who approvals.Caller) []string {
	b.t.Helper()
	return b.rememberedOn(account, who)
}

func (b *bench) rememberedOn(account holdgate.Digest, who approvals.Caller) []string {
	b.t.Helper()
	records, err := b.queue.Refusals.Of(b.t.Context(), who, account)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, r := range records {
		out = append(out, string(r))
	}
	return out
}

func TestRefusedCallsAreRememberedForTheirCallerOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		who := refusedBy("a", "s", "d", true)
		b.remember(who, "one", "two", "one")
		b.remember(who, "two", "three")
		b.reopen()
		if diff := cmp.Diff([]string{"one", "two", "three"}, b.remembered(who)); diff != "" {
			t.Errorf("remembered (-want +got):\n%s", diff)
		}
		for _, other := range []approvals.Caller{
			refusedBy("b", "s", "d", true), refusedBy("a", "t", "d", true), refusedBy("a", "s", "e", true), refusedBy("a", "s", "d", false),
		} {
			if got := b.remembered(other); len(got) > 0 {
				t.Errorf("%v is told of %q", other, got)
			}
		}
		if got := b.rememberedOn("another", who); len(got) > 0 {
			t.Errorf("another account is told of %q", got)
		}
		b.eachValue(func(key string, value []byte) {
			if bytes.Contains(value, []byte("three")) {
				t.Errorf("%s holds a record in the clear", key)
			}
		})
	})
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		many, large := refusedBy("a", "many", "d", true), refusedBy("a", "large", "d", true)
		for i := range refusals.MaxRecords + 3 {
			b.remember(many, fmt.Sprint("r", i))
		}
		if got := b.remembered(many); len(got) != refusals.MaxRecords || got[0] != "r3" {
			t.Errorf("%d records are kept, the first is %q", len(got), got[0])
		}
		b.remember(large, strings.Repeat("x", refusals.MaxRefusal+1))
		if got := b.remembered(large); len(got) != 0 {
			t.Error("a record over the bound is kept")
		}
		for i := range refusals.MaxBytes/refusals.MaxRefusal + 1 {
			b.remember(large, strings.Repeat(fmt.Sprint(i), refusals.MaxRefusal)[:refusals.MaxRefusal])
		}
		if got := b.remembered(large); len(got) != refusals.MaxBytes/refusals.MaxRefusal || got[0][0] != '1' {
			t.Errorf("%d large records are kept", len(got))
		}
	})
}

func TestRefusedCallsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const keep = 6 * time.Hour
		b := newLimited(t, func(c *approvals.Config) { c.Retention.Refused = keep })
		old := refusedBy("a", "s", "d", true)
		b.remember(old, "one", "two")
		time.Sleep(keep / 2)
		b.remember(old, "three")
		time.Sleep(keep/2 + 2*time.Hour)
		if diff := cmp.Diff([]string{"three"}, b.remembered(old)); diff != "" {
			t.Errorf("remembered (-want +got):\n%s", diff)
		}
		if got := b.kept(); got["refused"] != 1 || got["refused-at"] != 1 {
			t.Errorf("the store keeps %v", got)
		}
	})
}
