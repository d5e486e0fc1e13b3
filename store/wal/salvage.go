package wal

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// A Whole is a record of a damaged log that is as it was written.
type Whole struct {
	Record
	// Doubtful says that the head of its file is damaged: the file may have been
	// free, and what is in it no part of the log.
	Doubtful bool
}

// A Rest is what is left of a damaged log.
type Rest struct {
	// Whole are the records that are whole, in order. Between two that do not follow
	// one another some are missing.
	Whole []Whole
	// Begin is the number of the log's first record, as far as it is known; 0: it is not.
	Begin uint64
	// Synced is the newest number that is known to have been on stable storage.
	Synced uint64
	// Heads are the files whose heads are damaged.
	Heads []string
}

// Salvage reads every record in dir that is whole. It changes nothing.
func Salvage(dir string) (rest Rest, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil {
		return rest, err
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return rest, fmt.Errorf("reading the write-ahead log: %w", err)
		}
		s, doubtful := &segment{}, false
		if !isZero(b) && !s.parseHead(b) {
			rest.Heads = append(rest.Heads, name)
			s.number, doubtful = numberOf(b), true
		}
		if isZero(b) || !doubtful && s.first == 0 {
			continue // it is free
		}
		if !doubtful && (rest.Begin == 0 || s.first < rest.Begin) {
			rest.Begin = s.first
		}
		records, synced := s.salvage(b[min(headSize, len(b)):], name)
		for _, r := range records {
			rest.Whole = append(rest.Whole, Whole{r, doubtful})
		}
		rest.Synced = max(rest.Synced, synced)
	}
	slices.SortStableFunc(rest.Whole, func(a, b Whole) int { return cmp.Compare(a.Number, b.Number) })
	return rest, nil
}

// numberOf is the number of a segment, by the first record that is whole.
func numberOf(b []byte) uint64 {
	for rest := b[min(headSize, len(b)):]; len(rest) >= recordHead; rest = rest[align:] {
		number := le.Uint64(rest[8:])
		if _, _, ok := unseal(rest, number); ok && number != 0 {
			return number
		}
	}
	return 0
}

// salvage returns the segment's records that are whole, and the newest number that one
// of them, or a mark, knows as synced.
func (s *segment) salvage(b []byte, name string) (records []Record, synced uint64) {
	for len(b) >= recordHead {
		r, size, ok := unseal(b, s.number)
		if !ok {
			b = b[align:]
			continue
		}
		synced = max(synced, r.Synced)
		if r.Number != markNumber {
			r.Segment, r.Payload = name, bytes.Clone(r.Payload)
			records = append(records, r)
		}
		b = b[min(size, len(b)):]
	}
	return records, synced
}
