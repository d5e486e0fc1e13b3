package record

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
)

// A Sealer keeps answers and edits unreadable at rest: AES-256-GCM with a random nonce
// for each chunk (NIST SP 800-38D, 8.2.2). The associated data binds a chunk to
// its place, so that none can be moved, left out or taken from another
// exchange.
type Sealer struct {
	aead  cipher.AEAD
	older []cipher.AEAD // of earlier keys: they open what those sealed
}

// NewSealer returns a sealer with a key of 32 bytes. What was sealed with one of
// the older keys is opened too.
func NewSealer(key []byte, older ...[]byte) (*Sealer, error) {
	s := new(Sealer)
	for i, k := range append([][]byte{key}, older...) {
		if len(k) != 32 {
			return nil, fmt.Errorf("a seal key has %d bytes, want 32", len(k))
		}
		block, err := aes.NewCipher(k)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s.aead = aead
			continue
		}
		s.older = append(s.older, aead)
	}
	return s, nil
}

func place(exchange string, n, of int) []byte {
	return fmt.Appendf(nil, "holdgate exchange-body v1/%s/%d/%d", exchange, n, of)
}

// PlaceEdited is the place of what a request was edited to.
func PlaceEdited(request string) []byte { return fmt.Appendf(nil, "holdgate edited v1/%s", request) }

func (s *Sealer) Seal(plain []byte, exchange string, n, of int) []byte {
	return s.SealAt(plain, place(exchange, n, of))
}

func (s *Sealer) SealAt(plain, place []byte) []byte { return s.aead.Seal(nil, nil, plain, place) }

func (s *Sealer) Unseal(sealed []byte, exchange string, n, of int) ([]byte, error) {
	plain, err := s.OpenAt(sealed, place(exchange, n, of))
	if err != nil {
		return nil, fmt.Errorf("opening chunk %d of %d: %w", n, of, err)
	}
	return plain, nil
}

func (s *Sealer) OpenAt(sealed, place []byte) ([]byte, error) {
	plain, err := s.aead.Open(nil, nil, sealed, place)
	for i := 0; err != nil && i < len(s.older); i++ {
		plain, err = s.older[i].Open(nil, nil, sealed, place)
	}
	return plain, err
}
