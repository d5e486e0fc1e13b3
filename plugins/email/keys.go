package email

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// keys are made from the channel's secret: one to seal with, one to make
// tokens with.
type keys struct {
	seal cipher.AEAD
	mac  []byte
}

func newKeys(secret []byte) (k keys, err error) {
	sealing, err := hkdf.Key(sha256.New, secret, nil, "holdgate email: seal", 32)
	if err != nil {
		return k, fmt.Errorf("making keys: %w", err)
	}
	if k.mac, err = hkdf.Key(sha256.New, secret, nil, "holdgate email: tokens", 32); err != nil {
		return k, fmt.Errorf("making keys: %w", err)
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return k, fmt.Errorf("making keys: %w", err)
	}
	k.seal, err = cipher.NewGCM(block)
	return k, err
}

// What tokens are for. One is no good for another.
const (
	forLink   = "link"
	forReply  = "reply"
	forThread = "thread"
	forMail   = "mail"
)

// tokenSize is how many random-looking bytes are in a token; its text has 32
// letters.
const tokenSize = 20

var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// token returns what nobody can make up without the secret, always the same
// for the same fields.
func (k keys) token(fields ...string) string {
	m := hmac.New(sha256.New, k.mac)
	for _, f := range fields {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(f)))
		m.Write(size[:])
		m.Write([]byte(f))
	}
	return letters.EncodeToString(m.Sum(nil)[:tokenSize])
}

// sealed encrypts plain; name binds it to its place.
func (k keys) sealed(name string, plain []byte) []byte {
	nonce := make([]byte, k.seal.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	return k.seal.Seal(nonce, nonce, plain, []byte(name))
}

func (k keys) unseal(name string, sealed []byte) ([]byte, error) {
	n := k.seal.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("it is too short")
	}
	plain, err := k.seal.Open(nil, sealed[:n], sealed[n:], []byte(name))
	if err != nil {
		return nil, errors.New("it was sealed with another key, or has been changed")
	}
	return plain, nil
}

// isToken reports whether text could be a token.
func isToken(text string) bool {
	return len(text) == 32 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
