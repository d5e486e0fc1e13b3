package folder

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// errIndex says that an index cannot be read for certain.
var errIndex = errors.New("no index of git that can be read for certain")

const (
	indexHead  = 12 // bytes before the first entry
	entryStat  = 40 // bytes of an entry before the name of its object
	nameBits   = 0xfff
	bitExtends = 1 << 14 // of an entry's flags: more flags follow
	bitIntends = 1 << 13 // of those: the name alone was added, and no content
)

// names calls yield for each file that an index of git keeps the content of. It reads the
// versions 2 to 4 of gitformat-index. An index that is only a part of one, as a split or
// sparse one is, is an error, and so is one that is damaged: its end says so, but for those
// that were written without a checksum.
func names(index []byte, yield func(name []byte)) error {
	if len(index) < indexHead+sha1.Size || string(index[:4]) != "DIRC" {
		return errIndex
	}
	hash, ok := hashSize(index)
	if !ok {
		return errIndex
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version < 2 || version > 4 {
		return errIndex
	}
	rest, end := index[indexHead:len(index)-hash], entryStat+hash
	var name []byte
	for range count {
		if len(rest) < end+2 {
			return errIndex
		}
		flags, head, intends := binary.BigEndian.Uint16(rest[end:]), end+2, false
		if flags&bitExtends != 0 {
			if version < 3 || len(rest) < head+2 {
				return errIndex
			}
			intends = binary.BigEndian.Uint16(rest[head:])&bitIntends != 0
			head += 2
		}
		keep := name[:0]
		at := head
		if version == 4 {
			drop, n := varint(rest[at:])
			if n == 0 || drop > uint64(len(name)) {
				return errIndex
			}
			keep, at = name[:uint64(len(name))-drop], at+n
		}
		length := bytes.IndexByte(rest[at:], 0)
		if length < 0 {
			return errIndex
		}
		name = append(keep, rest[at:at+length]...)
		if len(name) == 0 || len(name) < nameBits && int(flags&nameBits) != len(name) {
			return errIndex
		}
		at += length + 1
		if version < 4 { // padded to eight bytes, by one at least
			at = (head + length + 8) &^ 7
		}
		if at > len(rest) {
			return errIndex
		}
		if rest = rest[at:]; !intends {
			yield(name)
		}
	}
	for len(rest) > 0 { // extensions: what must be understood begins with a small letter
		if len(rest) < 8 || rest[0] < 'A' || rest[0] > 'Z' {
			return errIndex
		}
		size := uint64(binary.BigEndian.Uint32(rest[4:]))
		if size > uint64(len(rest)-8) {
			return errIndex
		}
		rest = rest[8+size:]
	}
	return nil
}

// hashSize tells by the checksum at the end which hash the repository uses.
func hashSize(index []byte) (size int, ok bool) {
	body, end := index[:len(index)-sha1.Size], index[len(index)-sha1.Size:]
	if sum := sha1.Sum(body); bytes.Equal(sum[:], end) || bytes.Equal(end, make([]byte, sha1.Size)) {
		return sha1.Size, true
	}
	if len(index) < indexHead+sha256.Size {
		return 0, false
	}
	body, end = index[:len(index)-sha256.Size], index[len(index)-sha256.Size:]
	sum := sha256.Sum256(body)
	return sha256.Size, bytes.Equal(sum[:], end)
}

// varint reads a number as git writes offsets, and returns how many bytes it has; none
// where it is none.
func varint(b []byte) (v uint64, n int) {
	for i, c := range b[:min(len(b), 8)] {
		v = v<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			return v, i + 1
		}
		v++
	}
	return 0, 0
}
