package holdgate

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"sync"
)

// A Digest binds an outcome to what was shown: HMAC-SHA-256 over the call's
// server, tool and arguments, with object keys sorted and numbers as they were
// written. It is hex of 64 characters, keyed so that nobody without the key
// can guess the arguments from it.
type Digest string

// Short is the form that people compare by eye: the first 12 characters.
func (d Digest) Short() string {
	if len(d) < 12 {
		return string(d)
	}
	return string(d[:12])
}

// A Digester makes digests with one key. It is safe for concurrent use.
type Digester struct{ macs *sync.Pool }

// NewDigester returns a Digester for the key, which must have 32 bytes.
func NewDigester(key []byte) (*Digester, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("digest key has %d bytes, want 32", len(key))
	}
	key = bytes.Clone(key)
	return &Digester{&sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}, nil
}

// Tool returns the digest of a tool call. Arguments must be strict JSON (no
// duplicate keys, valid UTF-8) or nil; where they are nil, the raw text counts.
func (d *Digester) Tool(t *Tool) (Digest, error) {
	if t.Arguments == nil {
		return d.Fields("tool_call", t.Server, t.Name, "raw", t.ArgumentsRaw), nil
	}
	digest, _, err := d.ToolCanonical(t)
	return digest, err
}

// ToolCanonical is Tool for a call that has arguments, and returns their
// canonical form besides.
func (d *Digester) ToolCanonical(t *Tool) (digest Digest, canonical []byte, err error) {
	canon, err := Canonical(t.Arguments)
	if err != nil {
		return "", nil, fmt.Errorf("digesting arguments of %s: %w", t.Name, err)
	}
	b := make([]byte, 0, 5*fieldPrefix+len("tool_call")+len(t.Server)+len(t.Name)+len("json"))
	for _, f := range []string{"tool_call", t.Server, t.Name, "json"} {
		b = appendField(b, f)
	}
	return d.sum(appendLength(b, len(canon)), canon), canon, nil
}

// Fields returns the digest of a list of fields under a purpose of its own,
// for what is no tool call: a request's key, a model request, an HTTP request.
func (d *Digester) Fields(purpose string, fields ...string) Digest {
	size := fieldPrefix + len(purpose)
	for _, f := range fields {
		size += fieldPrefix + len(f)
	}
	b := appendField(make([]byte, 0, size), purpose)
	for _, f := range fields {
		b = appendField(b, f)
	}
	return d.sum(b, nil)
}

// sum returns the digest of fields, the last of which may end in rest.
func (d *Digester) sum(fields, rest []byte) Digest {
	mac := d.macs.Get().(hash.Hash)
	defer d.macs.Put(mac)
	mac.Reset()
	mac.Write(fields)
	mac.Write(rest)
	var room [sha256.Size]byte
	return Digest(hex.EncodeToString(mac.Sum(room[:0])))
}

// fieldPrefix is enough for what stands before most fields.
const fieldPrefix = 8

// appendField appends a length and the field, so that no two lists of fields
// run together into the same bytes.
func appendField(b []byte, s string) []byte {
	return append(appendLength(b, len(s)), s...)
}

// appendLength begins a field of a length.
func appendLength(b []byte, n int) []byte {
	return append(strconv.AppendInt(b, int64(n), 10), ':')
}
