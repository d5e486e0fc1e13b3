package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"sync"
)

// Head names the newest entry of a log. The zero value is that of an empty
// log.
type Head struct {
	Seq  uint64
	Hash string
}

// String returns "seq:hash", the form that people note elsewhere.
func (h Head) String() string { return strconv.FormatUint(h.Seq, 10) + ":" + h.Hash }

// ParseHead is the inverse of [Head.String].
func ParseHead(s string) (Head, error) {
	number, sum, _ := strings.Cut(s, ":")
	seq, err := strconv.ParseUint(number, 10, 64)
	switch {
	case err != nil || seq == 0 || strconv.FormatUint(seq, 10) != number:
		return Head{}, fmt.Errorf("head %q begins with no sequence number: want seq:hash", s)
	case !isHash(sum):
		return Head{}, fmt.Errorf("head %q ends in no hash of 64 lower-case hex digits: want seq:hash", s)
	}
	return Head{seq, sum}, nil
}

func isHash(s string) bool {
	if len(s) != 2*sha256.Size {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// sealer signs heads with a key. It is safe for concurrent use.
type sealer struct{ signers *sync.Pool }

// A signer makes one signature at a time.
type signer struct {
	mac hash.Hash
	buf []byte
}

func newSealer(key []byte) (sealer, error) {
	if len(key) != 32 {
		return sealer{}, fmt.Errorf("the audit log's key has %d bytes, want 32", len(key))
	}
	key = bytes.Clone(key)
	return sealer{&sync.Pool{New: func() any { return &signer{mac: hmac.New(sha256.New, key)} }}}, nil
}

// sealPurpose keeps a signature of a head from meaning anything else that the
// key may sign.
const sealPurpose = "holdgate audit head\n"

// mac appends the signature of a head to b.
func (s sealer) mac(b []byte, head string) []byte {
	g := s.signers.Get().(*signer)
	defer s.signers.Put(g)
	g.mac.Reset()
	g.buf = append(append(g.buf[:0], sealPurpose...), head...)
	g.mac.Write(g.buf)
	g.buf = g.mac.Sum(g.buf[:0])
	return hex.AppendEncode(b, g.buf)
}

// seal returns "seq:hash:mac".
func (s sealer) seal(h Head) []byte {
	head := h.String()
	return s.mac(append(append(make([]byte, 0, len(head)+1+2*sha256.Size), head...), ':'), head)
}

// unseal is the inverse of seal.
func (s sealer) unseal(b []byte) (Head, error) {
	i := strings.LastIndexByte(string(b), ':')
	if i < 0 || !hmac.Equal(b[i+1:], s.mac(nil, string(b[:i]))) {
		return Head{}, &Fault{What: "the head was not written with this log's key"}
	}
	return ParseHead(string(b[:i]))
}
