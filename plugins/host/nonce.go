package host

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/holdgate/holdgate"
)

// nonces makes and checks the nonces of deliveries.
type nonces struct{ key []byte }

func newNonces(key []byte) (nonces, error) {
	if len(key) != sha256.Size {
		return nonces{}, fmt.Errorf("the key for nonces has %d bytes, want %d", len(key), sha256.Size)
	}
	return nonces{key: key}, nil
}

// of returns the nonce under which a channel is told of a request whose call
// has the digest.
func (n nonces) of(channel, request string, digest holdgate.Digest) string {
	mac := hmac.New(sha256.New, n.key)
	for _, field := range []string{"channel delivery", channel, request, string(digest)} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(field)))
		mac.Write(size[:])
		mac.Write([]byte(field))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// match reports, in constant time, whether the nonce is that of the delivery.
func (n nonces) match(nonce, channel, request string, digest holdgate.Digest) bool {
	return hmac.Equal([]byte(nonce), []byte(n.of(channel, request, digest)))
}
