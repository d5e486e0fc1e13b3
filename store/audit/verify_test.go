package audit_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdgate/holdgate"
	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

// rehash gives a line the hash of its content, as somebody does who covers
// up a change.
func rehash(t *testing.T, line, prev string) (string, string) {
	t.Helper()
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	delete(m, "hash")
	m["prev_hash"] = prev
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = holdgate.Canonical(b); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	m["hash"] = hex.EncodeToString(sum[:])
	if b, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return string(b), m["hash"].(string)
}

// rewrite makes a whole chain of the lines from index i on.
func rewrite(t *testing.T, lines []string, i int) {
	t.Helper()
	for prev := hashIn(t, lines[i-1]); i < len(lines); i++ {
		lines[i], prev = rehash(t, lines[i], prev)
	}
}

func hashIn(t *testing.T, line string) string {
	t.Helper()
	var m struct{ Hash string }
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	return m.Hash
}

// tampering is a way to change the lines of a log of ten entries.
type tampering struct {
	name string
	do   func(t *testing.T, lines []string) []string
	seq  uint64 // the entry that Verify must name; 0 where the export alone can't show it
	what string // part of what it must say
	head uint64 // the entry named where the true head is given too; 0 for seq
}

var tamperings = []tampering{
	{name: "a changed field", seq: 4, what: "changed", do: func(t *testing.T, l []string) []string {
		l[3] = strings.Replace(l[3], "plain", "fancy", 1)
		return l
	}},
	{name: "a changed field, hash recomputed", seq: 5, what: "replaced", do: func(t *testing.T, l []string) []string {
		l[3], _ = rehash(t, strings.Replace(l[3], "plain", "fancy", 1), hashIn(t, l[2]))
		return l
	}},
	{name: "a field added", seq: 4, what: "changed", do: func(t *testing.T, l []string) []string {
		l[3] = strings.Replace(l[3], `{`, `{"approved":true,`, 1)
		return l
	}},
	{name: "a key twice", seq: 4, what: "every key once", do: func(t *testing.T, l []string) []string {
		l[3] = strings.Replace(l[3], `{"call"`, `{"note":"fancy","call"`, 1)
		return l
	}},
	{name: "a key twice deep inside", seq: 4, what: "every key once", do: func(t *testing.T, l []string) []string {
		l[3] = strings.Replace(l[3], `"command":"ls"`, `"command":"ls","command":"rm"`, 1)
		return l
	}},
	{name: "a missing middle", seq: 4, what: "missing: entry 6", do: func(t *testing.T, l []string) []string {
		return slices.Delete(l, 3, 5)
	}},
	{name: "a missing beginning", seq: 1, what: "missing: entry 3", do: func(t *testing.T, l []string) []string {
		return l[2:]
	}},
	{name: "two swapped", seq: 4, what: "missing: entry 5", do: func(t *testing.T, l []string) []string {
		l[3], l[4] = l[4], l[3]
		return l
	}},
	{name: "one inserted twice", seq: 4, what: "moved or inserted", do: func(t *testing.T, l []string) []string {
		return slices.Insert(l, 4, l[3])
	}},
	{name: "one of another log inserted", seq: 5, what: "does not continue", do: func(t *testing.T, l []string) []string {
		l[4], _ = rehash(t, l[4], strings.Repeat("0", 64))
		return l
	}},
	{name: "an injected newline", seq: 4, what: "not one JSON value", do: func(t *testing.T, l []string) []string {
		l[3] = strings.Replace(l[3], `"door"`, "\n"+`"door"`, 1)
		l[3] = strings.Replace(l[3], `,"input"`, ",\n"+`"input"`, 1)
		return l
	}},
	{name: "an empty line", seq: 4, what: "not one JSON value", do: func(t *testing.T, l []string) []string {
		return slices.Insert(l, 3, "")
	}},
	{name: "two entries in a line", seq: 4, what: "not one JSON value", do: func(t *testing.T, l []string) []string {
		return slices.Replace(l, 3, 5, l[3]+l[4])
	}},
	{name: "half a line at the end", seq: 10, what: "not one JSON value", do: func(t *testing.T, l []string) []string {
		l[9] = l[9][:len(l[9])/2]
		return l
	}},
	{name: "a cut tail", head: 8, what: "missing: the log ends here", do: func(t *testing.T, l []string) []string {
		return l[:7]
	}},
	{name: "everything cut", head: 1, what: "missing: the log ends here", do: func(t *testing.T, l []string) []string {
		return nil
	}},
	{name: "rewritten with recomputed hashes", head: 10, what: "rewritten", do: func(t *testing.T, l []string) []string {
		l[3] = strings.Replace(l[3], "plain", "fancy", 1)
		rewrite(t, l, 3)
		return l
	}},
	{name: "rewritten without an entry", head: 10, what: "missing: the log ends here", do: func(t *testing.T, l []string) []string {
		l = slices.Delete(l, 3, 4)
		for i := 3; i < len(l); i++ {
			var m map[string]any
			if err := json.Unmarshal([]byte(l[i]), &m); err != nil {
				t.Fatal(err)
			}
			m["seq"] = i + 1
			b, _ := json.Marshal(m)
			l[i] = string(b)
		}
		rewrite(t, l, 3)
		return l
	}},
}

