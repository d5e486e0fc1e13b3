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
type Sealer struct{ aead cipher.AEAD }

func NewSealer(key []byte) (*Sealer, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("the seal key has %d bytes, want 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead}, nil
}

func place(exchange string, n, of int) []byte {
	return fmt.Appendf(nil, "holdgate exchange-body v1/%s/%d/%d", exchange, n, of)
}

// placeEdited is the place of what a request was edited to.
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
	return s.aead.Open(nil, nil, sealed, place)
}
