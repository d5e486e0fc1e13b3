package audit_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdgate/holdgate/store"
	"github.com/holdgate/holdgate/store/audit"
)

func signer(t testing.TB) (*audit.Signer, note.Verifier) {
	t.Helper()
	return signerOf(t, bytes.Repeat([]byte("s"), 32))
}

// passing is a signer of this process alone: the processes of a fuzzer have logs
// of their own, with times of their own, and share the inputs.
func passing(t testing.TB) (*audit.Signer, note.Verifier) {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return signerOf(t, key)
}

func signerOf(t testing.TB, key []byte) (*audit.Signer, note.Verifier) {
	t.Helper()
	s, err := audit.NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(s.Public())
	if err != nil {
		t.Fatal(err)
	}
	return s, v
}

// writeMany appends n entries in few transactions.
func writeMany(t testing.TB, st store.Store, l *audit.Log, n int) {
	t.Helper()
	for n > 0 {
		some := min(n, 1000)
		err := st.UpdateSoon(t.Context(), func(tx store.Tx) error {
			for i := range some {
				if _, err := l.Append(tx, entry(i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		n -= some
	}
}

func checkpoint(t testing.TB, l *audit.Log, size uint64) audit.Checkpoint {
	t.Helper()
	s, v := signer(t)
	c, err := l.Checkpoint(t.Context(), s, size)
	if err != nil {
		t.Fatal(err)
	}
	if read, err := audit.OpenCheckpoint(c.Text, v); err != nil || read != c {
		t.Fatalf("read back it is %+v, %v; was %+v", read, err, c)
	}
	return c
}

func raw(hashes []tlog.Hash) (out [][]byte) {
	for _, h := range hashes {
		out = append(out, h[:])
	}
	return out
}

// Proofs are right by our own check and by another implementation, and wrong in
// both once anything is changed.
func TestProofsVerifyWithAnotherImplementation(t *testing.T) {
	st := openStore(t, t.TempDir())
	l := openLog(t, st)
	writeMany(t, st, l, 700)
	s, v := signer(t)
	for _, size := range []uint64{1, 2, 255, 256, 257, 512, 699, 700} {
		c := checkpoint(t, l, size)
		for _, seq := range []uint64{1, 2, 255, 256, 257, 511, 700} {
			p, err := l.Inclusion(t.Context(), s, seq, size)
			if seq > size {
				if !errors.Is(err, audit.ErrNoSuchEntry) {
					t.Errorf("entry %d of %d: %v", seq, size, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			sum, _ := hex.DecodeString(p.Hash)
			if err := proof.VerifyInclusion(rfc6962.DefaultHasher, seq-1, size, rfc6962.DefaultHasher.HashLeaf(sum), raw(p.Hashes), c.Root[:]); err != nil {
				t.Errorf("entry %d of %d: %v", seq, size, err)
			}
			if got, err := p.Check(v); err != nil || got.Size != size {
				t.Errorf("entry %d of %d: %v", seq, size, err)
			}
			changed := p
			changed.Entry = bytes.Replace(p.Entry, []byte("plain"), []byte("fancy"), 1)
			if _, err := changed.Check(v); err == nil {
				t.Errorf("entry %d: a changed entry passes", seq)
			}
			changed = p
			changed.Seq = seq%size + 1
			if _, err := changed.Check(v); err == nil && size > 1 {
				t.Errorf("entry %d: it passes for another", seq)
			}
			from := seq
			q, err := l.Consistency(t.Context(), s, from, size)
			if err != nil {
				t.Fatal(err)
			}
			old := checkpoint(t, l, from)
			if err := proof.VerifyConsistency(rfc6962.DefaultHasher, from, size, raw(q.Hashes), old.Root[:], c.Root[:]); err != nil {
				t.Errorf("from %d to %d: %v", from, size, err)
			}
			if _, err := q.Check(v, old); err != nil {
				t.Errorf("from %d to %d: %v", from, size, err)
			}
			old.Root[0] ^= 1
			if _, err := q.Check(v, old); err == nil {
				t.Errorf("from %d to %d: another log passes for the earlier", from, size)
			}
		}
	}
}

// An export is held against checkpoints with the public key alone.
func TestTamperingShowsAgainstACheckpoint(t *testing.T) {
	l := openLog(t, openStore(t, t.TempDir()))
	write(t, l, 10)
	whole := export(t, l)
	noted := []audit.Checkpoint{checkpoint(t, l, 10), checkpoint(t, l, 2)}
	o := audit.VerifyOptions{Checkpoints: noted}
	if r, err := audit.Verify(strings.NewReader(whole), o); err != nil || r.Root != noted[0].Root {
		t.Fatalf("untouched: %+v, %v", r, err)
	}
	for _, c := range tamperings {
		t.Run(c.name, func(t *testing.T) {
			lines := c.do(t, strings.Split(strings.TrimSuffix(whole, "\n"), "\n"))
			_, err := audit.Verify(strings.NewReader(strings.Join(lines, "\n")), o)
			f, ok := errors.AsType[*audit.Fault](err)
			if !ok {
				t.Fatalf("got %v, want a fault", err)
			}
			if c.name == "rewritten with recomputed hashes" && (f.Seq != 3 || !strings.Contains(f.What, "rewritten: it or one up to 10")) {
				t.Errorf("got %v, which does not say that entries 3 to 10 were rewritten", f)
			}
		})
	}
}

// What was written without a tree has one as soon as it is opened; entries go on
// from there.
func TestALogWithoutATreeIsCarriedOn(t *testing.T) {
	st := openStore(t, t.TempDir())
	l := openLog(t, st)
	writeMany(t, st, l, 900)
	want := checkpoint(t, l, 0)
	err := st.Update(t.Context(), func(tx store.Tx) error {
		for p, err := range tx.Scan("audit-tile/", "") {
			if err := errors.Join(err, tx.Delete(p.Key)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ro, err := audit.OpenReadOnly(st, testKey)
	if err != nil {
		t.Fatal(err)
	}
	if got := checkpoint(t, ro, 900); got != want {
		t.Errorf("read only, the checkpoint is %+v, want %+v", got, want)
	}
	l = openLog(t, st)
	writeMany(t, st, l, 200)
	if got := checkpoint(t, l, 900); got != want {
		t.Errorf("carried on, the checkpoint is %+v, want %+v", got, want)
	}
	if _, err := l.Verify(t.Context(), audit.VerifyOptions{Checkpoints: []audit.Checkpoint{want}}); err != nil {
		t.Error(err)
	}
}

// A changed tile of the stored tree is found.
func TestAChangedTreeShows(t *testing.T) {
	st := openStore(t, t.TempDir())
	l := openLog(t, st)
	writeMany(t, st, l, 600)
	for _, key := range []string{"audit-tile/0/" + store.Seq(1), "audit-tile/1/" + store.Seq(0)} {
		change := func() {
			t.Helper()
			err := st.Update(t.Context(), func(tx store.Tx) error {
				b, err := tx.Get(key)
				if err != nil {
					return err
				}
				b[40] ^= 1
				return tx.Set(key, b)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		change()
		if _, err := l.Verify(t.Context(), audit.VerifyOptions{}); err == nil || !strings.Contains(err.Error(), "tree") {
			t.Errorf("%s: got %v", key, err)
		}
		change()
	}
}

// What retention drops leaves all hashes and proofs, and the log says so.
func TestDroppedEntriesStayProven(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t, dir)
		l := openLog(t, st)
		writeMany(t, st, l, 600)
		time.Sleep(2 * time.Hour)
		writeMany(t, st, l, 400)
		before := checkpoint(t, l, 0)
		whole := export(t, l)
		s, v := signer(t)

		n, err := l.Drop(t.Context(), audit.Keep{For: time.Hour})
		if err != nil || n != 512 {
			t.Fatalf("dropped %d, %v; want 512", n, err)
		}
		if n, err := l.Drop(t.Context(), audit.Keep{For: time.Hour, Bytes: 1 << 30}); err != nil || n != 0 {
			t.Errorf("then %d, %v", n, err)
		}
		l = openLog(t, st)
		list, err := l.Query(t.Context(), audit.Query{})
		if err != nil || list[0].Seq != 513 || list[len(list)-1].Type != audit.TypeRetention || list[len(list)-1].Dropped != 512 {
			t.Errorf("there are the entries from %d on, %v", list[0].Seq, err)
		}
		o := audit.VerifyOptions{Checkpoints: []audit.Checkpoint{before, checkpoint(t, l, 0), checkpoint(t, l, 100)}}
		left := export(t, l)
		if r, err := audit.Verify(strings.NewReader(left), o); err != nil || r.Entries != 1001 || r.Dropped != 512 {
			t.Errorf("the export: %+v, %v", r, err)
		}
		if r, err := l.Verify(t.Context(), o); err != nil || r.Dropped != 512 {
			t.Errorf("the log: %+v, %v", r, err)
		}
		p, err := l.Inclusion(t.Context(), s, 7, 0)
		if err != nil || p.Entry != nil {
			t.Fatalf("got %v", err)
		}
		if _, err := p.Check(v); err != nil {
			t.Error(err)
		}
		// Whoever has the entry from before proves it by that.
		p.Entry = json.RawMessage(strings.Split(whole, "\n")[6])
		if _, err := p.Check(v); err != nil {
			t.Error(err)
		}

		// Somebody else drops more, or without a word.
		lines := strings.Split(strings.TrimSuffix(left, "\n"), "\n")
		unsaid := strings.Join(lines[:len(lines)-1], "\n")
		_, err = audit.Verify(strings.NewReader(unsaid), audit.VerifyOptions{})
		checkFault(t, err, 1, "no entry says that they were dropped")
		_, err = audit.Verify(strings.NewReader(strings.Replace(left, `"from":257`, `"from":256`, 1)), audit.VerifyOptions{})
		checkFault(t, err, 257, "missing")
		_, err = audit.Verify(strings.NewReader(lines[2]+"\n"+lines[0]), audit.VerifyOptions{})
		if err == nil {
			t.Error("hashes behind entries pass")
		}
		if n, err := l.Drop(t.Context(), audit.Keep{Bytes: 1}); err != nil || n != 0 {
			t.Errorf("of the newest %d were dropped, %v", n, err)
		}
		writeMany(t, st, l, 600)
		if n, err := l.Drop(t.Context(), audit.Keep{Bytes: 1}); err != nil || n != 768 {
			t.Errorf("by size %d were dropped, %v; want 768", n, err)
		}
		if _, err := l.Verify(t.Context(), o); err != nil {
			t.Error(err)
		}
	})
}

// Hashes that stand for entries are held against a given head as entries are, come
// first alone, and are accounted for by retention alone.
func TestWhatHashesStandFor(t *testing.T) {
	st := openStore(t, t.TempDir())
	l := openLog(t, st)
	writeMany(t, st, l, 800)
	whole := strings.Split(export(t, l), "\n")
	if n, err := l.Drop(t.Context(), audit.Keep{Bytes: 1}); err != nil || n != 512 {
		t.Fatalf("dropped %d, %v; want 512", n, err)
	}
	left := strings.Split(strings.TrimSuffix(export(t, l), "\n"), "\n")
	verify := func(lines []string, head audit.Head) error {
		_, err := audit.Verify(strings.NewReader(strings.Join(lines, "\n")), audit.VerifyOptions{Head: head})
		return err
	}

	seventh := audit.Head{Seq: 7, Hash: hashIn(t, whole[6])}
	_, err := l.Verify(t.Context(), audit.VerifyOptions{Head: seventh})
	if err := errors.Join(err, verify(left, seventh)); err != nil {
		t.Errorf("its head was once the seventh: %v", err)
	}
	seventh.Hash = hashIn(t, whole[7])
	checkFault(t, verify(left, seventh), 7, "given head")
	_, err = l.Verify(t.Context(), audit.VerifyOptions{Head: seventh})
	checkFault(t, err, 7, "given head")

	hole := slices.Concat(whole[:256], left[1:])
	checkFault(t, verify(hole, audit.Head{}), 257, "missing: hashes of entries from 257")

	last := len(left) - 1
	said, _ := rehash(t, strings.Replace(left[last], `"retention"`, `"call"`, 1), hashIn(t, left[last-1]))
	if said == left[last] {
		t.Fatal("the last entry is not of retention")
	}
	checkFault(t, verify(append(left[:last:last], said), audit.Head{}), 1, "no entry says that they were dropped")
}

func TestCheckpointsThatAreNone(t *testing.T) {
	l := openLog(t, openStore(t, t.TempDir()))
	write(t, l, 3)
	_, v := signer(t)
	c := checkpoint(t, l, 0)
	if list, err := audit.OpenCheckpoints(c.Text+"\n"+c.Text+c.Text, v); err != nil || len(list) != 3 || list[1] != c {
		t.Errorf("three of them: %d, %v", len(list), err)
	}
	for name, text := range map[string]string{
		"nothing":           "",
		"another size":      strings.Replace(c.Text, "\n3\n", "\n4\n", 1),
		"no signature":      c.Text[:strings.Index(c.Text, "\n\n")+2],
		"half of it":        c.Text[:len(c.Text)-5],
		"an escape":         strings.Replace(c.Text, "\n3\n", "\n\x1b[2K3\n", 1),
		"a carriage return": strings.ReplaceAll(c.Text, "\n", "\r\n"),
		"one and a half":    c.Text + c.Text[:20],
	} {
		if _, err := audit.OpenCheckpoints(text, v); err == nil {
			t.Errorf("%s is taken for a checkpoint", name)
		}
	}
	other, err := audit.NewSigner(bytes.Repeat([]byte("o"), 32))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.Checkpoint(t.Context(), other, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := audit.OpenCheckpoint(theirs.Text, v); err == nil {
		t.Error("a checkpoint of another key is taken")
	}
}

// Only what was signed is ever read from a checkpoint.
func FuzzOpenCheckpoints(f *testing.F) {
	l := openLog(f, openStore(f, f.TempDir()))
	write(f, l, 3)
	s, v := passing(f)
	c, err := l.Checkpoint(f.Context(), s, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(c.Text)
	f.Add(c.Text + "\n" + c.Text)
	f.Add("\n\n— x y\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := audit.OpenCheckpoints(text, v)
		for _, got := range list {
			if got.Size != c.Size || got.Root != c.Root || got.Origin != c.Origin {
				t.Errorf("read %+v, which nobody signed (%v)", got, err)
			}
		}
	})
}

func FuzzParseProof(f *testing.F) {
	st := openStore(f, f.TempDir())
	l := openLog(f, st)
	writeMany(f, st, l, 20)
	s, v := passing(f)
	p, err := l.Inclusion(f.Context(), s, 7, 0)
	if err != nil {
		f.Fatal(err)
	}
	q, err := l.Consistency(f.Context(), s, 7, 0)
	if err != nil {
		f.Fatal(err)
	}
	for _, x := range []any{p, q} {
		b, err := json.Marshal(x)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"hashes":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := audit.ParseProof(text)
		if err != nil {
			return
		}
		got, ok := x.(audit.Inclusion)
		if !ok {
			return
		}
		if _, err := got.Check(v); err == nil && got.Seq == p.Seq && got.Hash != p.Hash {
			t.Errorf("another entry passes for number 7: %s", got.Hash)
		}
	})
}