func TestTamperingWithAnExportShows(t *testing.T) {
	l := openLog(t, openStore(t, t.TempDir()))
	write(t, l, 10)
	head, err := l.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	whole := export(t, l)
	if r, err := audit.Verify(strings.NewReader(whole), audit.VerifyOptions{Head: head}); err != nil || r.Entries != 10 || r.Last != head {
		t.Fatalf("untouched: %+v, %v", r, err)
	}
	for _, c := range tamperings {
		t.Run(c.name, func(t *testing.T) {
			lines := c.do(t, strings.Split(strings.TrimSuffix(whole, "\n"), "\n"))
			text := strings.Join(lines, "\n")
			_, err := audit.Verify(strings.NewReader(text), audit.VerifyOptions{})
			if c.seq == 0 && err != nil {
				t.Errorf("without a head: %v", err)
			}
			if c.seq != 0 {
				checkFault(t, err, c.seq, c.what)
			}
			_, err = audit.Verify(strings.NewReader(text), audit.VerifyOptions{Head: head})
			checkFault(t, err, max(c.seq, c.head), c.what)
		})
	}
}

func checkFault(t *testing.T, err error, seq uint64, what string) {
	t.Helper()
	f, ok := errors.AsType[*audit.Fault](err)
	if !ok || f.Seq != seq || !strings.Contains(f.What, what) {
		t.Errorf("got %v, want a fault at entry %d that says %q", err, seq, what)
	}
}

