package refusals_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/approvals/record"
	"github.com/holdgate/holdgate/approvals/record/recordtest"
	"github.com/holdgate/holdgate/approvals/refusals"
	"github.com/holdgate/holdgate/store"
)

var caller = record.Caller{Agent: holdgate.Agent{ID: "ada", Proven: true}, Session: holdgate.Session{ID: "one"}, Door: "anthropic"}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func enough(int64) error { return nil }

// of returns what is kept for the caller.
func of(t *testing.T, k *refusals.Keeper, who record.Caller, account holdgate.Digest) []string {
	t.Helper()
	list, err := k.Of(t.Context(), who, account)
	must(t, err)
	var texts []string
	for _, r := range list {
		texts = append(texts, string(r))
	}
	return texts
}

// records are n of them, each so long and different from the others.
func records(n, size int) (list [][]byte) {
	for i := range n {
		list = append(list, bytes.Repeat(fmt.Appendf(nil, "%03d ", i), size/4))
	}
	return list
}

func TestWhatIsKeptOfRefusedCalls(t *testing.T) {
	t.Parallel()
	many, long := records(refusals.MaxRecords+3, 8), records(refusals.MaxBytes/(256<<10)+2, 256<<10)
	for _, tt := range []struct {
		name string
		kept [][][]byte // one after the other
		want [][]byte
	}{
		{"nothing", nil, nil},
		{"several, in their order", [][][]byte{{[]byte("b"), []byte("a")}, {[]byte("c")}}, [][]byte{[]byte("b"), []byte("a"), []byte("c")}},
		{"one that is there already", [][][]byte{{[]byte("a"), []byte("b")}, {[]byte("a")}}, [][]byte{[]byte("a"), []byte("b")}},
		{"one that is too long, and another", [][][]byte{{make([]byte, refusals.MaxRefusal+1), []byte("a")}}, [][]byte{[]byte("a")}},
		{"one that is as long as may be", [][][]byte{{make([]byte, refusals.MaxRefusal)}}, [][]byte{make([]byte, refusals.MaxRefusal)}},
		{"too many: the oldest go", [][][]byte{many[:2], many[2:]}, many[3:]},
		{"too many bytes: the oldest go", [][][]byte{long}, long[2:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := refusals.New(recordtest.Book(t, recordtest.Store(t)), refusals.KeepRefused, enough)
			for _, r := range tt.kept {
				must(t, k.Keep(t.Context(), caller, "account", r))
			}
			got, err := k.Of(t.Context(), caller, "account")
			must(t, err)
			if !slices.EqualFunc(got, tt.want, bytes.Equal) {
				t.Errorf("%d are kept, want %d, or others are", len(got), len(tt.want))
			}
		})
	}
}

// A record has what one upstream has seen, on one account: nobody else gets it.
func TestRefusedCallsAreTheCallersOwn(t *testing.T) {
	t.Parallel()
	k := refusals.New(recordtest.Book(t, recordtest.Store(t)), refusals.KeepRefused, enough)
	must(t, k.Keep(t.Context(), caller, "account", [][]byte{[]byte("a")}))
	for name, change := range map[string]func(*record.Caller, *holdgate.Digest){
		"another account": func(_ *record.Caller, account *holdgate.Digest) { *account = "other" },
		"another agent":   func(c *record.Caller, _ *holdgate.Digest) { c.Agent.ID = "eve" },
		"its name alone":  func(c *record.Caller, _ *holdgate.Digest) { c.Agent.Proven = false },
		"another session": func(c *record.Caller, _ *holdgate.Digest) { c.Session.ID = "two" },
		"another door":    func(c *record.Caller, _ *holdgate.Digest) { c.Door = "openai" },
	} {
		who, account := caller, holdgate.Digest("account")
		change(&who, &account)
		if got := of(t, k, who, account); got != nil {
			t.Errorf("%s gets %q", name, got)
		}
	}
	if got := of(t, k, caller, "account"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the caller itself gets %q", got)
	}
}

func TestRefusedCallsAreSealedAndOutliveAProcess(t *testing.T) {
	t.Parallel()
	st := recordtest.Store(t)
	must(t, refusals.New(recordtest.Book(t, st), refusals.KeepRefused, enough).Keep(t.Context(), caller, "account", [][]byte{[]byte("rm -rf secret")}))
	must(t, st.View(t.Context(), func(tx store.Tx) error {
		for p, err := range tx.Scan("", "") {
			if err != nil {
				return err
			}
			if strings.Contains(p.Key+string(p.Value), "secret") {
				t.Errorf("%s can be read on the disk", p.Key)
			}
		}
		return nil
	}))
	later := refusals.New(recordtest.Book(t, st), refusals.KeepRefused, enough)
	must(t, st.View(t.Context(), later.TakeUp))
	if got := of(t, later, caller, "account"); !slices.Equal(got, []string{"rm -rf secret"}) {
		t.Errorf("the next process finds %q", got)
	}
}

func TestNoRefusedCallIsKeptWithoutSpace(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	k := refusals.New(recordtest.Book(t, recordtest.Store(t)), refusals.KeepRefused, func(bytes int64) error {
		if bytes > 3 {
			return full
		}
		return nil
	})
	must(t, k.Keep(t.Context(), caller, "account", [][]byte{[]byte("a"), []byte("bb")}))
	if err := k.Keep(t.Context(), caller, "account", [][]byte{[]byte("cc"), []byte("dd")}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if got := of(t, k, caller, "account"); !slices.Equal(got, []string{"a", "bb"}) {
		t.Errorf("kept are %q", got)
	}
}

func TestRefusedCallsAreForgottenInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := recordtest.Store(t)
		k := refusals.New(recordtest.Book(t, st), time.Hour, enough)
		must(t, k.Keep(t.Context(), caller, "account", records(150, 8)))
		time.Sleep(time.Hour - time.Second)
		must(t, k.Keep(t.Context(), caller, "account", [][]byte{[]byte("new")}))
		if got := of(t, k, caller, "account"); len(got) != 151 {
			t.Errorf("before their time %d are kept", len(got))
		}
		time.Sleep(2 * time.Second) // no two records are of one moment
		if got := of(t, k, caller, "account"); !slices.Equal(got, []string{"new"}) {
			t.Errorf("after it %d are kept", len(got))
		}
		must(t, k.Forget(t.Context()))
		left := 0
		must(t, st.View(t.Context(), func(tx store.Tx) error {
			for p, err := range tx.Scan("refused", "") {
				if err != nil {
					return err
				}
				if strings.HasPrefix(p.Key, "refused") {
					left++
				}
			}
			return nil
		}))
		if left != 2 { // the new one, and its place by time
			t.Errorf("the store has %d keys of refused calls", left)
		}
	})
}
