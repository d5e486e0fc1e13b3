package undo

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The packs of an entry.
const (
	fileSaved = "saved" // of files before they were written
	fileMoved = "moved" // of files that were removed
)

// chunk is how much of a file is sealed at once.
const chunk = 256 << 10

// A pack is a file with the contents of files, sealed, one after the other. Each
// is a number of frames:
//
//	length u32 | flags u32 | number of the record u64 | sealed
//
// What is sealed is the length of a header (u32), the header, which only the first
// frame has, and pieces of the content: where (u64), how much (u32), bytes. The
// associated data binds a frame to its run, its pack and its place there, so that
// none can be moved or left out. One that has no last frame was being written
// when the process was killed.
type pack struct {
	f    *os.File
	aead cipher.AEAD
	name string // of run and pack
	end  int64
	at   map[int64]int64 // where the content of a record begins

	plain, sealed []byte // buffers
}

const (
	frameHead  = 16
	frameFirst = 1
	frameLast  = 2
)

// A header says what a file was beside its content.
type header struct {
	Size  int64             `json:"s"`
	Was   state             `json:"was,omitzero"`
	GID   uint32            `json:"g,omitempty"`
	Attrs map[string][]byte `json:"x,omitempty"`
	Names []int64           `json:"n,omitempty"` // of other records that removed a name of the same file
	Of    int64             `json:"o,omitempty"` // the record of which that is another; nothing else is set then
}

// newAEAD makes the cipher of packs of a key of 32 bytes.
func newAEAD(key []byte) (cipher.AEAD, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("the key that seals what is kept for undo has %d bytes, want 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// openPack opens a pack of an entry to add to it, and to read it. It is made where it
// is missing.
func openPack(entry, name string, aead cipher.AEAD) (*pack, error) {
	f, err := os.OpenFile(filepath.Join(entry, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	p := &pack{f: f, aead: aead, name: filepath.Base(entry) + "/" + name, at: map[int64]int64{}}
	if err := p.index(); err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", f.Name(), err), f.Close())
	}
	return p, nil
}

func (p *pack) close() error { return p.f.Close() }

// index finds what is whole.
func (p *pack) index() error {
	info, err := p.f.Stat()
	if err != nil {
		return err
	}
	var head [frameHead]byte
	for at, first := int64(0), int64(0); at+frameHead <= info.Size(); {
		if _, err := p.f.ReadAt(head[:], at); err != nil {
			return err
		}
		length, flags, n := frameOf(head)
		if flags&frameFirst != 0 {
			first = at
		}
		if at += frameHead + int64(length); at > info.Size() || length == 0 {
			break
		}
		if flags&frameLast != 0 {
			p.at[n], p.end = first, at
		}
	}
	return nil
}

func frameOf(head [frameHead]byte) (length, flags uint32, n int64) {
	return binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:]), int64(binary.LittleEndian.Uint64(head[8:]))
}

// place is the associated data of a frame.
func (p *pack) place(at int64, flags uint32, n int64) []byte {
	return fmt.Appendf(nil, "holdgate undo v1/%s/%d/%d/%d", p.name, at, flags, n)
}

// add adds the content of an open file. Where that fails the pack is as it was.
func (p *pack) add(n int64, h header, from int) error {
	was := p.end
	err := p.addFrames(n, h, from)
	if err != nil {
		p.drop(n, was)
		return err
	}
	p.at[n] = was
	return nil
}

// drop takes back what was added last.
func (p *pack) drop(n, end int64) {
	delete(p.at, n)
	p.end = end
	_ = p.f.Truncate(end) // what lies behind the end is written over
}

func (p *pack) addFrames(n int64, h header, from int) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	frame := append(binary.LittleEndian.AppendUint32(p.plain[:0], uint32(len(text))), text...)
	flags := uint32(frameFirst)
	at := int64(0)
	for at < h.Size {
		data, err := unix.Seek(from, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // holes to the end
		}
		if err != nil {
			return err
		}
		hole, err := unix.Seek(from, data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		for at = data; at < min(hole, h.Size); {
			room := int(min(chunk, min(hole, h.Size)-at))
			start := len(frame)
			frame = append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(frame, uint64(at)), 0), make([]byte, room)...)
			got, err := pread(from, frame[start+12:], at)
			if err != nil {
				return err
			}
			if got == 0 { // it has become shorter
				frame, at = frame[:start], h.Size
				break
			}
			binary.LittleEndian.PutUint32(frame[start+8:], uint32(got))
			frame, at = frame[:start+12+got], at+int64(got)
			if len(frame) >= chunk && at < h.Size {
				if err := p.frame(frame, flags, n); err != nil {
					return err
				}
				frame, flags = append(frame[:0], 0, 0, 0, 0), 0
			}
		}
	}
	p.plain = frame
	return p.frame(frame, flags|frameLast, n)
}