// The same lines put into the store show too, and there a cut tail and a
// rewritten chain show without a head from elsewhere.
func TestTamperingWithTheStoreShows(t *testing.T) {
	for _, c := range tamperings {
		t.Run(c.name, func(t *testing.T) {
			st := openStore(t, t.TempDir())
			l := openLog(t, st)
			write(t, l, 10)
			lines := c.do(t, strings.Split(strings.TrimSuffix(export(t, l), "\n"), "\n"))
			err := st.Update(t.Context(), func(tx store.Tx) error {
				for p, err := range tx.Scan("audit/", "") {
					if err != nil {
						return err
					}
					if err := tx.Delete(p.Key); err != nil {
						return err
					}
				}
				for i, line := range lines {
					if err := tx.Set("audit/"+store.Seq(uint64(i+1)), []byte(line)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Verify(t.Context(), audit.VerifyOptions{}); err == nil {
				// A newline within an entry changes nothing where entries are
				// not told apart by lines.
				if c.name != "an injected newline" {
					t.Error("nothing was found")
				}
			} else if f, ok := errors.AsType[*audit.Fault](err); !ok || f.Seq != max(c.seq, c.head) {
				t.Errorf("got %v, want a fault at entry %d", err, max(c.seq, c.head))
			}
		})
	}
}

// An entry that stands where another belongs, or behind the head, is named.
func TestAnEntryInAnotherPlaceShows(t *testing.T) {
	for _, c := range []struct {
		name, says string
		seq        uint64
		do         func(tx store.Tx, last string) error
	}{
		{"under another number", "stored in the wrong place", 10, func(tx store.Tx, last string) error {
			return errors.Join(tx.Delete("audit/"+store.Seq(10)), tx.Set("audit/"+store.Seq(11), []byte(last)))
		}},
		{"behind the head", "stands after the head", 11, func(tx store.Tx, last string) error {
			var err error
			for n := 11; n <= 12; n++ {
				next := strings.Replace(last, fmt.Sprintf(`"seq":%d`, n-1), fmt.Sprintf(`"seq":%d`, n), 1)
				last, _ = rehash(t, next, hashIn(t, last))
				err = errors.Join(err, tx.Set("audit/"+store.Seq(uint64(n)), []byte(last)))
			}
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := openStore(t, t.TempDir())
			l := openLog(t, st)
			write(t, l, 10)
			lines := strings.Split(strings.TrimSuffix(export(t, l), "\n"), "\n")
			if err := st.Update(t.Context(), func(tx store.Tx) error { return c.do(tx, lines[9]) }); err != nil {
				t.Fatal(err)
			}
			_, err := l.Verify(t.Context(), audit.VerifyOptions{})
			checkFault(t, err, c.seq, c.says)
		})
	}
}

// What a log has sealed itself is not checked by its signature again; anything
// else is.
func TestAHeadThatWasNotSealedIsNotBuiltUpon(t *testing.T) {
	for name, head := range map[string]string{"an empty one": "", "one made up": audit.Head{Seq: 3, Hash: strings.Repeat("a", 64)}.String() + ":" + strings.Repeat("0", 64)} {
		t.Run(name, func(t *testing.T) {
			st := openStore(t, t.TempDir())
			l := openLog(t, st)
			for _, n := range []int{0, 3} {
				write(t, l, n)
				if err := st.Update(t.Context(), func(tx store.Tx) error { return tx.Set("audit-head", []byte(head)) }); err != nil {
					t.Fatal(err)
				}
				if _, err := l.Write(t.Context(), entry(0), false); err == nil {
					t.Errorf("after %d entries: an entry was appended", n)
				}
				if err := st.Update(t.Context(), func(tx store.Tx) error { return tx.Delete("audit-head") }); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestALogWhoseEndDoesNotAgreeWithItsHeadIsNotOpened(t *testing.T) {
	key := func(n uint64) string { return "audit/" + store.Seq(n) }
	for name, tamper := range map[string]func(tx store.Tx) error{
		"the last entry is gone":  func(tx store.Tx) error { return tx.Delete(key(10)) },
		"the head is gone":        func(tx store.Tx) error { return tx.Delete("audit-head") },
		"an entry comes after it": func(tx store.Tx) error { return tx.Set(key(11), []byte("{}")) },
		"the last entry changed": func(tx store.Tx) error {
			b, err := tx.Get(key(10))
			return errors.Join(err, tx.Set(key(10), []byte(strings.Replace(string(b), "plain", "fancy", 1))))
		},
		"the head is made up": func(tx store.Tx) error {
			b, err := tx.Get(key(9))
			if err != nil {
				return err
			}
			var e audit.Entry
			if err := json.Unmarshal(b, &e); err != nil {
				return err
			}
			head := audit.Head{Seq: 9, Hash: e.Hash}.String() + ":" + strings.Repeat("0", 64)
			return errors.Join(tx.Delete(key(10)), tx.Set("audit-head", []byte(head)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := openStore(t, t.TempDir())
			write(t, openLog(t, st), 10)
			if err := st.Update(t.Context(), tamper); err != nil {
				t.Fatal(err)
			}
			_, err := audit.Open(t.Context(), st, testKey)
			if _, ok := errors.AsType[*audit.Fault](err); !ok {
				t.Errorf("got %v, want a fault", err)
			}
		})
	}
}

func TestAHeadOfAnotherKeyIsNotTaken(t *testing.T) {
	st := openStore(t, t.TempDir())
	write(t, openLog(t, st), 1)
	other := []byte(strings.Repeat("o", 32))
	if _, err := audit.Open(t.Context(), st, other); err == nil {
		t.Error("the log was opened with another key")
	}
	if _, err := audit.OpenReadOnly(st, other[1:]); err == nil {
		t.Error("a short key was taken")
	}
}

func FuzzVerify(f *testing.F) {
	l := openLog(f, openStore(f, f.TempDir()))
	write(f, l, 3)
	head, err := l.Head(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	whole := export(f, l)
	f.Add(whole)
	f.Add("")
	f.Add("{}\n")
	f.Add(strings.Replace(whole, "plain", `pl\u0061in`, 1))
	// Whatever passes for the log with its head says the same as the log.
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := audit.Verify(strings.NewReader(text), audit.VerifyOptions{Head: head}); err != nil {
			return
		}
		got, want := strings.Split(text, "\n"), strings.Split(whole, "\n")
		for i := range head.Seq {
			a, errA := holdgate.Canonical([]byte(got[i]))
			b, errB := holdgate.Canonical([]byte(want[i]))
			if errA != nil || errB != nil || string(a) != string(b) {
				t.Errorf("line %d passes as %q, was %q", i+1, got[i], want[i])
			}
		}
	})
}
