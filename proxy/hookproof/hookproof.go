// Package hookproof is how a sidecar proves to an agent's hook that an answer is its own:
// the answer is signed with a key that lies in the state folder, which programs of other
// users cannot read. What is signed is the question too, so that an answer to another call,
// or one of before, proves nothing.
package hookproof

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// File is the name of the key's file in the state folder: 32 bytes in hex.
const File = "hook.key"

// The headers of a question and its answer.
const (
	HeaderNonce = "Holdgate-Nonce"
	HeaderProof = "Holdgate-Proof"
)

// nonceSize is how many bytes a nonce has.
const nonceSize = 32

// NewNonce is what makes a question unlike any other.
func NewNonce() string {
	var b [nonceSize]byte
	_, _ = rand.Read(b[:]) // never fails: see its documentation
	return hex.EncodeToString(b[:])
}

// ParseKey reads a key as it stands in its file.
func ParseKey(text []byte) ([]byte, error) {
	key, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) != sha256.Size {
		return nil, errors.New("it does not hold 32 bytes in hex")
	}
	return key, nil
}

// Proof signs the answer to what an agent told its hook. It is empty where the nonce is
// none, or there is no key.
func Proof(key []byte, nonce, agent string, told, answer []byte) string {
	if b, err := hex.DecodeString(nonce); err != nil || len(b) != nonceSize || len(key) == 0 {
		return ""
	}
	m := hmac.New(sha256.New, key)
	m.Write([]byte("holdgate hook 1\n" + nonce + "\n" + agent + "\n"))
	for _, text := range [][]byte{told, answer} {
		sum := sha256.Sum256(text)
		m.Write(sum[:])
	}
	return hex.EncodeToString(m.Sum(nil))
}

// Holds reports whether a proof is right.
func Holds(proof string, key []byte, nonce, agent string, told, answer []byte) bool {
	want := Proof(key, nonce, agent, told, answer)
	return want != "" && hmac.Equal([]byte(proof), []byte(want))
}
