package undo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// An op is what a record says.
type op string

const (
	opCreate op = "create" // Path is to be made
	opUnlink op = "unlink" // Path is to be moved into the entry
	opDrop   op = "drop"   // Path, which the run made, is to go
	opRmdir  op = "rmdir"
	opRename op = "rename"
	opWrite  op = "write" // Path is to be written; its content is kept
	opMeta   op = "meta"  // mode or times of Path, or what Path holds, are to change
	opDid    op = "did"   // the create of number Of made ID
	opVoid   op = "void"  // the kernel refused number Of
	opBack   op = "back"  // number Of is to be taken back by the undoing To; ID: somebody changed that
	opNew    op = "new"   // the file or folder ID was made again, and is Over now
	opStay   op = "stay"  // number Of was not, or is there again; without Of: all were that were to be
)

// An identity tells a file from another that got its inode later.
type identity struct {
	Ino  uint64 `json:"i,omitempty"`
	Born int64  `json:"b,omitempty"` // in ns; 0 where the file system does not say
}

// A state is what can be set again of a file beside its content.
type state struct {
	Mode  uint32 `json:"m"` // with the type
	Atime int64  `json:"a"` // in ns
	Mtime int64  `json:"t"`
}

// A record is one line of a journal. Paths are bytes, as the kernel's are.
type record struct {
	N    int64    `json:"n"`
	At   int64    `json:"at,omitempty"` // when, in ms since 1970
	Op   op       `json:"op"`
	Of   int64    `json:"of,omitempty"` // of a change: the record of the other run that it takes back
	Path []byte   `json:"p,omitempty"`  // in the root
	To   []byte   `json:"to,omitempty"`
	ID   identity `json:"id,omitzero"` // of what is at Path
	Over identity `json:"o,omitzero"`  // of what is at To
	Kind uint32   `json:"k,omitempty"` // its type, as in a mode
	Link bool     `json:"l,omitempty"` // what is made is a name of a file that there was
	Was  *state   `json:"was,omitempty"`
	Kept bool     `json:"kept,omitempty"` // the entry holds what was overwritten, removed or written
	Swap bool     `json:"swap,omitempty"` // Path and To change places
	Only bool     `json:"only,omitempty"` // of a meta: the agent asked for it, and it is no consequence
}

// A journal is the record of one run. It has one writer.
type journal struct {
	f    *os.File
	end  int64 // of what is whole
	last int64 // number

	room int64 // of the disk, up to where it is taken
	now  func() time.Time

	pending []byte // records that go with the next: that they are missing does no harm

	of int64 // of another journal: the record that is being taken back

	step func(written bool) // where it is set, called before and after a record is written
}

// journalRoom is how much of the disk is taken for records at once.
const journalRoom = 1 << 20

// close gives back what was taken for records.
func (j *journal) close() error {
	n, err := j.f.WriteAt(j.pending, j.end)
	j.end += int64(n)
	return errors.Join(err, j.f.Truncate(j.end), j.f.Close())
}

// openJournal opens a journal to go on with it.
func openJournal(path string) (*journal, []record, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	list, end, err := readRecords(f)
	if err == nil {
		err = f.Truncate(end) // a torn line was never acted on
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	j := &journal{f: f, end: end, now: time.Now}
	if len(list) > 0 {
		j.last = list[len(list)-1].N
	}
	return j, list, nil
}

// readRecords reads the whole lines of a journal.
func readRecords(r io.Reader) (list []record, end int64, err error) {
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return list, end, nil
		}
		if err != nil {
			return list, end, fmt.Errorf("reading the journal: %w", err)
		}
		var rec record
		if err := json.Unmarshal(bytes.TrimSuffix(line, []byte{'\n'}), &rec); err != nil {
			return list, end, fmt.Errorf("the journal is damaged at byte %d: %w", end, err)
		}
		list, end = append(list, rec), end+int64(len(line))
	}
}

// add writes a record, and returns its number.
func (j *journal) add(r record) (int64, error) {
	if j.step != nil {
		j.step(false)
		defer j.step(true)
	}
	r.N, r.At = j.last+1, j.now().UnixMilli()
	if r.Of == 0 {
		r.Of = j.of
	}
	b, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	b = append(append(j.pending, b...), '\n')
	if r.Op == opDid {
		j.pending, j.last = b, r.N
		return r.N, nil
	}
	if j.end+int64(len(b)) > j.room {
		// Where the disk fills up, what needs no more than a record still works.
		if unix.Fallocate(int(j.f.Fd()), unix.FALLOC_FL_KEEP_SIZE, j.end, journalRoom) == nil {
			j.room = j.end + journalRoom
		}
	}
	if _, err := j.f.WriteAt(b, j.end); err != nil {
		j.room = j.end
		if r.Op == opVoid { // on a full disk it goes with the next one that has room
			j.pending, j.last = b, r.N
			err = nil
		}
		return r.N, errors.Join(err, j.f.Truncate(j.end))
	}
	j.end, j.last, j.pending = j.end+int64(len(b)), r.N, nil
	return r.N, nil
}

// effective are the records of what was done, or may have been: without those
// that the kernel refused, and with the identity of what was made.
func effective(all []record) []record {
	ids, void := map[int64]identity{}, map[int64]bool{}
	for _, r := range all {
		switch r.Op {
		case opDid:
			ids[r.Of] = r.ID
		case opVoid:
			void[r.Of] = true
		}
	}
	var list []record
	for _, r := range all {
		if slices.Contains([]op{opDid, opVoid, opBack, opNew, opStay}, r.Op) || void[r.N] {
			continue
		}
		if id, ok := ids[r.N]; ok {
			r.ID = id
		}
		list = append(list, r)
	}
	return list
}
