package wal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func openTest(t testing.TB, dir string) *Log {
	t.Helper()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// started opens a log and starts it at 1.
func started(t testing.TB, dir string) *Log {
	t.Helper()
	l := openTest(t, dir)
	must(t, l.Start(1))
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *Log) mustAppend(t testing.TB, payload string) {
	t.Helper()
	must(t, l.Append(append(Begin(nil), payload...)))
}

// read closes the log, opens the folder anew and returns what it holds as
// number:payload, long payloads by their length.
func read(t testing.TB, l *Log) (all []string, err error) {
	t.Helper()
	dir := l.dir
	must(t, l.Close())
	again, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer again.Close()
	for r, err := range again.Records() {
		if err != nil {
			return all, err
		}
		s := string(r.Payload)
		if len(s) > 20 {
			s = fmt.Sprint(len(s))
		}
		all = append(all, fmt.Sprintf("%d:%s", r.Number, s))
	}
	return all, nil
}

func wantRead(t testing.TB, l *Log, want ...string) {
	t.Helper()
	if got, err := read(t, l); err != nil || !slices.Equal(got, want) {
		t.Errorf("read %q, %v; want %q", got, err, want)
	}
}

func TestWhatWasAppendedIsRead(t *testing.T) {
	l := started(t, t.TempDir())
	for _, p := range []string{"a", "", "ccccccccc"} {
		l.mustAppend(t, p)
	}
	must(t, l.Sync())
	wantRead(t, l, "1:a", "2:", "3:ccccccccc")
}

func TestNothingIsReadOfALogThatWasStartedAnew(t *testing.T) {
	dir := t.TempDir()
	l := started(t, dir)
	l.mustAppend(t, "old 1")
	l.mustAppend(t, "old 2")
	l.mustAppend(t, "old 3")
	must(t, l.Start(4))
	wantRead(t, l)

	// The file is used again, and what it still holds is not taken for new.
	l = openTest(t, dir)
	must(t, l.Start(2))
	l.mustAppend(t, "new 2")
	if names, _ := filepath.Glob(filepath.Join(dir, "*.wal")); len(names) != 1 {
		t.Errorf("there are the files %q, want one", names)
	}
	wantRead(t, l, "2:new 2")
}

// After a power cut a number may be given a second time. What an earlier use of
// the file holds under the next number, just where the next record would be, is
// not taken for it.
func TestARecordOfAnEarlierUseIsNotTakenForTheNext(t *testing.T) {
	l := started(t, t.TempDir())
	for _, p := range []string{"old 1", "old 2", "old 3"} {
		l.mustAppend(t, p)
	}
	must(t, l.Start(1))
	l.mustAppend(t, "new 1")
	wantRead(t, l, "1:new 1")
}

// Segments are cut, released from the oldest on, and used again.
func TestSegmentsAreReleasedAndUsedAgain(t *testing.T) {
	dir := t.TempDir()
	l := started(t, dir)
	big := strings.Repeat("x", SegmentSize/2)
	for range 20 {
		l.mustAppend(t, big)
	}
	if got := l.Oldest(); got != 1 {
		t.Errorf("the oldest is %d, want 1", got)
	}
	must(t, l.Release(18))
	if got := l.Oldest(); got != 19 {
		t.Errorf("the oldest is %d, want 19", got)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil || len(names) > 2+keepFree {
		t.Errorf("%d files are kept: %v", len(names), err)
	}
	for range 4 {
		l.mustAppend(t, big)
	}
	must(t, l.Release(1<<60)) // the segment that is written to stays
	l.mustAppend(t, "end")
	must(t, l.Sync())
	wantRead(t, l, fmt.Sprint("24:", len(big)), "25:end")
}

// A mark is no record, gives way to the next one, and adds nothing to a segment.
func TestAMarkIsNoRecord(t *testing.T) {
	l := started(t, t.TempDir())
	must(t, l.Mark())
	l.mustAppend(t, "one")
	must(t, l.Sync())
	must(t, l.Mark())
	l.mustAppend(t, "two")
	l.mustAppend(t, strings.Repeat("x", SegmentSize-headSize-2*(recordHead+align)-recordHead))
	must(t, l.Sync())
	must(t, l.Mark())
	if info, err := l.current.file.Stat(); err != nil || info.Size() > SegmentSize {
		t.Errorf("the segment has %d bytes, %v", info.Size(), err)
	}
	wantRead(t, l, "1:one", "2:two", fmt.Sprint("3:", SegmentSize-headSize-2*(recordHead+align)-recordHead))
}

func TestARecordLargerThanASegment(t *testing.T) {
	l := started(t, t.TempDir())
	l.mustAppend(t, "before")
	l.mustAppend(t, strings.Repeat("x", SegmentSize+5))
	l.mustAppend(t, "after")
	wantRead(t, l, "1:before", fmt.Sprint("2:", SegmentSize+5), "3:after")
}

// edit changes the bytes of the newest segment from the first occurrence of
// find on.
func edit(t *testing.T, dir, find string, with []byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	must(t, err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		must(t, err)
		if i := bytes.Index(b, []byte(find)); i >= 0 {
			copy(b[i:], with)
			must(t, os.WriteFile(name, b, 0o600))
			return
		}
	}
	t.Fatalf("no segment holds %q", find)
}

// What was not synced may be there in part: the log ends before it. Where it
// was, reading says that the file is damaged.
func TestAnUnfinishedEndIsNoneAndADamagedMiddleIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		write   func(*Log)
		spoil   string
		want    []string
		damaged bool
	}{
		"the last": {
			write: func(l *Log) { l.mustAppend(t, "one"); must(t, l.Sync()); l.mustAppend(t, "two") },
			spoil: "two", want: []string{"1:one"},
		},
		"one before another, neither synced": {
			write: func(l *Log) {
				l.mustAppend(t, "one")
				must(t, l.Sync())
				l.mustAppend(t, "two")
				l.mustAppend(t, "three")
			},
			spoil: "two", want: []string{"1:one"},
		},
		"one that was synced before the next": {
			write:   func(l *Log) { l.mustAppend(t, "one"); must(t, l.Sync()); l.mustAppend(t, "two") },
			spoil:   "one",
			damaged: true,
		},
		"one that was synced long before the end": {
			write: func(l *Log) {
				for _, p := range []string{"one", "two", "three", "four"} {
					l.mustAppend(t, p)
					must(t, l.Sync())
				}
			},
			spoil: "two", want: []string{"1:one"}, damaged: true,
		},
		"the last of a segment that is full": {
			write: func(l *Log) {
				l.mustAppend(t, "one")
				l.mustAppend(t, "two")
				l.mustAppend(t, strings.Repeat("x", SegmentSize))
			},
			spoil: "two", want: []string{"1:one"}, damaged: true,
		},
		"the last, marked": {
			write: func(l *Log) {
				l.mustAppend(t, "one")
				l.mustAppend(t, "two")
				must(t, l.Sync())
				must(t, l.Mark())
			},
			spoil: "two", want: []string{"1:one"}, damaged: true,
		},
		"the last, behind a mark": {
			write: func(l *Log) {
				l.mustAppend(t, "one")
				must(t, l.Sync())
				must(t, l.Mark())
				l.mustAppend(t, "two")
			},
			spoil: "two", want: []string{"1:one"},
		},
		"the last before a mark that is not true": {
			write: func(l *Log) { l.mustAppend(t, "one"); must(t, l.Mark()) },
			spoil: "one",
		},
		"a head": {
			write:   func(l *Log) { l.mustAppend(t, "one") },
			spoil:   string(magic[:]),
			damaged: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := started(t, dir)
			c.write(l)
			edit(t, dir, c.spoil, []byte{'?'})
			got, err := read(t, l)
			if !slices.Equal(got, c.want) || errors.Is(err, ErrDamaged) != c.damaged || (err != nil) != c.damaged {
				t.Errorf("read %q, %v; want %q, damaged %v", got, err, c.want, c.damaged)
			}
			if c.damaged && !strings.Contains(fmt.Sprint(err), ".wal") {
				t.Errorf("%v does not name the file", err)
			}
		})
	}
}

