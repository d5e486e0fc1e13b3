package holdgate

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
type Digester struct{ key []byte }

// NewDigester returns a Digester for the key, which must have 32 bytes.
func NewDigester(key []byte) (*Digester, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("digest key has %d bytes, want 32", len(key))
	}
	return &Digester{key: bytes.Clone(key)}, nil
}

// Tool returns the digest of a tool call. Arguments must be strict JSON (no
// duplicate keys, valid UTF-8) or nil; where they are nil, the raw text counts.
func (d *Digester) Tool(t *Tool) (Digest, error) {
	mac := hmac.New(sha256.New, d.key)
	writeField(mac, "tool_call")
	writeField(mac, t.Server)
	writeField(mac, t.Name)
	if t.Arguments == nil {
		writeField(mac, "raw")
		writeField(mac, t.ArgumentsRaw)
		return Digest(hex.EncodeToString(mac.Sum(nil))), nil
	}
	canon, err := Canonical(t.Arguments)
	if err != nil {
		return "", fmt.Errorf("digesting arguments of %s: %w", t.Name, err)
	}
	writeField(mac, "json")
	writeField(mac, string(canon))
	return Digest(hex.EncodeToString(mac.Sum(nil))), nil
}

// Fields returns the digest of a list of fields under a purpose of its own,
// for what is no tool call: a request's key, a model request, an HTTP request.
func (d *Digester) Fields(purpose string, fields ...string) Digest {
	mac := hmac.New(sha256.New, d.key)
	writeField(mac, purpose)
	for _, f := range fields {
		writeField(mac, f)
	}
	return Digest(hex.EncodeToString(mac.Sum(nil)))
}

// writeField writes a length and the field, so that no two lists of fields
// run together into the same bytes.
func writeField(w io.Writer, s string) {
	fmt.Fprintf(w, "%d:", len(s))
	io.WriteString(w, s)
}

// Canonical returns JSON with sorted object keys, no blanks, and numbers as
// they were written. The input must be one JSON value; where keys are
// duplicated the result means nothing, so check first.
func Canonical(raw []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}