// pread reads what it gets at a place of a file.
func pread(fd int, buf []byte, at int64) (int, error) {
	for got := 0; ; {
		n, err := unix.Pread(fd, buf[got:], at+int64(got))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if got += max(n, 0); err != nil || n == 0 || got == len(buf) {
			return got, err
		}
	}
}

// frame seals and writes a frame.
func (p *pack) frame(plain []byte, flags uint32, n int64) error {
	var head [frameHead]byte
	binary.LittleEndian.PutUint32(head[4:], flags)
	binary.LittleEndian.PutUint64(head[8:], uint64(n))
	p.sealed = p.aead.Seal(append(p.sealed[:0], head[:]...), nil, plain, p.place(p.end, flags, n))
	binary.LittleEndian.PutUint32(p.sealed, uint32(len(p.sealed)-frameHead))
	if _, err := p.f.WriteAt(p.sealed, p.end); err != nil {
		return err
	}
	p.end += int64(len(p.sealed))
	return nil
}

// has reports whether the content of a record is here.
func (p *pack) has(n int64) bool { _, ok := p.at[n]; return ok }

// head reads what a file was beside its content.
func (p *pack) head(n int64) (h header, err error) {
	_, _, _, err = p.read(p.at[n], &h)
	return h, err
}

// read opens the frame at a place.
func (p *pack) read(at int64, h *header) (pieces []byte, flags uint32, next int64, err error) {
	var head [frameHead]byte
	if _, err := p.f.ReadAt(head[:], at); err != nil {
		return nil, 0, 0, err
	}
	length, flags, n := frameOf(head)
	if length > 4*chunk {
		return nil, 0, 0, errDamaged
	}
	sealed := make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(p.f, at+frameHead, int64(length)), sealed); err != nil {
		return nil, 0, 0, err
	}
	plain, err := p.aead.Open(sealed[:0], nil, sealed, p.place(at, flags, n))
	if err != nil || len(plain) < 4 {
		return nil, 0, 0, errDamaged
	}
	size := int(binary.LittleEndian.Uint32(plain))
	if size > len(plain)-4 {
		return nil, 0, 0, errDamaged
	}
	if size > 0 {
		err = json.Unmarshal(plain[4:4+size], h)
	}
	return plain[4+size:], flags, at + frameHead + int64(length), err
}

const errDamaged conflict = "what is kept was changed, or was sealed with another key"

// copyTo makes an empty file the same as one that is kept.
func (p *pack) copyTo(fd int, n int64) error {
	size, err := p.pieces(n, func(piece []byte, at int64) error { return pwrite(fd, piece, at) })
	if err != nil {
		return err
	}
	return unix.Ftruncate(fd, size)
}

// check makes sure that all that is kept of a record can be read.
func (p *pack) check(n int64) error {
	_, err := p.pieces(n, func([]byte, int64) error { return nil })
	return err
}

// pieces reads the content of a record. It returns its size, holes included.
func (p *pack) pieces(n int64, each func(piece []byte, at int64) error) (int64, error) {
	var h header
	for at, flags := p.at[n], uint32(0); flags&frameLast == 0; {
		var pieces []byte
		var err error
		if pieces, flags, at, err = p.read(at, &h); err != nil {
			return 0, err
		}
		for len(pieces) >= 12 {
			where, size := int64(binary.LittleEndian.Uint64(pieces)), int(binary.LittleEndian.Uint32(pieces[8:]))
			if size > len(pieces)-12 {
				return 0, errDamaged
			}
			if err := each(pieces[12:12+size], where); err != nil {
				return 0, err
			}
			pieces = pieces[12+size:]
		}
	}
	return h.Size, nil
}

func pwrite(fd int, buf []byte, at int64) error {
	for len(buf) > 0 {
		n, err := unix.Pwrite(fd, buf, at)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		buf, at = buf[max(n, 0):], at+int64(max(n, 0))
	}
	return nil
}
