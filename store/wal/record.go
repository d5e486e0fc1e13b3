package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"os"
)

// A record is a head and a payload, padded to a multiple of align. Numbers are
// little endian:
//
//	 0  checksum (CRC-32C) of all that follows, without the padding
//	 4  length of the payload
//	 8  number of the segment
//	16  number of the record
//	24  number of the newest record that was on stable storage when this was written
//	32  payload
//
// A mark is a record without a payload and with a number that none has.
const (
	recordHead = 32
	align      = 8
	markNumber = math.MaxUint64
)

// A segment's head stands alone in its first block, so that no later write
// touches it:
//
//	 0  magic
//	 8  number of the segment
//	16  number of its first record; 0 where the segment is free
//	24  checksum (CRC-32C) of all before
const (
	headSize = 4096
	headUsed = 28
)

var (
	magic = [8]byte{'h', 'g', 'w', 'a', 'l', 0, 0, 1}
	table = crc32.MakeTable(crc32.Castagnoli)
	le    = binary.LittleEndian
)

// A Record is what was appended under a number.
type Record struct {
	Number  uint64
	Payload []byte
	Synced  uint64 // the newest that was on stable storage when this was appended
	Segment string // path of the file that it is in
}

// Begin returns buf, emptied, with room for a record's head. Append the payload
// to it and hand it to [Log.Append].
func Begin(buf []byte) []byte {
	return append(buf[:0], make([]byte, recordHead)...)
}

// pad lengthens a record to a multiple of align.
func pad(record []byte) []byte {
	le.PutUint32(record[4:], uint32(len(record)-recordHead))
	for len(record)%align != 0 {
		record = append(record, 0)
	}
	return record
}

// seal fills in the head of a padded record.
func seal(record []byte, segment, number, synced uint64) {
	le.PutUint64(record[8:], segment)
	le.PutUint64(record[16:], number)
	le.PutUint64(record[24:], synced)
	end := recordHead + le.Uint32(record[4:])
	le.PutUint32(record, crc32.Checksum(record[4:end], table))
}

// unseal returns the record of a segment that b begins with, whose payload
// shares b's memory, and how many bytes it takes.
func unseal(b []byte, segment uint64) (r Record, size int, ok bool) {
	if len(b) < recordHead || le.Uint64(b[8:]) != segment {
		return Record{}, 0, false
	}
	n := uint64(le.Uint32(b[4:]))
	if n > uint64(len(b)-recordHead) {
		return Record{}, 0, false
	}
	end := recordHead + int(n)
	if crc32.Checksum(b[4:end], table) != le.Uint32(b) {
		return Record{}, 0, false
	}
	r = Record{Number: le.Uint64(b[16:]), Synced: le.Uint64(b[24:]), Payload: b[recordHead:end:end]}
	return r, (end + align - 1) / align * align, true
}

// readHead reads the segment's head. A file that was created and never begun,
// in which there is nothing at all, is free.
func (s *segment) readHead() error {
	b := make([]byte, headSize)
	n, err := s.file.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	b = b[:n]
	if isZero(b) {
		if b, err = os.ReadFile(s.file.Name()); err != nil {
			return err
		}
		if isZero(b) {
			return nil
		}
	}
	if !s.parseHead(b) {
		return fmt.Errorf("%w: the file's head is not as it was written", ErrDamaged)
	}
	return nil
}

// parseHead takes number and first record of a segment from its head, if that is whole.
func (s *segment) parseHead(b []byte) bool {
	if len(b) < headUsed || [8]byte(b[:8]) != magic || crc32.Checksum(b[:24], table) != le.Uint32(b[24:]) {
		return false
	}
	s.number, s.first = le.Uint64(b[8:]), le.Uint64(b[16:])
	return true
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// writeHead writes the segment's head, and returns once it is on stable
// storage.
func (s *segment) writeHead() error {
	b := make([]byte, headUsed)
	copy(b, magic[:])
	le.PutUint64(b[8:], s.number)
	le.PutUint64(b[16:], s.first)
	le.PutUint32(b[24:], crc32.Checksum(b[:24], table))
	if _, err := s.file.WriteAt(b, 0); err != nil {
		return err
	}
	return syncData(s.file)
}

// Records yields what the log holds, in order, without a gap. It ends after an
// error, which wraps [ErrDamaged] where a record that was synced is not whole.
// The payloads may be kept.
func (l *Log) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var before *segment
		next := uint64(0)
		for i, s := range l.live {
			if before != nil && s.first != next {
				yield(Record{}, damaged(before, next))
				return
			}
			b, err := os.ReadFile(s.file.Name())
			if err != nil {
				yield(Record{}, fmt.Errorf("reading the write-ahead log: %w", err))
				return
			}
			before, next = s, s.first
			rest := b[min(headSize, len(b)):]
			for {
				r, size, ok := unseal(rest, s.number)
				if !ok || r.Number != next {
					break
				}
				r.Segment = s.file.Name()
				if !yield(r, nil) {
					return
				}
				next++
				rest = rest[min(size, len(rest)):]
			}
			if i == len(l.live)-1 && wasSynced(rest, s.number, next) {
				yield(Record{}, damaged(s, next))
			}
		}
	}
}

// wasSynced reports whether a record in b, which begins where one is not whole,
// says that the missing one had been synced.
func wasSynced(b []byte, segment, missing uint64) bool {
	for ; len(b) >= recordHead; b = b[align:] {
		if le.Uint64(b[8:]) != segment || le.Uint64(b[16:]) < missing {
			continue
		}
		if r, _, ok := unseal(b, segment); ok && r.Synced >= missing {
			return true
		}
	}
	return false
}

func damaged(s *segment, record uint64) error {
	return fmt.Errorf("%s: %w: record %d was on stable storage and is not whole", s.file.Name(), ErrDamaged, record)
}
