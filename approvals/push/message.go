package push

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"
)

const (
	sizeOfRecord = 4096 // bytes that one record of a message may have
	sizeOfText   = 160  // bytes of a message's text, all alike
	endOfText    = 2    // stands behind the text of the last record
	validFor     = 12 * time.Hour
)

// A message is all that a browser is told.
type message struct {
	Risk    string `json:"risk"`
	Request string `json:"request"`
}

// encrypted is a text that only the browser can read (RFC 8291), padded.
func encrypted(sub Subscription, text []byte) ([]byte, error) {
	ours, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails: see its documentation
	return sealed(sub, text, ours, salt)
}

// sealed is a text as encrypted makes it, by a key and a salt that are used once.
func sealed(sub Subscription, text []byte, ours *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	theirs, err := ecdh.P256().NewPublicKey(sub.Key)
	if err != nil {
		return nil, err
	}
	shared, err := ours.ECDH(theirs)
	if err != nil {
		return nil, err
	}
	public := ours.PublicKey().Bytes()
	ikm, err := hkdf.Key(sha256.New, shared, sub.Secret, "WebPush: info\x00"+string(sub.Key)+string(public), 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	head := binary.BigEndian.AppendUint32(slices.Clone(salt), sizeOfRecord)
	head = append(append(head, byte(len(public))), public...)
	return gcm.Seal(head, nonce, append(slices.Clone(text), endOfText), nil), nil
}

// padded is a message's text, as long as any other.
func padded(m message) ([]byte, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	for len(text) < sizeOfText { // blanks behind JSON mean nothing
		text = append(text, ' ')
	}
	return text, nil
}

// vouched is what tells a service who sends (RFC 8292).
func (s *Sender) vouched(endpoint string, now time.Time) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	says := map[string]any{"aud": u.Scheme + "://" + u.Host, "exp": now.Add(validFor).Unix()}
	if contact := s.c.Contact(); contact != "" {
		says["sub"] = contact
	}
	claims, err := json.Marshal(says)
	if err != nil {
		return "", err
	}
	b64 := base64.RawURLEncoding
	token := b64.EncodeToString([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + b64.EncodeToString(claims)
	sum := sha256.Sum256([]byte(token))
	x, y, err := ecdsa.Sign(rand.Reader, s.key, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	x.FillBytes(signature[:32])
	y.FillBytes(signature[32:])
	return fmt.Sprintf("vapid t=%s.%s, k=%s", token, b64.EncodeToString(signature), s.PublicKey()), nil
}
