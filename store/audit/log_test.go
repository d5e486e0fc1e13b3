package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
	"github.com/holdgate/holdgate/store/badger"
)

var testKey = bytes.Repeat([]byte("k"), 32)

func openStore(t testing.TB, dir string) store.Store {
	t.Helper()
	st, err := badger.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return st
}

func openLog(t testing.TB, st store.Store) *audit.Log {
	t.Helper()
	l, err := audit.Open(t.Context(), st, testKey)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func entry(i int) audit.Entry {
	return audit.Entry{
		Type:      audit.TypeDecision,
		RequestID: fmt.Sprintf("r%d", i%3),
		Call:      &audit.Call{Kind: holdgate.KindToolCall, Tool: &audit.Tool{Name: "Bash"}, Agent: fmt.Sprintf("a%d", i%2), Session: "s"},
		Decision:  &audit.Decision{Action: holdgate.Allow, Rule: "base.read"},
		Input:     json.RawMessage(fmt.Sprintf(`{"n":%d,"command":"ls"}`, i)),
		Note:      "plain",
	}
}

// write appends n entries.
func write(t testing.TB, l *audit.Log, n int) {
	t.Helper()
	for i := range n {
		if _, err := l.Write(t.Context(), entry(i), false); err != nil {
			t.Fatal(err)
		}
	}
}

func export(t testing.TB, l *audit.Log) string {
	t.Helper()
	var b strings.Builder
	if err := l.Export(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAnEntryIsReadBackAsItWasReturned(t *testing.T) {
	dir := t.TempDir()
	st := openStore(t, dir)
	l := openLog(t, st)
	var want []audit.Entry
	for i := range 5 {
		e, err := l.Write(t.Context(), entry(i), i%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != uint64(i+1) || e.Time.IsZero() || len(e.Hash) != 64 || i > 0 && e.PrevHash != want[i-1].Hash {
			t.Errorf("entry %d was filled in as %+v", i, e)
		}
		want = append(want, e)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	l = openLog(t, openStore(t, dir))
	got, err := l.Query(t.Context(), audit.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the entries differ (-written +read):\n%s", d)
	}
	head, err := l.Head(t.Context())
	if last := want[4]; err != nil || head != (audit.Head{Seq: last.Seq, Hash: last.Hash}) {
		t.Errorf("the head is %v, %v; the last entry %d:%s", head, err, last.Seq, last.Hash)
	}
}

func TestAnEntryFallsWithItsTransaction(t *testing.T) {
	st := openStore(t, t.TempDir())
	l := openLog(t, st)
	undo := errors.New("undo")
	err := st.Update(t.Context(), func(tx store.Tx) error {
		if _, err := l.Append(tx, entry(0)); err != nil {
			return err
		}
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	if head, err := l.Head(t.Context()); head.Seq != 0 || err != nil {
		t.Errorf("the head is %v, %v", head, err)
	}
}

func TestManyWritersMakeOneChain(t *testing.T) {
	st := openStore(t, t.TempDir())
	l := openLog(t, st)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				err := st.Update(t.Context(), func(tx store.Tx) error {
					for range 1 + i%3 {
						if _, err := l.Append(tx, entry(i)); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	const want = 8 * (17 + 2*17 + 3*16)
	r, err := l.Verify(t.Context(), audit.VerifyOptions{})
	if err != nil || r.Entries != want {
		t.Errorf("got %d entries, %v; want %d", r.Entries, err, want)
	}
	if r, err := audit.Verify(strings.NewReader(export(t, l)), audit.VerifyOptions{Head: r.Last}); err != nil || r.Entries != want {
		t.Errorf("the export has %d entries, %v; want %d", r.Entries, err, want)
	}
}

func TestAnInputThatTwoParsersCouldReadDifferentlyIsRefused(t *testing.T) {
	l := openLog(t, openStore(t, t.TempDir()))
	for _, in := range []string{`{"a":1,"a":2}`, `{`, "\"\xff\"", `1 2`} {
		e := entry(0)
		e.Input = json.RawMessage(in)
		if _, err := l.Write(t.Context(), e, false); err == nil {
			t.Errorf("%q was taken", in)
		}
	}
}

func TestQuerySelects(t *testing.T) {
	l := openLog(t, openStore(t, t.TempDir()))
	l.As("gateway-0")
	write(t, l, 11)
	l.As("gateway-1")
	if _, err := l.Write(t.Context(), entry(12), true); err != nil {
		t.Fatal(err)
	}
	var export strings.Builder
	if err := l.Export(t.Context(), &export); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		q    audit.Query
		want []uint64
	}{
		"one request":               {audit.Query{RequestID: "r1"}, []uint64{2, 5, 8, 11}},
		"one agent of one request":  {audit.Query{RequestID: "r1", Agent: "a0"}, []uint64{5, 11}},
		"one member":                {audit.Query{Member: "gateway-1"}, []uint64{12}},
		"from a number on":          {audit.Query{From: 11}, []uint64{11, 12}},
		"no more than a limit":      {audit.Query{Agent: "a1", Limit: 2}, []uint64{2, 4}},
		"a type that nothing has":   {audit.Query{Type: audit.TypeUsed}, nil},
		"a session that all have":   {audit.Query{Session: "s", Limit: 1}, []uint64{1}},
		"an exchange nobody was in": {audit.Query{Exchange: "x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := l.Query(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			var got, exported []uint64
			for _, e := range list {
				got = append(got, e.Seq)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if err := audit.Select(t.Context(), strings.NewReader(export.String()), c.q, func(e audit.Entry) error {
				exported = append(exported, e.Seq)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, exported); d != "" {
				t.Errorf("of the exported log: %s", d)
			}
		})
	}
}

// However a name is spelled in JSON, its entries are found, and no others.
func TestQueryFindsNamesOfEveryKind(t *testing.T) {
	l := openLog(t, openStore(t, t.TempDir()))
	names := []string{"plain", "with blanks", `"quoted"`, `back\slash`, "a<b>&c", "Überprüfung", "\u2028", "tab\there", "a/b", "\x7f", "lain", "plain2"}
	for i, name := range names {
		e := entry(i)
		e.Call.Session = name
		if _, err := l.Write(t.Context(), e, false); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range names {
		list, err := l.Query(t.Context(), audit.Query{Session: name})
		if err != nil || len(list) != 1 || list[0].Seq != uint64(i+1) {
			t.Errorf("%q: %d entries (%v), want the one numbered %d", name, len(list), err, i+1)
		}
	}
}

func TestALogThatIsReadOnlyTakesNothing(t *testing.T) {
	l, err := audit.OpenReadOnly(openStore(t, t.TempDir()), testKey)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write(t.Context(), entry(0), true); err == nil {
		t.Error("an entry was taken")
	}
}

func BenchmarkAppend(b *testing.B) {
	plain := entry(0)
	plain.Input = nil
	sorted := entry(0)
	sorted.Input = json.RawMessage(`{"command":"` + strings.Repeat("x", 2000) + `","n":1}`)
	unsorted := entry(0)
	unsorted.Input = json.RawMessage(`{"n":1,"command":"` + strings.Repeat("x", 2000) + `"}`)
	for _, c := range []struct {
		name string
		e    audit.Entry
	}{{"plain", plain}, {"2k-input-sorted", sorted}, {"2k-input-unsorted", unsorted}} {
		b.Run(c.name, func(b *testing.B) {
			st := openStore(b, b.TempDir())
			l := openLog(b, st)
			b.ReportAllocs()
			b.ResetTimer()
			for left := b.N; left > 0; left -= 500 { // 500 in one transaction: what Append itself costs
				err := st.UpdateSoon(context.Background(), func(tx store.Tx) error {
					for range min(left, 500) {
						if _, err := l.Append(tx, c.e); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("plain-write-soon", func(b *testing.B) {
		l := openLog(b, openStore(b, b.TempDir()))
		b.ResetTimer()
		for range b.N {
			if _, err := l.Write(context.Background(), plain, false); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Whoever follows the log hears of what is in it, once, and of nothing that is not.
func TestWhoFollowsHearsOfWhatWasWritten(t *testing.T) {
	st := openStore(t, t.TempDir())
	l := openLog(t, st)
	var heard []uint64
	l.Follow(func(e audit.Entry) { heard = append(heard, e.Seq) })
	write(t, l, 2)
	undone := errors.New("undone")
	err := st.Update(t.Context(), func(tx store.Tx) error {
		_, err := l.Append(tx, entry(9))
		return errors.Join(err, undone)
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	write(t, l, 1)
	if diff := cmp.Diff([]uint64{1, 2, 3}, heard); diff != "" {
		t.Errorf("heard of (-want +got):\n%s", diff)
	}
}

// At is where the entries of a time begin.
func TestWhereATimeBegins(t *testing.T) {
	l := openLog(t, openStore(t, t.TempDir()))
	if at, err := l.At(t.Context(), time.Now()); at != 0 || err != nil {
		t.Errorf("of an empty log: %d, %v", at, err)
	}
	write(t, l, 20)
	all, err := l.Query(t.Context(), audit.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		at, err := l.At(t.Context(), e.Time)
		list, _ := l.Query(t.Context(), audit.Query{From: at, Limit: 1})
		if err != nil || len(list) != 1 || !list[0].Time.Equal(e.Time) {
			t.Errorf("entry %d is found at %d: %v, %v", e.Seq, at, list, err)
		}
	}
	if at, err := l.At(t.Context(), all[19].Time.Add(time.Hour)); at < 20 || err != nil {
		t.Errorf("after the last: %d, %v", at, err)
	}
}

func TestQueryFindsWhatObserveModeWouldHaveHeld(t *testing.T) {
	l := openLog(t, openStore(t, t.TempDir()))
	hold := holdgate.Hold
	for _, d := range []audit.Decision{{Action: holdgate.Allow, Would: &hold}, {Action: holdgate.Allow}, {Action: holdgate.Hold}} {
		e := entry(0)
		e.Decision = &d
		if _, err := l.Write(t.Context(), e, false); err != nil {
			t.Fatal(err)
		}
	}
	for action, want := range map[string]int{"hold": 2, "allow": 2, "deny": 0} {
		got, err := l.Query(t.Context(), audit.Query{Action: action})
		if err != nil || len(got) != want {
			t.Errorf("--action %s finds %d entries, want %d (%v)", action, len(got), want, err)
		}
	}
}