// A head that was lost is no free segment where there is something behind it.
func TestAHeadThatIsGoneIsDamage(t *testing.T) {
	dir := t.TempDir()
	l := started(t, dir)
	l.mustAppend(t, "one")
	edit(t, dir, string(magic[:]), make([]byte, headSize))
	if _, err := read(t, l); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}

// A file that was made and never begun, as a crash leaves it, is a free one.
func TestAFileWithoutAHeadIsFree(t *testing.T) {
	for _, size := range []int{0, headSize, SegmentSize} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "00007.wal"), make([]byte, size), 0o600))
		l := started(t, dir)
		l.mustAppend(t, "one")
		wantRead(t, l, "1:one")
	}
}

func TestAMissingSegmentIsDamage(t *testing.T) {
	dir := t.TempDir()
	l := started(t, dir)
	for range 3 {
		l.mustAppend(t, strings.Repeat("x", SegmentSize))
	}
	must(t, os.Remove(filepath.Join(dir, "00002.wal")))
	if got, err := read(t, l); !errors.Is(err, ErrDamaged) {
		t.Errorf("read %q, %v; want ErrDamaged", got, err)
	}
}

func TestAFailureStays(t *testing.T) {
	l := started(t, t.TempDir())
	l.mustAppend(t, "one")
	must(t, l.current.file.Close())
	err := l.Sync()
	if err == nil {
		t.Fatal("a sync of a closed file succeeded")
	}
	if again := l.Append(Begin(nil)); again != err {
		t.Errorf("got %v, want %v again", again, err)
	}
	if again := l.Sync(); again != err {
		t.Errorf("got %v, want %v again", again, err)
	}
}

// A segment whose name is not on stable storage takes no record.
func TestANewSegmentsNameIsSynced(t *testing.T) {
	l := started(t, t.TempDir())
	whole, cause := SyncDir, errors.New("the folder cannot be synced")
	defer func() { SyncDir = whole }()
	SyncDir = func(string) error { return cause }
	if err := l.Append(Begin(nil)); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

// segments are what a segment may hold behind its head.
func segments() [][]byte {
	whole := func(payloads ...string) (b []byte) {
		for i, p := range payloads {
			r := pad(append(Begin(nil), p...))
			seal(r, 1, uint64(i+1), uint64(i))
			b = append(b, r...)
		}
		return b
	}
	mark := pad(Begin(nil))
	seal(mark, 1, markNumber, 2)
	return [][]byte{
		whole("one", "two", "three"),
		whole("one", "two")[:50],
		append(whole("one"), whole("one", "two")...),
		append(whole("one"), 0xff, 0xff, 0xff, 0xff),
		append(make([]byte, recordHead), whole("one", "two")...),
		append(whole("one", "two"), mark...),
		append(whole("one"), mark...),
		slices.Concat(whole("one"), mark, whole("one", "two")[2*recordHead:]),
	}
}

// openWith opens a log whose only segment holds body behind its head.
func openWith(t *testing.T, body []byte) *Log {
	t.Helper()
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "00001.wal"))
	must(t, err)
	s := &segment{file: file, number: 1, first: 1}
	must(t, s.writeHead())
	if len(body) > 0 {
		_, err = file.WriteAt(body, headSize)
		must(t, err)
	}
	must(t, file.Close())
	l, err := Open(dir)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// readAll reads records, which number from one without a gap and hold what is in
// body, and returns the number that comes next; zero where the log is damaged.
func (l *Log) readAll(t *testing.T, body []byte) (next uint64) {
	t.Helper()
	next = 1
	for r, err := range l.Records() {
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return 0
		}
		if r.Number != next {
			t.Fatalf("record %d comes where %d should", r.Number, next)
		}
		if !bytes.Contains(body, r.Payload) {
			t.Fatalf("record %d holds %q, which is not in the file", r.Number, r.Payload)
		}
		next++
	}
	return next
}

// Whatever a segment holds, reading it ends, and yields numbers without a gap.
func FuzzRecords(f *testing.F) {
	for _, body := range segments() {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) { openWith(t, body).readAll(t, body) })
}

// What is appended after a new start is read, and nothing else.
func TestAStartBehindWhateverThereWas(t *testing.T) {
	for _, body := range segments() {
		l := openWith(t, body)
		next := l.readAll(t, body)
		if next == 0 {
			continue
		}
		must(t, l.Start(next))
		l.mustAppend(t, "new")
		wantRead(t, l, fmt.Sprintf("%d:new", next))
	}
}
